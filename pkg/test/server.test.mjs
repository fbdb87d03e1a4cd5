// What the handler tells its operator, and nobody else.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer, request as connect } from 'node:http'
import http2 from 'node:http2'
import { connect as connectTo } from 'node:net'
import test from 'node:test'
import { queryObjects } from 'node:v8'
import { customModel, defineTool, memoryStore, openaiChat } from 'turnlock'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { createHandler, toNodeListener } from 'turnlock/server'
import { collectGarbage } from '../../tests/garbage.mjs'
import { until } from '../../tests/patience.mjs'

const hello = customModel(async function* () {
  yield { type: 'text', text: 'Hello.' }
})
const refuses = openaiChat({
  baseURL: 'http://model.example/v1',
  model: 'm',
  apiKey: 'k',
  maxRetries: 0,
  fetch: async () => Response.json({ error: { message: 'secret: bad key' } }, { status: 401 }),
})
const down = async () => {
  throw new Error('secret: redis is down')
}
const authorize = () => ({ tenant: 'ann' })

function ask(handler, path, body) {
  const headers = { 'content-type': 'application/json' }
  const init = body && { method: 'POST', headers, body: JSON.stringify(body) }
  return handler(new Request(`http://app.example/api/chat${path}`, init))
}

for (const [name, options, path, body, code] of [
  ['model', { model: refuses, store: memoryStore() }, '/messages', true, 'model.status'],
  ['store', { model: hello, store: { ...memoryStore(), commit: down } }, '/messages', true],
  ['reader', { model: hello, store: { ...memoryStore(), events: down } }, '/r/events'],
]) {
  test(`a failure of the server's is for onError, and its words for nobody else: ${name}`, async () => {
    const told = []
    const handler = createHandler({ ...options, authorize, onError: (error) => told.push(error) })
    const response = await ask(
      handler,
      path,
      body && { messages: [{ role: 'user', content: 'hi' }] },
    )
    assert.doesNotMatch(await response.text(), /secret/)
    assert.deepEqual(
      told.map((error) => error.code),
      [code ?? 'store.unavailable'],
    )
    assert.match(told[0].message, /secret/)
  })
}

// Where nobody reads, the body cannot tell that its reader is gone: workerd's, for one, does not.
// The events stay far below `keep.bytes`: of a longer turn, a slow reader may miss the first ones.
test(
  'a client that leaves without having read holds no turn back',
  { timeout: 600_000 },
  async () => {
    let said = 0
    const model = customModel(async function* () {
      for (; said < 1000; said++) {
        await new Promise((resolve) => setImmediate(resolve))
        yield { type: 'text', text: 'x'.repeat(400) }
      }
    })
    const handler = createHandler({ model, store: memoryStore(), authorize })
    const left = new AbortController()
    const response = await handler(
      new Request('http://app.example/api/chat/messages', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        signal: left.signal,
        body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], requestId: 'unread' }),
      }),
    )
    assert.equal(response.status, 200)
    assert.ok(said < 1000, 'the model is held back')
    left.abort()
    assert.match(await (await ask(handler, '/unread/events')).text(), /"type":"complete"/)
    assert.equal(said, 1000)
  },
)

test('in Node, a handler that holds only the signal of a request hears that its client left', async (t) => {
  let leave
  const left = new Promise((resolve) => (leave = resolve))
  const never = () => new ReadableStream({ start: (to) => to.enqueue(new Uint8Array(1)) })
  const listener = toNodeListener(({ signal }) => {
    signal.addEventListener('abort', leave)
    return new Response(never())
  })
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const client = connect({ host: '127.0.0.1', port: server.address().port }).end()
  const [response] = await once(client, 'response')
  await once(response, 'readable')
  await collectGarbage()
  response.on('error', () => {})
  client.on('error', () => {})
  client.destroy()
  await left
})

/** A request of Node and its response, whose every write waits; `then` is called behind each. */
function slow(then) {
  const outgoing = Object.assign(new EventEmitter(), {
    destroyed: false,
    writableFinished: false,
    writeHead() {},
    flushHeaders() {},
    end() {},
    write: () => (setImmediate(then), false),
  })
  const own = { method: 'GET', url: '/', headers: {}, rawHeaders: [], complete: true }
  return [{ ...own, socket: {} }, outgoing]
}

