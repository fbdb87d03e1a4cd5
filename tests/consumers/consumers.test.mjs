// The packed package in small consumers, each installed and built as a user would: one turn, a
// trap of the core, and one more turn. The package is that of `npm pack`, with cores that can be
// told to trap.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import test, { after, before } from 'node:test'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build as esbuild } from 'esbuild'
import { launch } from '../browser.mjs'
import { PATIENCE_MS, until } from '../patience.mjs'
import { firefox } from './firefox.mjs'

const EXPECTED = 'complete  seen; core.fault; failed core.fault shown; complete  seen'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = join(here, '..', '..')
const home = join(root, '.cache/consumers')
const bin = (name) => join(root, 'node_modules/.bin', name)
const quiet = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', EXPECTED }
const execute = promisify(execFile)
const run = async (command, args, cwd) =>
  (await execute(command, args, { cwd, env: quiet, timeout: PATIENCE_MS })).stdout.trim()
let browser

/** A copy of a consumer, beside the installed package. */
function consumer(name, from) {
  const folder = join(home, name)
  mkdirSync(folder, { recursive: true })
  if (from) cpSync(join(here, from), folder, { recursive: true })
  cpSync(join(here, 'use.mjs'), join(folder, 'use.mjs'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}')
  return folder
}

before(async () => {
  rmSync(home, { recursive: true, force: true })
  const packed = join(home, 'package')
  cpSync(join(root, 'pkg'), packed, {
    recursive: true,
    filter: (path) => !/[\\/](dist|src|test|wasm)$/.test(path),
  })
  cpSync(join(root, '.cache/trap/dist'), join(packed, 'dist'), { recursive: true })
  const manifest = JSON.parse(readFileSync(join(packed, 'package.json'), 'utf8'))
  const slim = './dist/slim/core/parts/turn.js'
  const exports = {
    ...manifest.exports,
    './parts/turn': { 'edge-light': slim, workerd: slim, default: './dist/core/parts/turn.js' },
  }
  writeFileSync(join(packed, 'package.json'), JSON.stringify({ ...manifest, exports }))
  const [{ filename }] = JSON.parse(await run('npm', ['pack', '--json'], packed))
  writeFileSync(join(home, 'package.json'), '{"type":"module","private":true}')
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(packed, filename)]
  await run('npm', install, home)
  browser = await launch()
})
after(async () => {
  await browser?.close()
  rmSync(home, { recursive: true, force: true })
})

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript' }
/** Serves a folder: `{ url, close }`. `posted` gets the bodies of requests. */
async function serve(folder, posted) {
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end()
      return posted(body)
    }
    const { pathname } = new URL(request.url, 'http://page')
    try {
      const path = join(folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname)
      response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream')
      return response.end(readFileSync(path))
    } catch {
      return response.writeHead(404).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
}

/** What a page says in `#ends`. */
async function shown(url) {
  const context = await browser.newContext()
  try {
    const tab = await context.newPage()
    tab.setDefaultTimeout(PATIENCE_MS)
    await tab.goto(url)
    await tab.waitForFunction(() => document.getElementById('ends')?.textContent)
    return await tab.locator('#ends').textContent()
  } finally {
    await context.close()
  }
}

async function shownFrom(folder) {
  const { url, close } = await serve(folder)
  try {
    return await shown(`${url}/`)
  } finally {
    close()
  }
}

test('npx turnlock serve: the page and its model, out of the package', async () => {
  const command = join(home, 'node_modules/.bin/turnlock')
  const child = spawn(command, ['serve', '--port', '0', '--json'], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const { page: url } = JSON.parse((await lines.next()).value)
    const tab = await browser.newPage()
    tab.setDefaultTimeout(PATIENCE_MS)
    await tab.goto(`${url}#turn`)
    await tab.waitForSelector('[data-ready]')
    await tab.click('#composer [type=submit]')
    await tab.waitForSelector('#timeline .end:has-text("Complete")')
    assert.match(await tab.textContent('.message.assistant'), /notes\.txt/)
    await tab.close()
  } finally {
    child.kill('SIGKILL')
  }
})

