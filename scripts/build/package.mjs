// The npm package: the compiled TypeScript with the cores, their slim copy, the command, the page.
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { besides, bundleServed } from '../../www/tools/bundle.mjs'
import { root } from '../setup.mjs'
import { command } from '../tasks.mjs'
import { PARTS } from './cores.mjs'

/** To the folder above, in the text of a module. */
const UP = `${'..'}/`

/** Declarations that are written by hand: the compiler does not copy them. */
const DECLARED = ['inflate.d.ts', 'globals.d.ts', 'turnlock-wasm.d.ts']

export async function buildPackage() {
  const dist = join(root, 'pkg/dist')
  rmSync(dist, { recursive: true, force: true })
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'pkg/tsconfig.json']
  await command(process.execPath, tsc, { cwd: root })
  const declared = readdirSync(join(root, 'pkg/src/wasm')).map((file) => `wasm/${file}`)
  for (const file of [...DECLARED, ...declared]) {
    cpSync(join(root, 'pkg/src', file), join(dist, file))
  }
  referToGlobals()
  await bundle('fflate', 'inflateSync', 'Arjun Barrett', join(dist, 'inflate.js'))
  writeCores('pkg/wasm', dist)
  writeSlim(dist)
  await buildCommand(dist)
  await bundleServed(dist)
  await buildBrowser('pkg/wasm', dist)
  for (const file of ['LICENSE', 'THIRD_PARTY_NOTICES']) {
    cpSync(join(root, file), join(root, 'pkg', file))
  }
  // Pictures are in the repository alone: a relative link leads nowhere on a registry's page.
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  writeFileSync(join(root, 'pkg/README.md'), readme.replace(/^!\[.*\n\n?/gm, ''))
  rmSync(join(root, 'pkg/docs'), { recursive: true, force: true })
  const filter = (from) => !['images', 'tools'].some((name) => from === join(root, 'docs', name))
  cpSync(join(root, 'docs'), join(root, 'pkg/docs'), { recursive: true, filter })
}

/** A core as a module: its glue, and its wasm as base64 of deflated bytes. */
const embed = (folder, part) =>
  `${readFileSync(join(root, folder, `${part}.js`), 'utf8')}
export const bytes = "${readFileSync(join(root, folder, `${part}.deflated`)).toString('base64')}"
`

/** Writes the modules of the cores, and those that stand for them in `slim/`. */
export function writeCores(from, dist) {
  const [wasm, slim] = ['wasm', 'slim/wasm'].map((folder) => join(dist, folder))
  for (const folder of [wasm, slim]) mkdirSync(folder, { recursive: true })
  for (const part of PARTS.filter((part) => part !== 'whole')) {
    writeFileSync(join(wasm, `${part}.js`), embed(from, part))
  }
  for (const folder of [wasm, slim]) cpSync(join(root, from, 'whole.js'), join(folder, 'whole.js'))
  cpSync(join(root, from, 'whole.wasm'), join(dist, 'turnlock.wasm'))
}

/** The package again, without the embedded cores: for hosts that load the whole one themselves. */
function writeSlim(dist) {
  const slim = join(dist, 'slim')
  for (const file of readdirSync(dist, { recursive: true }).filter((file) =>
    file.endsWith('.js'),
  )) {
    if (file.startsWith('slim') || file.startsWith('wasm')) continue
    const part = /^core[\\/]parts[\\/](\w+)\.js$/.exec(file)?.[1]
    const text = part
      ? `import { Part } from '${UP}instance.js'\nexport const ${part} = new Part()\n`
      : readFileSync(join(dist, file), 'utf8').replace("'./turnlock.wasm", `'${UP}turnlock.wasm`)
    mkdirSync(join(slim, file, '..'), { recursive: true })
    writeFileSync(join(slim, file), text)
  }
}

/** A library that ships, inside: a page without a bundler resolves no bare import. */
async function bundle(library, names, holder, outfile) {
  // Not at the top: set-up may just have installed it.
  const { build } = await import('esbuild')
  const { version } = JSON.parse(
    readFileSync(join(root, 'node_modules', library, 'package.json'), 'utf8'),
  )
  await build({
    stdin: { contents: `export { ${names} } from '${library}'`, resolveDir: root },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minifySyntax: true,
    outfile,
    banner: { js: `// ${library} ${version}, MIT, Copyright (c) ${holder}` },
  })
}

/** Every entry's declarations name those of the web platform, for projects without the DOM library. */
function referToGlobals() {
  const { exports } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  const types = Object.values(exports).map((entry) => entry.types)
  for (const file of new Set(types.filter(Boolean))) {
    const path = join(root, 'pkg', file)
    const globals = relative(dirname(path), join(root, 'pkg/dist/globals.d.ts')).replaceAll(
      '\\',
      '/',
    )
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, `/// <reference path="./${globals}" />\n${text}`)
  }
}

/**
 * Everything in one file, for a page without a bundler: the slim copy and the whole core, which is
 * compiled before the import is there. The parts together would be twice as large; the core as a file
 * beside it would be a second request, and one more address to serve.
 */
async function buildBrowser(from, dist) {
  const { build } = await import('esbuild')
  const core = deflateRawSync(readFileSync(join(root, from, 'whole.wasm')), { level: 9 })
  const outfile = join(dist, 'turnlock.browser.js')
  await build({
    stdin: {
      contents: `import { init } from './slim/browser.js'
        export * from './slim/browser.js'
        const bytes = Uint8Array.from(atob('${core.toString('base64')}'), (character) => character.charCodeAt(0))
        const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
        await init(new Response(inflated, { headers: { 'content-type': 'application/wasm' } }))`,
      resolveDir: dist,
    },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    outfile,
    banner: { js: '// turnlock, MIT. Contains others: THIRD_PARTY_NOTICES.' },
  })
}

/** The command: after the slim copy, which has none. It imports the package beside it. */
async function buildCommand(dist) {
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'pkg/tsconfig.cli.json']
  await command(process.execPath, tsc, { cwd: root })
  const { build } = await import('esbuild')
  const { version } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  const bundleModule = (name, file, options) =>
    build({
      ...options,
      entryPoints: [join(root, 'pkg/src/cli', name)],
      outfile: join(dist, file),
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      plugins: [besides('.'), importedFromDist],
      define: { PACKAGE_VERSION: JSON.stringify(version) },
    })
  await Promise.all([
    bundleModule('main.ts', 'cli.js', { banner: { js: '#!/usr/bin/env node' } }),
    bundleModule('local-server.ts', 'local-server.js'),
  ])
}

/** Modules of `dist` that the command imports instead of holding a copy of them. */
const importedFromDist = {
  name: 'imported from dist',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\.\/testing\// }, ({ path }) => ({
      path: path.slice(1),
      external: true,
    }))
    onResolve({ filter: /^\.\/local-server\.js$/ }, ({ path }) => ({ path, external: true }))
  },
}
