// A step that nobody runs, or that waits for one that is not there, is found.
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { root } from './setup.mjs'
import { choose, PARTS } from './steps.mjs'

const all = choose([])

test('steps have names of their own, and come after steps that are there', () => {
  const names = all.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  for (const { name, lane, after = [] } of all) {
    assert.ok(['cargo', 'node'].includes(lane), name)
    for (const before of after) {
      assert.ok(names.indexOf(before) < names.indexOf(name), `${name} is not behind ${before}`)
      // Cargo waits for nobody, so no two lanes wait for each other.
      assert.equal(lane, 'node', name)
    }
  }
})

test('a part is all of its steps and those that they come after; a word finds names', () => {
  for (const part of Object.keys(PARTS)) {
    const own = choose([part]).filter((step) => step.part === part)
    assert.deepEqual(own.map(({ name }) => name).sort(), PARTS[part].map(({ name }) => name).sort())
  }
  assert.deepEqual(
    choose(['size']).map(({ name }) => name),
    ['example page in Rust (build)', 'example worker in Rust (build)', 'size'],
  )
  assert.equal(choose(['Deno']).length, 1)
  assert.throws(() => choose(['core', 'drivr', 'Deno', 'x y']), /no step is called drivr, x y$/)
})

test('every file of tests is in a step', () => {
  const files = all.flatMap(({ args }) => (Array.isArray(args) ? args : []))
  for (const folder of ['pkg/test', 'scripts', 'tests']) {
    for (const file of readdirSync(join(root, folder), { recursive: true })) {
      if (!file.endsWith('.test.mjs') || file.includes('node_modules')) continue
      assert.ok(files.includes(join(folder, file)), `${folder}/${file} is run by no step`)
    }
  }
  for (const file of files.filter((arg) => arg.endsWith('.mjs'))) {
    assert.ok(existsSync(join(root, file)), file)
  }
})
