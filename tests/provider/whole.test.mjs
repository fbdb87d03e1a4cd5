// What is not streamed, what cannot be read, what is offered, and what asks for models.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, tool } from 'ai'
import OpenAI from 'openai'
import { decodeStream } from 'turnlock'
import { scriptedProvider } from 'turnlock/testing'
import { BEHAVIOURS } from '../../pkg/dist/testing/provider/behaviours.js'
import { createProvider, loadScenarios } from './server.mjs'
import { WIRES } from '../../pkg/dist/testing/provider/wire/index.js'

let provider
before(async () => (provider = await createProvider()))
after(() => provider.close())

let sessions = 0
const base = (script) => `${provider.url}/s/whole${sessions++}/${script}/v1`

const user = { role: 'user', content: 'go' }
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['C', 'F'] } },
  required: ['city', 'days', 'unit'],
}
const ARGS = { city: 'example', days: 1, unit: 'C' }
const chatTools = [{ type: 'function', function: { name: 'get_weather', parameters: schema } }]
const name = 'get_weather'
const gemini = { contents: [{ role: 'user', parts: [{ text: 'go' }] }] }
const bedrock = { messages: [{ role: 'user', content: [{ text: 'go' }] }] }

/** Of each wire: where it is asked whole, where for a stream, and a request with a tool. */
const ASKED = {
  'openai-chat': ['chat/completions', , { messages: [user], tools: chatTools }],
  anthropic: ['messages', , { messages: [user], tools: [{ name, input_schema: schema }] }],
  'openai-responses': [
    'responses',
    ,
    { input: 'go', tools: [{ type: 'function', name, parameters: schema }] },
  ],
  gemini: [
    'models/m:generateContent',
    'models/m:streamGenerateContent?alt=sse',
    { ...gemini, tools: [{ functionDeclarations: [{ name, parameters: schema }] }] },
  ],
  bedrock: [
    'model/m/converse',
    'model/m/converse-stream',
    {
      ...bedrock,
      toolConfig: { tools: [{ toolSpec: { name, inputSchema: { json: schema } } }] },
    },
  ],
  cohere: ['chat', , { messages: [user], tools: chatTools }],
  ollama: ['api/chat', , { stream: false, messages: [user], tools: chatTools }],
}

const post = (path, body) =>
  new Request(`http://x/v1/${path}`, { method: 'POST', body: JSON.stringify(body) })
/** Asks sessions without a server. */
const asking =
  ({ handle }, script, session = 's') =>
  (path, body) =>
    handle(post(path, body), `/s/${session}/${script}/v1/${path.split('?')[0]}`)

/** What the package reads of a response: texts joined, calls whole. */
function read(wire, pieces) {
  const stream = decodeStream(wire)
  const encoded = pieces.map((one) => (typeof one === 'string' ? Buffer.from(one) : one))
  const deltas = [...encoded.flatMap((one) => stream.feed(one)), ...stream.end()]
  const said = { text: '', reasoning: '', calls: [] }
  for (const { type, text, index, name, reason, ...own } of deltas) {
    if (type === 'text' || type === 'reasoning') said[type] += text
    if (type === 'tool_call_start') said.calls[index] = { id: own.id, name, args: '' }
    if (type === 'tool_call_arguments') said.calls[index].args += text
    if (type === 'finish') said.reason = reason
    if (type === 'usage') said.usage = own.usage
    assert.notEqual(type, 'error', JSON.stringify(own))
  }
  const value = (args) => JSON.stringify(JSON.parse(args || '{}'))
  return { ...said, calls: said.calls.map((one) => ({ ...one, args: value(one.args) })) }
}