test('in Node, nothing is kept of a write that waited', async () => {
  let left = 20_000
  const pull = (to) => (left-- > 0 ? to.enqueue(new Uint8Array(1)) : to.close())
  const [incoming, outgoing] = slow(() => outgoing.emit('drain'))
  const before = queryObjects(Promise)
  await toNodeListener(() => new Response(new ReadableStream({ pull })))(incoming, outgoing)
  assert.ok(left <= 0)
  const kept = queryObjects(Promise) - before
  assert.ok(kept < 1000, `${kept}`)
  assert.equal(outgoing.listenerCount('drain'), 0)
  // The connection is open until here.
  outgoing.emit('close')
})

test('in Node, a client that leaves while a write waits ends the response', async () => {
  let cancelled = false
  const pull = (to) => to.enqueue(new Uint8Array(1))
  const body = new ReadableStream({ pull, cancel: () => (cancelled = true) })
  const [incoming, outgoing] = slow(() => {
    outgoing.destroyed = true
    outgoing.emit('close')
  })
  await toNodeListener(() => new Response(body))(incoming, outgoing)
  assert.equal(cancelled, true)
})

const no = () => new Response('no', { status: 413 })
const midst = async ({ body }) => {
  for await (const piece of body) if (piece.length) return no()
}
const closing = () => new Response('no', { status: 413, headers: { connection: 'close' } })
for (const [name, handler, head, host = 'a'] of [
  ['unread', no, `content-length: ${32 * 2 ** 20}`],
  ['in its midst', midst, 'transfer-encoding: chunked'],
  ['by a closing response', closing, `content-length: ${32 * 2 ** 20}`],
  ['behind a wrong host', () => assert.fail('reached'), `content-length: ${32 * 2 ** 20}`, 'a/b'],
]) {
  for (const connection of ['keep-alive', 'close']) {
    test(`in Node, a client hears that its body is refused when it has sent all of it: ${name}, ${connection}`, async (t) => {
      const served = (request) =>
        request.method === 'GET' ? new Response('yes') : handler(request)
      const server = createServer(toNodeListener(served)).listen(0, '127.0.0.1')
      server.keepAliveTimeout = 0 // A busy machine may do nothing for seconds.
      t.after(() => (server.closeAllConnections(), server.close()))
      await once(server, 'listening')
      const socket = connectTo(server.address().port, '127.0.0.1')
      const write = (data) =>
        new Promise((resolve, reject) =>
          socket.write(data, (error) => (error ? reject(error) : resolve())),
        )
      await write(
        `POST / HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n${head}\r\n\r\n`,
      )
      const piece = Buffer.alloc(2 ** 20, 'x')
      const isChunked = head.startsWith('transfer')
      for (let sent = 0; sent < 32; sent++) {
        if (isChunked) await write(`${piece.length.toString(16)}\r\n`)
        await write(piece)
        if (isChunked) await write('\r\n')
      }
      if (isChunked) await write('0\r\n\r\n')
      // The next request of the connection, where it may have one, begins where the body ends.
      const next = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'
      if (connection === 'keep-alive') await write(next)
      // Nothing was read until here.
      const said = Buffer.concat(await socket.toArray()).toString()
      const statuses = [...said.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status))
      const own = host === 'a' ? 413 : 400
      const closes = connection === 'close' || handler === closing
      assert.deepEqual(statuses, closes ? [own] : [own, 200])
      assert.match(said, /\r\n0\r\n\r\n$/)
    })
  }
}

test('in Node, a function may read a body behind its response', async (t) => {
  const read = []
  const listener = toNodeListener((request) => {
    read.push(request.text())
    return new Response('accepted', { status: 202 })
  })
  const server = createServer(listener).listen(0, '127.0.0.1')
  server.keepAliveTimeout = 0
  t.after(() => (server.closeAllConnections(), server.close()))
  await once(server, 'listening')
  const body = 'x'.repeat(4 * 2 ** 20)
  for (const connection of ['keep-alive', 'close']) {
    const headers = { connection, 'content-length': body.length }
    const options = { host: '127.0.0.1', port: server.address().port, method: 'POST', headers }
    const client = connect(options).end(body)
    const [response] = await once(client, 'response')
    assert.equal(response.statusCode, 202)
    assert.equal((await response.toArray()).join(''), 'accepted')
    assert.equal((await read.at(-1)).length, body.length)
  }
})

