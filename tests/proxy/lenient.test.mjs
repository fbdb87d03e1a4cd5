// Calls in forms that an API does not have and lenient clients run all the same: as JSON in a text,
// under names without a separator, as parts of a content. They are reported, and in `bound` withheld.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { WIRES } from './wires.mjs'

const ID = 'call_lenient'
const FUNCTION = { name: 'pay', arguments: '{"to":"a"}' }
const CALL = { index: 0, id: ID, type: 'function', function: FUNCTION }
const BLOCK = { type: 'tool_use', id: ID, name: 'pay', input: { to: 'a' } }
const ITEM = { type: 'function_call', id: `fc_${ID}`, call_id: ID, ...FUNCTION }
const json = JSON.stringify

const chunk = (delta, finish_reason = null) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
})
const TEXT = chunk({ role: 'assistant', content: 'Hi' })
const MESSAGE = { id: 'm', type: 'message', role: 'assistant', content: [], usage: {} }

/** By wire and form: events of a stream, in which a call stands. */
const STREAMS = {
  chat: {
    'a list as a text': [chunk({ tool_calls: json([CALL]) })],
    'a list of texts': [chunk({ tool_calls: [json(CALL)] })],
    'a function as a text': [chunk({ tool_calls: [{ ...CALL, function: json(FUNCTION) }] })],
    'a function_call as a text': [chunk({ function_call: json({ ...FUNCTION, id: ID }) })],
    'a delta as a text': [
      { ...TEXT, choices: [{ index: 0, delta: json({ tool_calls: [CALL] }) }] },
    ],
    'choices as a text': [{ ...TEXT, choices: json(chunk({ tool_calls: [CALL] }).choices) }],
    toolCalls: [chunk({ toolCalls: [CALL] })],
    'tool-calls': [chunk({ 'tool-calls': [CALL] })],
    'a part tool_use': [chunk({ content: [BLOCK] })],
    'a part toolUse': [chunk({ content: [{ ...BLOCK, type: 'toolUse' }] })],
  },
  messages: {
    'a block as a text': [
      { type: 'content_block_start', index: 0, content_block: json(BLOCK) },
      { type: 'content_block_stop', index: 0 },
    ],
    'a block as a text with two types': [
      {
        type: 'content_block_start',
        index: 0,
        content_block: json(BLOCK).replace('{', '{"type":"text",'),
      },
      {
        type: 'content_block_start',
        index: 1,
        content_block: json({ ...BLOCK, z: 1 }).replace('"z":1', '"type":"text"'),
      },
    ],
    'content of texts': [
      { type: 'message_start', message: { ...MESSAGE, content: [json(BLOCK)] } },
    ],
    'a message as a text': [
      { type: 'message_start', message: json({ ...MESSAGE, content: [BLOCK] }) },
    ],
  },
  responses: {
    'an item as a text': [
      { type: 'response.output_item.added', output_index: 0, item: json(ITEM) },
      { type: 'response.output_item.done', output_index: 0, item: json(ITEM) },
    ],
    'output of texts': [
      { type: 'response.completed', response: { object: 'response', output: [json(ITEM)] } },
    ],
    'a response as a text': [
      { type: 'response.completed', response: json({ object: 'response', output: [ITEM] }) },
    ],
  },
}

const STARTS = {
  chat: [TEXT],
  messages: [{ type: 'message_start', message: MESSAGE }],
  responses: [{ type: 'response.created', response: { object: 'response', output: [] } }],
}
const ENDS = {
  chat: [chunk({}, 'tool_calls')],
  messages: [
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
    { type: 'message_stop' },
  ],
  responses: [{ type: 'response.completed', response: { object: 'response', output: [] } }],
}

/** By wire and form: whole responses. */
const WHOLES = {
  chat: {
    'a list as a text': { tool_calls: json([CALL]) },
    'a list of texts': { tool_calls: [json(CALL)] },
    'a function_call as a text': { function_call: json({ ...FUNCTION, id: ID }) },
    toolCalls: { toolCalls: [CALL] },
    'a part tool_use': { content: [BLOCK] },
  },
  messages: { 'content of texts': [json(BLOCK)] },
  responses: { 'output of texts': [json(ITEM)] },
}
const wholeOf = {
  chat: (message) => ({
    id: 'x',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: null, ...message } }],
  }),
  messages: (content) => ({ ...MESSAGE, content }),
  responses: (output) => ({ object: 'response', output }),
}

