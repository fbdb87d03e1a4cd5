// In `bound`, a call with a member of another kind than its wire has is withheld: clients that join it to
// a text read `["x"]` as `x`, and so another call than was judged.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createProxy } from 'turnlock/proxy'
import { holds } from '../properties/hold.mjs'
import { WIRES } from './wires.mjs'

const HISTORY = [1, 2].map(() => ['ls', { n: 1 }, 'same'])
const data = (json) => `data: ${JSON.stringify(json)}\n\n`
const event = (json) => `event: ${json.type}\n${data(json)}`

/** The response of `bound`, for a provider that answers with `answer`, and then with nothing. */
async function through(wire, answer) {
  let requests = 0
  let report
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode: 'bound',
    onReport: (own) => (report = own),
    fetch: async () => new Response(requests++ ? '' : answer),
  })
  const body = JSON.stringify(WIRES[wire].body(HISTORY, { stream: /^(data|event)/.test(answer) }))
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body }))
  return { text: await response.text(), report }
}

const ended = (output) => ({
  type: 'response.completed',
  response: { id: 'r', status: 'completed', output },
})

/** Responses with one call, made of its members; the call that may run has `n: 7`. */
const FORMS = {
  'chat, stream': (call) => [
    'chat',
    data({ id: 'c', choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] }) +
      data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }) +
      data('[DONE]').replaceAll('"', ''),
  ],
  'chat, whole': (call) => [
    'chat',
    JSON.stringify({
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', tool_calls: [call] } }],
    }),
  ],
  'chat, older, stream': ({ function: called }) => [
    'chat',
    data({ id: 'c', choices: [{ index: 0, delta: { function_call: called } }] }) +
      data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'function_call' }] }),
  ],
  'chat, older, whole': ({ function: called }) => [
    'chat',
    JSON.stringify({ choices: [{ index: 0, message: { function_call: called } }] }),
  ],
  'messages, stream': (call) => [
    'messages',
    [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: {} } },
      { type: 'content_block_start', index: 0, content_block: call },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
      { type: 'message_stop' },
    ]
      .map(event)
      .join(''),
  ],
  'messages, whole': (call) => [
    'messages',
    JSON.stringify({ type: 'message', role: 'assistant', content: [call] }),
  ],
  'responses, events and whole': (call) => [
    'responses',
    [
      { type: 'response.output_item.added', output_index: 0, item: call },
      { type: 'response.output_item.done', output_index: 0, item: call },
      ended([call]),
    ]
      .map(event)
      .join(''),
  ],
  'responses, end alone': (call) => ['responses', event(ended([call]))],
  'responses, whole': (call) => [
    'responses',
    JSON.stringify({ object: 'response', status: 'completed', output: [call] }),
  ],
}
const CALLS = {
  chat: { id: 'call_1', type: 'function', function: { name: 'ls', arguments: '{"n":7}' } },
  messages: { type: 'tool_use', id: 'call_1', name: 'ls', input: { n: 7 } },
  responses: {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'ls',
    arguments: '{"n":7}',
  },
}
/** Members by their paths. */
const MEMBERS = {
  chat: [['id'], ['type'], ['function'], ['function', 'name'], ['function', 'arguments']],
  messages: [['type'], ['id'], ['name'], ['input']],
  responses: [['type'], ['id'], ['call_id'], ['name'], ['arguments']],
}

const changed = (value, [name, ...rest], change) => ({
  ...value,
  [name]: rest.length ? changed(value[name], rest, change) : change(value[name]),
})

/** Whether arguments, or a name, of the call are in a text. */
const hasCall = (text) => /n\\*":\s*7/.test(text)

const CHANGES = {
  'an array': (value) => [value],
  'an array in an array': (value) => [[value]],
  'an array and more': (value) => [value, ''],
  'a number': () => 1,
  true: () => true,
  false: () => false,
  'an object': (value) => ({ value }),
}
const isUsual = (path, kind) =>
  /^(arguments|input|function)$/.test(path.at(-1)) && kind === 'an object'

for (const [form, make] of Object.entries(FORMS)) {
  const [wire] = make(CALLS[form.split(',')[0]])
  test(`${form}: a call with a member of another kind is withheld`, async () => {
    const call = CALLS[wire]
    const [, plain] = make(call)
    assert.equal((await through(wire, plain)).text, plain)
    const older = form.includes('older') ? 2 : 0
    for (const path of MEMBERS[wire]) {
      if (older && path[0] !== 'function') continue
      for (const [kind, change] of Object.entries(CHANGES)) {
        if (isUsual(path, kind)) continue
        // Of another type, an item or a block is no call for any client.
        const isPlace = (path[0] === 'type' && wire !== 'chat') || path.length < older
        if (isPlace && !/array$/.test(kind)) continue
        const [, answer] = make(changed(call, path, change))
        const { text, report } = await through(wire, answer)
        const about = `${path.join('.')} as ${kind}: ${text}`
        assert.ok(!hasCall(text), about)
        assert.ok(!/"tool_use"|tool_calls":\[|"function_call"/.test(text), about)
        assert.deepEqual(report.calls, [], about)
        // A whole function that is no object has no call to name.
        const isReported = report.blocked.some(({ reason }) => reason === 'form')
        assert.ok(isReported || report.error === 'proxy.call_form', about)
      }
    }
  })
}

/** The arguments that a client reads that joins the pieces of a chat's calls. */
function joinedCall(text) {
  let [name, args] = ['', '']
  for (const [, json] of text.matchAll(/^data: (\{.*)$/gm)) {
    for (const call of JSON.parse(json).choices?.[0]?.delta?.tool_calls ?? []) {
      name += call.function?.name ?? ''
      args += call.function?.arguments ?? ''
    }
  }
  return { name, args }
}

test('chat: a client that joins pieces of any kind reads no call that may not run', async () => {
  const wrap = fc.constantFrom(
    (piece) => piece,
    (piece) => [piece],
    (piece) => [[piece]],
    (piece) => (/^\d$/.test(piece) ? Number(piece) : piece),
  )
  const plan = fc.record({
    cuts: fc.uniqueArray(fc.nat(7), { maxLength: 3 }),
    wraps: fc.array(wrap, { minLength: 4, maxLength: 4 }),
    name: wrap,
  })
  const property = fc.asyncProperty(plan, async ({ cuts, wraps, name }) => {
    const args = '{"n":1}'
    const edges = [0, ...cuts.sort((a, b) => a - b), args.length]
    const pieces = edges.slice(1).map((end, at) => args.slice(edges[at], end))
    const frames = pieces.map((piece, at) => {
      const called = { arguments: wraps[at](piece), ...(at === 0 && { name: name('ls') }) }
      const call = { index: 0, ...(at === 0 && { id: 'call_1' }), function: called }
      return data({ id: 'c', choices: [{ index: 0, delta: { tool_calls: [call] } }] })
    })
    const end = data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] })
    const { text } = await through('chat', frames.join('') + end)
    assert.notDeepEqual(joinedCall(text), { name: 'ls', args })
  })
  await holds('members of another kind', property, 300)
})
