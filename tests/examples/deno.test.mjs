import assert from 'node:assert/strict'
import test from 'node:test'
import { example, failing } from './start.mjs'

const { start } = example(import.meta)

test('it runs the tool and answers, with no more permissions than it names', async () => {
  const run = start({ args: ['Which files?'] })
  assert.equal(await run.ended, 0, run.said())
  assert.match(run.said(), /runs \[ "list_files" \]\n[^]*From the tool results.*main\.ts/)
})

test('a failure is its status and error, and the exit code', async () => {
  const { BASE_URL } = await failing()
  const run = start({ env: { BASE_URL } })
  assert.equal(await run.ended, 1, run.said())
  assert.match(run.said(), /^failed model\.status .*401/m)
})