test('the skill for coding agents, followed literally', async () => {
  const folder = consumer('skill')
  const installed = join(home, 'node_modules/turnlock')
  const skill = readFileSync(join(installed, 'skills/turnlock/SKILL.md'), 'utf8')
  assert.match(skill, /^---\nname: turnlock\ndescription: .{50,1024}\n---\n/)
  for (const [, path] of skill.matchAll(/`(?:node_modules\/turnlock\/)?(docs\/[\w/]+\.md)`/g)) {
    assert.ok(existsSync(join(installed, path)), path)
  }
  const codes = readFileSync(join(installed, 'docs/errors.md'), 'utf8')
  const [, errors] = skill.split('## Errors')
  for (const [, code] of errors.matchAll(/^\| `([a-z_.]+)` \|/gm)) {
    assert.ok(codes.includes(`| \`${code}\` |`), code)
  }
  const command = join(home, 'node_modules/.bin/turnlock')
  const child = spawn(command, ['serve', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const { address } = JSON.parse((await lines.next()).value)
    const blocks = [...skill.matchAll(/^```js\n([^]*?)^```/gm)].map(([, code]) => code)
    const said = []
    for (const [at, code] of blocks.entries()) {
      writeFileSync(join(folder, `${at}.mjs`), code)
      const env = {
        ...quiet,
        BASE_URL: address.replace('/v1', '/loop-then-answer/v1'),
        OPENAI_API_KEY: 'k',
      }
      const { stdout } = await execute(process.execPath, [`${at}.mjs`], { cwd: folder, env })
      said.push(stdout)
    }
    const [guarded, bounded, ...more] = said
    assert.deepEqual(more, [])
    assert.match(guarded, /^the tool ran [123] times: /)
    assert.match(bounded, /TOOL_RESULT_ORPHAN/)
  } finally {
    child.kill('SIGKILL')
  }
})

const SCRIPT = "import { use } from './use.mjs'\nconsole.log(await use())\n"

test('Node', async () => {
  const folder = consumer('node')
  writeFileSync(join(folder, 'main.mjs'), SCRIPT)
  assert.equal(await run(process.execPath, ['main.mjs'], folder), EXPECTED)
})

test('Node, CommonJS', async () => {
  const folder = consumer('commonjs')
  const text = readFileSync(join(folder, 'use.mjs'), 'utf8')
    .replaceAll(
      /import (\{.*\}) from ('.*')/g,
      (_, names, from) => `const ${names.replace(' as ', ': ')} = require(${from})`,
    )
    .replace('export async', 'async')
  writeFileSync(join(folder, 'main.cjs'), `${text}\nuse().then(console.log)\n`)
  assert.equal(await run(process.execPath, ['--no-warnings', 'main.cjs'], folder), EXPECTED)
})

for (const [name, ...args] of [
  ['deno', 'run', '--allow-all', '--node-modules-dir=manual'],
  ['bun', 'run'],
]) {
  test(name, async () => {
    const folder = consumer(name)
    writeFileSync(join(folder, 'main.mjs'), SCRIPT)
    assert.equal(await run(bin(name), [...args, 'main.mjs'], folder), EXPECTED)
  })
}

test('Vite, development server', async () => {
  const { createServer } = await import('vite')
  const folder = consumer('vite-dev', 'page')
  const server = await createServer({ root: folder, configFile: false, logLevel: 'error' })
  await server.listen(0)
  try {
    assert.equal(await shown(server.resolvedUrls.local[0]), EXPECTED)
  } finally {
    await server.close()
  }
})

test('Vite, a page and a worker', async () => {
  const { build } = await import('vite')
  const folder = consumer('vite', 'page')
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    build: { target: 'es2022' },
  })
  assert.equal(await shownFrom(join(folder, 'dist')), EXPECTED)
  writeFileSync(
    join(folder, 'main.js'),
    `const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
     worker.onmessage = ({ data }) => { document.getElementById('ends').textContent = data }`,
  )
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    worker: { format: 'es' },
    build: { target: 'es2022' },
  })
  assert.equal(await shownFrom(join(folder, 'dist')), EXPECTED)
})