test('in Node, nothing waits for a client that has left behind its response', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const shouldKeepAlive of [true, false]) {
    const [head, outgoing] = slow(() => {})
    const socket = new EventEmitter()
    const next = () => new Promise(() => {})
    const body = { [Symbol.asyncIterator]: () => ({ next }), destroy() {} }
    const listener = toNodeListener(() => new Response())
    const over = listener(
      { ...head, ...body, socket, complete: false },
      Object.assign(outgoing, { shouldKeepAlive }),
    )
    await new Promise((resolve) => setImmediate(resolve))
    socket.emit('close')
    await over
    assert.equal(socket.listenerCount('close'), 0)
  }
})

test('in Node, over HTTP/2 too', async (t) => {
  const echo = async (request) =>
    Response.json({
      url: request.url,
      text: await request.text(),
      own: request.headers.get('x-own'),
    })
  const server = http2.createServer(toNodeListener(echo)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const authority = `127.0.0.1:${server.address().port}`
  const client = http2.connect(`http://${authority}`)
  t.after(() => (client.close(), server.close()))
  for (const text of ['', 'x'.repeat(2 ** 18)]) {
    const method = text ? 'POST' : 'GET'
    const stream = client.request({ ':path': '/a?b', ':method': method, 'x-own': 'y' })
    if (text) stream.end(text)
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], 200)
    const said = Buffer.concat(await stream.toArray()).toString()
    assert.deepEqual(JSON.parse(said), { url: `http://${authority}/a?b`, text, own: 'y' })
  }
})

for (const shouldKeepAlive of [true, false]) {
  test(`in Node, the rest of a body is read for 30 s (kept alive: ${shouldKeepAlive})`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const [head, outgoing] = slow(() => {})
    const told = []
    const body = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
      destroy: () => told.push('destroyed'),
    }
    outgoing.end = (finished) => {
      told.push('ended')
      finished?.()
    }
    const listener = toNodeListener(() => new Response())
    void listener(
      { ...head, ...body, complete: false },
      Object.assign(outgoing, { shouldKeepAlive }),
    )
    await new Promise((resolve) => setImmediate(resolve))
    t.mock.timers.tick(29_999)
    // A client that hears the answer and stops sending does not wait for its end.
    assert.deepEqual(told, shouldKeepAlive ? ['ended'] : [])
    t.mock.timers.tick(1)
    assert.deepEqual(told.slice(-2), ['ended', 'destroyed'])
  })
}

test('in Node, what a function throws is told, and its client gets a 500 or a broken connection', async (t) => {
  const told = []
  const broken = () =>
    new ReadableStream({
      start: (to) => to.enqueue(new Uint8Array([65])),
      pull: (to) => to.error(new Error('midst')),
    })
  const ways = {
    throws() {
      throw new Error('at once')
    },
    rejects: async () => Promise.reject(new Error('later')),
    nothing: async () => undefined,
    midst: () => new Response(broken()),
  }
  const handler = ({ url }) => ways[new URL(url).pathname.slice(1)]()
  const onError = (error) => {
    told.push(error.message)
    throw error
  }
  const server = createServer(toNodeListener(handler, { onError })).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const ask = (way, init) => fetch(`http://127.0.0.1:${server.address().port}/${way}`, init)
  for (const way of ['throws', 'rejects', 'nothing']) {
    for (const init of [{}, { method: 'POST', body: 'x'.repeat(2 ** 20) }]) {
      const response = await ask(way, init)
      assert.deepEqual([response.status, await response.text()], [500, ''])
    }
  }
  const response = await ask('midst')
  assert.equal(response.status, 200)
  await assert.rejects(response.text())
  assert.deepEqual([told[0], told[2], told.length], ['at once', 'later', 7])
  assert.equal(told[6], 'midst')
})

test('a body that cannot be read is the server’s error where the host has taken it', async () => {
  const told = []
  const handler = createHandler({
    model: hello,
    store: memoryStore(),
    onError: (error) => told.push(error),
    authorize: (request) => (request.body.getReader(), { tenant: 'ann' }),
  })
  const response = await ask(handler, '/messages', { messages: [{ role: 'user', content: 'hi' }] })
  assert.equal(response.status, 500)
  assert.equal(told.length, 1)
})

