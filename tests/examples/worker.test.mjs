// In workerd; the other runtimes, and the proxy of the same file, are in tests/server/example.mjs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { readEvents } from '../server/client.mjs'
import { example, failing } from './start.mjs'

const { start } = example(import.meta)
const serve = (env) => start({ env: { PORT: '0', ...env } })
const post = async (server, path, body, token = 'let-me-in') => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  return fetch(`${await server.url()}/api/chat${path}`, init)
}
const messages = [{ role: 'user', content: 'Which files?' }]

test('a killed worker’s turn goes on in the next one, from its Durable Object', async () => {
  const first = serve()
  assert.equal((await post(first, '', { messages }, 'x')).status, 401)
  const asked = await post(first, '', { messages, policy: { pauseAfterTools: true } })
  const { events } = await readEvents(asked)
  assert.equal(events.at(-1).type, 'paused', first.said())
  await first.stop()
  const second = serve()
  const { requestId } = events[0]
  const resumed = await readEvents(await post(second, '/messages_two_stage/resume', { requestId }))
  const last = resumed.events.at(-1)
  assert.equal(last.type, 'complete', second.said())
  assert.match(last.fullContent, /notes\.txt/)
  assert.ok(resumed.events.every(({ type }) => type !== 'tool_calls'))
})

test('a failure is the last event, and in the log', async () => {
  const { BASE_URL } = await failing()
  const server = serve({ BASE_URL })
  const { events } = await readEvents(await post(server, '', { messages }))
  assert.equal(events.at(-1).code, 'model.status')
  await server.hears(/model\.status|401/)
})
