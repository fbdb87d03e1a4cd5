// Mutation testing of redaction. StrykerJS's instrumenter puts all mutants into a copy of the package,
// each behind a switch. Each test runs alone, to find which mutants it comes by; then each mutant runs
// the tests that come by it, short ones first, until one fails. What a module makes when it is loaded
// (sets, expressions, tables) is made once: such a mutant has a process of its own, which loads the
// package with it, and runs the short tests that come by its file.
//
//   npm install --no-save @stryker-mutator/instrumenter
//   node pkg/tools/redactor/mutants.mjs [file…]     such as scanner.js; none: all
//
// Prints the mutants that survive and those that no test comes by, if `pkg/tools/redactor/mutants-open.md` has no
// reason for them, and the sums of each file; it fails if there are any. The rules and `tables.js` are
// left out. Tests of hostile texts are not run: they count steps and take minutes. `MOST`:
// milliseconds that a test may take to be used (1000). With `OPEN=1`, only those are run that the last
// run left open and that have no reason, and those that it did not know where they stand now. With
// `WRITE=1`, the open mutants of the files are written into `pkg/tools/redactor/mutants-open.md`, with `?` where a
// reason is to be written. `JOBS`: processes side by side (2).
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
import { root } from '../../../scripts/setup.mjs'

const FOLDER = join(root, '.cache', 'redact-mutants')
const PARTS = join(FOLDER, 'pkg', 'dist', 'redactor')
const RESULTS = join(FOLDER, 'results.json')
const REASONS = join(root, 'pkg/tools/redactor/mutants-open.md')
const LEFT_OUT = ['rules.js', 'tables.js']
const MOST = Number(process.env.MOST ?? 1000)
const JOBS = Number(process.env.JOBS ?? 2)
/** Milliseconds after which a mutant that says nothing is endless. */
const ENDLESS = 20_000
/** Milliseconds that a test may take which a mutant of what is loaded runs: it runs all of a file. */
const MOST_LOADED = 150
/** Mutants of one process: each loads the tests anew. */
const OF_ONE = 100
/** In the list of reasons: characters of code, what stands between changes and before their reason. */
const [MOST_CODE, ALSO, REASON, UNKNOWN] = [120, ' · ', ' — ', '?']

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
  const injector = createInjector().provideValue('options', {}).provideValue('logger', logger)
  const instrumenter = injector.injectFunction(createInstrumenter)
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
    const all = content.split('\n')
    const lines = all.slice(start.line, end.line + 1)
    lines[lines.length - 1] = lines.at(-1).slice(0, end.column)
    const from = lines.join('\n').slice(start.column)
    const file = fileName.slice(PARTS.length + 1)
    const place = `${file}:${start.line + 1}:${start.column + 1}`
    const what = `${mutatorName}: ${from} => ${replacement}`.replace(/\s+/g, ' ')
    const change = changed(from, replacement)
    return { id, file, name: `${place}: ${what}`, line: quoted(all[start.line]), change }
  })
}

/** Code as it stands in a line of Markdown. */
function quoted(code, from = 0) {
  const line = code.replace(/\n\s*/g, ' ').trim()
  const [before, after] = [from > 0 ? '…' : '', from + MOST_CODE < line.length ? '…' : '']
  const cut = before + line.slice(from, from + MOST_CODE) + after
  if (!cut) return 'nothing'
  return cut.includes('`') ? `\`\` ${cut} \`\`` : `\`${cut}\``
}

/** A change: of long code, what stands around it. */
function changed(from, to) {
  let same = 0
  while (same < from.length && from[same] === to[same]) same++
  const begin = from.length > MOST_CODE && same > MOST_CODE / 2 ? same - MOST_CODE / 4 : 0
  return `${quoted(from, begin)} → ${quoted(to, begin)}`
}

/** The list of reasons: by file, line and change. */
function reasons() {
  const found = {}
  let [file, line] = ['', '']
  for (const text of existsSync(REASONS) ? readFileSync(REASONS, 'utf8').split('\n') : []) {
    const at = text.lastIndexOf(REASON)
    if (text.startsWith('## ')) found[(file = text.slice(4, -1))] = {}
    else if (text.startsWith('- ')) found[file][(line = text.slice(2))] = {}
    else if (text.startsWith('  - ')) {
      for (const change of text.slice(4, at).split(ALSO))
        found[file][line][change] = text.slice(at + REASON.length)
    }
  }
  return found
}

