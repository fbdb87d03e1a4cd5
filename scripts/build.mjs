// crate → wasm → glue → npm package. Each step is skipped while its inputs have not changed; steps that
// do not wait for one another run at the same time.
//
//   node scripts/build.mjs             the package and the page
//   node scripts/build.mjs --tests     also what tests need
//   node scripts/build.mjs --bench     what benchmarks need; they name programs: `--bench redis browser`
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildCores, coresIn } from './build/cores.mjs'
import { unlessFresh } from './build/fresh.mjs'
import { buildPackage, writeCores } from './build/package.mjs'
import { cargo, glue } from './build/tools.mjs'
import { PAGE, bundlePage } from '../www/tools/bundle.mjs'
import { browser, needTests, npm, redis, root, target } from './setup.mjs'
import { main, once, task } from './tasks.mjs'

// What each step is made from: files and folders, from the root.
const CARGO = ['Cargo.toml', 'Cargo.lock', '.cargo/config.toml']
const BINDGEN = ['crates/bindgen', 'scripts/build/fresh.mjs', 'scripts/build/tools.mjs']

const CORE = [
  ...CARGO,
  ...BINDGEN,
  'src',
  'crates/wasm/Cargo.toml',
  'crates/wasm/src',
  'scripts/build/cores.mjs',
  'scripts/build/glue.mjs',
  // It names the exact version of wasm-opt.
  'package.json',
]

/** The Rust driver for the scripts of a page. */
const DRIVER = [
  ...CARGO,
  ...BINDGEN,
  'src',
  'crates/client/Cargo.toml',
  'crates/client/src',
  'tests/client/page',
  'scripts/build.mjs',
]

/** The package, beside its cores. */
const PACKAGE = [
  'pkg/src',
  'pkg/tsconfig.json',
  'pkg/tsconfig.cli.json',
  'pkg/package.json',
  'README.md',
  'LICENSE',
  'THIRD_PARTY_NOTICES',
  'docs',
  // `turnlock serve` has the page.
  'www/index.html',
  'www/src',
  ...readdirSync(join(root, 'www'))
    .filter((name) => name.endsWith('.css'))
    .map((name) => `www/${name}`),
  'scripts/build',
  'scripts/build.mjs',
  'www/tools/bundle.mjs',
  // It names the exact versions of what is bundled.
  'package.json',
]

/** The page of the repository. */
const PAGE_INPUTS = ['www/src', 'pkg/dist', 'package-lock.json', 'www/tools/bundle.mjs']

/** Builds the package and the page where something has changed. */
export const build = once(async () => {
  const cores = coresIn('pkg/wasm')
  const coresBuilt = unlessFresh('wasm', CORE, cores, () =>
    buildCores('the core (Rust to wasm)', 'pkg/wasm'),
  )
  await Promise.all([npm(), coresBuilt])
  const outputs = ['index.js', 'cli.js', 'page/main.js'].map((file) => `pkg/dist/${file}`)
  await unlessFresh('package', [...cores, ...PACKAGE], outputs, () =>
    task('the npm package', buildPackage),
  )
  await unlessFresh('www', PAGE_INPUTS, [`${PAGE}/main.js`], () => task('the page', bundlePage))
})

// What tests need beside the package: a copy of it whose cores can be told to trap, and the Rust driver
// for the scripts of a page.
const TRAP = '.cache/trap/core'

/** Builds the copy of the package. The package has to be there. */
async function buildTrap() {
  const cores = coresIn(TRAP)
  await unlessFresh('trap-cores', CORE, cores, () =>
    buildCores('the cores that trap', TRAP, ['trap-test']),
  )
  await unlessFresh('trap', [...cores, 'pkg/dist'], ['.cache/trap/dist/index.js'], writeTrap)
}

/** The package around cores that can be told to trap. */
function writeTrap() {
  const dist = join(root, '.cache/trap/dist')
  rmSync(dist, { recursive: true, force: true })
  cpSync(join(root, 'pkg/dist'), dist, { recursive: true })
  writeCores(TRAP, dist)
}

/** Builds the Rust driver: without a release's optimization. */
async function buildDriver() {
  const outputs = ['turnlock_page.js', 'turnlock_page_bg.wasm'].map((file) => `.cache/page/${file}`)
  await unlessFresh('page', DRIVER, outputs, compileDriver)
}

async function compileDriver() {
  const wasm = ['--target', 'wasm32-unknown-unknown', '--locked']
  await cargo('the Rust driver for pages of tests', [
    'build',
    '--package',
    'turnlock-page',
    ...wasm,
  ])
  const built = join(target, 'wasm32-unknown-unknown/debug/turnlock_page.wasm')
  await glue('web', built, join(root, '.cache/page'), '--keep-names')
}

/** Builds what tests need, the package too. */
export async function buildForTests() {
  await Promise.all([build().then(buildTrap), buildDriver()])
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const has = (flag) => process.argv.includes(flag)
  // Benchmarks read packages of the tests, and name what else they need: `--bench redis browser`.
  if (has('--tests') || has('--bench')) needTests()
  const needs = Object.entries({ browser, redis }).filter(([name]) => has(name))
  await main(() =>
    Promise.all([has('--tests') ? buildForTests() : build(), ...needs.map(([, need]) => need())]),
  )
}
