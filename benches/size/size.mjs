// What a page pays: pages that import a part of the package, built by esbuild with splitting on,
// minified, gzip -9. `first` is what is there when the page starts, `run` what its run has loaded
// (a turn without a store and with a plain history). Beside them the same pages with peers, and the examples in Rust.
//
//   node benches/size/size.mjs [--check] [--write] [--peers] [--why <operation or part>]
//
// `--write` writes the tables of README.md and BENCHMARKS.md; `--check` also finds stale ones.
// `--why runTurn`: what the part of the core that `runTurn` loads is made of, by module and function.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { compileCore, featuresOf } from '../../scripts/build/cores.mjs'
import { glue } from '../../scripts/build/tools.mjs'
import { isRelease } from '../../examples/build.mjs'
import { root } from '../../scripts/setup.mjs'
import { sizeTables } from './tables.mjs'
import { report } from './weight.mjs'

const KB = 1000

/** `parts`: those of the core, and other modules, that the page's run loads. Limits in KB. */
const PAGES = {
  'runTurn, openaiChat, defineTool': { parts: ['turn'], first: 24.5, run: 175.5 },
  // Whose histories are not plain: another provider, events, what must be repaired.
  'runTurn, anthropic, defineTool': { parts: ['durable'], first: 24.5, run: 329 },
  'resumeTurn, openaiChat, defineTool, memoryStore': { parts: ['durable', 'turn/beside'] },
  'normalizeHistory, diagnoseHistory': { run: 157.5 },
  runBundle: { from: 'turnlock/evidence', parts: ['evidence'], first: 17.5, run: 153.5 },
  runPlanning: { from: 'turnlock/planning', parts: ['planning'] },
  runChain: { from: 'turnlock/chain', parts: ['chain'] },
  'signature, canonicalize': { run: 23.5 },
  // It takes the calls of a history too, for `guardTools`, and fits arguments to schemas (3 KB).
  createCallGuard: { from: 'turnlock/guard', run: 48 },
  guardTools: { from: 'turnlock/guard', run: 56 },
  // 20 KB before compression is the most that a page may load at first.
  guardFetch: { from: 'turnlock/guard', parts: ['proxy/guarded-fetch'], first: 3.5, run: 283 },
  decodeStream: { run: 68 },
  // Its result is put together where it is awaited.
  remoteTurns: { from: 'turnlock/remote', parts: ['remote/result'], first: 6 },
  // Without React, which the page has. Versions of messages take 1.6 KB; what keeps a chat is loaded
  // where one is kept.
  useTurn: { from: 'turnlock/react', run: 5.2 },
  createChat: { from: 'turnlock/chat', run: 5 },
  createRedactor: { from: 'turnlock/redact', run: 33 },
  createHandler: { from: 'turnlock/server', first: 41.5 },
  // Its routes are chosen in a module of their own, for `guardFetch`.
  createProxy: { from: 'turnlock/proxy', run: 288 },
  indexedDbStore: { from: 'turnlock/stores/indexeddb', run: 4.4 },
  durableObjectStore: { from: 'turnlock/stores/durable-object', run: 3.5 },
  redisStore: { from: 'turnlock/stores/redis', run: 4.3 },
  postgresStore: { from: 'turnlock/stores/postgres', run: 4.6 },
  d1Store: { from: 'turnlock/stores/d1', run: 4.6 },
  'storeConformance, scriptedModel, tapeFetch, fakeClock': { from: 'turnlock/testing', run: 9 },
  scriptedProvider: { from: 'turnlock/testing', run: 16.5 },
  // The handler's format alone is smaller: the middleware carries the part that signs calls.
  'toUIMessageResponse, turnlockMiddleware': { from: 'turnlock/ai-sdk', run: 51 },
  toUIMessageResponse: { from: 'turnlock/ai-sdk', run: 3 },
  toAgUiEvents: { from: 'turnlock/ag-ui', run: 3 },
  mcpTools: { from: 'turnlock/mcp', run: 37.5 },
  openTelemetry: { from: 'turnlock/otel', run: 5 },
  diagnoseTools: { run: 43.5 },
  'every asynchronous operation': {
    names: [
      'runTurn',
      'resumeTurn',
      'cancelTurn',
      'followTurn',
      'runBundle',
      'runChain',
      'runPlanning',
      'openaiChat',
      'anthropic',
      'customModel',
      'defineTool',
      'memoryStore',
      'bundleTool',
      'replicateByModel',
      'replicateByTurn',
    ],
    // The root entry and those of evidence, planning and chains.
    from: './pkg/dist/browser.js',
    first: 40.5,
  },
  everything: { all: true, parts: ['turn'], run: 502 },
}

const PEERS = {
  '`ai` `streamText`, `@ai-sdk/openai-compatible`':
    "import { streamText, tool } from 'ai'; import { createOpenAICompatible } from '@ai-sdk/openai-compatible'; globalThis.x = [streamText, tool, createOpenAICompatible]",
  '`@tanstack/ai` `chat`, `@tanstack/ai-openai`':
    "import { chat, toolDefinition } from '@tanstack/ai'; import { openaiText } from '@tanstack/ai-openai'; globalThis.x = [chat, toolDefinition, openaiText]",
}

