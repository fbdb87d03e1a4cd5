// The cores (Rust to wasm): a capability each, so that a page carries what it imports; `whole` has all.
//
//   cargo build → bindgen (no-modules) → wasm-opt → deflate
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { root, target } from '../setup.mjs'
import { command } from '../tasks.mjs'
import { factory } from './glue.mjs'
import { bindgen, cargo, glue, optimize } from './tools.mjs'

/**
 * Bytes that a core can never exceed: 3 GiB, behind which a stack that runs over its beginning traps.
 * The largest history takes 2.6 GiB (`HISTORY_BYTES`, 40 bytes for each byte of it).
 */
export const MAX_MEMORY = 3 * 2 ** 30

export const PARTS = [
  'signature',
  'guard',
  'stream',
  'history',
  'turn',
  'durable',
  'planning',
  'evidence',
  'plans',
  'chain',
  'tools',
  'proxy',
  'whole',
]

/**
 * Parts that are not built for size alone. Summaries of bundles take a third less time than with
 * "z", for 8 % more bytes; histories a sixth less, for 4 KB, by the shell's reader and writer: what
 * the shell calls of the core is not inlined into them.
 */
const FASTER = {
  evidence: 'opt-level="s"',
  plans: 'opt-level="s"',
  history: 'package.turnlock-wasm.opt-level=3',
}

/** The features of a part, where it is not the one of its name. */
const FEATURES = { plans: 'plans,statistics', whole: 'default' }
export const featuresOf = (part) => FEATURES[part] ?? part

/** Compiles the shell with these features: a wasm file with its names. */
export async function compileCore(what, part, features, to) {
  const out = join(root, to)
  mkdirSync(out, { recursive: true })
  // Not a profile of its own, which would compile the macros again.
  const speed = part in FASTER ? ['--config', `profile.release.${FASTER[part]}`] : []
  await cargo(what, [
    'rustc',
    '--release',
    ...speed,
    '--package',
    'turnlock-wasm',
    '--lib',
    '--crate-type',
    'cdylib',
    '--target',
    'wasm32-unknown-unknown',
    '--no-default-features',
    '--locked',
    '--features',
    features,
    '--',
    '-C',
    `link-arg=--max-memory=${MAX_MEMORY}`,
  ])
  const raw = join(out, `${part}.raw.wasm`)
  // The next build replaces cargo's file.
  copyFileSync(join(target, 'wasm32-unknown-unknown', 'release', 'turnlock_wasm.wasm'), raw)
  return raw
}

/** Writes the glue of a compiled core, and its wasm: small, unless it is for tests. */
async function finishCore(raw, part, out, forTests) {
  const folder = join(out, part)
  await glue('no-modules', raw, folder)
  const [wasm, script] = ['.wasm', '.js'].map((extension) =>
    join(
      folder,
      readdirSync(folder).find((file) => file.endsWith(extension)),
    ),
  )
  if (forTests) {
    copyFileSync(wasm, join(out, `${part}.wasm`))
    writeFileSync(join(out, `${part}.deflated`), deflateRawSync(readFileSync(wasm)))
  } else {
    await shrink(wasm, join(out, part))
  }
  writeFileSync(join(out, `${part}.js`), factory(readFileSync(script, 'utf8')))
  rmSync(folder, { recursive: true })
  rmSync(raw)
}

/** Optimizes and deflates. */
async function shrink(wasm, out) {
  // -O3 on top of opt-level "z" or "s" buys speed for little size (see BENCHMARKS.md).
  await optimize('-O3', wasm, `${out}.wasm`)
  await command(await bindgen(), ['deflate', `${out}.wasm`, `${out}.deflated`])
}

/** Builds the cores one after the other. The glue of one is made while cargo compiles the next. */
export async function buildCores(what, to, testFeatures = []) {
  const forTests = testFeatures.length > 0
  // Cargo lets both run at once: one is built for the host, the other with another profile.
  const tasks = [bindgen()]
  for (const part of PARTS) {
    const features = [featuresOf(part), ...testFeatures].join()
    const raw = await compileCore(`${what}: ${part}`, part, features, to)
    tasks.push(finishCore(raw, part, join(root, to), forTests))
  }
  await Promise.all(tasks)
}

/** The files of the cores in a folder that the package is made from. */
export const coresIn = (folder) =>
  PARTS.flatMap((part) => ['wasm', 'js'].map((extension) => `${folder}/${part}.${extension}`))
