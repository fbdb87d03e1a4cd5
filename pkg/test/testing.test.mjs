// What `turnlock/testing` offers for tests of an application.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import test from 'node:test'
import {
  anthropic,
  bedrock,
  cohere,
  defineTool,
  gemini,
  init,
  ollama,
  openaiChat,
  openaiResponses,
  runTurn,
} from 'turnlock'
import { toNodeListener } from 'turnlock/server'
import {
  fakeClock,
  sampleTools,
  scriptedModel,
  scriptedProvider,
  tapeFetch,
} from 'turnlock/testing'

const messages = [{ role: 'user', content: 'go' }]
const look = (execute) =>
  defineTool({ description: '', inputSchema: { type: 'object' }, readOnly: true, execute })
const sse = (...events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const delta = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] })
const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
const calling = sse(delta({ tool_calls: [call] }), delta({}, 'tool_calls'))
const answer = sse(delta({ content: 'Buy ' }), delta({ content: 'milk.' }, 'stop'))
const chat = (fetch, more) => openaiChat({ baseURL: 'http://x/v1', model: 'm', fetch, ...more })

test('a tape answers with recorded bytes, whole and in pieces, and keeps what was asked', async () => {
  for (const chunkBytes of [undefined, 1, 7]) {
    const fetch = tapeFetch([
      { body: calling, ...(chunkBytes && { chunkBytes }) },
      Buffer.from(answer),
    ])
    const tools = { look: look(() => 'milk') }
    const result = await runTurn({ model: chat(fetch, { apiKey: 'k' }), messages, tools }).result
    assert.deepEqual([result.status, result.text], ['complete', 'Buy milk.'])
    assert.equal(fetch.requests.length, 2)
    const [{ url, method, headers, body }] = fetch.requests
    assert.deepEqual([url, method], ['http://x/v1/chat/completions', 'POST'])
    assert.equal(headers.authorization, 'Bearer k')
    assert.deepEqual(body.messages, messages)
  }
})

test('a recording of a provider', async () => {
  const folder = new URL('../../tests/data/streams-vercel-ai/', import.meta.url)
  const name = 'files/deepseek/deepseek-text.chunks.txt'
  const lines = readFileSync(new URL(name, folder), 'utf8').split('\n').filter(Boolean)
  const body = lines.map((line) => `data: ${line}\n\n`).join('')
  const result = await runTurn({ model: chat(tapeFetch([body])), messages }).result
  assert.equal(result.status, 'complete')
  assert.ok(result.text.length > 10)
})

test('statuses, broken connections, and the end of the tape', async () => {
  const failed = async (...tape) =>
    (await runTurn({ model: chat(tapeFetch(tape), { maxRetries: 0 }), messages }).result).error.code
  assert.equal(await failed({ body: { error: { message: 'no' } }, status: 401 }), 'model.status')
  assert.equal(await failed({ body: answer.slice(0, 90), breaks: true }), 'model.truncated')
  assert.equal(await failed(), 'model.unreachable')
  const gone = new AbortController()
  gone.abort()
  await assert.rejects(tapeFetch([answer])('http://x', { signal: gone.signal }), /abort/i)
})

test('time limits pass without waiting', async () => {
  await init()
  const clock = fakeClock()
  try {
    const tools = { look: look(() => new Promise(() => {})) }
    const model = scriptedModel([{ call: 'look' }, 'late'])
    const policy = { toolTimeoutMs: 20_000 }
    const turn = runTurn({ model, messages, tools, policy })
    let ended = false
    const results = []
    const read = (async () => {
      for await (const event of turn) {
        if (event.type === 'tool_results') results.push(...event.toolResults)
      }
      ended = true
    })()
    await clock.advance(19_999)
    assert.deepEqual([ended, clock.now], [false, 19_999])
    await clock.advance(1)
    await read
    assert.deepEqual([results[0].status, (await turn.result).text], ['timeout', 'late'])
    assert.equal(results[0].durationMs, 20_000)
  } finally {
    clock.restore()
  }
  assert.ok(await new Promise((resolve) => setTimeout(() => resolve(true), 1)))
})

test('a clock runs its timers in order, each at its own time', async () => {
  const clock = fakeClock()
  const ran = []
  const say = (name) => ran.push([name, clock.now])
  const late = setTimeout(() => say('never'), 5)
  setTimeout(say, 20, 'b')
  setTimeout(() => {
    say('a')
    setTimeout(() => say('of a'), 3)
  }, 10)
  clearTimeout(late)
  const before = Date.now()
  await clock.advance(15)
  assert.deepEqual(ran, [
    ['a', 10],
    ['of a', 13],
  ])
  assert.equal(Date.now() - before, 15)
  await clock.advance(5)
  clock.restore()
  assert.deepEqual(ran[2], ['b', 20])
})

