// A step that nobody runs, or that waits for one that is not there, is found.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { browser, postgres, redis, root } from '../../scripts/setup.mjs'
import { choose, PARTS, QUICK_STEPS } from '../../scripts/steps.mjs'

const all = choose([])
/** The scripts of a command, without what it imports before them. */
const scripts = (args) => args.filter((arg) => arg.endsWith('.mjs') && !arg.startsWith('--'))

test('steps have names of their own, and come after steps that are there', () => {
  const names = all.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const { name, lane, after = [] } of all) {
    assert.ok(['cargo', 'lint', 'node'].includes(lane), name)
    for (const before of after) {
      assert.ok(names.indexOf(before) < names.indexOf(name), `${name} is not behind ${before}`)
      // Cargo waits for nobody, so no two lanes wait for each other.
      assert.equal(lane, 'node', name)
    }
  }
})

test('a part is all of its steps and those that they come after; a word finds names', () => {
  for (const part of Object.keys(PARTS)) {
    const chosen = choose([part]).filter((step) => step.part === part)
    assert.deepEqual(
      chosen.map(({ name }) => name).sort(),
      PARTS[part].map(({ name }) => name).sort(),
    )
  }
  assert.deepEqual(
    choose(['size']).map(({ name }) => name),
    ['example page in Rust (build)', 'size'],
  )
  assert.equal(choose(['Deno']).length, 1)
  const quick = choose(['quick']).map(({ name }) => name)
  assert.deepEqual(quick.sort(), QUICK_STEPS.toSorted())
  assert.throws(() => choose(['core', 'drivr', 'Deno', 'x y']), /no step is called drivr, x y$/)
})

/** What a file imports of the repository, and what that imports. */
function reached(file, seen = new Set()) {
  if (seen.has(file) || !existsSync(join(root, file))) return seen
  seen.add(file)
  const text = readFileSync(join(root, file), 'utf8')
  for (const [, to] of text.matchAll(/(?:from|import) '(\.{1,2}\/[^']*)'/g)) {
    reached(join(dirname(file), to), seen)
  }
  return seen
}

test('whoever starts Redis, Postgres or Chromium asks for it', () => {
  const programs = [
    ['tests/stores/redis-server.mjs', 'redis', redis],
    ['tests/stores/postgres-server.mjs', 'postgres', postgres],
    ['tests/browser.mjs', 'browser', browser],
  ]
  for (const { name, args, needs = [] } of all.filter((step) => Array.isArray(step.args))) {
    const files = scripts(args).flatMap((file) => [...reached(file)])
    for (const [file, , need] of programs) {
      if (files.includes(file)) assert.ok(needs.includes(need), `${name} uses ${file}`)
    }
  }
  const { scripts: commands } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [name, command] of Object.entries(commands)) {
    const words = command.split(' ')
    const files = scripts(words).flatMap((file) => [...reached(file)])
    for (const [file, asks] of programs) {
      if (files.includes(file)) assert.ok(words.includes(asks), `npm run ${name} uses ${file}`)
    }
  }
})

test('every file of tests is in a step', () => {
  const files = all.flatMap(({ args }) => (Array.isArray(args) ? args : []))
  for (const folder of ['pkg/test', 'tests']) {
    for (const file of readdirSync(join(root, folder), { recursive: true })) {
      if (!file.endsWith('.test.mjs') || file.includes('node_modules')) continue
      assert.ok(files.includes(join(folder, file)), `${folder}/${file} is run by no step`)
    }
  }
  for (const file of scripts(files)) {
    assert.ok(existsSync(join(root, file)), file)
  }
})
