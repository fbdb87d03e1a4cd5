import assert from 'node:assert/strict'
import test from 'node:test'
import { mistakes } from '../../docs/tools/threats.mjs'

const read = (file) => {
  const files = {
    'a/b.mjs':
      "test('one holds, always', …\n  async 'three holds'(host) {\n assert(x, 'four holds')",
    'c/d.rs': '#[test]\nfn two_holds() {}\nfn helps() {',
  }
  if (!(file in files)) throw new Error(file)
  return files[file]
}
const rows = (own = {}) =>
  Array.from({ length: 23 }, (_, at) => `T${at + 1}`)
    .map((id) => `| ${id} | x | ${own[id] ?? '**open**'} |`)
    .join('\n')

test('tests that exist are right', () => {
  const catalogue = { T1: '`a/b.mjs`: `one holds`; `c/d.rs`: `two_holds`' }
  assert.deepEqual(mistakes(rows(catalogue), read), [])
  const others =
    '| A | x | `a/b.mjs`: `three holds` |\n- B. `a/b.mjs`: `one holds`.\n- C. **no test**'
  assert.deepEqual(mistakes(`| Class | What | Test |\n${others}\n${rows()}`, read), [])
})

test('a test or a file that does not exist, and a threat without either, are wrong', () => {
  for (const [text, wrong] of [
    ['`a/b.mjs`: `two holds`', 'a/b.mjs has no test `two holds`'],
    ['`c/d.rs`: `two_hold`', 'c/d.rs has no test `two_hold`'],
    ['`a/b.mjs`: `one hold`', 'a/b.mjs has no test `one hold`'],
    ['`a/b.mjs`: `four holds`', 'a/b.mjs has no test `four holds`'],
    ['`c/d.rs`: `helps`', 'c/d.rs has no test `helps`'],
    ['`a/c.mjs`: **open**', 'a/c.mjs does not exist'],
    ['`a/b.mjs`', 'T3 names no test and is not open'],
  ]) {
    assert.deepEqual(mistakes(rows({ T3: text }), read), [wrong])
  }
  for (const line of ['- B is bounded', '| A | x | nothing |']) {
    assert.deepEqual(mistakes(`${line}\n${rows()}`, read), [`no test: ${line}`])
  }
  assert.deepEqual(mistakes(`\`a/b.mjs\`: \`none\`\n${rows()}`, read), [
    'a/b.mjs has no test `none`',
  ])
  assert.deepEqual(mistakes(rows().replace('| T23 ', '| T24 '), read), ['T23 is missing'])
})
