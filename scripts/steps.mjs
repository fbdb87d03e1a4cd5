// The steps of `npm test`: a command each, in the part that `npm test -- <part>` runs.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  browser,
  firefox,
  lintEnv,
  linters,
  npm,
  postgres,
  redis,
  root,
  rust,
  target,
} from './setup.mjs'
import { bindgen } from './build/tools.mjs'
import { build, buildForTests } from './build.mjs'
import { CRATES, makeDocs } from '../docs/tools/site.mjs'
import { inChromium } from '../tests/client/in-chromium.mjs'
import { compileNative } from '../tests/core/run.mjs'

const node = process.execPath
// A server that never answers fails its file, not the day. Threads that collect garbage beside a test
// cost more than they save where other steps have the second processor.
export const tap = [
  '--single-threaded-gc',
  `--import=${pathToFileURL(join(root, 'tests/uncaught.mjs'))}`,
  '--test',
  '--test-reporter=tap',
  '--test-timeout=900000',
]
const locked = '--locked'
const wasm = ['--target', 'wasm32-unknown-unknown']
const unoptimized = ['--config', '.cargo/unoptimized.toml']
/** Tests of the Rust driver, for the web or natively. */
const client = ['--package', 'turnlock-client', '--features', 'jsonschema', locked]
const native = [...unoptimized, ...client, '--features', 'tokio']
/** The packages of the project, without those of its build and tests. */
const packages = ['turnlock', 'turnlock-client', 'turnlock-wasm'].flatMap((name) => [
  '--package',
  name,
])
const strict = ['--', '-D', 'warnings']
/** What `cargo fmt` does not find: packages of their own, and modules that a macro declares. */
const UNFOUND = [
  ...['page/src/lib.rs', 'leptos/src/main.rs', 'worker/src/lib.rs'].map(
    (file) => `examples/rust-${file}`,
  ),
  ...readdirSync(join(root, 'src/provider'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `src/provider/${entry.name}/mod.rs`),
]

const testsIn = (folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.test.mjs') && !file.startsWith('rust-'))
    .map((file) => join(folder, file))
/** Started by its own command, and what else it does. */
const inRust = (folder, name) =>
  ['examples', folder].map((from) => `tests/${from}/rust-${name}.test.mjs`)
const adapters = testsIn('tests/adapters')
const IN_CHROMIUM = ['use-chat', 'assistant-ui'].map((name) =>
  join('tests/adapters', `${name}.test.mjs`),
)
const stores = (...names) => names.map((name) => `tests/stores/${name}.test.mjs`)

/** A command of cargo that compiles into the project's target directory: these wait for one another. */
const cargo = (name, args, more) => ({ name, lane: 'cargo', args: ['cargo', ...args], ...more })
/** A command of cargo that only reads code: these wait for one another, and for no other. */
const lint = (name, args, more) => ({
  ...cargo(name, args, more),
  lane: 'lint',
  env: { CARGO_TARGET_DIR: lintEnv.CARGO_TARGET_DIR, ...more.env },
})
const clippy = (name, args) => lint(name, ['clippy', ...args], { needs: [linters] })
/** A script or a test of Node, and what compiles into a directory of its own: beside cargo. */
const script = (name, args, more) => ({ name, lane: 'node', args: [node, ...args], ...more })
const tests = (name, files, more) => script(name, [...tap, ...files], { built: build, ...more })
/** Every combination of features that a user may have. */
const features = (name, kind, ...target) =>
  script(`features (${name})`, ['tests/repository/features.mjs', kind, ...target], {
    lane: 'lint',
    needs: [linters],
  })
const doc = (name, args, env) =>
  lint(name, ['doc', '--no-deps', locked, ...args], {
    env: { RUSTDOCFLAGS: '-D warnings', ...env },
  })
/** Tests in Rust that run in Chromium. */
const chromium = (name, args) =>
  cargo(name, ['test', ...inChromium, ...wasm, ...args], {
    needs: [browser],
    built: bindgen,
  })

/** The tables of a folder of tests, played in each runtime. */
const players = (name, folder) =>
  ['Node', 'workerd', 'Chromium'].map((runtime) =>
    script(`${name} (${runtime})`, [`tests/${folder}/run.mjs`, runtime.toLowerCase()], {
      built: build,
      ...(runtime === 'Chromium' && { needs: [browser] }),
      ...(runtime === 'Node' && { alone: true }),
    }),
  )

const PAGE = 'example page in Rust (build)'
const LEPTOS = 'example in Leptos (build)'
const WORKER = 'example worker in Rust (build)'
/** A release of these takes minutes; `npm run release:check` checks what they weigh. */
const QUICK = { TURNLOCK_EXAMPLES: 'quick' }

/** What cannot run before something of another step is there. */
const built = { built: buildForTests }

export const PARTS = {
  style: [
    cargo('format (Rust)', ['fmt', '--all', '--check'], { needs: [linters] }),
    cargo('format (Rust examples, providers)', [], {
      needs: [linters],
      args: ['rustfmt', '--check', '--edition', '2024', ...UNFOUND],
    }),
    script('format (TypeScript)', [
      'node_modules/prettier/bin/prettier.cjs',
      '--check',
      '.',
      '--cache',
      '--cache-location',
      '.cache/prettier',
    ]),
    // As tests are compiled, so that the core is not compiled again.
    cargo('generated files', [
      'run',
      '--profile',
      'test',
      '--package',
      'turnlock-codegen',
      locked,
      '--',
      '--check',
    ]),
    script('dependencies', ['tests/repository/dependencies.mjs']),
    script(
      'imports',
      [
        'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
        '--config',
        '.dependency-cruiser.cjs',
        'pkg/src',
        'www/src',
      ],
      { built: build },
    ),
    script('licences of others', ['pkg/tools/notices.mjs', '--check']),
    script('nothing outside is read', ['tests/repository/outside.mjs']),
    script('links and addresses', ['docs/tools/links.mjs', '--check'], { built: build }),
    script('rules of the redactor', ['pkg/tools/redactor/rules.mjs', '--check']),
    script('table of wires', ['docs/tools/wires.mjs', '--check'], { built: build }),
    script('files of the guides', ['docs/tools/guides.mjs', '--check']),
    script('table of the README', ['benches/compare.mjs', '--check'], { built: build }),
    script('threats and their tests', ['docs/tools/threats.mjs']),
    script('scripts', [...tap, ...testsIn('tests/repository')], { needs: [browser] }),
  ],
  lint: [
    clippy('lint (native)', [
      '--workspace',
      '--all-targets',
      '--features',
      'turnlock-client/tokio',
      locked,
      ...strict,
    ]),
    clippy('lint (wasm)', [
      '--workspace',
      '--exclude',
      'turnlock-bindgen',
      '--all-targets',
      '--features',
      'turnlock-client/jsonschema',
      ...wasm,
      locked,
      ...strict,
    ]),
    features('native', 'crates'),
    features('wasm', 'crates', ...wasm),
    features('shell', 'shell', ...wasm),
    doc('documentation', [...packages, '--document-private-items', '--all-features']),
    doc('documentation (wasm)', [
      ...packages,
      '--document-private-items',
      '--all-features',
      ...wasm,
    ]),
    // In a place of its own: the pages have the names of those with private items, and would replace
    // them, which then are written again in each run.
    doc('documentation (published)', CRATES, { CARGO_TARGET_DIR: join(target, 'published') }),
    script('crate', ['tests/repository/crate.mjs']),
    script('additions', ['tests/planted/howto.mjs'], { needs: [linters] }),
  ],
  core: [
    script('core (native)', ['tests/core/run.mjs'], { long: true, begun: compileNative }),
    cargo('core (documentation)', ['test', '--doc', locked]),
    cargo('generator', ['test', '--package', 'turnlock-codegen', locked]),
    script('planted bugs', ['tests/planted/run.mjs']),
    tests('example (native)', ['tests/examples/rust-blocking.test.mjs'], { lane: 'cargo' }),
    chromium('shell (Chromium)', [...unoptimized, '--package', 'turnlock-wasm', locked]),
  ],
  // Begun before the package: it mostly waits for browsers, while others compute.
  page: [
    tests('page (Chromium, Firefox)', testsIn('tests/e2e'), {
      long: true,
      needs: [browser, firefox],
      built: makeDocs,
    }),
  ],
  package: [
    tests('package (Node)', testsIn('pkg/test'), {
      ...built,
      needs: [browser],
      alone: true,
      long: true,
    }),
    tests('provider', testsIn('tests/provider'), { alone: true }),
    tests('recorder', testsIn('tests/record')),
    tests('proxy', testsIn('tests/proxy'), { alone: true }),
    tests('properties', testsIn('tests/properties'), {
      long: true,
      needs: [redis, postgres, browser],
    }),
    tests('bundlers', testsIn('tests/bundlers'), { needs: [browser] }),
    tests('chats (Chromium)', testsIn('tests/chat'), { needs: [browser] }),
    tests('consumers', testsIn('tests/consumers'), {
      ...built,
      long: true,
      needs: [browser, firefox],
    }),
  ],
  adapters: [
    tests(
      'adapters (Node)',
      adapters.filter((file) => !IN_CHROMIUM.includes(file)),
    ),
    tests('adapters (Chromium)', IN_CHROMIUM, { needs: [browser] }),
  ],
  players: [
    ...players('scenarios', 'scenarios'),
    ...players('bundles', 'bundles'),
    ...players('requests', 'requests'),
    ...players('chains', 'chain'),
    ...players('reports', 'reports'),
    ...players('properties of agreement', 'properties/agreement'),
  ],
  stores: [
    tests('stores (Node)', stores('memory', 'faulty', 'redis', 'postgres', 'guards'), {
      long: true,
      needs: [redis, postgres],
    }),
    tests('stores (workerd)', stores('durable-object', 'd1', 'costs')),
    tests('Durable Objects and agents (workerd)', testsIn('tests/cloudflare')),
    tests('stores (Chromium)', stores('indexeddb'), { needs: [browser] }),
    tests('stores (Firefox)', stores('indexeddb-firefox'), { needs: [firefox] }),
    tests('stores (Rust and TypeScript, Chromium)', stores('rust', 'rust-turns'), {
      ...built,
      long: true,
      needs: [browser],
    }),
  ],
  driver: [
    cargo('Rust driver (native)', ['test', '--lib', '--test', 'client_stores', ...native]),
    cargo('Rust driver (documentation)', ['test', '--doc', ...native]),
    script('Rust driver (tokio)', ['tests/client/run.mjs', 'native'], { lane: 'cargo' }),
    script('Rust driver (Chromium)', ['tests/client/run.mjs'], {
      lane: 'cargo',
      long: true,
      needs: [browser],
      built: bindgen,
    }),
    chromium('stores (Rust, Chromium)', [
      '--config',
      '.cargo/jsonschema.toml',
      '--test',
      'client_stores',
      ...client,
    ]),
  ],
  server: [
    ...['Node', 'workerd', 'Deno', 'Bun'].map((runtime) =>
      script(`server (${runtime})`, ['tests/server/run.mjs', runtime.toLowerCase()], {
        built: build,
        needs: [redis],
        long: ['Node', 'workerd'].includes(runtime),
      }),
    ),
  ],
  durable: [
    tests('kills (Node)', ['tests/kills/kills.test.mjs'], { long: true, needs: [redis] }),
    tests('restarts (workerd)', ['tests/kills/restarts.test.mjs']),
    tests('tabs (Chromium)', ['tests/kills/tabs.test.mjs'], { needs: [browser] }),
    tests('memory of many turns', ['tests/kills/soak.test.mjs'], { needs: [redis] }),
  ],
  examples: [
    tests('examples (npm start)', testsIn('tests/examples'), {
      long: true,
      needs: [browser, redis],
    }),
    script(PAGE, ['examples/build.mjs', 'rust-page'], { lane: 'cargo' }),
    script(LEPTOS, ['examples/build.mjs', 'rust-leptos'], { lane: 'cargo', env: QUICK }),
    script(WORKER, ['examples/rust-worker/build.mjs'], { lane: 'cargo', env: QUICK }),
    tests('example page in Rust (Chromium)', inRust('e2e', 'page'), {
      needs: [browser],
      after: [PAGE],
    }),
    tests('example in Leptos (Chromium)', ['tests/examples/rust-leptos.test.mjs'], {
      needs: [browser],
      after: [LEPTOS],
      env: QUICK,
    }),
    tests('example worker in Rust (workerd)', inRust('server', 'worker'), {
      after: [WORKER],
      env: QUICK,
    }),
    tests('example server in Rust', inRust('server', 'server'), { lane: 'cargo' }),
  ],
  size: [
    script('size', ['benches/size/size.mjs', '--check'], {
      built: build,
      after: [PAGE],
    }),
  ],
}

/** `npm test -- quick`: the checks that changes break most often. */
export const QUICK_STEPS = [
  'format (Rust)',
  'format (Rust examples, providers)',
  'format (TypeScript)',
  'generated files',
  'dependencies',
  'imports',
  'nothing outside is read',
  'links and addresses',
  'files of the guides',
  'table of wires',
  'threats and their tests',
  'generator',
  'scenarios (Node)',
  'requests (Node)',
]

const ALL = Object.entries(PARTS).flatMap(([part, steps]) => steps.map((one) => ({ part, ...one })))

/**
 * The steps of these parts, or whose names hold one of these words, and those that they come after;
 * no word: all. What others come after is first, then what takes a minute or more, so that no lane
 * ends with it, then what comes after others. Throws for a word that matches no step.
 */
export function choose(words) {
  const matches = (step) => (word) => {
    if (word === 'quick') return QUICK_STEPS.includes(step.name)
    return Object.hasOwn(PARTS, word) ? step.part === word : step.name.includes(word)
  }
  const unknown = words.filter((word) => !ALL.some((step) => matches(step)(word)))
  if (unknown.length) throw new Error(`no step is called ${unknown.join(', ')}`)
  const wanted = words.length ? ALL.filter((step) => words.some(matches(step))) : ALL
  const before = new Set(wanted.flatMap((step) => step.after ?? []))
  const chosen = ALL.filter((step) => wanted.includes(step) || before.has(step.name))
  const place = (step) => (before.has(step.name) ? 0 : step.long ? 1 : step.after ? 2 : 3)
  return chosen.toSorted((a, b) => place(a) - place(b))
}

/**
 * Installs and builds what these steps need, side by side. What is `begun` is not waited for: its step
 * does the rest.
 */
export function prepare(steps) {
  const all = (key) => [...new Set(steps.flatMap((step) => step[key] ?? []))].map((one) => one())
  const waited = [rust(), npm(), ...all('needs'), ...all('built')]
  all('begun')
  return Promise.all(waited)
}
