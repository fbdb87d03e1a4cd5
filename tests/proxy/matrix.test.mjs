// Unmodified clients of npm in each situation: through the proxy, they end as they do without it.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { before } from 'node:test'
import { LOOPS } from '../provider/loops.mjs'
import { matrixTable, measureMatrix, SITUATIONS } from './matrix.mjs'

let rows
before(async () => (rows = await measureMatrix()))

for (const { name } of LOOPS) {
  for (const situation of Object.keys(SITUATIONS)) {
    test(`${name}, ${situation}: ends as without the proxy`, () => {
      const { cells } = rows.find(({ client }) => client.name === name)
      const { through, without } = cells[situation]
      assert.deepEqual(through, without)
    })
  }
}

test('the table of the guide is the measured one', () => {
  const guide = readFileSync(new URL('../../docs/proxy.md', import.meta.url), 'utf8')
  assert.ok(guide.includes(matrixTable(rows)), 'run `node docs/tools/clients.mjs`')
})
