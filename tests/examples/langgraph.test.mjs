// The agent before other models, budgets and checkpoints: tests/adapters/langgraph.test.mjs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { example, failing } from './start.mjs'

const { start } = example(import.meta)

test('a model that repeats its call runs it once, and answers', async () => {
  const run = start({ args: ['Which files?'] })
  assert.equal(await run.ended, 0, run.said())
  assert.equal(run.said().match(/^list_files: run: .*agent\.mjs/gm).length, 1)
  assert.match(run.said(), /^list_files: block: /m)
  assert.match(run.said(), /From the tool results.*agent\.mjs.*\n$/)
})

test('a failure is its status and message, and the exit code', async () => {
  const { BASE_URL } = await failing()
  const run = start({ env: { BASE_URL } })
  assert.equal(await run.ended, 1, run.said())
  assert.match(run.said(), /^401: .*no such key/m)
})
