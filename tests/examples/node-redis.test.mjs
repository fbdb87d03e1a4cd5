// The server is killed between the tools of a turn and its answer, and another one goes on.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { readEvents } from '../server/client.mjs'
import { startRedis } from '../stores/redis-server.mjs'
import { example, failing } from './start.mjs'

const { start } = example(import.meta)
let redis
before(async () => (redis = await startRedis()))
after(() => redis?.stop())

const serve = (own) => start({ env: { PORT: '0', REDIS_URL: redis.url, ...own } })
const post = async (server, path, body) =>
  fetch(`${await server.url()}/api/chat${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const messages = [{ role: 'user', content: 'Which files?' }]

test('a killed server’s turn goes on in the next one, and its tool does not run again', async () => {
  const first = serve()
  const asked = await post(first, '', { messages, policy: { pauseAfterTools: true } })
  const { events } = await readEvents(asked)
  assert.equal(events.at(-1).type, 'paused', first.said())
  await first.stop()
  const second = serve()
  const { requestId } = events[0]
  const resumed = await readEvents(await post(second, '/messages_two_stage/resume', { requestId }))
  const last = resumed.events.at(-1)
  assert.equal(last.type, 'complete', second.said())
  assert.match(last.fullContent, /server\.mjs/)
  assert.ok(resumed.events.every(({ type }) => type !== 'tool_calls'))
  await second.hears(new RegExp(`${requestId} complete`))
})

test('a failure is the last event, and in the log', async () => {
  const { BASE_URL } = await failing()
  const server = serve({ BASE_URL })
  const { events } = await readEvents(await post(server, '', { messages }))
  assert.equal(events.at(-1).type, 'error')
  assert.equal(events.at(-1).code, 'model.status')
  await server.hears(/model\.status|401/)
})

test('without Redis it says what is missing', async () => {
  const server = serve({ REDIS_URL: 'redis://127.0.0.1:1' })
  await server.hears(/Redis: ECONNREFUSED/)
})
