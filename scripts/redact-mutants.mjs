// Mutation testing of redaction. StrykerJS's instrumenter puts all mutants into a copy of the package,
// each behind a switch. Each test runs alone, to find which mutants it comes by; then each mutant runs
// the tests that come by it, short ones first, until one fails.
//
//   npm install --no-save @stryker-mutator/instrumenter
//   node scripts/redact-mutants.mjs [file…]     such as scanner.js; none: all
//
// Prints the mutants that survive and those that no test comes by, and the sums of each file. What a
// module makes when it is loaded has no switch: the rules and `tables.js` are left out. Tests of
// hostile texts are not run: they count steps and take minutes. `MOST`: milliseconds that a test may
// take to be used (1000). With `OPEN=1`, only those that the last run left open are run. `JOBS`:
// processes side by side (2).
import { fork } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

const FOLDER = join(root, '.cache', 'redact-mutants')
const PARTS = join(FOLDER, 'pkg', 'dist', 'redactor')
const RESULTS = join(FOLDER, 'results.json')
const LEFT_OUT = ['rules.js', 'tables.js']
const MOST = Number(process.env.MOST ?? 1000)
const JOBS = Number(process.env.JOBS ?? 2)
/** Milliseconds after which a mutant that says nothing is endless. */
const ENDLESS = 20_000
/** Mutants of one process: each loads the tests anew. */
const OF_ONE = 100

/** The package as it is built and its tests, alone in a folder. */
function copy() {
  mkdirSync(FOLDER, { recursive: true })
  rmSync(join(FOLDER, 'pkg'), { recursive: true, force: true })
  const tests = readdirSync(join(root, 'pkg/test')).filter((name) => /^(redact|secrets)/.test(name))
  const files = ['dist', 'package.json', ...tests.map((name) => join('test', name))]
  for (const file of files)
    cpSync(join(root, 'pkg', file), join(FOLDER, 'pkg', file), { recursive: true })
  for (const link of ['scripts', 'tests', 'node_modules']) {
    if (!existsSync(join(FOLDER, link))) symlinkSync(join(root, link), join(FOLDER, link))
  }
}

/** Puts all mutants of these files into the copy. */
async function plant(names) {
  const { createInstrumenter } = await import('@stryker-mutator/instrumenter')
  const { createInjector } = await import('typed-inject')
  const logger = new Proxy({}, { get: () => () => false })
  const given = createInjector().provideValue('options', {}).provideValue('logger', logger)
  const instrumenter = given.injectFunction(createInstrumenter)
  const files = names.map((file) => {
    const name = join(PARTS, file)
    return { name, content: readFileSync(name, 'utf8'), mutate: true }
  })
  const options = { ignorers: [], excludedMutations: [], plugins: null }
  const made = await instrumenter.instrument(files, options)
  for (const { name, content } of made.files) {
    // What counts is slow, and is asked for only to find which mutants a test comes by.
    writeFileSync(name, content.replace('var c = cov.static;', 'if (ns.quiet) return;\n$&'))
  }
  return made.mutants.map(({ id, fileName, location, mutatorName, replacement }) => {
    const { content } = files.find(({ name }) => name === fileName)
    const { start, end } = location
    const lines = content.split('\n').slice(start.line, end.line + 1)
    lines[lines.length - 1] = lines.at(-1).slice(0, end.column)
    const from = lines.join('\n').slice(start.column)
    const file = fileName.slice(PARTS.length + 1)
    const place = `${file}:${start.line + 1}:${start.column + 1}`
    const what = `${mutatorName}: ${from} => ${replacement}`.replace(/\s+/g, ' ')
    return { id, file, name: `${place}: ${what}` }
  })
}

/** A process that has the mutants; `ask` gives its answer, or `crashed` or `endless` without one. */
function start() {
  const child = fork(join(root, 'scripts/mutants/redactor.mjs'), [FOLDER], {
    execArgv: ['--stack-size=2000'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const ask = (message, most) =>
    new Promise((resolve) => {
      const end = (answer) => {
        clearTimeout(timer)
        child.removeAllListeners()
        resolve(answer)
      }
      const timer = most && setTimeout(() => (child.kill('SIGKILL'), end('endless')), most)
      child.once('message', end).once('exit', () => end('crashed'))
      child.send(message)
    })
  return { ask, end: () => child.kill() }
}

const names = process.argv.slice(2)
const all = readdirSync(join(root, 'pkg/dist/redactor'))
const files = all.filter((name) => name.endsWith('.js') && !LEFT_OUT.includes(name))
const unknown = names.find((name) => !files.includes(name))
if (unknown) throw new Error(`no file ${unknown} of: ${files.join(', ')}`)
copy()
const mutants = await plant(names.length ? names : files)
const first = start()
const tests = await first.ask({ most: MOST })
first.end()
if (!Array.isArray(tests)) throw new Error('a test fails without a mutant: build first')
console.log(`${mutants.length} mutants, ${tests.length} tests`)

const OPEN = ['survived', 'unreached']
const ends = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
const rest = mutants.filter(({ name }) => !process.env.OPEN || OPEN.includes(ends[name]))
const keep = () => writeFileSync(RESULTS, JSON.stringify(ends))
async function work() {
  for (let at = 0, child; rest.length; at++) {
    if (at % OF_ONE === 0) {
      keep()
      child?.end()
      child = start()
    }
    const { id, name } = rest.shift()
    const by = tests.filter(({ ids }) => ids.includes(id))
    const order = by.sort((a, b) => a.ms - b.ms).map((test) => test.name)
    ends[name] = order.length ? await child.ask({ id, tests: order }, ENDLESS) : 'unreached'
    if (ends[name] === 'endless' || ends[name] === 'crashed') child = start()
    if (!rest.length) child.end()
  }
}
await Promise.all(Array.from({ length: JOBS }, work))
keep()

const open = mutants.filter(({ name }) => OPEN.includes(ends[name]))
for (const { name } of open) console.log(`${ends[name]}: ${name.slice(0, 200)}`)
for (const file of names.length ? names : files) {
  const of = (list) => list.filter((mutant) => mutant.file === file).length
  console.log(`${file}: ${of(mutants)} mutants, ${of(open)} open`)
}
