// Builds the examples in Rust, each into its `dist`: crate → wasm → glue → wasm-opt. Each is a
// package with its own lock file; they share the root's target directory, and with it what is
// compiled of their dependencies. Skipped while nothing has changed.
//
//   node examples/build.mjs rust-page    a page: its `dist` is for any static server
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stampOf, unlessFresh } from '../scripts/build/fresh.mjs'
import { cargo, glue, optimize } from '../scripts/build/tools.mjs'
import { root, target } from '../scripts/setup.mjs'
import { main } from '../scripts/tasks.mjs'

/** What goes into every example. */
const CRATE = [
  'Cargo.toml',
  'Cargo.lock',
  '.cargo/config.toml',
  'package-lock.json',
  'src',
  'crates/bindgen',
  'crates/client/Cargo.toml',
  'crates/client/src',
  'scripts/build/fresh.mjs',
  'scripts/build/tools.mjs',
  'examples/build.mjs',
]

/** The same bytes in every folder: panics would name the path of this one. */
const FLAGS = JSON.stringify([`--remap-path-prefix=${root}=.`])
const SAME = ['--config', `target.wasm32-unknown-unknown.rustflags = ${FLAGS}`]

/** How cargo builds a release, and what takes a third of the time, for tests of what it does. */
const RELEASE = { profile: 'release', args: ['--release', ...SAME], rounds: ['-Oz', '-Oz'] }
const QUICK = { profile: 'debug', args: [], rounds: [] }

const stamped = (name, { profile }) => `${name}-${profile}`
/** Whether what is in `dist` of an example is its release, whose size counts. */
export const isRelease = (name) => existsSync(stampOf(stamped(name, RELEASE)))

/**
 * Builds `examples/<name>`: its release, or with TURNLOCK_EXAMPLES=quick as fast as can be. `own` are
 * its files beside the crate; `finish` gets the folder of the result, with glue and wasm in it.
 */
export async function buildExample(name, own, finish) {
  const folder = join('examples', name)
  const [dist, crate] = [join(root, folder, 'dist'), name.replaceAll('-', '_')]
  const inputs = ['Cargo.toml', 'Cargo.lock', 'src', 'build.mjs', ...own]
  const out = [join(folder, 'dist', `${crate}_bg.wasm`)]
  const [kind, other] =
    process.env.TURNLOCK_EXAMPLES === 'quick' ? [QUICK, RELEASE] : [RELEASE, QUICK]
  const from = [...CRATE, ...inputs.map((file) => join(folder, file))]
  await unlessFresh(stamped(name, kind), from, out, async () => {
    rmSync(stampOf(stamped(name, other)), { force: true })
    rmSync(dist, { recursive: true, force: true })
    const wasm = ['--locked', '--target', 'wasm32-unknown-unknown', ...kind.args]
    await cargo(`examples/${name}`, ['build', ...wasm], { cwd: join(root, folder) })
    await glue('web', join(target, 'wasm32-unknown-unknown', kind.profile, `${crate}.wasm`), dist)
    const made = join(dist, `${crate}_bg.wasm`)
    // The second time it finds what the first has made possible.
    for (const level of kind.rounds) await optimize(level, made, made)
    await finish(dist)
  })
  return dist
}

/** What a page has beside its wasm and the glue. */
const PAGE = ['index.html', 'style.css', 'start.js']

/** Builds `examples/<name>`, a page. */
export const buildPage = (name) =>
  buildExample(name, PAGE, (dist) => {
    for (const file of PAGE) cpSync(join(root, 'examples', name, file), join(dist, file))
  })

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main(() => buildPage(process.argv[2]))
}
