// In `bound`, a call without a verdict does not reach the client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createProxy } from 'turnlock/proxy'
import { judged } from '../../pkg/dist/proxy/judge.js'
import { CLIENTS, piecesOf } from './readers.mjs'
import { LOOP, looped, WIRES } from './wires.mjs'

const NAMES = Object.keys(WIRES)
const HELD = 1000
const nested = (levels) => '['.repeat(levels) + ']'.repeat(levels)
const data = (json) => `data: ${JSON.stringify(json)}\n\n`
const event = (json) => `event: ${json.type}\n${data(json)}`

/**
 * Sends `body` through a proxy in front of a provider that answers with `answers`, and with nothing
 * after the last one. Returns the response as text, the report, and the requests of the provider.
 */
async function through(wire, body, answers, options = {}) {
  const requests = []
  let report
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode: 'bound',
    onReport: (own) => (report = own),
    fetch: async (_, { body: sent }) => {
      requests.push(Buffer.from(sent).toString())
      return new Response(answers[requests.length - 1] ?? '')
    },
    ...options,
  })
  const url = `https://edge.example${WIRES[wire].path}`
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await proxy(new Request(url, { method: 'POST', body: sent }))
  return { status: response.status, text: await response.text(), report, requests }
}

const streamOf = (wire, entry) => WIRES[wire].stream(entry, { n: 1, body: {} }).join('')
const wholeOf = (wire, entry) => JSON.stringify(WIRES[wire].whole(entry))
/** A placeholder of arguments, replaced by JSON that no serializer writes. */
const MARK = 'PLACEHOLDER'
const replaced = (text, json) =>
  text.replaceAll(`\\"${MARK}\\"`, JSON.stringify(json).slice(1, -1)).replaceAll(`"${MARK}"`, json)

for (const wire of NAMES) {
  for (const levels of [129, 5000, 100_000]) {
    test(`${wire}: arguments of ${levels} levels in the history leave repeats and the budget as they are`, async () => {
      const deep = ['deep', MARK, 'x']
      const body = (history) =>
        replaced(JSON.stringify(WIRES[wire].body(history)), `{"a":${nested(levels)}}`)
      const answers = [streamOf(wire, { calls: [LOOP] }), streamOf(wire, { text: ['Done.'] })]
      const repeated = await through(wire, body([deep, ...looped(2)]), answers)
      assert.doesNotMatch(repeated.text, /call_again/)
      // On the other wires, arguments are a text of the body.
      if (wire === 'messages' && levels === 100_000) {
        assert.deepEqual([repeated.status, repeated.requests], [400, []])
        assert.match(repeated.text, /request\.json/)
      } else {
        assert.match(repeated.text, /Done\./)
        assert.equal(repeated.report.blocked[0].reason, 'duplicate')
        const fresh = await through(wire, body([deep, ...looped(1)]), answers)
        assert.match(fresh.text, /call_again/)
      }
      const policy = { maxTools: 1 }
      const spent = await through(wire, body([deep]), answers, { policy })
      assert.doesNotMatch(spent.text, /call_again/)
      for (const mode of ['observe', 'repair']) {
        const sent = body([deep, ...looped(2)])
        const passed = await through(wire, sent, answers, { mode })
        assert.deepEqual([passed.text, passed.requests], [answers[0], [sent]])
      }
    })

    test(`${wire}: a result of ${levels} levels in the history leaves the budget as it is`, async () => {
      const sent = replaced(
        JSON.stringify(
          WIRES[wire].body([
            ['ls', {}, 'x'],
            ['ls', {}, MARK],
          ]),
        ),
        nested(levels),
      )
      const answers = [streamOf(wire, { calls: [LOOP] })]
      const { text } = await through(wire, sent, answers, { policy: { maxTools: 2 } })
      assert.doesNotMatch(text, /call_again/)
    })

    for (const shape of ['stream', 'whole']) {
      test(`${wire}: arguments of ${levels} levels in a response (${shape}) are withheld, and pass in observe`, async () => {
        const call = { id: 'call_deep', name: 'ls', args: MARK }
        const written = shape === 'stream' ? streamOf : wholeOf
        const answer = replaced(written(wire, { calls: [call] }), `{"a":${nested(levels)}}`)
        const body = WIRES[wire].body(looped(1), { stream: shape === 'stream' })
        for (const mode of ['observe', 'repair']) {
          const { text, report } = await through(wire, body, [answer], { mode })
          assert.ok(text === answer, 'the bytes differ')
          assert.equal(report.outcome, 'complete')
        }
        const { text, report } = await through(wire, body, [answer])
        assert.doesNotMatch(text, /call_deep/)
        assert.deepEqual(report.calls, [])
      })
    }
  }
}

