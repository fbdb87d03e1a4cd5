// The example worker in Rust, in workerd, over real HTTP.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Miniflare } from 'miniflare'
import { root } from '../../scripts/setup.mjs'
import { until } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { fresh, readEvents } from './client.mjs'

const dist = join(root, 'examples/rust-worker/dist')
const MODULES = [
  {
    type: 'ESModule',
    path: 'worker.mjs',
    contents: readFileSync(join(dist, 'worker.mjs'), 'utf8'),
  },
  {
    type: 'CompiledWasm',
    path: 'rust_worker_bg.wasm',
    contents: readFileSync(join(dist, 'rust_worker_bg.wasm')),
  },
]

let provider
const workers = []
before(async () => {
  provider = await createProvider()
})
after(async () => {
  await Promise.all(workers.map((worker) => worker.dispose()))
  await provider.close()
})

/** A worker whose model is at `url`. */
async function serve(url) {
  const worker = new Miniflare({
    compatibilityDate: '2025-05-01',
    host: '127.0.0.1',
    port: 0,
    modules: MODULES,
    compatibilityFlags: ['enable_request_signal'],
    bindings: { BASE_URL: url, OPENAI_API_KEY: 'sk-x' },
  })
  workers.push(worker)
  return (await worker.ready).origin
}

const scripted = (session, script) => serve(`${provider.url}/s/${session}/${script}/v1`)
const post = (origin, body, own) =>
  fetch(`${origin}/chat`, { method: 'POST', body: JSON.stringify(body), ...own })
const GO = { messages: [{ role: 'user', content: 'go' }] }

test('a turn with a tool, as an event stream', async () => {
  const session = fresh('rust')
  const response = await post(await scripted(session, 'one-call'), GO)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const { events, ids } = await readEvents(response)
  assert.equal(events.at(-1).type, 'complete')
  assert.match(events.at(-1).fullContent, /notes\.txt.*That answers it\./)
  assert.deepEqual(
    ids,
    events.map((_, at) => String(at + 1)),
  )
  const results = events.flatMap((event) => event.toolResults ?? [])
  assert.deepEqual(
    results.map(({ name, status, result }) => [name, status, result]),
    [['list_files', 'ok', ['notes.txt', 'readme.md', 'log/today.txt']]],
  )
  assert.ok(events.every((event) => event.requestId === response.headers.get('x-request-id')))
  assert.equal(provider.requests(session).length, 2)
})

test('what fails is an event with its code', async () => {
  const { events } = await readEvents(
    await post(await scripted(fresh('rust'), 'cut-arguments'), GO),
  )
  const [last] = events.slice(-1)
  assert.deepEqual([last.type, last.code], ['error', 'model.truncated'])
})

test('what is no conversation is refused before a turn', async () => {
  const session = fresh('rust')
  const origin = await scripted(session, 'answer')
  const refusals = [
    [{}, 400, 'request.invalid'],
    [{ messages: 'go' }, 400, 'request.invalid'],
    [{ messages: [{ shape: 'none' }] }, 400, 'message.unknown_shape'],
    [{ messages: [{ role: 'user', content: 'x'.repeat(1 << 20) }] }, 413, 'request.too_large'],
  ]
  for (const [body, status, code] of refusals) {
    const response = await post(origin, body)
    assert.deepEqual([response.status, (await response.json()).error.code], [status, code])
  }
  assert.equal((await fetch(`${origin}/chat`)).status, 405)
  assert.equal((await fetch(`${origin}/else`, { method: 'POST' })).status, 404)
  assert.equal(provider.requests(session).length, 0)
})

test('a client that leaves ends the turn: the connection to the model closes', async () => {
  const session = fresh('rust')
  const origin = await scripted(session, 'stall')
  // The worker waits for its turns to end, so it is the turn that closes the connection.
  for (const turn of [0, 1, 2]) {
    const left = new AbortController()
    const { body } = await post(origin, GO, { signal: left.signal })
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (!read.includes('"chunk"')) read += (await reader.read()).value
    left.abort()
    reader.cancel().catch(() => {})
    await until(() => provider.requests(session)[turn].closedEarly)
  }
  // The instance is none the worse for it.
  const again = await readEvents(await post(origin, GO), (events) =>
    events.some((event) => event.type === 'text'),
  )
  assert.equal(again.events[0].type, 'phase_start')
})

test('many requests at once, in one instance', async () => {
  const session = fresh('rust')
  const origin = await scripted(session, 'unhurried')
  const all = await Promise.all(Array.from({ length: 8 }, () => post(origin, GO)))
  const read = await Promise.all(all.map((response) => readEvents(response)))
  for (const { events } of read) assert.equal(events.at(-1).type, 'complete')
  assert.equal(new Set(read.map(({ events }) => events[0].requestId)).size, 8)
})

/** A model that never stops, and counts what it could send. */
async function endless() {
  // Small, so that the text stays below what a response may have until all buffers are full.
  const piece = 'x'.repeat(20)
  const delta = JSON.stringify({ choices: [{ index: 0, delta: { content: piece } }] })
  const told = { bytes: 0, closed: false }
  const server = createServer(async (request, response) => {
    request.resume()
    response
      .on('drain', () => told.go())
      .on('close', () => {
        told.closed = true
        told.go?.()
      })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    while (!told.closed) {
      const event = `data: ${delta}\n\n`.repeat(200)
      told.bytes += event.length
      if (!response.write(event)) {
        await new Promise((go) => (told.go = go))
      }
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { told, url: `http://127.0.0.1:${server.address().port}`, close }
}

test('a client that reads slowly holds the model back', async (t) => {
  const model = await endless()
  t.after(model.close)
  const origin = await serve(model.url)
  const { hostname, port } = new URL(origin)
  const response = await new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path: '/chat', method: 'POST' }, resolve)
    request.on('error', reject).end(JSON.stringify(GO))
  })
  response.pause()
  // Nothing is read: it stands still when what lies between is full.
  let before = -1
  await until(async () => {
    before = model.told.bytes
    await pause(1500)
    return before > 0 && model.told.bytes === before
  })
  let read = 0
  response.on('data', (piece) => (read += piece.length)).resume()
  await until(() => model.told.bytes > before + (1 << 20))
  assert.ok(model.told.bytes - read < 64 << 20, `${model.told.bytes} sent, ${read} read`)
  response.destroy()
  await until(() => model.told.closed)
})