for (const format of [undefined, 'ai-sdk']) {
  test(`a client that leaves is no failure of the server's (${format ?? 'events'})`, async (t) => {
    const [told, unhandled, ends] = [[], [], []]
    const note = (error) => unhandled.push(error)
    process.on('unhandledRejection', note)
    t.after(() => process.off('unhandledRejection', note))
    const model = customModel(async function* () {
      for (let said = 0; said < 50; said++) {
        await new Promise((resolve) => setImmediate(resolve))
        yield { type: 'text', text: 'x'.repeat(1000) }
      }
    })
    const handler = createHandler({
      model,
      store: memoryStore(),
      authorize,
      format,
      onEnd: (_, { requestId }) => ends.push(requestId),
      onError: (error) => told.push(error),
    })
    const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${server.address().port}/api/chat/messages`
    const parts = [{ type: 'text', text: 'hi' }]
    // Before the head, behind it, and behind the first bytes of the body.
    for (const stage of ['sent', 'head', 'bytes']) {
      const message = format ? { id: 'm1', role: 'user', parts } : { role: 'user', content: 'hi' }
      const body = JSON.stringify({ messages: [message], requestId: `left-${stage}`, id: 'chat' })
      const headers = { 'content-type': 'application/json', 'content-length': body.length }
      const client = connect(url, { method: 'POST', headers }).end(body)
      client.on('error', () => {})
      if (stage === 'sent') await once(client, 'finish')
      else {
        const [response] = await once(client, 'response')
        assert.equal(response.statusCode, 200)
        response.on('error', () => {})
        if (stage === 'bytes') await once(response, 'readable')
      }
      client.destroy()
    }
    // A turn goes on without its client; the first may never have reached the handler.
    await until(() => ends.length >= 2)
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.deepEqual(told, [])
    assert.deepEqual(unhandled, [])
  })
}

test('onEvent and onEnd hear of every turn, also when its client has left', async () => {
  const [events, ends] = [[], []]
  let release
  const held = new Promise((resolve) => (release = resolve))
  const model = customModel(async function* ({ tools }) {
    if (!tools?.length) return yield { type: 'text', text: 'Saved.' }
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'wait' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const wait = defineTool({ description: '', inputSchema: {}, execute: () => held })
  const parts = { model, tools: { wait }, store: memoryStore(), authorize }
  const handler = createHandler({
    ...parts,
    onEvent: (event, about) => events.push([event.type, about.tenant, about.conversationId]),
    async onEnd(result, about) {
      ends.push({ text: result.text, added: result.messages.length, ...about })
      throw new Error('the database is down')
    },
    onError: ({ message }) => events.push([message]),
  })
  const left = new AbortController()
  const start = async (requestId, own) => {
    const body = { messages: [{ role: 'user', content: 'hi' }], requestId, ...own }
    return handler(
      new Request('http://app.example/api/chat/messages_two_stage', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: left.signal,
      }),
    )
  }
  await start('gone', { conversationId: 'chat' })
  left.abort()
  release('waited')
  await until(() => ends.length === 1)
  const messages = [{ role: 'user', content: 'hi' }]
  const about = { tenant: 'ann', requestId: 'gone', conversationId: 'chat', messages }
  assert.deepEqual(ends, [{ text: 'Saved.', added: 3, ...about }])
  await until(() => events.some(([type]) => type === 'the database is down'))
  assert.ok(events.some(([type, ...own]) => type === 'complete' && own.join() === 'ann,chat'))
  // A pause is no end; what ends behind it has the history that the turn began with.
  await (await start('later', { policy: { pauseAfterTools: true } })).text()
  assert.equal(ends.length, 1)
  await (await ask(handler, '/resume', { requestId: 'later' })).text()
  await until(() => ends.length === 2)
  assert.deepEqual(ends[1].messages, messages)
})

test('onEnd hears of a turn that is cancelled while nobody runs it, once', async () => {
  const [events, ends] = [[], []]
  const store = memoryStore()
  let broken = true
  const model = customModel(async function* ({ tools }) {
    if (!tools?.length && broken) throw new Error('the model is down')
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'look' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const look = defineTool({ description: '', inputSchema: {}, execute: () => 'seen' })
  const handler = createHandler({
    model,
    tools: { look },
    store,
    authorize,
    onEvent: ({ type }, { requestId }) => events.push(`${requestId} ${type}`),
    onEnd: (result, about) => ends.push([result, about]),
    onError() {},
  })
  const start = async (requestId, policy) => {
    const messages = [{ role: 'user', content: 'hi' }]
    const body = { messages, requestId, policy, conversationId: 'chat' }
    await (await ask(handler, '/messages_two_stage', body)).text()
  }
  const cancel = async (requestId) => (await ask(handler, '/cancel', { requestId })).json()
  await start('paused', { pauseAfterTools: true })
  await start('broken')
  assert.deepEqual(ends, [], 'both can be resumed')
  for (const requestId of ['paused', 'broken']) {
    const twice = await Promise.all([cancel(requestId), cancel(requestId)])
    twice.push(await cancel(requestId))
    assert.deepEqual(twice, Array(3).fill({ requestId, status: 'cancelled' }))
    await until(() => ends.length && events.includes(`${requestId} cancelled`))
    const [result, about] = ends.pop()
    assert.deepEqual([result.status, result.toolResults.length], ['cancelled', 1])
    const messages = [{ role: 'user', content: 'hi' }]
    assert.deepEqual(about, { tenant: 'ann', requestId, conversationId: 'chat', messages })
    assert.deepEqual(ends, [])
  }
  // Its owner tells the end of a turn that runs.
  broken = false
  let release
  const held = new Promise((resolve) => (release = resolve))
  const busy = createHandler({
    model,
    store,
    authorize,
    onEnd: ({ status }) => ends.push(status),
    tools: { look: defineTool({ description: '', inputSchema: {}, execute: () => held }) },
  })
  const body = { messages: [{ role: 'user', content: 'hi' }], requestId: 'runs' }
  const response = await ask(busy, '/messages_two_stage', body)
  await ask(busy, '/cancel', { requestId: 'runs' })
  release('seen')
  await response.text()
  await until(() => ends.length)
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(ends, ['cancelled'])
})

test('a client that has left before its run or turn begins gives its place back', async () => {
  const deaf = customModel(async function* (_, { signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    yield { type: 'text', text: 'late' }
  })
  const left = new AbortController()
  let signals = 0
  const handler = createHandler({
    model: deaf,
    store: memoryStore(),
    clientGone: 'stop',
    limits: { turnsPerTenant: 1 },
    // It leaves while the request is authorized.
    authorize: async () => (left.abort(), { tenant: 't' }),
    passes: {
      plan(_, { signal }) {
        signals += Number(signal.aborted)
        return runPlanning({ model: deaf, input: {}, tools: {}, signal })
      },
    },
  })
  const send = (path, body) =>
    handler(
      new Request(`http://app.example/api/chat${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        signal: left.signal,
        body: JSON.stringify(body),
      }),
    )
  for (let times = 1; times <= 3; times++) {
    const run = await send('/passes/plan', {})
    assert.notEqual(run.status, 429)
    await run.text()
    const turn = await send('/messages', { messages: [{ role: 'user', content: 'hi' }] })
    assert.notEqual(turn.status, 429)
    await turn.text()
  }
  assert.equal(signals, 3)
})