test('a call is refused if there is nothing to judge it by', () => {
  const report = { calls: [], blocked: [] }
  const given = { report, record: undefined, holds: true }
  const refused = judged(undefined, { name: 'ls', args: '{}' }, given)
  assert.equal(refused.reason, 'unjudged')
  assert.deepEqual(report, { calls: [], blocked: [refused] })
})

const LONG = { id: 'call_long', name: 'ls', args: { path: 'x'.repeat(5000) } }
const pieces = (text, size) =>
  new ReadableStream({
    start(controller) {
      const bytes = new TextEncoder().encode(text)
      for (let at = 0; at < bytes.length; at += size) {
        controller.enqueue(bytes.subarray(at, at + size))
      }
      controller.close()
    },
  })

for (const wire of NAMES) {
  test(`${wire}: a call that is longer than heldBytes is withheld, and the answer follows`, async () => {
    const body = WIRES[wire].body(looped(2))
    for (const size of [1, 100, 1e6]) {
      // One frame of the long call is longer than what may be held; then many short ones are.
      for (const held of [HELD, 600, 5200]) {
        const first = streamOf(wire, { text: ['Well. '], calls: [LONG, LOOP] })
        const answers = [pieces(first, size), streamOf(wire, { text: ['Done.'] })]
        const options = { limits: { heldBytes: held } }
        const { text, report, requests } = await through(wire, body, answers, options)
        assert.doesNotMatch(text, /call_long|call_again|xxxx/)
        assert.match(text, /Well\..*Done\./s)
        assert.equal(report.error, 'proxy.held_too_long')
        assert.deepEqual([report.calls, report.outcome, requests.length], [[], 'complete', 2])
        assert.ok(report.blocked.every(({ reason }) => reason === 'unjudged'))
      }
    }
  })

  test(`${wire}: an answer that was requested without calls, and is longer than heldBytes, gets a notice`, async () => {
    const body = WIRES[wire].body(looped(2))
    const long = streamOf(wire, { text: [`${'y'.repeat(5000)}`] })
    const answers = [streamOf(wire, { calls: [LOOP] }), pieces(long, 100)]
    const { text } = await through(wire, body, answers, { limits: { heldBytes: HELD } })
    assert.doesNotMatch(text, /call_again|yyyy/)
    assert.match(text, /The call to ls did not run/)
  })

  test(`${wire}: a whole response that is longer than heldBytes is not passed`, async () => {
    const body = WIRES[wire].body(looped(2), { stream: false })
    const options = { limits: { heldBytes: HELD } }
    const long = wholeOf(wire, { calls: [LONG] })
    const answers = [pieces(long, 100), wholeOf(wire, { text: 'Done.' })]
    const answered = await through(wire, body, answers, options)
    assert.equal(WIRES[wire].said(JSON.parse(answered.text)), 'Done.')
    const { text, report } = await through(wire, body, [long, long], options)
    const { type, error } = JSON.parse(text)
    assert.deepEqual([error.code, report.error], ['proxy.held_too_long', 'proxy.held_too_long'])
    assert.equal(type, wire === 'messages' ? 'error' : undefined)
  })
}

test('messages: a call before one that is longer than heldBytes runs, and the response ends', async () => {
  const body = WIRES.messages.body(looped(1))
  const short = { id: 'call_short', name: 'ls', args: { path: '/' } }
  const frames = WIRES.messages.stream({ calls: [short, LONG] }, { n: 1, body: {} })
  const fetch = async (url, init) => {
    const { text } = await through('messages', init.body, [frames.join('')], {
      limits: { heldBytes: 5200 },
    })
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
  }
  const client = new Anthropic({
    apiKey: 'k',
    baseURL: 'https://edge.example',
    fetch,
    maxRetries: 0,
  })
  const { stream: _, ...asked } = body
  const made = await client.messages.stream(asked).finalMessage()
  const calls = made.content.filter(({ type }) => type === 'tool_use')
  assert.deepEqual([calls.map(({ id }) => id), made.stop_reason], [['call_short'], 'tool_use'])
})

// Arguments that clients read in more than one way.

const HISTORY = [
  ['ls', { n: 1 }, 'same'],
  ['ls', { n: 1 }, 'same'],
]
const UNCLEAR = {
  'the same key twice': '{"n":2,"n":1}',
  'the same key twice, the other way round': '{"n":1,"n":2}',
  'the same key twice, one with an escape': '{"n":2,"\\u006e":1}',
  'the same key twice, further in': '{"n":1,"a":[{"b":1,"b":2}]}',
  'more levels than the core reads': `{"n":1,"a":${nested(200)}}`,
  'a number that is beyond a double': '{"n":1,"a":1e999}',
}