test('Rollup', async () => {
  const [{ rollup }, { default: resolve }] = await Promise.all([
    import('rollup'),
    import('@rollup/plugin-node-resolve'),
  ])
  const folder = consumer('rollup', 'page')
  const input = join(folder, 'main.js')
  const made = await rollup({ input, plugins: [resolve({ browser: true })] })
  const dir = join(folder, 'dist')
  await made.write({ dir, format: 'es' })
  cpSync(join(folder, 'index.html'), join(dir, 'index.html'))
  assert.equal(await shownFrom(dir), EXPECTED)
})

test('webpack', async () => {
  const { default: webpack } = await import('webpack')
  const folder = consumer('webpack', 'page')
  const path = join(folder, 'dist')
  const config = {
    mode: 'production',
    entry: join(folder, 'main.js'),
    context: folder,
    target: ['web', 'es2022'],
    experiments: { outputModule: true },
    output: { path, filename: 'main.js', module: true },
  }
  const stats = await promisify(webpack)(config)
  assert.ok(!stats.hasErrors(), stats.toString('errors-only'))
  cpSync(join(folder, 'index.html'), join(path, 'index.html'))
  assert.equal(await shownFrom(path), EXPECTED)
})

test('Parcel', async () => {
  const folder = consumer('parcel', 'page')
  // Parcel reads `exports` of packages where the folder with the lock file asks for it.
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  writeFileSync(
    join(folder, 'package.json'),
    '{"type":"module","private":true,"@parcel/resolver-default":{"packageExports":true}}',
  )
  await run(bin('parcel'), ['build', 'index.html', '--no-cache', '--no-source-maps'], folder)
  assert.equal(await shownFrom(join(folder, 'dist')), EXPECTED)
})

test('Next: a client component, a route handler, the edge runtime', async () => {
  const folder = consumer('next', 'next')
  const config = { turbopack: { root }, outputFileTracingRoot: root }
  writeFileSync(join(folder, 'next.config.mjs'), `export default ${JSON.stringify(config)}`)
  await run(bin('next'), ['build'], folder)
  const args = [bin('next'), 'start', '--port', '0', '--hostname', '127.0.0.1']
  const server = spawn(process.execPath, args, { cwd: folder, env: quiet })
  try {
    let said = ''
    for (const stream of [server.stdout, server.stderr]) {
      stream.on('data', (data) => (said += data))
    }
    const address = () => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0]
    await until(() => address() && said.includes('Ready'))
    for (const route of ['/api/node', '/api/edge']) {
      const response = await fetch(`${address()}${route}`)
      assert.equal(await response.text(), EXPECTED, route)
    }
    assert.equal(await shown(`${address()}/`), EXPECTED)
    // The edge runtime compiles nothing: the module is part of the build.
    const built = readdirSync(join(folder, '.next/server'), { recursive: true })
    assert.ok(built.some((file) => file.endsWith('.wasm')))
    assert.doesNotMatch(said, /WebAssembly|WASM/)
  } finally {
    server.kill('SIGKILL')
  }
})

/** A page without a bundler: its modules, by an import map. */
function raw(name) {
  const folder = consumer(name, 'page')
  cpSync(join(home, 'node_modules/turnlock/dist'), join(folder, 'turnlock'), { recursive: true })
  const imports = { turnlock: './turnlock/index.js', 'turnlock/': './turnlock/core/' }
  const map = `<script type="importmap">${JSON.stringify({ imports })}</script>`
  const page = join(folder, 'index.html')
  const text = readFileSync(page, 'utf8').replace('<p id', `${map}<p id`)
  writeFileSync(page, text.replace('<p id', `${map}<p id`))
  const use = join(folder, 'use.mjs')
  const fixed = readFileSync(use, 'utf8').replace('turnlock/parts/turn', 'turnlock/parts/turn.js')
  writeFileSync(use, fixed)
  return folder
}

test('modules without a bundler, Chromium', async () => {
  assert.equal(await shownFrom(raw('modules')), EXPECTED)
})

