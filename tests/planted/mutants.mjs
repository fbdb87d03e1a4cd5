// Mutation testing of the core. All mutants of cargo-mutants (which has to be installed) are put into
// one build of a copy, each behind a switch (`tests/planted/mutants/rewrite.rs`); those that do not compile
// are left out. Then each test runs alone, to find which mutants it comes by, and each mutant runs
// the tests that come by it, short ones first, until one fails.
//
//   node tests/planted/mutants.mjs <file>… -- <arguments of cargo test that name its binaries>
//   node tests/planted/mutants.mjs 'src/tool/**' src/store/commit.rs -- --lib --test scenarios
//
// Prints the mutants that survive and those that no test comes by, and the sums of each file. Mutants
// in constants, of functions that return `impl …`, and of arms without which a `match` would not be
// complete have no switch: they are listed as `no switch`.
// With `OPEN=1`, only those that the last run left open are run, for instance with slower tests; what
// became of the others is remembered, by file and place. `SEEDS` is given to the tests that play
// seeds: fewer find most mutants. `LIMIT`: CPU seconds that a test may take to be used (600). `JOBS`:
// tests side by side (2). `SINCE`: a commit; only mutants in lines that were changed behind it are run.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../../scripts/setup.mjs'

const parameters = process.argv.slice(2)
const cut = parameters.indexOf('--')
if (cut < 1 || cut === parameters.length - 1) {
  console.error('usage: node tests/planted/mutants.mjs <file>… -- <arguments of cargo test>')
  process.exit(2)
}
const [patterns, tests] = [parameters.slice(0, cut), parameters.slice(cut + 1)]
const LIMIT = Number(process.env.LIMIT ?? 600)
const JOBS = Number(process.env.JOBS ?? 2)
const FOLDER = join(root, '.cache', 'mutants')
const COPY = join(FOLDER, 'turnlock')
const RESULTS = join(FOLDER, 'results.json')
const DONE = ['killed', 'timeout', 'unviable', 'no switch']
// Incremental, without debug information and warnings.
const env = {
  ...process.env,
  CARGO_INCREMENTAL: '1',
  CARGO_PROFILE_DEV_DEBUG: '0',
  CARGO_PROFILE_TEST_DEBUG: '0',
  CARGO_TARGET_DIR: join(FOLDER, 'target'),
  RUSTFLAGS: '--cap-lints allow',
  // Without optimization, what is recursive takes more of the stack.
  RUST_BACKTRACE: '0',
  RUST_MIN_STACK: String(2 ** 23),
}
const output = (program, args, options) =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 30, env, ...options })

/** Runs cargo in the copy: whether it did well, and what it says. */
function cargo(...args) {
  const options = { cwd: COPY, env, encoding: 'utf8', maxBuffer: 2 ** 30 }
  const { status, stdout } = spawnSync('cargo', [...args, '--message-format=json'], options)
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
  return { ok: status === 0, said: lines.map((line) => JSON.parse(line)) }
}

/** Copies the files of the project below a folder. */
function copy(folder) {
  rmSync(join(COPY, folder), { recursive: true, force: true })
  const args = ['ls-files', '-co', '--exclude-standard', '-z', '--', folder]
  const names = output('git', args, { cwd: root }).split('\0')
  for (const name of names.filter((name) => name && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(COPY, name)), { recursive: true })
    // What is mutated is new, so that cargo builds it; of the rest it knows when it was changed.
    cpSync(join(root, name), join(COPY, name), { preserveTimestamps: !name.startsWith('src/') })
  }
}

/** Lets cargo-mutants see the providers: it does not expand the macro that declares their modules. */
function declare() {
  const folder = join(COPY, 'src', 'provider')
  const file = join(folder, 'mod.rs')
  const text = readFileSync(file, 'utf8')
  const names = readdirSync(folder).filter((name) => existsSync(join(folder, name, 'mod.rs')))
  const unseen = names.filter((name) => !text.includes(`\nmod ${name};`))
  appendFileSync(file, unseen.map((name) => `\nmod ${name};`).join(''))
}

/** Puts these mutants into the copy: where each one's text is, and which have no switch. */
function plant(mutants) {
  copy('src')
  const [list, places] = [join(FOLDER, 'list.json'), join(FOLDER, 'places.json')]
  writeFileSync(list, JSON.stringify(mutants))
  const tool = join(root, 'tests/planted/mutants')
  output('cargo', ['run', '-q', '--manifest-path', join(tool, 'Cargo.toml'), COPY, list, places])
  cpSync(join(tool, 'switch.rs'), join(COPY, 'src', 'mutants.rs'))
  appendFileSync(join(COPY, 'src', 'lib.rs'), '\nmod mutants;\n')
  return JSON.parse(readFileSync(places, 'utf8'))
}

/** The ids of the mutants that errors of the compiler are about. */
function wrong(places, said) {
  const errors = said.flatMap(({ message }) => (message?.level === 'error' ? [message] : []))
  return errors.flatMap(({ spans }) => {
    const about = places.filter(({ file, start, end }) =>
      spans.some((at) => at.file_name === file && start <= at.byte_start && at.byte_end <= end),
    )
    return about.sort((a, b) => a.end - a.start - (b.end - b.start)).slice(0, 1)
  })
}

