// What tests need beside the package: a copy of it whose cores can be told to trap, and the Rust driver
// for the scripts of a page.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, target } from '../setup.mjs'
import { buildCores, coresIn } from './cores.mjs'
import { unlessFresh } from './fresh.mjs'
import { CORE, DRIVER } from './inputs.mjs'
import { writeCores } from './package.mjs'
import { cargo, glue } from './tools.mjs'

const TRAP = '.cache/trap/core'

/** Builds the copy of the package. The package has to be there. */
export async function buildTrap() {
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
export async function buildDriver() {
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
