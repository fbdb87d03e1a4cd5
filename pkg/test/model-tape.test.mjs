// Recorded models: what is on a tape, what must never be, and what a request that differs says.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import * as turnlock from 'turnlock'
import { recordModel, replayModel } from 'turnlock/testing'
import { CLIENTS, modelOf } from '../../tests/lanes.mjs'
import { createProvider } from '../../tests/provider/server.mjs'

const { anthropic, defineTool, gemini, openaiChat, runTurn } = turnlock

let provider
const servers = []
test.before(async () => (provider = await createProvider()))
test.after(async () => {
  await provider.close()
  for (const server of servers) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** A server that answers by a function of Node; returns its address. */
async function serve(answer) {
  const server = createServer(answer)
  servers.push(server)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

const read = async (response) => new Uint8Array(await response.arrayBuffer())
const piecesOf = async (response) => {
  const pieces = []
  for await (const piece of response.body) pieces.push(Buffer.from(piece).toString())
  return pieces
}
const post = (body, headers = {}) => ({ method: 'POST', headers, body: JSON.stringify(body) })
/** As a file would return it. */
const stored = ({ tape }) => JSON.parse(JSON.stringify(tape))
const missOf = async (promise) => {
  const error = await promise.then(
    () => assert.fail('it is on the tape'),
    (error) => error,
  )
  assert.deepEqual([error.name, error.code], ['TurnlockError', 'replay.miss'], error.message)
  return error
}
const messages = [{ role: 'user', content: 'What is in my files?' }]
const inputSchema = { type: 'object' }
const tools = {
  list_files: defineTool({
    description: 'Lists files.',
    inputSchema,
    execute: () => ['notes.txt', 'plan.txt'],
  }),
  read_file: defineTool({
    description: 'Reads a file.',
    inputSchema,
    execute: ({ path }) => `The text of ${path}.`,
  }),
}

for (const dialect of Object.keys(CLIENTS)) {
  test(`${dialect}: a taped turn is the same turn again, without a provider`, async () => {
    const play = async (fetch) => {
      const model = modelOf(turnlock, dialect, {
        baseURL: `${provider.url}/s/tape-${dialect}/list-then-read/v1`,
        model: 'scripted',
        apiKey: `key-of-${dialect}`,
        maxRetries: 0,
        fetch,
      })
      const events = []
      const boxSecret = 'a'.repeat(32)
      const turn = runTurn({
        model,
        messages,
        tools,
        requestId: 'r',
        boxSecret,
        policy: { maxTools: 2 },
      })
      for await (const event of turn) events.push(event)
      // Tools run in their own time.
      const text = JSON.stringify(events, (name, value) => (name === 'durationMs' ? 0 : value))
      return { ...(await turn.result), events: text }
    }
    const fetch = recordModel()
    const live = await play(fetch)
    assert.equal(live.status, 'complete', live.error?.message)
    const tape = JSON.stringify(fetch.tape)
    assert.ok(fetch.tape.entries.length >= 3)
    assert.ok(fetch.tape.entries.every(({ response }) => response.end === 'complete'))
    assert.ok(!tape.includes(`key-of-${dialect}`))
    const [one, two] = [await play(replayModel(JSON.parse(tape))), await play(replayModel(JSON.parse(tape)))] // prettier-ignore
    assert.deepEqual(one.messages, live.messages)
    assert.equal(one.events, two.events)
  })
}

// A recorder that joins a stream cannot show how it arrived (BerriAI/litellm#38136,
// CopilotKit/aimock#125); one that cuts it at lines loses its delimiters (papercomputeco/tapes#71).
test('a stream keeps its pieces and its bytes', async () => {
  const pieces = ['data: {"a":', '1}\n', '\n', 'data: caf', '\r\n\r\ndata: [DONE]\n\n']
  const url = await serve(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) {
      response.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    response.end()
  })
  const fetch = recordModel()
  const live = await piecesOf(await fetch(url, post({})))
  assert.equal(live.join(''), pieces.join(''))
  assert.deepEqual(fetch.tape.entries[0].response.chunks, live)
  const again = await replayModel(stored(fetch))(url, post({}))
  assert.equal(again.headers.get('content-type'), 'text/event-stream')
  assert.deepEqual(await piecesOf(again), live)
})

test('bytes that are no UTF-8, and characters that are cut, come back', async () => {
  const chunks = [Uint8Array.of(0, 255, 128), new TextEncoder().encode('\u{FEFF}é').subarray(0, 4)]
  const response = () =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk)
          controller.close()
        },
      }),
    )
  const fetch = recordModel(async () => response())
  const live = await read(await fetch('https://a.example/v1', post({})))
  const again = await read(await replayModel(stored(fetch))('https://a.example/v1', post({})))
  assert.deepEqual(again, live)
  assert.deepEqual(
    [...again],
    chunks.flatMap((chunk) => [...chunk]),
  )
})

