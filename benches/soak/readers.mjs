// A thousand readers of a turn's events that never read: what a server holds for them.
import { createServer, request as ask } from 'node:http'
import { customModel, memoryStore } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'

/** Runs a turn of `pieces` events behind a real server, which `count` clients follow and never read. */
export async function idleReaders({ count, pieces }) {
  let release
  const go = new Promise((resolve) => (release = resolve))
  const model = customModel(async function* () {
    yield { type: 'text', text: 'begins ' }
    await go
    for (let at = 0; at < pieces; at++) {
      yield { type: 'text', text: `${'x'.repeat(98)} \n` }
      if (at % 100 === 0) await new Promise((resolve) => setTimeout(resolve))
    }
  })
  const store = memoryStore()
  const handler = createHandler({
    model,
    store,
    authorize: () => ({ tenant: 't' }),
    // The model waits until all are there, and a busy machine takes its time.
    policy: Object.fromEntries(
      ['modelFirstByteMs', 'modelIdleMs', 'turnMs'].map((name) => [name, 3_600_000]),
    ),
    limits: { readersPerTurn: count + 1 },
    keep: { events: 1e6, bytes: 1e9 },
  })
  const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  const base = `http://127.0.0.1:${port}/api/chat`
  const open = (path, options) =>
    new Promise((resolve, reject) => {
      const sent = ask(base + path, { agent: false, ...options }, resolve)
      sent.on('error', reject)
      sent.end(options?.body)
    })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ requestId: 'r', messages: [{ role: 'user', content: 'go' }] })
  const before = process.memoryUsage().rss
  const own = await open('/messages', { method: 'POST', headers, body })
  const waiting = []
  for (let at = 0; at < count; at++) {
    const response = await open('/r/events')
    // Never read: the socket's buffers fill, and the server has to wait.
    response.pause()
    waiting.push(response)
  }
  const opened = process.memoryUsage().rss
  release()
  let text = ''
  for await (const chunk of own) text += chunk
  const ends = /"type":"(\w+)"[^\n]*\n*$/.exec(text)?.[1]
  const bytes = text.length
  const after = process.memoryUsage().rss
  for (const response of waiting) response.destroy()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  return {
    statuses: new Set(waiting.map(({ statusCode }) => statusCode)),
    ends,
    bytes,
    before,
    opened,
    after,
  }
}