async function through(wire, mode, text, stream) {
  const reports = []
  const proxy = createProxy({
    upstream: 'https://provider.example',
    mode,
    authorize: () => ({ tenant: 'me' }),
    onReport: (report) => reports.push(report),
    fetch: async () => new Response(text),
  })
  const body = json({ ...WIRES[wire].body([]), stream })
  const sent = new Request(`https://edge.example${WIRES[wire].path}`, { method: 'POST', body })
  const got = await (await proxy(sent)).text()
  await new Promise((resolve) => setTimeout(resolve))
  return { got, report: reports[0] }
}

const streamOf = (wire, events) =>
  events
    .map((event) => `${wire === 'chat' ? '' : `event: ${event.type}\n`}data: ${json(event)}\n\n`)
    .join('')

async function check(wire, text, isStream) {
  const bound = await through(wire, 'bound', text, isStream)
  assert.ok(!bound.got.includes(ID), bound.got)
  const { blocked, error, calls } = bound.report
  assert.ok(error === 'proxy.call_form' || error === 'proxy.response_format' || blocked.length > 0)
  assert.deepEqual(calls, [])
  const observed = await through(wire, 'observe', text, isStream)
  assert.equal(observed.got, text)
  return observed.report
}

for (const [wire, forms] of Object.entries(STREAMS)) {
  for (const [form, events] of Object.entries(forms)) {
    test(`${wire}: ${form} in a stream is a call for some client`, async () => {
      const isHead = events[0].type === 'message_start'
      const start = isHead ? [] : STARTS[wire]
      const text = streamOf(wire, [...start, ...events, ...ENDS[wire]])
      const report = await check(wire, text, true)
      assert.deepEqual(report.calls, [])
      // It has no object that is a call, so there is none to name; `bound` leaves it out.
      if (form === 'a list of texts') return
      // The name is in the text, too.
      const [{ name }] = report.blocked
      assert.equal(name, form === 'a function as a text' ? '' : 'pay')
    })
  }
}

for (const [wire, forms] of Object.entries(WHOLES)) {
  for (const [form, part] of Object.entries(forms)) {
    test(`${wire}: ${form} in a whole response is a call for some client`, async () => {
      await check(wire, json(wholeOf[wire](part)), false)
    })
  }
}

test('JSON with calls in what is said to the user is a text', async () => {
  const said = json({ tool_calls: [CALL], content_block: BLOCK, item: ITEM })
  const at = { index: 0, output_index: 0 }
  const texts = {
    chat: [chunk({ content: said }), chunk({}, 'stop')],
    messages: [
      { type: 'message_start', message: MESSAGE },
      { type: 'content_block_start', ...at, content_block: { type: 'text', text: said } },
      { type: 'content_block_delta', ...at, delta: { type: 'text_delta', text: said } },
    ],
    responses: [{ type: 'response.output_text.delta', ...at, delta: said }],
  }
  for (const [wire, events] of Object.entries(texts)) {
    const text = streamOf(wire, events)
    const { got, report } = await through(wire, 'bound', text, true)
    assert.equal(got, text)
    assert.deepEqual([report.blocked, report.error], [[], undefined])
  }
  const whole = json(wholeOf.chat({ content: said }))
  assert.equal((await through('chat', 'bound', whole, false)).got, whole)
})

test('responses: a refused call is left out of the whole response, too, where it is told differently', async () => {
  const asked = { type: 'mcp_approval_request', id: 'i1', call_id: ID, name: 'pay' }
  const tool = { type: 'custom_tool_call', id: 'i2', call_id: 'call_other', name: 'ls', input: 'x' }
  const output = [{ ...asked, arguments: 5 }, tool]
  const events = [
    ...STARTS.responses,
    { type: 'response.output_item.added', output_index: 0, item: { ...asked, arguments: '{}' } },
    { type: 'response.completed', response: { object: 'response', output } },
  ]
  const { got, report } = await through('responses', 'bound', streamOf('responses', events), true)
  assert.ok(!got.includes(ID) && got.includes('call_other'), got)
  assert.deepEqual([report.calls, report.blocked.map(({ name }) => name)], [['ls'], ['pay']])
})