for (const wire of NAMES) {
  for (const [name, json] of Object.entries(UNCLEAR)) {
    test(`${wire}: arguments with ${name} are withheld`, async () => {
      const call = { id: 'call_odd', name: 'ls', args: MARK }
      for (const [shape, written] of [
        ['stream', streamOf],
        ['whole', wholeOf],
      ]) {
        // Arguments that are a JSON value are written anew, as they were judged.
        const isValue = wire === 'messages' && shape === 'whole'
        if (isValue && /double|twice/.test(name)) continue
        for (const history of [HISTORY, []]) {
          const body = WIRES[wire].body(history, { stream: shape === 'stream' })
          const answer = replaced(written(wire, { calls: [call] }), json)
          const { text, report } = await through(wire, body, [answer])
          assert.doesNotMatch(text, /call_odd/, shape)
          assert.deepEqual(report.calls, [])
        }
      }
    })
  }

  test(`${wire}: an object that is written with the same key twice passes as it was judged, once`, async () => {
    const call = { id: 'call_odd', name: 'ls', args: MARK }
    if (wire !== 'messages') return
    const body = WIRES.messages.body(HISTORY, { stream: false })
    const [repeated, fresh] = ['{"n":2,"n":1}', '{"n":1,"n":2}'].map((json) =>
      replaced(wholeOf(wire, { calls: [call] }), json),
    )
    assert.doesNotMatch((await through(wire, body, [repeated])).text, /call_odd/)
    const { content } = JSON.parse((await through(wire, body, [fresh])).text)
    assert.deepEqual(content[0].input, { n: 2 })
  })

  test(`${wire}: a repeat is one however its text is written`, async () => {
    for (const [before, after] of [
      ['{}', ' '],
      ['{}', ''],
      ['{"a":"\\ud800"}', '{ "a" : "\\uD800" }'],
      ['{"a":"x","b":1}', '{"b":1.0,"\\u0061":"\\u0078"}'],
    ]) {
      if (wire === 'messages' && after.trim() === '') continue
      const history = [MARK, MARK].map((args) => ['ls', args, 'same'])
      const body = replaced(JSON.stringify(WIRES[wire].body(history)), before)
      const call = { id: 'call_odd', name: 'ls', args: MARK }
      const written = streamOf(wire, { calls: [call] })
      const { text } = await through(wire, body, [replaced(written, after)])
      assert.doesNotMatch(text, /call_odd/, after)
    }
  })
}

// Responses and Messages: what events say of one call has to agree.

