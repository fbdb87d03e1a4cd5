// What each step of the build is made from: files and folders, from the root. A step is done again when
// one of them has changed.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup.mjs'

const CARGO = ['Cargo.toml', 'Cargo.lock', '.cargo/config.toml']
const BINDGEN = ['crates/bindgen', 'scripts/build/fresh.mjs', 'scripts/build/tools.mjs']

export const CORE = [
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
export const DRIVER = [
  ...CARGO,
  ...BINDGEN,
  'src',
  'crates/client/Cargo.toml',
  'crates/client/src',
  'tests/client/page',
  'scripts/build/tests.mjs',
]

/** The package, beside its cores. */
export const PACKAGE = [
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
export const PAGE_INPUTS = ['www/src', 'pkg/dist', 'package-lock.json', 'www/tools/bundle.mjs']