const isObject = (text) => {
  try {
    return /^\{/.test(JSON.stringify(JSON.parse(text)))
  } catch {
    return false
  }
}
/** What comes to its end, with calls that every wire can send whole: ids of their own, objects. */
const entries = [...loadScenarios().values()]
  .flatMap(({ model }) => model)
  .filter((entry) => !entry.status && !entry.then && !entry.says && !entry.blocks)
  .filter(({ calls = [] }) => {
    const ids = new Set(calls.map(({ id }) => id))
    return ids.size === calls.length && calls.every(({ argsText = '{}' }) => isObject(argsText))
  })

for (const [wire, { stream, responseBody, CONTENT_TYPE }] of Object.entries(WIRES)) {
  const [path, streamed = path, body] = ASKED[wire]

  test(`a whole response says what its stream says (${wire})`, () => {
    assert.ok(entries.length > 100)
    const place = { n: 1, body: { stream_options: { include_usage: true } } }
    for (const entry of entries) {
      const expected = read(wire, stream(entry, place))
      assert.deepEqual(read(wire, [JSON.stringify(responseBody(entry, place))]), expected)
    }
  })

  test(`a stream where it is asked for, and JSON where not (${wire})`, async () => {
    const ask = asking(scriptedProvider(), 'one-call')
    const json = await ask(path, body)
    assert.deepEqual([json.status, json.headers.get('content-type')], [200, 'application/json'])
    const [call] = read(wire, [JSON.stringify(await json.json())]).calls
    assert.deepEqual([call.name, JSON.parse(call.args)], [name, ARGS])
    const own = streamed === path ? { stream: true } : {}
    const events = await ask(streamed, { ...body, ...own })
    assert.match(events.headers.get('content-type'), new RegExp(CONTENT_TYPE ?? 'event-stream'))
    const pieces = [new Uint8Array(await events.arrayBuffer())]
    assert.deepEqual(read(wire, pieces).calls, [call])
  })

  test(`failures of a response that is not streamed (${wire})`, async () => {
    const sessions = scriptedProvider()
    const end = async (script) => {
      const response = await asking(sessions, script, script)(path, body)
      return [response.status, response.text()]
    }
    const [status, text] = await end('error-event')
    assert.deepEqual(
      [status, JSON.parse(await text)],
      [503, WIRES[wire].failure(503, 'The model is overloaded')],
    )
    const [, broken] = await end('malformed')
    assert.ok(!isObject(await broken))
    const [, cut] = await end('cut-arguments')
    await assert.rejects(cut)
  })

  test(`bodies that cannot be read are told so (${wire})`, async () => {
    const errors = []
    const ask = asking(scriptedProvider({ onError: (error) => errors.push(error) }), 'one-call')
    const list = Object.keys(body).find((key) => /messages|input|contents/.test(key))
    const strange = [null, 5, [], 'x', {}, { [list]: 5 }, { [list]: {} }, { [list]: [null] }]
    strange.push({ [list]: [7] }, { ...body, tools: 'x' }, { [list]: [[]] })
    strange.push({ [list]: [{ role: 'user', content: [null], parts: [null] }] })
    if (list !== 'input') strange.push({ [list]: 'x' })
    for (const one of strange) {
      const response = await ask(path, one)
      const said = await response.json()
      assert.equal(response.status, 400, JSON.stringify([one, said]))
      assert.deepEqual(Object.keys(said), Object.keys(WIRES[wire].failure(400, 'x')))
    }
    // They disturb nothing that follows.
    assert.equal((await ask(path, body)).status, 200)
    assert.deepEqual(errors, [])
  })
}

test('what the provider itself fails with is told, to its client and to its owner', async () => {
  const errors = []
  const scripts = {
    broken() {
      throw new RangeError('as scripted')
    },
  }
  const ask = asking(
    scriptedProvider({ scripts, onError: (error) => errors.push(error.message) }),
    'broken:x',
  )
  const response = await ask('messages', { messages: [user] })
  assert.equal(response.status, 500)
  assert.equal((await response.json()).error.type, 'api_error')
  assert.deepEqual(errors, ['as scripted'])
})

test('official clients read whole responses', async () => {
  const own = (script) => ({ baseURL: base(script), apiKey: 'none', maxRetries: 0 })
  const openai = new OpenAI(own('one-call'))
  const chat = await openai.chat.completions.create({
    model: 'm',
    messages: [user],
    tools: chatTools,
  })
  const [choice] = chat.choices
  assert.equal(choice.finish_reason, 'tool_calls')
  assert.deepEqual(JSON.parse(choice.message.tool_calls[0].function.arguments), ARGS)
  assert.equal(chat.usage.total_tokens, 15)
  const response = await new OpenAI(own('answer')).responses.create({ model: 'm', input: 'hi' })
  assert.match(response.output_text, /^Hello!/)
  const client = new Anthropic({ ...own('one-call'), baseURL: base('one-call').replace('/v1', '') })
  const message = await client.messages.create({
    model: 'm',
    max_tokens: 9,
    messages: [user],
    tools: ASKED.anthropic[2].tools,
  })
  assert.deepEqual([message.stop_reason, message.content.at(-1).input], ['tool_use', ARGS])
  const model = createOpenAICompatible({ name: 'scripted', ...own('one-call') })('m')
  const execute = () => 'sunny'
  const tools = { get_weather: tool({ inputSchema: jsonSchema(schema), execute }) }
  const { steps } = await generateText({ model, prompt: 'go', tools })
  assert.deepEqual(steps[0].toolCalls[0].input, ARGS)
})

test('a conversation of Responses goes on behind a whole response', async () => {
  const ask = asking(scriptedProvider(), 'answer')
  const { id } = await (await ask('responses', { input: 'hi' })).json()
  const next = { input: 'and?', previous_response_id: id }
  assert.equal((await ask('responses', next)).status, 200)
  assert.equal((await ask('responses', { ...next, previous_response_id: 'x' })).status, 400)
})

test('only what is offered is called; without a tool there is an answer', async () => {
  // The others have no end.
  const whole = Object.keys(BEHAVIOURS).filter(
    (name) => !/^(stall|stall-head|falls-silent|cut-arguments|malformed)$/.test(name),
  )
  for (const script of whole) {
    const said = async (tools) => {
      const session = asking(scriptedProvider(), script)
      const ask = () => session('chat/completions', { messages: [user], ...(tools && { tools }) })
      const first = await ask()
      const response = /once|rate-limited/.test(script) ? await ask() : first
      return response.ok ? (await response.json()).choices[0].message : undefined
    }
    const without = await said()
    if (without) assert.ok(!without.tool_calls && without.content, script)
    for (const { function: own } of (await said(chatTools))?.tool_calls ?? []) {
      assert.deepEqual([own.name, JSON.parse(own.arguments)], ['get_weather', ARGS], script)
    }
  }
})

test('a client that asks for models is told of one', async () => {
  const get = async (path) => (await fetch(`${base('loop')}/${path}`)).json()
  const openai = new OpenAI({ baseURL: base('loop'), apiKey: 'none' })
  const { data } = await openai.models.list()
  assert.deepEqual(
    data.map(({ id }) => id),
    ['loop'],
  )
  assert.equal((await get('models/loop')).object, 'model')
  assert.equal((await get('api/tags')).models[0].name, 'loop')
})

test('a behaviour that does not exist is told so', async () => {
  const response = await asking(scriptedProvider(), 'nope')('chat/completions', {
    messages: [user],
  })
  assert.equal(response.status, 404)
  const { error } = await response.json()
  assert.equal(error.message, 'There is no behaviour nope: `turnlock serve --list` names them.')
})