// A recorded `content-encoding` makes clients decode twice (getsentry/responses#724, vcr/vcr#615).
test('a compressed response is on the tape as text, without its encoding', async () => {
  const url = await serve((_, response) => {
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
    response.writeHead(200, { ...headers, 'set-cookie': 'session=cookie-of-the-provider' })
    response.end(gzipSync('{"answer":"noon"}'))
  })
  const fetch = recordModel()
  assert.deepEqual(await (await fetch(url, post({}))).json(), { answer: 'noon' })
  const { response } = fetch.tape.entries[0]
  assert.deepEqual(response.headers, { 'content-type': 'application/json' })
  assert.equal(response.chunks.join(''), '{"answer":"noon"}')
  const again = await replayModel(stored(fetch))(url, post({}))
  assert.deepEqual(await again.json(), { answer: 'noon' })
})

test('failures are taped: a status with its wait, a broken connection, no connection', async () => {
  let asked = 0
  const url = await serve((request, response) => {
    asked += 1
    if (asked === 1) {
      response.writeHead(429, { 'retry-after': '0', 'content-type': 'application/json' })
      return response.end('{"error":{"message":"slow down"}}')
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"index":0,"delta":{"content":"High"}}]}\n\n')
    setTimeout(() => request.socket.destroy(), 30)
  })
  const play = (fetch, baseURL = url) => {
    const model = openaiChat({ baseURL, model: 'm', fetch, maxRetries: 1 })
    return runTurn({ model, messages }).result
  }
  const fetch = recordModel()
  const live = await play(fetch)
  assert.deepEqual([live.status, live.error.code], ['failed', 'model.truncated'])
  assert.deepEqual(
    fetch.tape.entries.map(({ response }) => [response.status, response.end]),
    [
      [429, 'complete'],
      [200, 'broken'],
    ],
  )
  const again = await play(replayModel(stored(fetch)))
  assert.deepEqual([again.text, again.error], [live.text, live.error])

  const down = recordModel()
  const refused = await play(down, 'http://127.0.0.1:1')
  assert.equal(refused.error.code, 'model.unreachable')
  assert.ok(down.tape.entries.every(({ response }) => 'failed' in response))
  const refusedAgain = await play(replayModel(stored(down)), 'http://127.0.0.1:1')
  assert.deepEqual(refusedAgain.error, refused.error)
})

test('a response whose reader left is not played further', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
  })
  const fetch = recordModel()
  const stop = new AbortController()
  const reader = (await fetch(url, { ...post({}), signal: stop.signal })).body.getReader()
  assert.equal(Buffer.from((await reader.read()).value).toString(), 'data: 1\n\n')
  stop.abort()
  await reader.read().catch(() => {})
  assert.equal(fetch.tape.entries[0].response.end, 'left')
  const left = (await replayModel(stored(fetch))(url, post({}))).body.getReader()
  await left.read()
  assert.match((await missOf(left.read())).message, /its reader left/)

  const early = recordModel()
  const gone = early(url, { ...post({}), signal: AbortSignal.abort() })
  await assert.rejects(gone, { name: 'AbortError' })
  assert.equal(early.tape.entries[0].response, null)
  await missOf(replayModel(stored(early))(url, post({})))
})

