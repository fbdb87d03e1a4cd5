// Images and files in results of tools: what `execute` may return, and what events and requests have.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  customModel,
  defineTool,
  memoryStore,
  normalizeHistory,
  resumeTurn,
  runTurn,
} from 'turnlock'

const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
const BASE64 = 'iVBORw0KGgo='

/** A model that calls `shoot` once, then answers; it remembers what it was sent. */
function calling(name = 'shoot') {
  const requests = []
  const model = customModel(async function* ({ messages }) {
    requests.push(messages)
    if (requests.length > 1) return yield { type: 'text', text: 'Seen.' }
    yield { type: 'tool_call_start', index: 0, id: 'c1', name }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  return { model, requests }
}

const tool = (result, own = {}) =>
  defineTool({
    description: 'Takes a picture.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => result,
    ...own,
  })

async function shown(result, { own = {}, ...options } = {}) {
  const { model, requests } = calling()
  const tools = { shoot: tool(result, own) }
  const messages = [{ role: 'user', content: 'go' }]
  const turn = runTurn({ model, tools, messages, mode: 'unified', ...options })
  const events = []
  for await (const event of turn) events.push(event)
  return { ...(await turn.result), events: JSON.stringify(events), request: requests[1] }
}

const image = (data, more = {}) => ({
  content: [{ type: 'image', mediaType: 'image/png', data, ...more }],
})

for (const [name, data] of Object.entries({
  base64: BASE64,
  'a data URL': `data:image/png;base64,${BASE64}`,
  'a Uint8Array': PNG,
  'a view of a larger buffer': Uint8Array.of(1, ...PNG, 2).subarray(1, 9),
  'an ArrayBuffer': PNG.buffer,
  'a Buffer': Buffer.from(PNG),
})) {
  test(`content: ${name} is an image for the model and a reference in events`, async () => {
    const { request, events, toolResults, messages } = await shown(image(data))
    const sent = JSON.stringify(request)
    assert.ok(sent.includes(`"data:image/png;base64,${BASE64}"`), sent)
    assert.ok(!events.includes(BASE64))
    assert.deepEqual(toolResults[0].result, {
      content: [{ type: 'image', mediaType: 'image/png', bytes: 8 }],
    })
    assert.deepEqual(messages[1].parts, [{ type: 'image', mediaType: 'image/png', data: BASE64 }])
    assert.equal(messages[1].content, '[image: image/png, 8 bytes]')
  })
}

test('content: bytes in any other value are an error of the call', async () => {
  const { toolResults } = await shown({ picture: PNG })
  assert.equal(toolResults[0].error.code, 'tool.unserializable')
})

test('content: an image over maxMediaBytes is a note, and 50 MB do not reach the core', async () => {
  for (const data of [new Uint8Array(50_000_000), PNG]) {
    const { request, toolResults } = await shown(image(data), { policy: { maxMediaBytes: 7 } })
    const { bytes, omitted } = toolResults[0].result.content[0]
    assert.deepEqual([bytes, omitted], [data.length, 'too_large'])
    assert.match(JSON.stringify(request), /\[image: image\/png, \d+ bytes\. It is too large/)
  }
})

test('content: a long text is cut, and the image beside it stays', async () => {
  const result = {
    content: [{ type: 'text', text: 'x'.repeat(200_000) }, ...image(PNG).content],
  }
  const { request, toolResults } = await shown(result, { policy: { maxToolResultBytes: 1000 } })
  assert.equal(toolResults[0].truncated, true)
  assert.equal(toolResults[0].result.content[0].text, `${'x'.repeat(1000)}… [cut]`)
  assert.ok(JSON.stringify(request).includes(BASE64))
})

test('content: the messages of a turn need no repair in any dialect', async () => {
  const { messages } = await shown({
    content: [{ type: 'text', text: 'page' }, ...image(BASE64).content],
  })
  const history = [{ role: 'user', content: 'go' }, ...messages, { role: 'user', content: 'and?' }]
  for (const dialect of ['openai-chat', 'anthropic', 'gemini', 'bedrock', 'openai-responses']) {
    const { repairs, messages: sent } = normalizeHistory(history, { dialect })
    assert.deepEqual(repairs, [], dialect)
    assert.ok(JSON.stringify(sent).includes(BASE64), dialect)
  }
  for (const dialect of ['deepseek', 'ollama', 'mistral', 'groq', 'xai', 'cohere', 'langchain']) {
    assert.deepEqual(normalizeHistory(history, { dialect }).repairs, [], dialect)
  }
})

test('content: a repeated call after a resume runs again, because the data is gone', async () => {
  const store = memoryStore()
  let [taken, asked] = [0, 0]
  const requests = []
  const model = customModel(async function* ({ messages }) {
    requests.push(JSON.stringify(messages))
    const call = [
      ['shoot', 'c1'],
      ['send', 'c2'],
      ['shoot', 'c3'],
    ][asked++]
    if (!call) return yield { type: 'text', text: 'Seen.' }
    yield { type: 'tool_call_start', index: 0, id: call[1], name: call[0] }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const tools = {
    shoot: tool(undefined, { execute: () => (taken++, image(PNG)) }),
    send: tool('sent', { readOnly: false, needsApproval: true }),
  }
  const policy = { maxTools: 3, resultsAs: 'native' }
  const messages = [{ role: 'user', content: 'go' }]
  const turn = runTurn({ model, tools, messages, store, requestId: 'r1', policy })
  const waiting = []
  for await (const event of turn) {
    if (event.type === 'approval_required') waiting.push(...event.toolCalls)
  }
  const first = await turn.result
  assert.equal(first.status, 'paused')
  const key = JSON.stringify(['', 'r1'])
  const kept = JSON.stringify([await store.read(key), await store.events(key, 0, 1000)])
  assert.ok(kept.includes('image/png') && !kept.includes(BASE64), 'the store has a reference')
  const approvals = [{ signature: waiting[0].signature, approved: true }]
  const second = await resumeTurn({ model, tools, store, requestId: 'r1', approvals }).result
  assert.equal(second.status, 'complete', JSON.stringify(second.error))
  assert.match(requests[2], /It is no longer here, because another process had it/)
  assert.ok(!requests[2].includes(BASE64))
  assert.ok(requests[3].includes(BASE64), requests[3])
  assert.equal(taken, 2)
})
