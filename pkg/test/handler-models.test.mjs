// The models of a handler: fallbacks, and models that keep the conversation.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { Client } from '@langchain/langgraph-sdk'
import {
  customModel,
  defineTool,
  diagnoseHistory,
  memoryStore,
  openaiResponses,
  threadId,
} from 'turnlock'
import { createHandler } from 'turnlock/server'

const user = (content) => ({ role: 'user', content })
const hello = customModel(async function* () {
  yield { type: 'text', text: 'Hello.' }
})
const threads = customModel(async function* () {}, { threads: true })
const known = { store: memoryStore(), authorize: () => ({ tenant: 'ann' }) }

/** Sends a body to a handler; the events of its turn, or its refusal. */
async function send(handler, body, path = '/messages_two_stage') {
  const response = await handler(
    new Request(`http://app.example/api/chat${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )
  const text = await response.text()
  if (response.status !== 200) return [response.status, JSON.parse(text).error.code]
  const lines = text.split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}

test('fallbacks: another model answers, also a turn that is resumed', async () => {
  let isDown = true
  const model = customModel(async function* ({ tools }) {
    if (isDown) throw new Error('down')
    if (!tools?.length) throw new Error('down again')
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'look' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const look = defineTool({ description: 'look', inputSchema: {}, execute: () => 1 })
  for (const fallbacks of [[hello], () => [hello]]) {
    isDown = true
    const options = { ...known, store: memoryStore(), model, tools: { look } }
    const handler = createHandler({ ...options, fallbacks })
    const ends = (events) => [events.at(-1).type, events.at(-1).text]
    assert.deepEqual(ends(await send(handler, { messages: [user('hi')] })), ['complete', 'Hello.'])
    const without = createHandler({ ...options, onError() {} })
    assert.equal((await send(without, { messages: [user('hi')] })).at(-1).code, 'model.failed')
    isDown = false
    const paused = { messages: [user('hi')], requestId: 'r', policy: { pauseAfterTools: true } }
    assert.equal((await send(handler, paused)).at(-1).type, 'paused')
    const resumed = await send(handler, { requestId: 'r' }, '/resume')
    assert.deepEqual(ends(resumed), ['complete', 'Hello.'])
  }
})

/** A LangGraph server with one assistant: keeps the input of each run by its thread. */
async function langgraph(t) {
  const runs = []
  const server = createServer(async (request, response) => {
    const [, thread] = /^\/threads\/([^/]+)\/runs\/stream$/.exec(request.url) ?? []
    assert.ok(thread, request.url)
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    runs.push({ thread, assistant: body.assistant_id, messages: body.input.messages })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const content of ['It is ', 'sunny.']) {
      const chunk = [{ type: 'AIMessageChunk', id: 'm1', content }, {}]
      response.write(`event: messages\ndata: ${JSON.stringify(chunk)}\n\n`)
    }
    response.end()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return { apiUrl: `http://127.0.0.1:${server.address().port}`, runs }
}

/** As in docs/histories.md. */
const graphModel = (client) =>
  customModel(
    async function* ({ messages, threadId }, { signal }) {
      const input = { messages }
      const options = { input, streamMode: 'messages-tuple', ifNotExists: 'create', signal }
      for await (const { event, data } of client.runs.stream(threadId, 'agent', options)) {
        if (event !== 'messages') continue
        const [{ type, content }] = data
        if (/^ai/i.test(type) && typeof content === 'string') yield { type: 'text', text: content }
      }
    },
    { threads: true },
  )

// The failure of the seed: events of tools were stored, and sent back as messages after the user's:
// "Unexpected role 'tool' after role 'user'".
test('thread: LangGraph gets the new message alone, on the same thread in each run', async (t) => {
  const { apiUrl, runs } = await langgraph(t)
  const handler = createHandler({
    ...known,
    model: graphModel(new Client({ apiUrl })),
    strategy: 'thread',
  })
  const conversationId = 'conversation-1'
  const stored = [
    user('Weather in Paris?'),
    { type: 'tool_call_start', toolCallId: 'c1', toolName: 'weather', args: { city: 'Paris' } },
    { type: 'tool_call_result', toolCallId: 'c1', result: 'sunny' },
    { role: 'assistant', content: 'It is sunny.' },
    user('And tomorrow?'),
    { role: 'tool', toolCallId: 'c1', content: 'sunny' },
  ]
  const first = await send(handler, { conversationId, messages: stored.slice(0, 1) })
  assert.equal(first.at(-1).text, 'It is sunny.')
  const second = await send(handler, { conversationId, messages: stored })
  assert.equal(second.at(-1).text, 'It is sunny.')
  const thread = threadId(conversationId)
  assert.deepEqual(
    runs.map((run) => [run.thread, run.assistant]),
    [
      [thread, 'agent'],
      [thread, 'agent'],
    ],
  )
  assert.deepEqual(
    runs.map(({ messages }) => messages.map(({ content }) => content)),
    [['Weather in Paris?'], ['And tomorrow?']],
  )
  // The diagnostic check at the boundary.
  for (const { messages } of runs) {
    assert.ok(messages.every(({ role }) => role !== 'tool'))
    assert.deepEqual(diagnoseHistory(messages, { dialect: 'openai-chat' }), [])
  }
})

test('thread: a request needs a conversation', async () => {
  const handler = createHandler({ ...known, model: threads, strategy: 'thread' })
  for (const own of [{}, { conversationId: '' }]) {
    const refused = await send(handler, { messages: [user('hi')], ...own })
    assert.deepEqual(refused, [400, 'request.invalid'])
  }
})

test('previousResponseId: the Responses API continues the conversation of its last turn', async () => {
  const bodies = []
  const frame = (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  const model = openaiResponses({
    baseURL: 'http://model.example/v1',
    model: 'm',
    apiKey: 'k',
    async fetch(_url, { body }) {
      bodies.push(JSON.parse(body))
      const id = `resp_${bodies.length}`
      const text = { type: 'output_text', text: 'Hello.', annotations: [] }
      const message = { type: 'message', id: 'm1', role: 'assistant', content: [text] }
      const response = { id, status: 'completed', output: [message] }
      const frames = [
        { type: 'response.created', response: { id } },
        { type: 'response.output_text.delta', item_id: 'm1', output_index: 0, delta: 'Hello.' },
        { type: 'response.completed', response },
      ]
      const headers = { 'content-type': 'text/event-stream' }
      return new Response(frames.map(frame).join(''), { headers })
    },
  })
  const last = new Map()
  const handler = createHandler({
    ...known,
    model,
    strategy: 'thread',
    previousResponseId: async ({ conversationId }, { tenant }) =>
      last.get(`${tenant}/${conversationId}`),
    onEnd: ({ responseId }, { tenant, conversationId }) =>
      last.set(`${tenant}/${conversationId}`, responseId),
  })
  const messages = [user('one')]
  assert.equal((await send(handler, { messages, conversationId: 'c' })).at(-1).type, 'complete')
  messages.push({ role: 'assistant', content: 'Hello.' }, user('two'))
  assert.equal((await send(handler, { messages, conversationId: 'c' })).at(-1).type, 'complete')
  assert.equal(bodies[0].previous_response_id, undefined)
  assert.equal(bodies[1].previous_response_id, 'resp_1')
  const inputs = JSON.stringify(bodies[1].input)
  assert.ok(inputs.includes('two') && !inputs.includes('one'), inputs)
})

test('models of a handler: misuse is named at the call', () => {
  for (const [options, path] of [
    [{ model: hello, strategy: 'thread' }, 'strategy'],
    [{ model: threads, strategy: 'text_only' }, 'strategy'],
    [{ model: hello, strategy: 5 }, 'strategy'],
    [{ model: threads, strategy: 'thread', fallbacks: [hello] }, 'fallbacks'],
    [{ model: threads, strategy: 'thread', fallbacks: () => [] }, 'fallbacks'],
    [{ model: hello, fallbacks: hello }, 'fallbacks'],
    [{ model: hello, fallbacks: [5] }, 'fallbacks'],
    [{ model: hello, previousResponseId: () => 'r' }, 'previousResponseId'],
    [{ model: threads, strategy: 'thread', previousResponseId: 'r' }, 'previousResponseId'],
  ]) {
    const expected = { code: 'options.invalid', message: new RegExp(`^\`${path}\``) }
    assert.throws(() => createHandler({ ...known, ...options }), expected, path)
  }
  createHandler({ ...known, model: threads, strategy: 'thread', fallbacks: [] })
  createHandler({ ...known, model: () => threads, strategy: 'thread' })
})