/** Texts that a tape must not have, wherever a request has them. */
const KEY = 'sk-live-4f9a8c7b6d5e'
const never = [
  // Headers: cassettes had them committed (canonical/ubuntu.com#16555, traceloop/openllmetry#3250).
  ['authorization', (fetch, url) => fetch(url, post({}, { authorization: `Bearer ${KEY}` }))],
  ['api-key', (fetch, url) => fetch(url, post({}, { 'api-key': KEY }))],
  ['x-api-key', (fetch, url) => fetch(url, post({}, new Headers({ 'x-api-key': KEY })))],
  ['x-goog-api-key', (fetch, url) => fetch(url, post({}, [['x-goog-api-key', KEY]]))],
  ['cookie', (fetch, url) => fetch(url, post({}, { 'x-cookie': KEY, 'openai-organization': KEY }))],
  [
    'AWS signature',
    (fetch, url) =>
      fetch(
        url,
        post({}, { authorization: `AWS4-HMAC-SHA256 Credential=A/20250812, Signature=${KEY}` }),
      ),
  ],
  // The query: keys of Gemini and of gateways (nashsu/llm_wiki#1).
  ['?key=', (fetch, url) => fetch(`${url}/v1beta/models/m:stream?alt=sse&key=${KEY}`, post({}))],
  ['any name', (fetch, url) => fetch(`${url}/v1?k%65y2=${KEY}&sig=${KEY}#${KEY}`, post({}))],
  [
    'user and password',
    (fetch, url) => fetch(`https://me:${KEY}@${new URL(url).host}/v1`, post({})),
  ],
  // The body: `"api_key"` in cassettes (traceloop/openllmetry#3378), tokens of MCP servers.
  ['api_key', (fetch, url) => fetch(url, post({ model: 'm', api_key: KEY }))],
  [
    'mcp_servers',
    (fetch, url) => fetch(url, post({ mcp_servers: [{ authorization_token: KEY }] })),
  ],
  [
    'headers of an MCP tool',
    (fetch, url) =>
      fetch(
        url,
        post({
          tools: [{ type: 'mcp', headers: { 'X-Own': KEY, Authorization: `Bearer ${KEY}` } }],
        }),
      ),
  ],
  [
    'a prompt that repeats the key',
    (fetch, url) =>
      fetch(
        url,
        post(
          { messages: [{ content: `Use ${KEY}.` }], [KEY]: 1 },
          { authorization: `Bearer ${KEY}` },
        ),
      ),
  ],
]
for (const [name, send] of never) {
  test(`a secret is not on the tape: ${name}`, async () => {
    const fetch = recordModel(async () => new Response('{}'))
    await read(await send(fetch, 'https://a.example'))
    assert.ok(!JSON.stringify(fetch.tape).includes(KEY), JSON.stringify(fetch.tape))
    // The tape answers the request with another key, and one without it.
    const replay = replayModel(stored(fetch))
    await read(await send((url, init) => replay(url, init), 'https://a.example'))
  })
}

// Providers repeat a wrong key in their answer, and a stream cuts it (cline/cline#9797).
test('a key that the provider repeats is not on the tape, in two pieces either', async () => {
  const said = `{"error":"Incorrect API key provided: ${KEY}. é"}`
  for (const cut of [said.length, said.indexOf(KEY) + 5]) {
    const fetch = recordModel(async () => {
      const pieces = [said.slice(0, cut), said.slice(cut)].filter(Boolean)
      return new Response(ReadableStream.from(pieces.map((text) => Buffer.from(text))), {
        status: 401,
      })
    })
    const live = await fetch('https://a.example', post({}, { authorization: `Bearer ${KEY}` }))
    assert.equal(await live.text(), said)
    assert.ok(!JSON.stringify(fetch.tape).includes(KEY))
    const again = await replayModel(stored(fetch))('https://a.example', post({}))
    assert.equal(again.status, 401)
    assert.equal(await again.text(), said.replace(KEY, '***'))
  }
})

test('a replay needs no key, and its address must be the same', async () => {
  const fetch = recordModel()
  const play = (fetch, model, own) => {
    const baseURL = `${provider.url}/s/keys-${model.name}/answer/v1`
    return runTurn({
      model: model({ baseURL, model: 'scripted', fetch, maxRetries: 0, ...own }),
      messages,
    }).result
  }
  for (const model of [openaiChat, anthropic, gemini]) {
    const live = await play(fetch, model, { apiKey: KEY })
    assert.equal(live.status, 'complete', live.error?.message)
    const again = await play(replayModel(stored(fetch)), model, { apiKey: 'other-key' })
    assert.deepEqual([again.status, again.text], ['complete', live.text])
  }
  assert.ok(!JSON.stringify(fetch.tape).includes(KEY))
  const elsewhere = replayModel(stored(fetch))('https://other.example/v1', post({}))
  assert.match(
    (await missOf(elsewhere)).message,
    /url was .*127\.0\.0\.1.* and is .*other\.example/,
  )
})

/** A tape of answers `0`, `1`, … to these bodies. */
async function taped(bodies, url = 'https://a.example/v1') {
  let at = 0
  const fetch = recordModel(async () => new Response(String(at++)))
  for (const body of bodies) await read(await fetch(url, post(body)))
  return stored(fetch)
}
const URL_ = 'https://a.example/v1'

