// A process of `pkg/tools/redactor/mutants.mjs`: it has all mutants of a copy of the package, and runs the
// tests of that copy with one of them, or without any to find which each test comes by. Tests are
// loaded anew for each mutant, since redactors that they share are made when they are loaded. What the
// package makes when it is loaded has its mutant from the beginning: the process is for that one.
import { readdirSync } from 'node:fs'
import { register } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, mutant] = process.argv.slice(2)
const at = (path) => pathToFileURL(join(folder, path)).href
/** In place of Node's runner, which cannot run a test twice. */
const RUNNER = `data:text/javascript,${encodeURIComponent(
  'export default (name, a, b) => void globalThis.tests.push({ name, run: b ?? a })',
)}`
const PACKAGE = Object.fromEntries([
  ['node:test', RUNNER],
  ...['', '/server', '/chat'].map((part) => [`turnlock${part}`, at(`pkg/dist${part}/index.js`)]),
  ['turnlock/redact', at('pkg/dist/redactor/index.js')],
])
const hooks = `
  const known = ${JSON.stringify(PACKAGE)}
  export async function resolve(name, context, next) {
    if (known[name]) return { url: known[name], shortCircuit: true }
    const found = await next(name, context)
    const again = /[?]\\d+$/.exec(context.parentURL ?? '')
    // What the tests share is theirs alone, too.
    return name.startsWith('./') && again ? { ...found, url: found.url + again[0] } : found
  }`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)

/** What the mutants look at. */
const switches = (globalThis.__stryker__ = { quiet: true, activeMutant: mutant })
const names = readdirSync(join(folder, 'pkg/test')).filter((name) => name.endsWith('.test.mjs'))
let loads = 0

/** The tests of a file, loaded anew. */
async function load(file) {
  globalThis.tests = []
  await import(`${at(`pkg/test/${file}`)}?${++loads}`)
  const all = globalThis.tests.map((test) => ({ ...test, file }))
  return all.filter(({ name }) => !name.startsWith('hostile: '))
}

async function run(test) {
  const later = []
  const began = performance.now()
  try {
    await test.run({ after: (what) => later.push(what), diagnostic() {} })
  } finally {
    for (const what of later) await what()
  }
  return performance.now() - began
}

/**
 * The tests that take at most so many milliseconds, and the mutants that each comes by; the mutants
 * that the package and the tests come by when they are loaded. Tests that are known to be slow are
 * not tried.
 */
async function reach({ most, slow }) {
  switches.quiet = false
  const all = []
  for (const name of names) all.push(...(await load(name)))
  switches.quiet = true
  const loaded = Object.keys(switches.mutantCoverage?.static ?? {})
  const tests = []
  for (const test of all) {
    if (slow.includes(test.name)) continue
    const ms = await run(test)
    if (ms > most) {
      slow.push(test.name)
      continue
    }
    Object.assign(switches, { quiet: false, currentTestId: test.name })
    await run(test)
    Object.assign(switches, { quiet: true, currentTestId: undefined })
    const ids = Object.keys(switches.mutantCoverage?.perTest[test.name] ?? {})
    tests.push({ name: test.name, file: test.file, ms, ids })
  }
  return { tests, loaded, slow }
}

/** `killed`, if one of these tests fails, or they cannot be loaded. */
async function judge({ id, tests }) {
  Object.assign(switches, { activeMutant: id, hitCount: 0, hitLimit: 20_000_000 })
  try {
    const files = new Map()
    for (const { name, file } of tests) {
      if (!files.has(file)) files.set(file, await load(file))
      await run(files.get(file).find((test) => test.name === name))
    }
    return 'survived'
  } catch {
    return 'killed'
  } finally {
    switches.activeMutant = undefined
  }
}

// A mutant may break a promise that nobody waits for.
process.on('unhandledRejection', () => {})
process.on('disconnect', () => process.exit())
process.on('message', async (message) => {
  try {
    process.send(message.most ? await reach(message) : await judge(message))
  } catch (error) {
    process.send({ failed: String(error?.stack ?? error) })
  }
})
