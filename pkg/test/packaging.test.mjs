// The packed tarball, installed as a user would.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const pkg = dirname(dirname(fileURLToPath(import.meta.url)))
const home = mkdtempSync(join(tmpdir(), 'turnlock-'))
const run = (command, ...args) => execFileSync(command, args, { cwd: home, encoding: 'utf8' })
const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
let files

before(() => {
  const [packed] = JSON.parse(run('npm', 'pack', '--json', '--pack-destination', home, pkg))
  files = packed.files.map((file) => file.path)
  writeFileSync(join(home, 'package.json'), '{"type":"module","private":true}')
  run('npm', 'install', '--offline', '--no-audit', '--no-fund', join(home, packed.filename))
})
after(() => rmSync(home, { recursive: true, force: true }))

const USE = `
const turn = runTurn({
  model: customModel(async function* () { yield { type: 'text', text: canonicalize('{ "b": 1.0 }') } }),
  messages: [{ role: 'user', content: 'go' }],
})
turn.result.then((result) => console.log(result.status, result.text))
`

test('it ships what it should, and runs nothing at installation', () => {
  const manifest = JSON.parse(
    readFileSync(join(home, 'node_modules/turnlock/package.json'), 'utf8'),
  )
  assert.equal(manifest.scripts, undefined)
  assert.equal(manifest.dependencies, undefined)
  for (const wanted of [
    'dist/index.js',
    'dist/index.d.ts',
    'dist/index.workerd.js',
    'dist/wasm/turn.js',
    'dist/slim/index.js',
    'dist/slim/index.workerd.js',
    'dist/server/index.js',
    'dist/server/index.d.ts',
    'dist/turnlock.wasm',
    'dist/stores/indexeddb.js',
    'dist/stores/durable-object.js',
    'dist/stores/redis.js',
    'dist/stores/postgres.js',
    'dist/stores/d1.js',
    'dist/testing/index.d.ts',
    'docs/start.md',
    'README.md',
    'LICENSE',
    'THIRD_PARTY_NOTICES',
    'dist/turnlock.browser.js',
  ]) {
    assert.ok(files.includes(wanted), wanted)
  }
  assert.ok(
    files.every((file) =>
      /^(dist\/|docs\/[\w-]+\.md$|skills\/turnlock\/SKILL\.md$|README|LICENSE|THIRD_PARTY_NOTICES|package\.json)/.test(
        file,
      ),
    ),
    `${files}`,
  )
})

test('import', () => {
  writeFileSync(
    join(home, 'esm.mjs'),
    `import { canonicalize, customModel, runTurn } from 'turnlock'${USE}`,
  )
  assert.equal(run('node', 'esm.mjs').trim(), 'complete {"b":1}')
})

test('require', () => {
  writeFileSync(
    join(home, 'cjs.cjs'),
    `const { canonicalize, customModel, runTurn } = require('turnlock')${USE}`,
  )
  assert.equal(run('node', '--no-warnings', 'cjs.cjs').trim(), 'complete {"b":1}')
})

test('slim, with the wasm file', () => {
  writeFileSync(
    join(home, 'slim.mjs'),
    `import { readFileSync } from 'node:fs'
     import { canonicalize, customModel, init, runTurn } from 'turnlock/slim'
     let code
     try { canonicalize('1') } catch (error) { code = error.code }
     if (code !== 'core.not_loaded') throw new Error(code)
     await init(readFileSync(new URL(import.meta.resolve('turnlock/turnlock.wasm'))))
     ${USE}`,
  )
  assert.equal(run('node', 'slim.mjs').trim(), 'complete {"b":1}')
})

