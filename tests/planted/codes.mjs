// Whether tests reach each error code: in a copy of the built package a code is changed, in its scripts
// and in the parts of the core, and what names it in the tests is run until something fails. Prints the
// codes with which nothing has failed.
//
//   node scripts/build.mjs --tests && node tests/planted/codes.mjs [code…]      none: all
//
// Tests in Node alone are run, and those that bundle the package for a browser.
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { copyAlone } from '../../scripts/alone.mjs'
import { browser, needTests, npm, postgres, redis, root } from '../../scripts/setup.mjs'

const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')
const all = Array.from(page.matchAll(/^\| `([^`]+)` \|/gm), ([, code]) => code)
const selected = process.argv.slice(2)
needTests()
await Promise.all([npm(), browser(), redis(), postgres()])
const alone = copyAlone()

const filesIn = (folder, form) =>
  readdirSync(join(alone, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && form.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/node_modules|\/data\//.test(path))

/** Those that play tables, by folder; everything else is a test file. */
const PLAYERS = ['scenarios', 'bundles', 'requests', 'chain', 'server']
const [sources, told] = [
  // Tests of faults have a package of their own.
  ['pkg/dist', '.cache/trap/dist'].flatMap((folder) => filesIn(folder, /\.js$/)),
  [...filesIn('pkg/test', /\.m?js$/), ...filesIn('tests', /\.(m?js|json)$/)],
].map((paths) => new Map(paths.map((path) => [path, readFileSync(path, 'utf8')])))
for (const path of sources.keys()) if (path.endsWith('browser.js')) sources.delete(path)

/** The commands that come by a code, as arguments of Node; those of the package first, which are quick. */
function commandsOf(code) {
  const naming = [...told].filter(([, text]) => text.includes(code)).map(([path]) => path)
  const isTest = (path) => path.endsWith('.test.mjs')
  const direct = naming.filter(isTest).sort(inPackageFirst)
  // What tests import is run by those that stand beside it.
  const folders = naming.filter((path) => !isTest(path)).map((path) => dirname(path))
  const beside = [...told.keys()].filter((path) => isTest(path) && folders.includes(dirname(path)))
  const tests = new Set([...direct, ...beside])
  const names = folders.map((folder) => folder.split('/').at(-1))
  const players = PLAYERS.filter((name) => names.includes(name))
  return [
    ...Array.from(tests, (path) => ['--test', '--test-timeout=120000', path]),
    ...players.map((name) => [join(alone, 'tests', name, 'run.mjs'), 'node']),
  ]
}
const inPackageFirst = (a, b) => b.includes('/pkg/test/') - a.includes('/pkg/test/')

const run = (args) =>
  spawnSync(process.execPath, args, { cwd: alone, stdio: 'ignore', timeout: 600_000 }).status === 0
/** What fails without a change tells nothing. */
const sound = new Map()
const isSound = (args) => {
  const key = args.join(' ')
  if (!sound.has(key)) sound.set(key, run(args))
  return sound.get(key)
}

const PART = /(export const bytes = ")([^"]+)"/
/** The text of a file with a code changed: as long as before, so that a part of the core stays valid. */
function changed(text, code) {
  const other = code.slice(0, -1) + (code.endsWith('q') ? 'z' : 'q')
  const [, , embedded] = PART.exec(text) ?? []
  if (!embedded) return text.replaceAll(new RegExp(`(['"\`])${code}\\1`, 'g'), `$1${other}$1`)
  const wasm = inflateRawSync(Buffer.from(embedded, 'base64')).toString('latin1')
  // Texts of the core stand side by side: only what makes a longer code of it is left alone.
  const longer = all.filter((one) => one !== code && one.startsWith(code))
  const rests = longer.map((one) => one.slice(code.length)).join('|')
  const pattern = new RegExp(rests ? `${code}(?!${rests})` : code, 'g')
  const planted = wasm.replaceAll(pattern, other)
  if (planted === wasm) return text
  const made = deflateRawSync(Buffer.from(planted, 'latin1'))
  return text.replace(PART, `$1${made.toString('base64')}"`)
}

const open = []
for (const code of selected.length ? selected : all) {
  const files = [...sources].flatMap(([path, text]) => {
    const made = changed(text, code)
    return made === text ? [] : [[path, text, made]]
  })
  if (!files.length) throw new Error(`the package has no ${code}`)
  const by = commandsOf(code).find((args) => {
    for (const [path, , made] of files) writeFileSync(path, made)
    const fails = !run(args)
    for (const [path, text] of files) writeFileSync(path, text)
    return fails && isSound(args)
  })
  if (!by) open.push(code)
  const file = by?.find((word) => word.startsWith(alone))
  console.log(`${code}: ${file?.slice(alone.length + 1) ?? 'NOTHING FAILS'}`)
}
console.log(`${open.length} open${open.length ? `: ${open.join(', ')}` : ''}`)
process.exitCode = open.length ? 1 : 0
