// Mutation testing, fast: the mutants of cargo-mutants (which has to be installed), each built into the
// same target folder and tested by the tests that are named, the next ones only where these pass.
//
//   node scripts/mutants.mjs <file>… -- <arguments of cargo test> [// <arguments of cargo test>]…
//   node scripts/mutants.mjs src/tool/ledger.rs -- --lib tool:: // --test scenarios
//
// It changes the files where they are, one mutant at a time, and puts them back: work in a clone of
// its own. `ONLY=<text>` takes the mutants whose name has it. Prints a line a mutant, and the sums.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, target } from './setup.mjs'

const given = process.argv.slice(2)
const cut = given.indexOf('--')
if (cut < 1 || cut === given.length - 1) {
  console.error('usage: node scripts/mutants.mjs <file>… -- <arguments of cargo test> [// …]')
  process.exit(2)
}
const files = given.slice(0, cut)
const phases = given
  .slice(cut + 1)
  .join(' ')
  .split(' // ')
  .map((phase) => phase.split(' '))
// Incremental, without debug information: a mutant takes seconds.
const env = {
  ...process.env,
  ...{ CARGO_INCREMENTAL: '1', CARGO_PROFILE_DEV_DEBUG: '0', CARGO_PROFILE_TEST_DEBUG: '0' },
  CARGO_TARGET_DIR: join(target, 'mutants'),
}

function listed() {
  const args = ['mutants', '--list', '--json', ...files.flatMap((file) => ['-f', file])]
  const run = spawnSync('cargo', args, { cwd: root, env, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (run.status !== 0) throw new Error(`cargo mutants: ${run.stderr}`)
  return JSON.parse(run.stdout).filter(({ name }) => name.includes(process.env.ONLY ?? ''))
}

/** How the tests of a phase end: `survived`, `killed`, `unviable` (does not compile), `timeout`. */
function tested(phase, timeout) {
  const run = spawnSync('cargo', ['test', '--quiet', '--package', 'turnlock', ...phase], {
    ...{ cwd: root, env, timeout, killSignal: 'SIGKILL', encoding: 'utf8', maxBuffer: 2 ** 28 },
  })
  if (run.error?.code === 'ETIMEDOUT') return 'timeout'
  if (run.status === 0) return 'survived'
  return /could not compile/.test(run.stderr) ? 'unviable' : 'killed'
}

/** The text with a mutant's replacement; its lines and columns count from 1, columns in characters. */
function mutated(text, { span: { start, end }, replacement }) {
  const lines = text.split('\n')
  const at = ({ line, column }) =>
    lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) +
    [...lines[line - 1]].slice(0, column - 1).join('').length
  return text.slice(0, at(start)) + replacement + text.slice(at(end))
}

const limits = phases.map((phase) => {
  // Twice: the first time it compiles.
  tested(phase)
  const began = performance.now()
  if (tested(phase) !== 'survived') throw new Error(`fails without a mutant: ${phase.join(' ')}`)
  return 60_000 + 10 * (performance.now() - began)
})
const sums = {}
for (const mutant of listed()) {
  const path = join(root, mutant.file)
  const text = readFileSync(path, 'utf8')
  let end
  const restore = () => writeFileSync(path, text)
  process.once('exit', restore)
  writeFileSync(path, mutated(text, mutant))
  try {
    for (const [at, phase] of phases.entries()) {
      end = tested(phase, limits[at])
      if (end !== 'survived') break
    }
  } finally {
    restore()
    process.off('exit', restore)
  }
  sums[end] = (sums[end] ?? 0) + 1
  console.log(`${end}: ${mutant.name}`)
}
console.log(JSON.stringify(sums))