test('a production bundle works, and holds no node import', async () => {
  writeFileSync(
    join(home, 'app.mjs'),
    `import { canonicalize, customModel, runTurn } from 'turnlock'${USE}`,
  )
  const out = join(home, 'bundle.mjs')
  await build({
    entryPoints: [join(home, 'app.mjs')],
    outfile: out,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
  })
  assert.ok(!/["']node:/.test(readFileSync(out, 'utf8')))
  assert.equal(run('node', out).trim(), 'complete {"b":1}')
})

/** Entry point → the most that its bundle may weigh, minified. */
const APART = {
  'turnlock/stores/indexeddb': 10_600,
  'turnlock/stores/durable-object': 8_300,
  'turnlock/stores/redis': 10_100,
  'turnlock/stores/postgres': 11_500,
  'turnlock/stores/d1': 10_700,
  // With the tapes of models.
  'turnlock/testing': 78_000,
}
/** What of an entry uses the core: it costs those alone who import it. */
const OF_CORE = ['expectValidHistory', 'historyMatchers']
for (const [entry, limit] of Object.entries(APART)) {
  test(`${entry} stands alone: small, without the core, for every runtime`, async () => {
    const all = Object.keys(await import(entry)).filter((name) => !OF_CORE.includes(name))
    const names = `{ ${all.join(', ')} }`
    const { outputFiles, metafile } = await build({
      stdin: { contents: `export ${names} from '${entry}'`, resolveDir: home },
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      outdir: home,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
    })
    const [{ text }] = outputFiles
    assert.ok(text.length < limit, `${text.length} bytes`)
    assert.ok(!/["']node:/.test(text))
    const inputs = Object.keys(metafile.inputs).join('\n')
    assert.doesNotMatch(inputs, /dist\/(core|glue|bytes|index|slim)\.js|\.wasm/)
    writeFileSync(join(home, 'entry.cjs'), `console.log(Object.keys(require('${entry}')).join())`)
    assert.match(run('node', '--no-warnings', 'entry.cjs'), /Store|storeConformance/)
  })
}

test('where `exports` are not read, types are found all the same', () => {
  const { exports, typesVersions } = JSON.parse(readFileSync(join(pkg, 'package.json'), 'utf8'))
  const typed = Object.entries(exports).filter(([name, { types }]) => name !== '.' && types)
  const told = typed.map(([name, { types }]) => [name.slice('./'.length), [types]])
  assert.deepEqual(typesVersions['*'], Object.fromEntries(told))
})

test('the types hold under strict rules', () => {
  writeFileSync(
    join(home, 'types.ts'),
    `import { defineTool, openaiChat, runTurn, type TurnEvent, type TurnResult } from 'turnlock'
     import { checkStore, memoryStore, normalizeHistory, resumeTurn, type Store } from 'turnlock'
     import { createProxy } from 'turnlock/proxy'
     import { remoteTurns } from 'turnlock/remote'
     import { createHandler } from 'turnlock/server'
     import { durableObjectStore } from 'turnlock/stores/durable-object'
     import { indexedDbStore } from 'turnlock/stores/indexeddb'
     import { redisStore } from 'turnlock/stores/redis'
     import { scriptedModel, storeConformance } from 'turnlock/testing'
     import { init } from 'turnlock/slim'
     import core from 'turnlock/turnlock.wasm'
     void init(core)
     export const address: string = core
     const sql = { exec: (query: string, ...bindings: (string | number)[]) => [] }
     const state = { storage: { sql, transactionSync: <T>(work: () => T): T => work() } }
     const send = async (args: string[]): Promise<unknown> => args
     const unknown: unknown = 0
     checkStore(unknown)
     export const stores: Store[] = [unknown, memoryStore({ maxTurns: 9 }), indexedDbStore({ name: 'x' }),
       durableObjectStore(state), redisStore(send, { prefix: 'x' }), redisStore({ sendCommand: send })]
     storeConformance(() => memoryStore()).map(({ name, run }) => [name.trim(), run().then()])
     runTurn({ model: scriptedModel(['text', { call: 'a' }, [{ type: 'text', text: 'b' }]]), messages: [] })
     // @ts-expect-error no client
     redisStore({ get() {} })
     const tool = defineTool({ description: 'd', inputSchema: { type: 'object' }, execute: (args, { signal }) => signal.aborted })
     const turn = runTurn({ model: openaiChat({ baseURL: 'http://x/v1', model: 'm' }), messages: [], tools: { tool } })
     export async function read(): Promise<TurnResult> {
       for await (const event of turn) {
         const all: TurnEvent = event
         if (event.type === 'text') event.chunk.toUpperCase()
         if (event.type === 'refused') event.toolCalls[0]?.signature.length
         // @ts-expect-error only text has a chunk
         if (event.type === 'complete') event.chunk
         void all
       }
       return turn.result
     }
     export async function ended() {
       const result = await turn.result
       if (result.status === 'failed') return result.error.code
       // @ts-expect-error a turn that has not failed may have none
       return result.error.code
     }
     // @ts-expect-error a status that does not exist
     export const isOver = async () => (await turn.result).status === 'error'
     // @ts-expect-error a type of event that does not exist
     export const isText = (event: TurnEvent) => event.type === 'txt'
     // @ts-expect-error a dialect that does not exist
     normalizeHistory([], { dialect: 'openai' })
     // @ts-expect-error a tool that \`defineTool\` has not made
     runTurn({ model: scriptedModel([]), messages: [], tools: { x: { description: 'd', inputSchema: {}, execute: () => 1 } } })
     // @ts-expect-error a history that is no list
     runTurn({ model: scriptedModel([]), messages: 'hello' })
     // @ts-expect-error no store, no \`authorize\`
     createHandler({ model: scriptedModel([]) })
     // @ts-expect-error approvals are a list
     resumeTurn({ model: scriptedModel([]), store: memoryStore(), requestId: 'x', approvals: { a: 'yes' } })
     // @ts-expect-error the address is \`url\`
     remoteTurns({ baseURL: 'x' })
     // @ts-expect-error the option is \`upstream\`
     createProxy({ authorize: () => ({ tenant: 't' }), upstreams: {} })
     // @ts-expect-error a mode that does not exist
     runTurn({ model: openaiChat({ baseURL: 'x', model: 'm' }), messages: [], mode: 'three' })
     // @ts-expect-error a policy field that does not exist
     runTurn({ model: openaiChat({ baseURL: 'x', model: 'm' }), messages: [], policy: { maxTool: 1 } })
     // @ts-expect-error the address is missing
     openaiChat({ model: 'm' })
    `,
  )
  const typeRoots = [fileURLToPath(new URL('../../node_modules/@types', import.meta.url))]
  const dom = ['dom', 'dom.iterable', 'dom.asynciterable']
  for (const [module, moduleResolution, lib] of [
    ['nodenext', 'nodenext', dom],
    ['node16', 'node16', []],
    ['esnext', 'bundler', dom],
    ['esnext', 'bundler', []],
  ]) {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      exactOptionalPropertyTypes: true,

      target: 'es2022',
      lib: ['es2023', ...lib],
      types: lib.length ? [] : ['node'],
      typeRoots,
      module,
      moduleResolution,
    }
    writeFileSync(
      join(home, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['types.ts'] }),
    )
    const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', home], { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  }
})

test('the declarations of every entry need no DOM library', () => {
  const { exports } = JSON.parse(readFileSync(join(pkg, 'package.json'), 'utf8'))
  const entries = Object.keys(exports).filter((name) => exports[name].types)
  assert.ok(entries.length > 7)
  const lines = entries.map((name, at) => `export * as e${at} from 'turnlock${name.slice(1)}'`)
  writeFileSync(join(home, 'bare.ts'), lines.join('\n'))
  const typeRoots = [fileURLToPath(new URL('../../node_modules/@types', import.meta.url))]
  for (const types of [[], ['node']]) {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      target: 'es2022',
      lib: ['es2023'],
      module: 'nodenext',
      moduleResolution: 'nodenext',
      types,
      typeRoots,
    }
    const config = JSON.stringify({ compilerOptions, files: ['bare.ts'] })
    writeFileSync(join(home, 'tsconfig.json'), config)
    const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', home], { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  }
})

test('every entry that workerd has of its own, Vercel’s edge runtime has too', () => {
  const { exports } = JSON.parse(readFileSync(join(pkg, 'package.json'), 'utf8'))
  for (const [name, entry] of Object.entries(exports)) {
    const like = entry.workerd?.replace('.workerd.js', '.edge-light.js')
    assert.equal(entry['edge-light'], like, name)
    for (const file of Object.values(typeof entry === 'string' ? [entry] : entry)) {
      assert.ok(files.includes(file.slice(2)) || file === './package.json', file)
    }
  }
})

test('data lies above the addresses that wasm-opt takes for unused', () => {
  const bytes = readFileSync(join(pkg, 'dist/turnlock.wasm'))
  let at = 8
  const number = () => {
    let value = 0
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++]
      value += (byte & 127) * shift
      if (byte < 128) return value
    }
  }
  const starts = []
  while (at < bytes.length) {
    const section = bytes[at++]
    const end = number() + at
    // The data section: segments of `0 i32.const <address> end <length> <bytes>`.
    for (let left = section === 11 ? number() : 0; left > 0; left--) {
      assert.deepEqual([bytes[at], bytes[at + 1]], [0, 0x41])
      at += 2
      starts.push(number())
      at += 1
      const length = number()
      at += length
    }
    at = end
  }
  // rustc puts the stack first, and its 1 MiB below the data.
  assert.ok(starts.length > 0 && starts.every((start) => start >= 1 << 20), `${starts}`)
})