/** The mutants, and the binaries of the tests, which have those that compile. */
function build() {
  copy('.')
  declare()
  const args = ['mutants', '--list', '--json', ...patterns.flatMap((file) => ['-f', file])]
  if (process.env.SINCE) {
    const changed = join(FOLDER, 'changed.diff')
    writeFileSync(changed, output('git', ['diff', process.env.SINCE, '--', 'src'], { cwd: root }))
    args.push('--in-diff', changed)
  }
  const mutants = JSON.parse(output('cargo', args, { cwd: COPY }))
  const earlier = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
  mutants.forEach((mutant, at) => {
    mutant.id = at + 1
    const before = earlier[mutant.name]
    if (process.env.OPEN ? DONE.includes(before) : before === 'unviable') mutant.end = before
  })
  const keep = () => {
    const ends = mutants.flatMap(({ name, end }) => (end ? [[name, end]] : []))
    writeFileSync(RESULTS, JSON.stringify({ ...earlier, ...Object.fromEntries(ends) }))
  }
  const setEnds = (ids, end) => ids.forEach((id) => (mutants[id - 1].end = end))
  for (;;) {
    const { places, without } = plant(mutants.filter(({ end }) => !end))
    setEnds(without, 'no switch')
    const { ok, said } = cargo('test', '-p', 'turnlock', '--no-run', ...tests)
    if (ok) {
      const made = said.flatMap(({ executable, profile }) => (profile?.test && executable) || [])
      return { keep, mutants, binaries: made }
    }
    const ids = wrong(places, said).map(({ id }) => id)
    if (ids.length === 0) throw new Error(said.map(({ message }) => message?.rendered).join(''))
    setEnds(ids, 'unviable')
    keep()
  }
}

/** Runs tests of a binary: its status, and the name of one that failed. Memory and CPU have limits. */
function run({ binary, names, own, seconds }) {
  return new Promise((resolve) => {
    const began = performance.now()
    const limits = `ulimit -v 8000000; ulimit -t ${Math.ceil(seconds)}; exec "$0" "$@"`
    const args = ['-c', limits, binary, '--exact', ...names, '--test-threads', '1']
    const options = { cwd: COPY, env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'ignore'] }
    const child = spawn('sh', args, options)
    let text = ''
    child.stdout.on('data', (bytes) => (text = (text + bytes).slice(-10_000)))
    // What waits for ever uses no CPU.
    const timer = setTimeout(() => child.kill('SIGKILL'), 600_000)
    child.on('close', (status, signal) => {
      clearTimeout(timer)
      const ms = performance.now() - began
      resolve({ status, signal, ms, failed: /^ {4}(\S+)$/m.exec(text)?.[1] })
    })
  })
}

/** Does something for each, some side by side. */
async function each(all, what) {
  const rest = [...all]
  const worker = async (at) => {
    while (rest.length) await what(rest.shift(), at)
  }
  await Promise.all(Array.from({ length: JOBS }, (_, at) => worker(at)))
}

/** Each test alone, without a mutant: how long it takes, and which mutants it comes by. */
async function reached(binaries) {
  const all = binaries.flatMap((binary) => {
    const names = output(binary, ['--list'], { cwd: COPY }).matchAll(/^(.*): test$/gm)
    return [...names].map(([, name]) => ({ binary, name }))
  })
  await each(all, async (test, at) => {
    const file = join(FOLDER, `reached-${at}`)
    rmSync(file, { force: true })
    const environment = { MUTANT_REACHED: file }
    const { status, ms } = await run({
      ...test,
      names: [test.name],
      own: environment,
      seconds: LIMIT,
    })
    const ids = existsSync(file) ? readFileSync(file, 'utf8').split('\n').map(Number) : []
    Object.assign(test, { ms, ids: new Set(ids), ok: status === 0 })
    if (status !== 0) console.error(`not used, for it fails or takes long: ${test.name}`)
  })
  return all.filter(({ ok }) => ok)
}

/** How a mutant ends: `killed`, `timeout`, `survived`, or `unreached`. */
async function end(mutant, tests) {
  // What failed before first, then the short ones, in groups of one binary.
  const worth = ({ ms, kills = 0 }) => ms / (1 + kills)
  const all = tests.filter(({ ids }) => ids.has(mutant.id)).sort((a, b) => worth(a) - worth(b))
  if (all.length === 0) return 'unreached'
  while (all.length) {
    const group = [all.shift()]
    let { ms } = group[0]
    while (all[0]?.binary === group[0].binary && ms + all[0].ms < 1500) {
      ms += all[0].ms
      group.push(all.shift())
    }
    const names = group.map(({ name }) => name)
    const environment = { MUTANT: String(mutant.id) }
    const seconds = 10 + (4 * ms) / 1000
    const { status, signal, failed } = await run({ ...group[0], names, own: environment, seconds })
    if (signal === 'SIGXCPU' || signal === 'SIGKILL') return 'timeout'
    const killer =
      status === 0 ? undefined : (group.find(({ name }) => name === failed) ?? group[0])
    if (killer) killer.kills = (killer.kills ?? 0) + 1
    if (killer) return 'killed'
  }
  return 'survived'
}

const { keep, mutants, binaries } = build()
const usable = await reached(binaries)
await each(
  mutants.filter(({ end }) => !end),
  async (mutant) => {
    mutant.end = await end(mutant, usable)
    keep()
  },
)
const files = {}
for (const { file, name, end } of mutants) {
  const sums = (files[file] ??= {})
  sums[end] = (sums[end] ?? 0) + 1
  if (!['killed', 'unviable'].includes(end)) console.log(`${end}: ${name}`)
}
console.table(files)