test('a function that hangs before its run begins keeps no place', async () => {
  const left = new AbortController()
  let goOn
  let cancelled
  const handler = createHandler({
    model: hello,
    store: memoryStore(),
    authorize,
    limits: { turnsPerTenant: 1 },
    passes: {
      async hangs() {
        await new Promise((resolve) => (goOn = resolve))
        return () => {
          const pass = runPlanning({ model: hello, input: {}, tools: {} })
          cancelled = pass.then(
            () => 'planned',
            ({ code }) => code,
          )
          return pass
        }
      },
      plan: () => runPlanning({ model: hello, input: {}, tools: {} }),
    },
  })
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: '{}', signal: left.signal }
  const hanging = handler(new Request('http://app.example/api/chat/passes/hangs', init))
  await until(() => goOn)
  assert.equal((await ask(handler, '/passes/plan', {})).status, 429, 'it has the only place')
  left.abort()
  await hanging
  const next = await ask(handler, '/passes/plan', {})
  assert.equal(next.status, 200)
  await next.text()
  goOn()
  await until(() => cancelled)
  assert.equal(await cancelled, 'request.cancelled')
})

test('a slow client of a chain holds its answer back', async () => {
  let said = 0
  const pieces = async function* () {
    for (; said < 5000; said++) yield 'x'
  }
  const none = async () => null
  const handler = createHandler({
    model: hello,
    store: memoryStore(),
    authorize,
    chains: {
      ask: () =>
        runChain({ query: 'q', answer: pieces, plan: none, search: none, synthesize: pieces }),
    },
  })
  const response = await ask(handler, '/chains/ask', {})
  assert.equal(response.status, 200)
  // As many turns of the event loop as the whole answer takes.
  for (let turns = 0; turns < 5000; turns++) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(said < 600, `${said} pieces are waiting`)
  const text = await response.text()
  assert.equal(text.match(/"chunk":"x"/g).length, 5000)
  assert.match(text, /"type":"complete"/)
})

