// Bugs on purpose: all of `tests/planted/bugs.mjs` are put into a copy of the core, each behind a
// switch. The simulation of durable turns must find each of `bugs`, the tests of kept fallbacks and of
// requests that begin alike each of `others`.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bugs, others } from './bugs.mjs'
import { hold, tracked } from '../../scripts/alone.mjs'
import { cargoEnv, root } from '../../scripts/setup.mjs'

const PLANTED = join(root, '.cache', 'planted')
const COPY = join(PLANTED, 'turnlock')
/** What the two test binaries are built from, with the other members of the workspace. */
const PARTS = [
  'Cargo.toml',
  'Cargo.lock',
  'src',
  'crates',
  'tests/client/page',
  'tests/common',
  'tests/durable',
  'tests/scenarios',
]
/** What only other tests and an example are built with: not compiled for the copy. */
const UNUSED = ['ureq', 'stateright']
/** The tests of `scenarios` that find the others. */
const FINDERS = [
  'a_resume_goes_on_with_a_fallback_of_either_wire',
  'bounds_of_a_model_that_goes_wrong',
  'prefix::the_next_turn_begins_with_the_requests_of_this_one',
  'prefix::a_failed_call_is_said_to_have_failed',
]

/** A text with a bug in it. A bug whose place is not there exactly once has lost its rule. */
export function plant(text, { name, file, find, replace }) {
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`"${name}": its text occurs ${count} times in ${file}: ${find}`)
  return text.replace(find, () => replace)
}

/** Makes the copy, with every bug in it. */
function copy() {
  const read = (file) => readFileSync(join(root, file))
  const needed = (file) => PARTS.some((part) => file === part || file.startsWith(`${part}/`))
  const files = new Map(
    tracked()
      .filter(needed)
      .map((file) => [file, read(file)]),
  )
  for (const bug of [...bugs, ...others]) {
    files.set(bug.file, plant(String(files.get(bug.file)), bug))
  }
  const manifest = String(files.get('Cargo.toml'))
  const without = UNUSED.map((name) => ({
    name,
    file: 'Cargo.toml',
    find: `\n${name} = `,
    replace: `\n# ${name} = `,
  })).reduce(plant, manifest)
  files.set('Cargo.toml', without)
  files.set('src/planted.rs', read('tests/planted/switch.rs'))
  files.set('src/lib.rs', `${files.get('src/lib.rs')}\npub mod planted;\n`)
  const names = bugs.map(({ name }) => `    ${JSON.stringify(name)},\n`).join('')
  const list = `\nconst INSIDE: &[&str] = &[\n${names}];\n`
  const finds = 'tests/durable/planted.rs'
  files.set(finds, files.get(finds) + list + read('tests/planted/found.rs'))
  hold(COPY, files)
}

// Of its own: what cargo makes of the copy would have the names of what it makes of the project.
const env = { ...cargoEnv, CARGO_TARGET_DIR: join(PLANTED, 'target') }

/** Runs tests of the copy; the exit status. */
function run(binary, tests, { planted = '', ...options }) {
  // Not `--locked`: what is unused leaves the lock file, and nothing else changes in it.
  const args = ['test', '--test', binary, '--', ...tests]
  const environment = { ...env, PLANTED: planted }
  return spawnSync('cargo', args, { cwd: COPY, env: environment, ...options }).status ?? 1
}

/** Whether the tests pass without a bug, and fail with each of the others. */
function findsOthers() {
  const tests = ['--exact', ...FINDERS]
  if (run('scenarios', tests, { stdio: 'inherit' }) !== 0) return false
  const missed = others.filter(
    ({ name }) => run('scenarios', tests, { planted: name, stdio: 'ignore' }) === 0,
  )
  for (const { name } of missed) console.error(`not found: ${name}`)
  return missed.length === 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  copy()
  const status = run('durable', ['planted_in_the_core', '--nocapture'], { stdio: 'inherit' })
  process.exit(status || (findsOthers() ? 0 : 1))
}
