// Fragments of calls in a chat stream, in the conventions of many providers: each belongs to one
// call, and a call whose fragments cannot be told from those of another one never ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeStream, init } from 'turnlock'
import { holds } from './hold.mjs'

await init()

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('}', '{"a":1}', '" {', '\\'))
const args = fc
  .dictionary(fc.constantFrom('path', 'only', 'n'), fc.oneof(text, fc.integer(), fc.array(text)), {
    minKeys: 1,
  })
  .map((value) => JSON.stringify(value))
const calls = fc.array(
  fc.record({
    name: fc.constantFrom('deleteFiles', 'readFile'),
    args,
    cuts: fc.array(fc.nat(60), { maxLength: 4 }),
    early: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3 },
)

/** The fields that a fragment after the first one has; `at` counts calls, `n` all fragments. */
const CONVENTIONS = {
  index: ({ at }) => ({ index: at, function: {} }),
  'index from 1': ({ at }) => ({ index: at + 1, function: {} }),
  'index 0 for all': () => ({ index: 0, function: {} }),
  'no index': () => ({ function: {} }),
  'drifting index': ({ n }) => ({ index: 100 + n, function: {} }),
  null: ({ at }) => ({ index: at, id: null, type: null, function: { name: null } }),
  empty: ({ at }) => ({ index: at, id: '', function: { name: '' } }),
  'name in each': ({ at, name }) => ({ index: at, function: { name } }),
  'id in each': ({ at }) => ({ id: `id-${at}`, function: {} }),
  'id and name in each': ({ at, name }) => ({ index: at, id: `id-${at}`, function: { name } }),
  'a new id in each': ({ at, n }) => ({ index: at, id: `new-${n}`, function: {} }),
}
const HEAD_INDEX = {
  'index from 1': (at) => ({ index: at + 1 }),
  'index 0 for all': () => ({ index: 0 }),
  'no index': () => ({}),
  'id in each': () => ({}),
}

function pieces({ args: whole, cuts }) {
  const characters = [...whole]
  const places = [0, ...cuts.map((cut) => cut % (characters.length + 1)), characters.length]
  places.sort((a, b) => a - b)
  return places.slice(1).map((end, at) => characters.slice(places[at], end).join(''))
}

function fragments(convention, sent) {
  let n = 0
  return sent.flatMap((call, at) => {
    const [first, ...rest] = call.early ? pieces(call) : ['', ...pieces(call)]
    const place = (HEAD_INDEX[convention] ?? ((index) => ({ index })))(at)
    const head = {
      ...place,
      id: `id-${at}`,
      type: 'function',
      function: { name: call.name, arguments: first },
    }
    const further = rest.map((piece) => {
      const own = CONVENTIONS[convention]({ at, name: call.name, n: n++ })
      return { ...own, function: { ...own.function, arguments: piece } }
    })
    return [head, ...further]
  })
}

const event = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`

/** The calls that have ended. */
function ended(list, finish) {
  const end = finish === '[DONE]' ? 'data: [DONE]\n\n' : finish ? event({}, finish) : ''
  const body = list.map((fragment) => event({ tool_calls: [fragment] })).join('') + end
  const decoder = decodeStream('openai-chat')
  const deltas = [...decoder.feed(new TextEncoder().encode(body)), ...decoder.end()]
  const begun = new Map()
  for (const delta of deltas) {
    if (delta.type === 'tool_call_start') begun.set(delta.index, { ...delta, args: '' })
    if (delta.type === 'tool_call_arguments') begun.get(delta.index).args += delta.text
  }
  const ends = deltas.filter(({ type }) => type === 'tool_call_end')
  return ends
    .map(({ index }) => begun.get(index))
    .map(({ id, name, args: whole }) => [id, name, whole])
}

test('fragments: any attributable convention gives the same calls', async () => {
  const normal = fc.constantFrom('tool_calls', 'stop', 'function_call', '[DONE]')
  await holds(
    'any attributable convention gives the same calls',
    fc.property(
      fc.constantFrom(...Object.keys(CONVENTIONS)),
      calls,
      normal,
      (convention, sent, finish) => {
        assert.deepEqual(
          ended(fragments(convention, sent), finish),
          sent.map((call, at) => [`id-${at}`, call.name, call.args]),
        )
      },
    ),
    400,
  )
})

test('fragments: a response that does not end normally ends no call', async () => {
  const abnormal = fc.constantFrom('length', 'content_filter', 'error', undefined)
  await holds(
    'a response that does not end normally ends no call',
    fc.property(
      fc.constantFrom(...Object.keys(CONVENTIONS)),
      calls,
      abnormal,
      (convention, sent, finish) => {
        assert.deepEqual(ended(fragments(convention, sent), finish), [])
      },
    ),
    400,
  )
})

test('fragments: a call that lost its id, its name or its index runs with its own arguments or not at all', async () => {
  const member = fc.constantFrom('id', 'index', 'name')
  await holds(
    'a call that lost its id, its name or its index runs with its own arguments or not at all',
    fc.property(
      fc.constantFrom(...Object.keys(CONVENTIONS)),
      calls,
      fc.nat(),
      member,
      (convention, sent, place, lost) => {
        const list = fragments(convention, sent)
        const fragment = list[place % list.length]
        if (lost === 'name') delete fragment.function.name
        else delete fragment[lost]
        for (const [, name, whole] of ended(list, 'tool_calls')) {
          assert.ok(sent.some((call) => call.name === name && call.args === whole.trim()))
        }
      },
    ),
    400,
  )
})

test('fragments: more arguments after a whole object end the call that they continue', () => {
  const head = (args) => ({ index: 0, id: 'a', function: { name: 'f', arguments: args } })
  const bare = (args, index) => ({
    ...(index !== undefined && { index }),
    function: { arguments: args },
  })
  assert.deepEqual(ended([head('{}'), bare('{"only":"tmp.txt"}', 0)], 'tool_calls'), [])
  assert.deepEqual(ended([head('{}'), bare('{"only":"tmp.txt"}', 1)], 'tool_calls'), [])
  assert.deepEqual(ended([head('{}'), bare('{"only":"tmp.txt"}')], 'tool_calls'), [])
  assert.deepEqual(ended([bare('{"only":"tmp.txt"}', 0), head('')], 'tool_calls'), [])
  assert.deepEqual(ended([head(''), bare('{"a":1}', 1)], 'tool_calls'), [['a', 'f', '{"a":1}']])
  assert.deepEqual(ended([head('{"a":1}'), head('{"a": 1}')], 'tool_calls'), [
    ['a', 'f', '{"a":1}'],
  ])
})

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const head = {
  index: 0,
  id: 'a',
  type: 'function',
  function: { name: 'deleteFiles', arguments: '' },
}
const late = '{"only":"tmp.txt"}'
const deltasOf = (dialect, body) => {
  const decoder = decodeStream(dialect)
  return [...decoder.feed(new TextEncoder().encode(body)), ...decoder.end()]
}

for (const [name, tool_calls] of Object.entries({
  'a piece that is no list': { index: 0, function: { arguments: late } },
  'a list in the list': [[{ index: 0, function: { arguments: late } }]],
  'arguments beside the function': [{ index: 0, arguments: late }],
  'parameters beside the function': [{ index: 0, parameters: { only: 'tmp.txt' } }],
  'a function that is a text': [{ index: 0, function: late }],
})) {
  test(`fragments: ${name} may be of any call, so none ends`, () => {
    const body = [chunk({ tool_calls: [head] }), chunk({ tool_calls }), chunk({}, 'tool_calls')]
    const deltas = deltasOf('openai-chat', `${body.join('')}data: [DONE]\n\n`)
    assert.deepEqual(
      deltas.filter(({ type }) => type === 'tool_call_end'),
      [],
    )
  })
}

test('fragments: arguments after the end of a call fail the response', () => {
  const given = { ...head, function: { ...head.function, arguments: '{"only":"a.txt"}' } }
  const piece = chunk({ tool_calls: [{ index: 0, function: { arguments: late } }] }, 'tool_calls')
  const bodies = (call) => [
    `${chunk({ tool_calls: [call] }, 'tool_calls')}${piece}data: [DONE]\n\n`,
    `${chunk({ tool_calls: [call] }, 'stop')}${chunk({}, 'length')}data: [DONE]\n\n`,
  ]
  const count = (body, wanted) =>
    deltasOf('openai-chat', body).filter(({ type }) => type === wanted).length
  for (const body of bodies(given)) assert.equal(count(body, 'error'), 1)
  // A call without arguments has not ended yet.
  for (const body of bodies(head)) assert.equal(count(body, 'tool_call_end'), 0)
})

test('fragments: a finish reason in capitals is the same reason', () => {
  for (const reason of [
    'MAX_TOKENS',
    'SAFETY',
    'MALFORMED_FUNCTION_CALL',
    'UNEXPECTED_TOOL_CALL',
  ]) {
    const deltas = deltasOf(
      'openai-chat',
      `${chunk({ tool_calls: [head] })}${chunk({}, reason)}data: [DONE]\n\n`,
    )
    assert.ok(!deltas.some(({ type }) => type === 'tool_call_end'), reason)
  }
})

test('fragments: a value of Gemini that was to go on ends no call', () => {
  const event = (functionCall, finishReason) =>
    `data: ${JSON.stringify({ candidates: [{ content: { parts: functionCall ? [{ functionCall }] : [] }, finishReason }] })}\n\n`
  const value = { jsonPath: '$.dir', stringValue: 'inbox', willContinue: true }
  const body = [
    event({ name: 'deleteFiles', willContinue: true }),
    event({ partialArgs: [value], willContinue: true }),
    event(undefined, 'STOP'),
  ]
  const deltas = deltasOf('gemini', body.join(''))
  assert.ok(!deltas.some(({ type }) => type === 'tool_call_end'))
})
