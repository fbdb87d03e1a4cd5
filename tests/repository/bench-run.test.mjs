// What `npm run bench` writes where.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { choose, ON_DEMAND, PARTS, written } from '../../benches/run.mjs'
import { root } from '../../scripts/setup.mjs'

const text = 'a\n\n<!-- bench turns -->\n\nold\n\n<!-- /bench turns -->\n\nb\n'

test('what a part printed stands between its markers, behind the machine, and nothing else moves', () => {
  const table = '| a | b |\n|---|---|\n| 1 | 2 |'
  const once = written(text, 'turns', `\n${table}\n\n`, 'a machine')
  assert.equal(
    once,
    `a\n\n<!-- bench turns -->\n\n*a machine*\n\n${table}\n\n<!-- /bench turns -->\n\nb\n`,
  )
  assert.equal(written(once, 'turns', table, 'a machine'), once)
  assert.match(written(text, 'turns', 'x  1\ny  2', 'm'), /\n```text\nx {2}1\ny {2}2\n```\n/)
})

test('a place that is missing or closed too early is an error', () => {
  assert.throws(() => written(text, 'cold', 'x', 'm'), /no place for cold/)
  assert.throws(() => written(text.replace('/bench turns', '/x'), 'turns', 'x', 'm'), /no place/)
})

test('every part has a script and a place with something in it, and a name that is none is refused', () => {
  const file = readFileSync(join(root, 'BENCHMARKS.md'), 'utf8')
  for (const [name, [script]] of Object.entries(PARTS)) {
    assert.ok(existsSync(join(root, 'benches', `${script}.mjs`)), script)
    assert.notEqual(written(file, name, 'other', 'm'), file, name)
    const [, printed] = file.split(`bench ${name} -->`)
    assert.match(printed, /^[^]*\S[^]*<!-- \/$/, `${name} is empty`)
  }
  assert.ok(choose([]).every((name) => !ON_DEMAND.includes(name)))
  assert.deepEqual(choose(['million', 'turns']), ['million', 'turns'])
  assert.throws(() => choose(['streams', 'everything']), /everything; there are streams/)
})