const item = (args, more = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_odd',
  name: 'ls',
  arguments: args,
  ...more,
})
const responses = ({ added = '', deltas = [], done, end = '{"n":2}', name = 'ls', id = 'fc_1' }) =>
  [
    { type: 'response.created', response: { id: 'r', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: item(added, { name, id }) },
    ...deltas.map((delta) => ({
      type: 'response.function_call_arguments.delta',
      output_index: 0,
      item_id: 'fc_1',
      delta,
    })),
    ...(done === undefined
      ? []
      : [
          {
            type: 'response.function_call_arguments.done',
            output_index: 0,
            item_id: 'fc_1',
            arguments: done,
          },
        ]),
    { type: 'response.output_item.done', output_index: 0, item: item(end) },
    { type: 'response.completed', response: { id: 'r', status: 'completed', output: [item(end)] } },
  ]
    .map(event)
    .join('')

// MoonshotAI/kimi-code#1455 (2026-07-14): a provider corrects the arguments of the deltas in the end.
test('responses: a call whose events differ in its arguments or its name is withheld', async () => {
  for (const events of [
    { deltas: ['{"n":', '1}'] },
    { deltas: ['{"n":', '1}'], done: '{"n":2}' },
    { deltas: ['{"n":2}'], done: '{"n":1}' },
    { done: '{"n":1}' },
    { added: '{"n":1}' },
    { added: '{"n":1}', deltas: ['{"n":2}'] },
    { deltas: ['{"n":2}'], end: '' },
    { name: 'other' },
  ]) {
    for (const history of [HISTORY, []]) {
      const body = WIRES.responses.body(history)
      const { text, report } = await through('responses', body, [responses(events)])
      assert.doesNotMatch(text, /call_odd/, JSON.stringify(events))
      if (history.length === 0) assert.equal(report.blocked[0].reason, 'form')
    }
  }
})

// tailcallhq/forgecode#2558 (2026-03-14): arguments in `done` alone. NousResearch/hermes-agent#94961
// (2026-08-25): the id of the item changes between `added` and `done`, its `call_id` does not.
test('responses: a call whose events agree passes byte for byte, whatever their white space', async () => {
  for (const events of [
    {},
    { deltas: ['{"n":', '2}'], done: '{"n":2}' },
    { deltas: ['{ "n"', ': 2 }'], done: '{"n":2}' },
    { done: '{"n":2}' },
    { added: '{"n":2}', deltas: ['{"n":2}'] },
    { deltas: ['{"n":2}'], id: 'fc_other' },
  ]) {
    const sent = responses(events)
    const { text, report } = await through('responses', WIRES.responses.body(HISTORY), [sent])
    assert.deepEqual([text, report.calls], [sent, ['ls']])
  }
})

test('responses: arguments that an event gives to another item by its id are withheld', async () => {
  const two = [0, 1].map((n) => item('', { id: `fc_${n}`, call_id: `call_${n}`, name: `ls${n}` }))
  const delta = (output_index, item_id, args) => ({
    type: 'response.function_call_arguments.delta',
    output_index,
    item_id,
    delta: args,
  })
  const sent = [
    { type: 'response.created', response: { id: 'r', output: [] } },
    ...two.map((own, at) => ({ type: 'response.output_item.added', output_index: at, item: own })),
    delta(0, 'fc_1', '{"n":1}'),
    delta(1, 'fc_0', '{"n":2}'),
    ...two.map((own, at) => ({
      type: 'response.output_item.done',
      output_index: at,
      item: { ...own, arguments: `{"n":${at + 1}}` },
    })),
  ]
  const { text, report } = await through('responses', WIRES.responses.body([]), [
    sent.map(event).join(''),
  ])
  assert.equal(report.error, 'proxy.call_form')
  assert.doesNotMatch(text, /"delta":"\{/)
})

test('messages: a block whose first event and whose pieces differ is withheld', async () => {
  const sent = (input, json, { index = 0, at = index } = {}) =>
    [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: {} } },
      {
        type: 'content_block_start',
        index,
        content_block: { type: 'tool_use', id: 'call_odd', name: 'ls', input },
      },
      {
        type: 'content_block_delta',
        index: at,
        delta: { type: 'input_json_delta', partial_json: json },
      },
      { type: 'content_block_stop', index },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
      { type: 'message_stop' },
    ]
      .map(event)
      .join('')
  const body = WIRES.messages.body(HISTORY)
  const { text, report } = await through('messages', body, [sent({ n: 1 }, '{"n":2}')])
  assert.doesNotMatch(text, /call_odd/)
  assert.equal(report.blocked[0].reason, 'form')
  // Clients find the block by the index, or by its place in the message.
  const moved = await through('messages', body, [sent({}, '{"n":2}', { index: 3 })])
  assert.doesNotMatch(moved.text, /call_odd/)
  for (const [input, json] of [
    [{}, '{"n":2}'],
    [{ n: 2 }, '{ "n": 2 }'],
  ]) {
    const frames = sent(input, json)
    assert.equal((await through('messages', body, [frames])).text, frames)
  }
})

test('messages: arguments for a block of text, or for a call that is over, are left out', async () => {
  const block = (index, content_block) => ({ type: 'content_block_start', index, content_block })
  const piece = (index) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json: '{"n":1}' },
  })
  const call = { type: 'tool_use', id: 'call_odd', name: 'ls', input: {} }
  for (const index of [0, 1]) {
    const frames = [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage: {} } },
      block(0, call),
      { type: 'content_block_stop', index: 0 },

      block(1, { type: 'text', text: '' }),
      piece(index),
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} },
    ]
    const body = WIRES.messages.body(HISTORY)
    const { text, report } = await through('messages', body, [frames.map(event).join('')])
    assert.doesNotMatch(text, /partial_json/)
    assert.equal(report.error, 'proxy.call_form')
  }
})

// Chat: pieces of calls that clients attribute in different ways. The shapes are those of public reports:
// dirac-run/dirac#215 (2026-09-03) and pipecat-ai/pipecat#4688 (2026-06-10), an index that moves on;
// ogx-ai/ogx#5462 and envoyproxy/ai-gateway#1465 (2026-04-07), `{}` before the arguments;
// decolua/9router#2869 (2026-07-28), each piece says all arguments so far; BerriAI/litellm#39888
// (2026-09-06), a value that is cut over pieces; comet-ml/opik#8362 (2026-09-16), a missing index that
// is read as 0; open-webui/open-webui#22235 (2026-03-04), names and whole arguments that come again;
// LibreChat-AI/agents#260 (2026-06-22), calls of one index that are merged.