test('what a function of the host returns wrongly is its failure, and ends nothing else', async () => {
  const unhandled = []
  const note = (error) => unhandled.push(error)
  process.on('unhandledRejection', note)
  const told = []
  const cached = new Response('{}', { status: 422 })
  const handler = createHandler({
    model: hello,
    store: memoryStore(),
    authorize,
    onError: (error) => told.push(error),
    passes: {
      rejects: () => async () => {
        throw new Error('secret: the database is down')
      },
      cached: () => cached,
      broken: () => Response.error(),
    },
  })
  const status = async (name) => (await ask(handler, `/passes/${name}`, {})).status
  assert.equal(await status('rejects'), 500)
  assert.equal(await status('cached'), 422)
  await cached.text().catch(() => {})
  assert.equal(await status('cached'), 500)
  assert.equal(await status('broken'), 500)
  await new Promise((resolve) => setTimeout(resolve, 20))
  process.off('unhandledRejection', note)
  assert.deepEqual(unhandled, [])
  assert.equal(told.length, 3)
})

test('a session without a tenant is told to the operator; no session is nobody’s error', async () => {
  for (const [session, isTold] of [
    [true, 1],
    [{ tenant: 5 }, 1],
    ['u', 1],
    [{}, 1],
    [null, 0],
    [undefined, 0],
  ]) {
    const told = []
    const handler = createHandler({
      model: hello,
      store: memoryStore(),
      authorize: () => session,
      onError: (error) => told.push(error.message),
    })
    const response = await ask(handler, '/messages', {
      messages: [{ role: 'user', content: 'hi' }],
    })
    assert.equal(response.status, 401)
    assert.equal(told.length, isTold, JSON.stringify(session))
    if (isTold) assert.match(told[0], /`authorize`: expected \{ tenant/)
  }
})

test('options of a wrong type are misuse at the call, with their path', () => {
  const known = {
    model: hello,
    store: memoryStore(),
    authorize: () => ({ tenant: 'a' }),
  }
  const wrong = [
    ['limits', 5],
    ['cors', 5],
    ['cors.headers', { cors: { headers: 5 } }],
    ['cors.headers', { cors: { headers: ['a b'] } }],
    // It would be sent as true.
    ['cors.credentials', { cors: { credentials: 'false' } }],
    ['basePath', ['/api']],
    ['prepare', {}],
    ['system', 5],
    // An answer would be saved nowhere, and nobody would hear of it.
    ...['onEnd', 'onEvent', 'onError', 'onTrace'].map((name) => [name, 'log']),
    ['twoStage.maxTools', { twoStage: { maxTools: -1 } }],
    ['twoStage.enabled', { twoStage: { enabled: 'maybe' } }],
    ['twoStage.headers.maxTools', { twoStage: { headers: { maxTools: 'x tools' } } }],
  ]
  for (const [path, value] of wrong) {
    const given = path.includes('.') ? value : { [path]: value }
    const expected = { code: 'options.invalid', message: new RegExp(`^\`${path}\`:`) }
    assert.throws(() => createHandler({ ...known, ...given }), expected, path)
  }
  assert.throws(() => createHandler({ ...known, answerSchema: 5 }), { code: 'tool.invalid_schema' })
  createHandler({
    ...known,
    twoStage: { enabled: 'off', maxTools: '3' },
    cors: { headers: ['*', 'x.team'] },
  })
  for (const options of [{ protocol: 'ftp' }, { forwarded: 'false' }, { onError: 'log' }]) {
    assert.throws(() => toNodeListener(() => {}, options), { code: 'options.invalid' })
  }
  assert.throws(() => toNodeListener(undefined), { code: 'options.invalid' })
})
