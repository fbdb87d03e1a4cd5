// npm test: set up, build, and every test in every runtime. Ends with `N passed, N failed`.
//
// A step is a command; a runner's own counts are read from its output, any other command
// counts as one check. Name steps on the command line to run only those.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { report } from './failures.mjs'
import { root, setup } from './setup.mjs'

const found = setup({ browser: true, redis: true, hack: true, pack: true })
const { build } = await import('./build.mjs')
await build(found, { trap: true, page: true })

const node = process.execPath
const wasmTests = {
  CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: join(found.bindgen, 'wasm-bindgen-test-runner'),
  CHROMEDRIVER: found.chromedriver,
}
const nodeTests = (folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.test.mjs') && !file.startsWith('rust-'))
    .map((file) => join(folder, file))
/** The examples in Rust: each is built, then tested. */
const RUST = {
  page: 'tests/e2e/rust-page.test.mjs',
  worker: 'tests/server/rust-worker.test.mjs',
}
const RUST_ROOTS = Object.keys(RUST).map((name) => `examples/rust-${name}/src/lib.rs`)
// A server that never answers fails its test, not the day.
const tap = ['--test', '--test-reporter=tap', '--test-timeout=300000']
const stores = (...names) => names.map((name) => `tests/stores/${name}.test.mjs`)
const STORES = {
  node: stores('memory', 'faulty', 'redis'),
  workerd: stores('durable-object'),
  chromium: stores('indexeddb'),
  rust: stores('rust', 'rust-turns'),
}
const wasm = ['--target', 'wasm32-unknown-unknown']
const client = ['--features', 'client,jsonschema', '--locked']
const strict = ['--', '-D', 'warnings']

// No `--no-dev-deps`, which would rewrite Cargo.toml while other steps read it: dev-dependencies
// lend no features to a library that is checked alone. `default` is empty; the two features that
// are for tests alone go as one.
const powerset = [
  ...['hack', 'clippy', '--lib', '--locked', '--feature-powerset', '--exclude-features', 'default'],
  ...['--group-features', 'planted,trap-test'],
]

/** Name → command, arguments, environment. */
const STEPS = {
  'format (Rust)': ['cargo', ['fmt', '--all', '--check']],
  'format (Rust examples)': ['rustfmt', ['--check', '--edition', '2024', ...RUST_ROOTS]],
  'format (TypeScript)': [node, ['node_modules/prettier/bin/prettier.cjs', '--check', '.']],
  'lint (native)': ['cargo', ['clippy', '--all-targets', '--locked', ...strict]],
  'lint (wasm)': ['cargo', ['clippy', '--all-targets', ...wasm, '--locked', ...strict]],
  'lint (client)': [
    'cargo',
    ['clippy', '--workspace', '--all-targets', ...wasm, ...client, ...strict],
  ],
  'features (native)': [found.hack, [...powerset, ...strict]],
  'features (wasm)': [found.hack, [...powerset, ...wasm, ...strict]],
  'purity and dependencies': [node, ['scripts/purity.mjs']],
  documentation: [
    'cargo',
    ['doc', '--no-deps', '--document-private-items', '--all-features', '--locked'],
    { RUSTDOCFLAGS: '-D warnings' },
  ],
  'documentation (wasm)': [
    'cargo',
    ['doc', '--no-deps', '--document-private-items', '--all-features', ...wasm, '--locked'],
    { RUSTDOCFLAGS: '-D warnings' },
  ],
  'documentation (published)': [
    'cargo',
    ['doc', '--no-deps', '--locked'],
    { RUSTDOCFLAGS: '-D warnings' },
  ],
  crate: [node, ['scripts/crate.mjs']],
  'example page in Rust (build)': [node, ['examples/rust-page/build.mjs']],
  'example worker in Rust (build)': [node, ['examples/rust-worker/build.mjs']],
  size: [node, ['scripts/size.mjs', '--check']],
  'reports of failures': [node, [...tap, 'scripts/failures.test.mjs']],
  'core (native)': ['cargo', ['test', '--locked']],
  'planted bugs': [
    'cargo',
    ['test', '--locked', '--features', 'planted', '--test', 'durable', 'planted'],
  ],
  'example (native)': [node, [...tap, 'tests/native-example.test.mjs']],
  'shell (Chromium)': ['cargo', ['test', '--test', 'browser', ...wasm, '--locked'], wasmTests],
  'package (Node)': [node, ['--test', '--test-reporter=tap', ...nodeTests('pkg/test')]],
  provider: [node, ['--test', '--test-reporter=tap', ...nodeTests('tests/provider')]],
  'scenarios (Node)': [node, ['tests/scenarios/run.mjs', 'node']],
  'scenarios (workerd)': [node, ['tests/scenarios/run.mjs', 'workerd']],
  'scenarios (Chromium)': [node, ['tests/scenarios/run.mjs', 'chromium']],
  'bundles (Node)': [node, ['tests/bundles/run.mjs', 'node']],
  'bundles (workerd)': [node, ['tests/bundles/run.mjs', 'workerd']],
  'bundles (Chromium)': [node, ['tests/bundles/run.mjs', 'chromium']],
  'requests (Node)': [node, ['tests/requests/run.mjs', 'node']],
  'requests (workerd)': [node, ['tests/requests/run.mjs', 'workerd']],
  'requests (Chromium)': [node, ['tests/requests/run.mjs', 'chromium']],
  'chains (Node)': [node, ['tests/chain/run.mjs', 'node']],
  'chains (workerd)': [node, ['tests/chain/run.mjs', 'workerd']],
  'chains (Chromium)': [node, ['tests/chain/run.mjs', 'chromium']],
  'stores (Node)': [node, [...tap, ...STORES.node]],
  'stores (workerd)': [node, [...tap, ...STORES.workerd]],
  'stores (Chromium)': [node, [...tap, ...STORES.chromium]],
  'Rust driver (native)': ['cargo', ['test', '--lib', ...client, 'client::']],
  'Rust driver (documentation)': ['cargo', ['test', '--doc', ...client]],
  'Rust driver (Chromium)': [node, ['tests/client/run.mjs']],
  'stores (Rust, Chromium)': [
    'cargo',
    ['test', '--test', 'client_stores', ...wasm, ...client],
    wasmTests,
  ],
  'stores (Rust and TypeScript, Chromium)': [node, [...tap, ...STORES.rust]],
  'server (Node)': [node, ['tests/server/run.mjs', 'node']],
  'server (workerd)': [node, ['tests/server/run.mjs', 'workerd']],
  'server (Deno)': [node, ['tests/server/run.mjs', 'deno']],
  'server (Bun)': [node, ['tests/server/run.mjs', 'bun']],
  'example worker in Rust (workerd)': [node, [...tap, RUST.worker]],
  'kills (Node)': [node, [...tap, 'tests/kills/kills.test.mjs']],
  'restarts (workerd)': [node, [...tap, 'tests/kills/restarts.test.mjs']],
  'tabs (Chromium)': [node, [...tap, 'tests/kills/tabs.test.mjs']],
  'memory of many turns': [node, [...tap, 'tests/soak.test.mjs']],
  'page (Chromium)': [node, ['--test', '--test-reporter=tap', ...nodeTests('tests/e2e')]],
  'example page in Rust (Chromium)': [node, [...tap, RUST.page]],
}

/** What a runner says of itself: cargo's, node's and our own closing lines. */
function countsIn(output) {
  const sum = (pattern) => [...output.matchAll(pattern)].reduce((all, [, n]) => all + Number(n), 0)
  const cargo = /^test result: .*?(\d+) passed; (\d+) failed/gm
  const own = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1)
  if (own) return { passed: Number(own[1]), failed: Number(own[2]) }
  const lines = [...output.matchAll(cargo)]
  if (lines.length) {
    return lines.reduce(
      (all, [, passed, failed]) => ({
        passed: all.passed + Number(passed),
        failed: all.failed + Number(failed),
      }),
      { passed: 0, failed: 0 },
    )
  }
  if (/^# tests \d+$/m.test(output)) {
    return { passed: sum(/^# pass (\d+)$/gm), failed: sum(/^# (?:fail|cancelled) (\d+)$/gm) }
  }
  return undefined
}

function run([command, args, env = {}]) {
  return new Promise((resolve) => {
    const options = {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }
    const child = spawn(command, args, options)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output += text))
    }
    child.on('error', (error) => resolve({ code: 1, output: String(error) }))
    child.on('close', (code) => resolve({ code, output }))
  })
}

const wanted = process.argv.slice(2)
let [passed, failed] = [0, 0]
for (const [name, step] of Object.entries(STEPS)) {
  if (wanted.length && !wanted.some((word) => name.includes(word))) continue
  const started = Date.now()
  const { code, output } = await run(step)
  const counted = countsIn(output)
  const counts = counted ?? { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 }
  // A runner that fails without a failed test, or that ran nothing, has failed.
  if (counts.failed === 0 && (code !== 0 || counts.passed === 0)) counts.failed = 1
  passed += counts.passed
  failed += counts.failed
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  console.log(
    `${counts.failed ? 'FAILED' : 'ok'}  ${name}: ${counts.passed} passed, ${counts.failed} failed (${seconds} s)`,
  )
  if (counts.failed) console.log(report(output))
}
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)