// A replay that accepts a changed body proves nothing (mampfes/hacs_waste_collection_schedule#7102);
// one that only says "no match" costs hours (kevin1024/vcrpy#439, cline/cline#10997).
test('a request that is not on the tape says what differs', async () => {
  const tape = await taped([
    { model: 'a', messages: [{ role: 'user', content: 'one' }], temperature: 0 },
    { model: 'a', messages: [{ role: 'user', content: `${'x'.repeat(500)} two` }], temperature: 0 },
  ])
  const ask = (body) => missOf(replayModel(tape)(URL_, post(body)))
  const content = `${'x'.repeat(500)} three ${'y'.repeat(500)}`
  const error = await ask({ model: 'a', messages: [{ role: 'user', content }], temperature: 0 })
  assert.match(error.message, /request 1 \(POST https:\/\/a\.example\/v1\)/)
  assert.match(error.message, /body\/messages\/0\/content was /)
  assert.ok(error.message.length < 500, error.message)
  assert.equal(error.details.request, 1)
  // The nearest entry is compared: of one difference before two.
  const near = await ask({ model: 'a', messages: [{ role: 'user', content: 'one' }], seed: 7 })
  assert.deepEqual(near.details.differences, [
    { path: 'body/temperature', recorded: '0', requested: null },
    { path: 'body/seed', recorded: null, requested: '7' },
  ])
  assert.match(near.message, /entry 1 .*body\/temperature was 0 and is nothing/)
  const escaped = await taped([{ 'a/b': { '~': 1 } }])
  const [difference] = (await missOf(replayModel(escaped)(URL_, post({ 'a/b': { '~': 2 } }))))
    .details.differences
  assert.deepEqual(difference, { path: 'body/a~1b/~0', recorded: '1', requested: '2' })
  assert.match(
    (await missOf(replayModel({ version: 1, entries: [] })(URL_, post({})))).message,
    /is empty/,
  )
})

test('a difference is shown where it is, without secrets', async () => {
  const long = (end) => ({ messages: [{ content: `${'x'.repeat(300)}${end}${'y'.repeat(300)}` }] })
  const error = await missOf(replayModel(await taped([long('WAS')]))(URL_, post(long('NOW'))))
  const [{ recorded, requested }] = error.details.differences
  assert.deepEqual([recorded.includes('WAS'), requested.includes('NOW')], [true, true])
  assert.ok(recorded.length < 70)
  const keyed = await missOf(
    replayModel(await taped([{}]))(
      `${URL_}?key=${KEY}`,
      post({ api_key: KEY, a: KEY }, { 'x-api-key': KEY }),
    ),
  )
  assert.ok(!JSON.stringify([keyed.message, keyed.details]).includes(KEY), keyed.message)
})

// The order of members and the form of a number say nothing (symfony/ai#2469).
test('the same JSON is the same request', async () => {
  const tape = await taped([{ a: 1, b: [{ c: null, d: 'é' }] }])
  const body = '{"b":[{"d":"\\u00e9","c":null}],"a":1.0}'
  const answer = await replayModel(tape)(URL_, { method: 'POST', body })
  assert.equal(await answer.text(), '0')
  await missOf(replayModel(tape)(URL_, { method: 'POST', body: body.replace('1.0', '"1"') }))
  await missOf(replayModel(tape)(URL_, { method: 'PUT', body }))
})

// Of equal requests, a tape without a count answers one and hides why not the next
// (kevin1024/vcrpy#516).
test('equal requests get their responses in order, and then none', async () => {
  const fetch = replayModel(await taped([{ a: 1 }, { b: 1 }, { a: 1 }]))
  const ask = async (body) => (await fetch(URL_, post(body))).text()
  assert.deepEqual([await ask({ a: 1 }), await ask({ a: 1 }), await ask({ b: 1 })], ['0', '2', '1'])
  const error = await missOf(ask({ a: 1 }))
  assert.match(error.message, /2 responses to request 4 .*all of them used/)
  // A second player begins at the start.
  assert.equal(await (await replayModel(await taped([{}]))(URL_, post({}))).text(), '0')
})

test('a turn with a request that is not on the tape fails with `replay.miss`, and asks once', async () => {
  const tape = await taped([{}])
  let asked = 0
  const replay = replayModel(tape)
  const fetch = (url, init) => (asked++, replay(url, init))
  const model = openaiChat({ baseURL: 'https://a.example/v1', model: 'm', fetch, maxRetries: 3 })
  const { status, error } = await runTurn({ model, messages }).result
  assert.deepEqual([status, error.code, asked], ['failed', 'replay.miss', 1])
  assert.match(error.message, /url was .*and is .*chat\/completions/)
})

test('misuse', async () => {
  for (const fetch of [null, 'fetch', {}]) {
    assert.throws(() => recordModel(fetch), { code: 'options.invalid' })
  }
  const [entry] = (await taped([{}])).entries
  const bad = [
    undefined,
    null,
    [],
    {},
    { version: 2, entries: [] },
    { version: 1, entries: {} },
    { version: 1, entries: [null] },
    { version: 1, entries: [{ ...entry, request: {} }] },
    { version: 1, entries: [{ ...entry, response: 'x' }] },
    { version: 1, entries: [{ ...entry, response: { failed: 1 } }] },
    ...['status', 'headers', 'chunks', 'end'].map((name) => ({
      version: 1,
      entries: [entry, { ...entry, response: { ...entry.response, [name]: name } }],
    })),
  ]
  for (const tape of bad) {
    assert.throws(() => replayModel(tape), { code: 'options.invalid' }, JSON.stringify(tape))
  }
  assert.throws(() => replayModel(bad.at(-1)), /tape\.entries\[1\]/)
})
