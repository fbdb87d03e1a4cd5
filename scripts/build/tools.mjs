// The programs of the build: cargo, the generator of the bindings, wasm-opt.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cargoEnv, compiling, npm, root, rust, target } from '../setup.mjs'
import { command, once, task } from '../tasks.mjs'
import { unlessFresh } from './fresh.mjs'

/** Runs cargo as a task. */
export async function cargo(name, args, options = {}) {
  await rust()
  const defaults = { cwd: root, env: cargoEnv }
  await task(name, (report) =>
    command('cargo', args, { ...defaults, line: compiling(report), ...options }),
  )
}

/** The generator of the glue (`crates/bindgen`): its path. */
export const bindgen = once(async () => {
  const program = '.cache/tools/bindgen'
  await unlessFresh('bindgen', ['crates/bindgen', 'Cargo.lock'], [program], async () => {
    // Unoptimized, zopfli would deflate the cores for minutes. Not in Cargo.toml, which is published.
    const fast = ['--config', 'profile.dev.package.zopfli.opt-level=3']
    const args = ['build', '--package', 'turnlock-bindgen', '--locked', ...fast]
    await cargo('the generator of the bindings', args)
    mkdirSync(join(root, '.cache', 'tools'), { recursive: true })
    const name = process.platform === 'win32' ? 'bindgen.exe' : 'bindgen'
    copyFileSync(join(target, 'debug', name), join(root, program))
  })
  return join(root, program)
})

/** Writes the glue of a wasm file: `kind` is `web`, `no-modules` or `tests`. */
export const glue = async (kind, wasm, folder, ...flags) =>
  command(await bindgen(), [kind, wasm, folder, ...flags])

/**
 * Runs wasm-opt, with the features that rustc enables by default. It may assume that nothing lies at
 * addresses below 1024: rustc puts the stack first, of which this is the end, and data behind it.
 */
export async function optimize(level, from, to) {
  await npm()
  await command(process.execPath, [
    join(root, 'node_modules', 'binaryen', 'bin', 'wasm-opt'),
    from,
    level,
    // Zeros in the data deflate better than the hundreds of segments that would leave them out.
    // No engine reads the section of features: 0.1 KB of each part.
    '--low-memory-unused',
    '--skip-pass=memory-packing',
    '--strip-target-features',
    '--enable-bulk-memory',
    '--enable-nontrapping-float-to-int',
    '--enable-sign-ext',
    '--enable-mutable-globals',
    '--enable-reference-types',
    '--enable-multivalue',
    '-o',
    to,
  ])
}