test('scripted provider: every client reads its behaviours through `fetch`', async () => {
  const provider = scriptedProvider()
  const clients = { anthropic, bedrock, cohere, gemini, ollama, openaiChat, openaiResponses }
  const { list_files, read_file } = sampleTools()
  const tools = { list_files: defineTool(list_files), read_file: defineTool(read_file) }
  for (const [name, client] of Object.entries(clients)) {
    const model = client({
      baseURL: `http://model.test/s/${name}/list-then-read/v1`,
      model: 'scripted',
      apiKey: 'secret',
      fetch: provider.fetch,
    })
    const policy = { maxTools: 2 }
    const { text, toolResults } = await runTurn({ model, messages, tools, policy }).result
    assert.match(text, /Call Ada/, name)
    assert.deepEqual(
      toolResults.map((result) => result.name),
      ['list_files', 'read_file'],
      name,
    )
    assert.deepEqual(provider.requests(name)[0].tools, ['list_files', 'read_file'], name)
    assert.doesNotMatch(JSON.stringify(provider.requests(name)), /secret/, name)
  }
})

test('scripted provider: `handle` serves over HTTP, also below a prefix', async () => {
  const provider = scriptedProvider()
  const server = createServer(
    toNodeListener((request) =>
      provider.handle(request, new URL(request.url).pathname.slice('/model'.length)),
    ),
  )
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const baseURL = `http://127.0.0.1:${server.address().port}/model/s/a/answer/v1`
    const { text } = await runTurn({ model: openaiChat({ baseURL, model: 'm' }), messages }).result
    assert.match(text, /^Hello!/)
    const requests = await (await fetch(`${baseURL.replace('/answer/v1', '')}/requests`)).json()
    assert.deepEqual(requests, JSON.parse(JSON.stringify(provider.requests('a'))))
    assert.equal(requests.length, 1)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('scripted provider: a script returns entries, recordings, or nothing', async () => {
  const errors = []
  const provider = scriptedProvider({
    scripts: {
      say: (rest, { requests, wire, search, view }) => ({
        text: [rest, ` ${requests.length} ${wire} ${search} ${view.messages[0].text}`],
      }),
      tape: () => ({ events: ['data: ab\n\n'], bytes: 4 }),
      nothing: () => undefined,
      broken() {
        throw new RangeError('as scripted')
      },
    },
    onError: (error) => errors.push(error.message),
  })
  const body = JSON.stringify({ messages })
  const ask = (script) =>
    provider.fetch(`http://x/s/s/${encodeURIComponent(script)}/v1/chat/completions?q=7`, {
      method: 'POST',
      body,
    })
  const said = await (await ask('say:a:b')).json()
  assert.equal(said.choices[0].message.content, 'a:b 1 openai-chat ?q=7 go')
  const pieces = []
  for await (const piece of (await ask('tape:')).body) pieces.push(Buffer.from(piece).toString())
  assert.deepEqual(pieces, ['data', ': ab', '\n\n'])
  assert.equal((await ask('nothing:')).status, 404)
  assert.equal((await ask('broken:')).status, 500)
  assert.deepEqual(errors, ['as scripted'])
})

test('scripted provider: records a client that disconnects', async () => {
  const provider = scriptedProvider()
  const left = new AbortController()
  const url = 'http://x/s/s/stall/v1/chat/completions'
  const body = JSON.stringify({ messages, stream: true })
  const response = await provider.fetch(url, { method: 'POST', body, signal: left.signal })
  const reader = response.body.getReader()
  await reader.read()
  assert.equal(provider.requests('s')[0].closedEarly, false)
  left.abort()
  assert.equal(provider.requests('s')[0].closedEarly, true)
})

test('scripted provider: invalid options are refused with their path', () => {
  const refused = [
    [{ scripts: { a: 1 } }, '`scripts.a`: expected a function'],
    [{ scripts: 1 }, '`scripts`: expected an object'],
    [{ onError: 1 }, '`onError`: expected a function'],
    [{ maxSessions: 0 }, /^`maxSessions`: expected /],
    [{ maxCharacters: 1.5 }, /^`maxCharacters`: expected /],
  ]
  for (const [options, message] of refused) {
    assert.throws(() => scriptedProvider(options), { code: 'options.invalid', message })
  }
})