/** Writes the list anew: of these files, what is open now; changes of a line with one reason together. */
function write(names, open) {
  const [known, now] = [reasons(), reasons()]
  for (const name of names) now[name] = {}
  for (const { file, line, change } of open)
    (now[file][line] ??= {})[change] = known[file]?.[line]?.[change] ?? UNKNOWN
  const text = readFileSync(REASONS, 'utf8').split('\n## ')[0].trimEnd().split('\n')
  for (const file of files.filter((file) => Object.keys(now[file] ?? {}).length > 0)) {
    text.push('', `## \`${file}\``, '')
    for (const [line, changes] of Object.entries(now[file])) {
      text.push(`- ${line}`)
      for (const reason of new Set(Object.values(changes))) {
        const all = Object.keys(changes).filter((change) => changes[change] === reason)
        text.push(`  - ${all.join(ALSO)}${REASON}${reason}`)
      }
    }
  }
  writeFileSync(REASONS, text.join('\n') + '\n')
}

/** A process that has the mutants; `ask` gives its answer, or `crashed` or `endless` without one. */
function start(mutant = []) {
  const child = fork(join(root, 'pkg/tools/redactor/mutants-run.mjs'), [FOLDER, ...mutant], {
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
const chosen = names.length ? names : files
const mutants = await plant(chosen)
const first = start()
const earlier = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
const ends = earlier.ends ?? {}
const isSame = process.env.OPEN && earlier.most === MOST
const request = { most: MOST, slow: isSame ? earlier.slow : [] }
const { tests, loaded, slow, failed } = await first.ask(request)
first.end()
if (!tests) throw new Error(`a test fails without a mutant: build first. ${failed ?? ''}`)
console.log(`${mutants.length} mutants, ${tests.length} tests`)

const OPEN = ['survived', 'unreached']
const explained = reasons()
const isBare = ({ file, line, change }) =>
  (explained[file]?.[line]?.[change] ?? UNKNOWN) === UNKNOWN
const isDone = (mutant) =>
  process.env.OPEN && ends[mutant.name] && !(OPEN.includes(ends[mutant.name]) && isBare(mutant))
const rest = mutants.filter((mutant) => !isDone(mutant))
const keep = () => writeFileSync(RESULTS, JSON.stringify({ most: MOST, slow, ends }))
const ofFile = new Map(
  chosen.map((file) => [
    file,
    new Set(mutants.filter((one) => one.file === file).map(({ id }) => id)),
  ]),
)
const inOrder = (by) => by.sort((a, b) => a.ms - b.ms).map(({ name, file }) => ({ name, file }))
async function work() {
  for (let at = 0, child; rest.length; at++) {
    if (at % 10 === 0) keep()
    if (at % OF_ONE === 0) {
      child?.end()
      child = start()
    }
    const { id, name, file } = rest.shift()
    const by = inOrder(tests.filter(({ ids }) => ids.includes(id)))
    ends[name] = by.length ? await child.ask({ id, tests: by }, ENDLESS) : 'unreached'
    if (ends[name] === 'endless' || ends[name] === 'crashed') child = start()
    if (OPEN.includes(ends[name]) && loaded.includes(id)) {
      const freshChild = start([id])
      const near = tests.filter(
        ({ ids, ms }) => ms <= MOST_LOADED && ids.some((id) => ofFile.get(file).has(id)),
      )
      ends[name] = await freshChild.ask({ id, tests: inOrder(near) }, ENDLESS)
      freshChild.end()
    }
    if (!rest.length) child.end()
  }
}
await Promise.all(Array.from({ length: JOBS }, work))
keep()

const open = mutants.filter(({ name }) => OPEN.includes(ends[name]))
if (process.env.WRITE) write(chosen, open)
const bare = open.filter(isBare)
for (const { name } of bare) console.log(`${ends[name]}: ${name.slice(0, 200)}`)
for (const file of chosen) {
  const of = (list) => list.filter((mutant) => mutant.file === file).length
  console.log(`${file}: ${of(mutants)} mutants, ${of(open)} open, ${of(bare)} without a reason`)
}
if (bare.length > 0) process.exitCode = 1