// Its address is about:srcdoc, and its scripts have no address at all.
test('modules in an iframe without an address', async () => {
  const folder = raw('srcdoc')
  const page = join(folder, 'index.html')
  const inner = readFileSync(page, 'utf8').replace('./main.js', './inner.js')
  writeFileSync(
    join(folder, 'inner.js'),
    `import { use } from './use.mjs'
     parent.document.getElementById('ends').textContent = await use().catch(String)`,
  )
  writeFileSync(join(folder, 'inner.html'), inner)
  writeFileSync(
    join(folder, 'main.js'),
    `const frame = document.createElement('iframe')
     frame.srcdoc = await (await fetch('./inner.html')).text()
     document.body.append(frame)`,
  )
  assert.equal(await shownFrom(folder), EXPECTED)
})

test('modules without a bundler, Firefox', async () => {
  const folder = raw('firefox')
  const main = join(folder, 'main.js')
  writeFileSync(
    main,
    `import { use } from './use.mjs'
     fetch('/said', { method: 'POST', body: await use().catch(String) })`,
  )
  const said = []
  const { url, close } = await serve(folder, (body) => said.push(body))
  const stop = firefox(`${url}/`)
  try {
    await until(() => said.length)
    assert.equal(said[0], EXPECTED)
  } finally {
    await stop()
    close()
  }
})

test('a service worker', async () => {
  const folder = consumer('service-worker', 'page')
  await esbuild({
    entryPoints: [join(folder, 'service-worker.js')],
    bundle: true,
    allowOverwrite: true,
    outfile: join(folder, 'service-worker.js'),
    format: 'iife',
    target: 'es2022',
  })
  writeFileSync(
    join(folder, 'main.js'),
    `const { serviceWorker } = navigator
     serviceWorker.onmessage = ({ data }) => { document.getElementById('ends').textContent = data }
     await serviceWorker.register('./service-worker.js')
     const { active } = await serviceWorker.ready
     active.postMessage('go')`,
  )
  assert.equal(await shownFrom(folder), EXPECTED)
})

test('vitest with jsdom', async () => {
  const folder = consumer('jsdom', 'jsdom')
  await run(bin('vitest'), ['run', '--root', '.'], folder)
})

for (const compatibilityDate of ['2023-07-01', '2026-07-01']) {
  test(`workerd of ${compatibilityDate}`, async () => {
    const { Miniflare } = await import('miniflare')
    const folder = consumer(`workerd-${compatibilityDate}`)
    const main = join(folder, 'main.js')
    writeFileSync(
      main,
      `import { use } from './use.mjs'
       export default { fetch: async () => new Response(await use()) }`,
    )
    // As wrangler does: the `workerd` condition, and wasm as a module beside the script.
    await esbuild({
      entryPoints: [main],
      bundle: true,
      format: 'esm',
      outdir: join(folder, 'dist'),
      conditions: ['workerd', 'worker', 'browser'],
      target: 'es2022',
      loader: { '.wasm': 'copy' },
      assetNames: '[name]',
    })
    const read = (name) => readFileSync(join(folder, 'dist', name))
    const wasm = readdirSync(join(folder, 'dist')).find((name) => name.endsWith('.wasm'))
    const worker = new Miniflare({
      compatibilityDate,
      modules: [
        { type: 'ESModule', path: 'worker.mjs', contents: read('main.js').toString() },
        { type: 'CompiledWasm', path: wasm, contents: read(wasm) },
      ],
    })
    try {
      const response = await worker.dispatchFetch('http://worker/')
      assert.equal(await response.text(), EXPECTED)
    } finally {
      await worker.dispose()
    }
  })
}

test('publint and attw find nothing wrong', async () => {
  const { publint } = await import('publint')
  const { formatMessage } = await import('publint/utils')
  const pkgDir = join(home, 'node_modules/turnlock')
  const { messages, pkg } = await publint({ pkgDir, strict: true, pack: false })
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  )
  const tarball = readdirSync(join(home, 'package')).find((file) => file.endsWith('.tgz'))
  // The package is of ES modules alone, which Node 20 lets be required; one entry is of these tests.
  const args = ['--no-emoji', '--ignore-rules', 'cjs-resolves-to-esm']
  const own = ['--exclude-entrypoints', 'parts/turn', '--', join(home, 'package', tarball)]
  await run(bin('attw'), [...args, ...own], home)
})
