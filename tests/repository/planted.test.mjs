import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { bugs, others } from '../planted/bugs.mjs'
import { plant } from '../planted/run.mjs'
import { root } from '../../scripts/setup.mjs'

test('a bug whose place is lost or double is named', () => {
  const bug = { name: 'b', file: 'f', find: 'x', replace: 'y' }
  assert.equal(plant('axb', bug), 'ayb')
  assert.throws(() => plant('ab', bug), /"b": its text occurs 0 times in f/)
  assert.throws(() => plant('xx', bug), /"b": its text occurs 2 times in f/)
})

test('every bug has a name and a place of its own', () => {
  const texts = new Map()
  const all = [...bugs, ...others]
  for (const bug of all) {
    const text = texts.get(bug.file) ?? readFileSync(join(root, bug.file), 'utf8')
    texts.set(bug.file, plant(text, bug))
  }
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
  assert.deepEqual([bugs.length, others.length], [26, 8])
})
