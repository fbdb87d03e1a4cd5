// A tool that a model asks for 25 times, in the loops of frameworks: unmodified packages over HTTP.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { before } from 'node:test'
import { LOOPS, STEPS } from './loops.mjs'
import { loopTable, measureLoops } from './loop-table.mjs'

let rows
before(async () => (rows = await measureLoops()))

const NOTICE = /^The call to list_files did not run: the result of the same call is already at hand/

for (const { name } of LOOPS) {
  test(`${name}: the loop is bounded by each guard`, () => {
    const { measured } = rows.find(({ loop }) => loop.name === name)
    const { none, guardTools, guardFetch, middleware } = measured
    assert.equal(none.runs, STEPS, 'without a guard, it runs each time')
    if (guardTools) {
      assert.ok(guardTools.runs <= 3, `${guardTools.runs} runs`)
      assert.equal(guardTools.results.length, STEPS)
      for (const result of guardTools.results.slice(1)) assert.match(result, NOTICE)
    }
    for (const guard of [guardFetch, middleware]) {
      assert.ok(!guard || guard.runs <= 3, `${guard?.runs} runs`)
      assert.ok(!guard || guard.calls <= 3, `${guard?.calls} model calls`)
    }
    assert.ok(guardFetch)
  })
}

test('the table of the guide is the measured one', () => {
  const guide = readFileSync(new URL('../../docs/guards.md', import.meta.url), 'utf8')
  assert.ok(guide.includes(loopTable(rows)), 'run `node docs/tools/loops.mjs`')
})