/** Operations, and the parts that they load or carry, where these have other names. */
const PARTS = {
  runTurn: 'turn',
  resumeTurn: 'durable',
  runBundle: 'evidence',
  runChain: 'chain',
  runPlanning: 'planning',
  parseToolRequest: 'plans',
  parsePlan: 'plans',
  classifyQuery: 'plans',
  normalizeHistory: 'history',
  diagnoseHistory: 'history',

  diagnoseTools: 'tools',
  canonicalize: 'signature',
  createCallGuard: 'guard',
  decodeStream: 'stream',
  createProxy: 'proxy',
  summarizeReplicates: 'plans',
}

/** All capabilities in one file, for `turnlock/slim` and workerd. */
const WHOLE = 595

const RUST = { page: 228, leptos: 425, worker: 350 }

const gzip = (bytes) => gzipSync(bytes, { level: 9 }).length
const kb = (bytes) => (bytes / KB).toFixed(1)

async function bundled(contents, resolveDir = root) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir: join(root, '.cache/size'),
    absWorkingDir: root,
    logLevel: 'error',
    external: ['react'],
  })
  const weights = new Map(outputFiles.map(({ path, contents }) => [path, gzip(contents)]))
  const outputs = Object.entries(metafile.outputs)
  const name = (path) => resolve(root, path)
  const chunks = new Map(outputs.map(([path, output]) => [name(path), output]))
  /** A chunk, and what it imports. */
  const closure = (path, seen = new Set()) => {
    if (seen.has(path) || !chunks.has(path)) return seen
    seen.add(path)
    for (const { path: next, kind } of chunks.get(path).imports) {
      if (kind === 'import-statement') closure(name(next), seen)
    }
    return seen
  }
  const weigh = (paths) => [...paths].reduce((sum, path) => sum + weights.get(path), 0)
  const entry = name(outputs.find(([, { entryPoint }]) => entryPoint === '<stdin>')[0])
  const holding = (part) =>
    outputs.find(([, { entryPoint }]) =>
      entryPoint?.endsWith(`dist/${part.includes('/') ? part : `core/parts/${part}`}.js`),
    )?.[0]
  const first = closure(entry)
  return {
    first: weigh(first),
    run: (parts) => {
      const loaded = new Set(first)
      for (const part of parts) closure(name(holding(part)), loaded)
      return weigh(loaded)
    },
    reachable: weigh(weights.keys()),
  }
}

const why = process.argv.indexOf('--why')
if (why > 0) {
  const selected = process.argv[why + 1] ?? 'runTurn'
  const part = PARTS[selected] ?? selected
  const built = await compileCore(
    `the part ${part}, with names`,
    part,
    featuresOf(part),
    '.cache/why',
  )
  const folder = join(root, '.cache/why', part)
  await glue('no-modules', built, folder, '--keep-names')
  const wasm = readdirSync(folder).find((file) => file.endsWith('.wasm'))
  // Before wasm-opt, which drops the names and some 10 % of the bytes.
  console.log(report(readFileSync(join(folder, wasm))))
  process.exit(0)
}

let over = false
/** KB by the titles of pages. */
const measured = {}
const within = (bytes, limit) => {
  if (limit === undefined) return `${kb(bytes)}`
  over ||= bytes > limit * KB
  return `${kb(bytes)} of ${limit}${bytes > limit * KB ? ' OVER' : ''}`
}

console.log('KB, gzip -9 | first | run | every chunk')
for (const [title, { names, all, from = 'turnlock', parts = [], first, run }] of Object.entries(
  PAGES,
)) {
  const list = (names ?? title.split(', ')).join(', ')
  const text = `import { ${list} } from '${from}'; globalThis.page = [${list}]`
  const page = await bundled(all ? "export * from 'turnlock'" : text)
  measured[title] = { first: page.first / KB, run: page.run(parts) / KB }
  const weights = [within(page.first, first), within(page.run(parts), run), kb(page.reachable)]
  console.log([title, ...weights].join(' | '))
}
const weight = gzip(readFileSync(join(root, 'pkg/dist/turnlock.wasm')))
console.log(`turnlock.wasm | ${within(weight, WHOLE)}`)
for (const [name, limit] of Object.entries(RUST)) {
  const wasm = join(root, `examples/rust-${name}/dist/rust_${name}_bg.wasm`)
  if (!existsSync(wasm) || !isRelease(`rust-${name}`)) continue
  console.log(`example ${name} in Rust, wasm | ${within(gzip(readFileSync(wasm)), limit)}`)
}
if (process.argv.includes('--peers')) {
  for (const [title, text] of Object.entries(PEERS)) {
    const page = await bundled(text, join(root, 'tests'))
    console.log([title, kb(page.first), kb(page.first), kb(page.reachable)].join(' | '))
  }
}
const [check, write] = ['--check', '--write'].map((flag) => process.argv.includes(flag))
if (check || write) {
  const stale = sizeTables(measured, { write })
  for (const name of stale)
    console.log(`not ok - ${name} is stale: node benches/size/size.mjs --write`)
  if (check && (over || stale.length)) process.exit(1)
}
