// Bugs on purpose: all of `tests/planted/bugs.mjs` are put into a copy of the core, each behind a
// switch, and the simulation of durable turns must find each one.
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bugs } from '../tests/planted/bugs.mjs'
import { root } from './setup.mjs'

const PLANTED = join(root, '.cache', 'planted')
const COPY = join(PLANTED, 'turnlock')
/** What the test binary `durable` is built from, with the other members of the workspace. */
const PARTS = [
  ...['Cargo.toml', 'Cargo.lock', 'src', 'crates', 'tests/client/page'],
  ...['tests/common', 'tests/durable', 'tests/durable.rs'],
]

/** A text with a bug in it. A bug whose place is not there exactly once has lost its rule. */
export function plant(text, { name, file, find, replace }) {
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`"${name}": its text occurs ${count} times in ${file}: ${find}`)
  return text.replace(find, () => replace)
}

/** Makes the copy anew, with every bug in it. */
function copy() {
  rmSync(COPY, { recursive: true, force: true })
  for (const part of PARTS) {
    mkdirSync(dirname(join(COPY, part)), { recursive: true })
    cpSync(join(root, part), join(COPY, part), { recursive: true })
  }
  const own = (name) => readFileSync(join(root, 'tests', 'planted', name), 'utf8')
  for (const bug of bugs) {
    const file = join(COPY, bug.file)
    writeFileSync(file, plant(readFileSync(file, 'utf8'), bug))
  }
  writeFileSync(join(COPY, 'src', 'planted.rs'), own('switch.rs'))
  appendFileSync(join(COPY, 'src', 'lib.rs'), '\npub mod planted;\n')
  const names = bugs.map(({ name }) => `    ${JSON.stringify(name)},\n`).join('')
  const list = `\nconst INSIDE: &[&str] = &[\n${names}];\n`
  appendFileSync(join(COPY, 'tests', 'durable', 'planted.rs'), list + own('found.rs'))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  copy()
  // Of its own: binaries of the copy have the names of the project's.
  const env = { ...process.env, CARGO_TARGET_DIR: join(PLANTED, 'target') }
  const args = ['test', '--locked', '--test', 'durable', 'planted_in_the_core', '--', '--nocapture']
  const { status } = spawnSync('cargo', args, { cwd: COPY, env, stdio: 'inherit' })
  process.exit(status ?? 1)
}
