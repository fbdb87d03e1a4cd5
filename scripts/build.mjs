// crate → wasm → glue → npm package. Each step is skipped while its inputs have not changed; steps that
// do not wait for one another run at the same time.
//
//   node scripts/build.mjs             the package and the page
//   node scripts/build.mjs --tests     also what tests need
//   node scripts/build.mjs --bench     what benchmarks need; they name programs: `--bench redis browser`
import { fileURLToPath } from 'node:url'
import { buildCores, coresIn } from './build/cores.mjs'
import { unlessFresh } from './build/fresh.mjs'
import { CORE, PACKAGE, PAGE_INPUTS } from './build/inputs.mjs'
import { buildPackage } from './build/package.mjs'
import { buildDriver, buildTrap } from './build/tests.mjs'
import { PAGE, bundlePage } from '../www/tools/bundle.mjs'
import { browser, needTests, npm, redis } from './setup.mjs'
import { main, once, task } from './tasks.mjs'

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
