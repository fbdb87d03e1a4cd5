// What the worker does else is tested in tests/server/rust-worker.test.mjs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { readEvents } from '../server/client.mjs'
import { example, failing } from './start.mjs'

const { start } = example(import.meta, { inPlace: true })
const ask = async (server) => {
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'Which files?' }] })
  const response = await fetch(`${await server.url()}/chat`, { method: 'POST', body })
  return (await readEvents(response)).events.at(-1)
}
const serve = (env) => start({ env: { PORT: '0', ...env } })

test('it runs the tool and answers', async () => {
  const last = await ask(serve())
  assert.equal(last.type, 'complete')
  assert.match(last.fullContent, /notes\.txt.*That answers it\./)
})

test('a failure is the last event', async () => {
  const { BASE_URL } = await failing()
  assert.equal((await ask(serve({ BASE_URL }))).code, 'model.status')
})