const chunk = (delta, finish_reason = null) =>
  data({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
const head = (name, args = '', more = { index: 0 }) => ({
  id: `call_${name}`,
  type: 'function',
  function: { name, arguments: args },
  ...more,
})
const part = (args, more = {}) => ({ function: { arguments: args }, ...more })
const ONE = '{"n":1}'
/** Pieces in which some client reads `ls` with `{"n":1}`. */
const SPLIT = {
  'an index that is of no call': [head('ls'), part(ONE, { index: 1 })],
  'an index that moves on': [head('ls'), part('{"n"', { index: 1 }), part(':1}', { index: 2 })],
  'no index': [head('ls'), part(ONE)],
  'a value that is cut over pieces': [
    head('ls'),
    ...[...ONE].map((character) => part(character, { index: 0 })),
  ],
  'pieces that say all arguments so far': [
    head('ls'),
    part('{"n"', { index: 0 }),
    part('{"n":1', { index: 0 }),
    part(ONE, { index: 0 }),
  ],
  'whole arguments and more': [head('ls', ONE), part('{"n":2}', { index: 0 })],
  'an empty object before them': [head('ls', '{}'), part(ONE, { index: 0 })],
  'a head that comes again with all of them': [head('ls', '{"n":'), head('ls', ONE)],
  'another id at the index': [head('ls'), head('pay', ONE)],
  'another name at the index': [head('pay', ONE), head('ls')],
  'a name in two parts': [
    head('l', '', { index: 0 }),
    { index: 0, function: { name: 's', arguments: ONE } },
  ],
  'pieces before their head': [part('{"n"', { index: 1 }), head('ls', ':1}', { index: 1 })],
  'pieces of an index that gets a head later': [
    head('pay'),
    part('{"n"', { index: 1 }),
    head('ls', ':1}', { index: 1 }),
  ],
  'no index, and two calls': [head('ls'), head('pay', '', { index: 1 }), part(ONE)],
}

for (const [name, calls] of Object.entries(SPLIT)) {
  test(`chat: ${name}: no client reads a call that may not run`, async () => {
    for (const sent of [
      [...calls.map((call) => chunk({ tool_calls: [call] })), chunk({}, 'tool_calls')],
      [chunk({ tool_calls: calls }, 'tool_calls')],
      // The end of the choice is in the middle.
      [
        chunk({ tool_calls: calls.slice(0, -1) }, 'tool_calls'),
        chunk({ tool_calls: calls.slice(-1) }),
      ],
    ]) {
      const answer = `${sent.join('')}data: [DONE]\n\n`
      const { text, report } = await through('chat', WIRES.chat.body(HISTORY), [answer])
      for (const [client, read] of Object.entries(CLIENTS)) {
        for (const call of read(piecesOf(text))) {
          assert.ok(call.name !== 'ls' || call.args !== ONE, `${client}: ${text}`)
        }
      }
      assert.ok(report.blocked.length > 0 || report.error === 'proxy.call_form')
    }
  })
}

test('chat: pieces that servers are known to send pass byte for byte, if all calls may run', async () => {
  const fresh = '{"n":3}'
  for (const calls of [
    [head('ls'), part(fresh, { index: 0 })],
    [head('ls'), part('{"n"', { index: 1 }), part(':3}', { index: 2 })],
    [head('ls'), part(fresh)],
    [head('ls', '{}'), part(fresh, { index: 0 })],
    [head('ls', fresh), head('ls', fresh)],
    [head('ls', '{"n"'), head('ls', ':3}')],
    [head('ls', fresh, {}), head('pay', '{"m":4}', {})],
    [head('ls', fresh), head('pay', '{"m":4}')],
  ]) {
    const sent = [...calls.map((call) => chunk({ tool_calls: [call] })), chunk({}, 'tool_calls')]
    const answer = `${sent.join('')}data: [DONE]\n\n`
    const { text, report } = await through('chat', WIRES.chat.body(HISTORY), [answer])
    assert.equal(text, answer, JSON.stringify(calls))
    assert.deepEqual(report.blocked, [])
  }
})

test('chat: calls that are written anew keep clear of those that passed as they were', async () => {
  const sent = [
    chunk({ tool_calls: [head('pay', ONE, { index: 1 })] }, 'tool_calls'),
    chunk({ tool_calls: [head('ls', ONE), head('other', '{"n":4}', { index: 2 })] }, 'tool_calls'),
  ]
  const { text } = await through('chat', WIRES.chat.body(HISTORY), [sent.join('')])
  const indexes = piecesOf(text).flatMap((own) => own?.index ?? [])
  assert.equal(new Set(indexes).size, 2)
})
