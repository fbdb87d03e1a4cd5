import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { before } from 'node:test'
import { measure, tablesOf } from './costs.mjs'

let costs

before(async () => void (costs = await measure()))

test('an answer of 300 words: at most 30 rows in the stores that bill by row', () => {
  const { defaults, trade } = costs
  assert.deepEqual(defaults, { d1: 250, object: 250 })
  const { d1, object, first, latest } = trade.find(({ gatherMs }) => gatherMs === 250)
  assert.ok(d1 <= 30 && object <= 30, `${d1} rows in D1, ${object} in a Durable Object`)
  assert.equal(first, 0, 'the first text is not late')
  assert.ok(latest <= 250, `text was late by ${latest} ms`)
})

test('the tables of docs/stores.md are up to date', () => {
  const cells = (text) => text.replace(/[ -]+/g, ' ')
  const guide = cells(readFileSync(new URL('../../docs/stores.md', import.meta.url), 'utf8'))
  for (const table of tablesOf(costs)) {
    for (const line of table.split('\n')) {
      assert.ok(guide.includes(cells(line)), `stale, node docs/tools/costs.mjs writes it: ${line}`)
    }
  }
})
