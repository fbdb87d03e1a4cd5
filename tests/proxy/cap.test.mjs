// However a response names its calls, no more of them reach the client than may run.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'

const PATHS = { chat: '/chat/completions', responses: '/responses', messages: '/messages' }
const TOOLS = {
  chat: [{ type: 'function', function: { name: 'pay', parameters: {} } }],
  responses: [{ type: 'function', name: 'pay' }],
  messages: [{ name: 'pay', input_schema: {} }],
}

/**
 * Asks once, with room for one call; `chunks` is what the provider answers. Returns what the client
 * got, the calls in it, and the report.
 */
async function capped(wire, chunks, { body = {}, more = '', most = 1 } = {}) {
  let report
  let asked = 0
  const proxy = createProxy({
    upstream: 'https://provider.example/v1',
    mode: 'bound',
    policy: { maxTools: most },
    authorize: () => ({ tenant: 'me' }),
    onReport: (own) => (report = own),
    fetch: async () => new Response(streamOf(asked++ ? [] : chunks)),
  })
  const said = [{ role: 'user', content: 'go' }]
  const history = wire === 'responses' ? { input: said } : { messages: said }
  const json = JSON.stringify({ model: 'm', stream: true, tools: TOOLS[wire], ...history, ...body })
  const sent = { method: 'POST', body: more ? `${json.slice(0, -1)},${more}}` : json }
  const text = await (
    await proxy(new Request(`https://edge.example/v1${PATHS[wire]}`, sent))
  ).text()
  return { text, report, calls: new Set(text.match(/transfer-\d/g)).size }
}

const streamOf = (chunks) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })

/** Every case: as it comes frame by frame, and in one piece. */
const cases = (wire, all) => {
  for (const [name, frames, options] of all) {
    test(`${wire}: ${name}`, async () => {
      for (const chunks of [frames, [frames.join('')]]) {
        const { calls, report, text } = await capped(wire, chunks, options)
        assert.ok(calls <= 1, text)
        const isRefused = /^proxy\.(call_form|response_format)$/.test(report.error ?? '')
        assert.ok(report.blocked.length > 0 || isRefused, 'nothing is told')
      }
    })
  }
}

const args = (n) => `{"id":"transfer-${n}"}`
const data = (json) => `data: ${JSON.stringify(json)}\n\n`
const DONE = 'data: [DONE]\n\n'

// Chat Completions.

const chunk = (delta, finish_reason = null, more = {}) =>
  data({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason, ...more }],
  })
const piece = (n, { index = n - 1, id = `c${n}` } = {}) => ({
  ...(index !== null && { index }),
  ...(id && { id }),
  type: 'function',
  function: { name: 'pay', arguments: args(n) },
})
const pieces = (options) => [1, 2, 3].map((n) => chunk({ tool_calls: [piece(n, options)] }))
const END = [chunk({}, 'tool_calls'), DONE]
const plain = [...pieces(), ...END]
const respelled = (frames, from, to) => frames.map((frame) => frame.replaceAll(from, to))
const whole = (message, more = {}) => ({
  choices: [{ index: 0, message, finish_reason: 'tool_calls', ...more }],
})
const all = { role: 'assistant', content: null, tool_calls: [piece(1), piece(2)] }
const called = (n) => ({ name: 'pay', arguments: args(n) })

cases('chat', [
  ['calls as they are', plain],
  ['a stream without an end', [...pieces(), DONE]],
  ['a stream that is cut', pieces()],
  ['a last frame without a blank line', [pieces().join('').trimEnd()]],
  ['one index for all', [...pieces({ index: 0 }), ...END]],
  ['one index and no id', [...pieces({ index: 0, id: '' }), ...END]],
  ['ids and no index', [...pieces({ index: null }), ...END]],
  ['neither index nor id', [...pieces({ index: null, id: '' }), ...END]],
  [
    'one index within a frame',
    [chunk({ tool_calls: [1, 2, 3].map((n) => piece(n, { index: 0 })) }, 'tool_calls'), DONE],
  ],
  ['a name and its colon on two lines', respelled(plain, '"tool_calls":', '"tool_calls"\ndata: :')],
  ['a value on a line of its own', respelled(plain, '"tool_calls":', '"tool_calls":\ndata: ')],
  ['a name in another case', respelled(plain, 'tool_calls":', 'Tool_Calls":')],
  ['a name with a long s', respelled(plain, 'tool_calls":', 'tool_call\u017f":')],
  ['choices twice', plain.map((frame) => frame.replace(/\}\n\n$/, ',"choices":[]}\n\n'))],
  ['a delta twice', respelled(plain, '"finish_reason":null', '"finish_reason":null,"delta":{}')],
  ['calls twice', respelled(plain, '}]},"finish', '}],"tool_calls":[]},"finish')],
  [
    'calls twice in a whole response',
    [JSON.stringify(whole(all)).replace('}]},"finish', '}],"tool_calls":null},"finish')],
  ],
  ['an escaped name', respelled(plain, 'tool_calls":', 'tool\\u005fcalls":')],
  [
    'calls behind the end',
    [...pieces().slice(0, 1), ...END.slice(0, 1), ...pieces().slice(1), DONE],
  ],
  [
    'calls behind two ends',
    [
      ...pieces().slice(0, 1),
      END[0],
      ...pieces().slice(1, 2),
      END[0],
      ...pieces().slice(2),
      ...END,
    ],
  ],
  [
    'escaped calls behind the end',
    [
      pieces()[0],
      END[0],
      ...respelled(pieces().slice(1), 'tool_calls":', 'tool\\u005fcalls":'),
      DONE,
    ],
  ],
  [
    'calls of messages in a stream',
    [1, 2].map((n) =>
      chunk({}, n === 2 ? 'tool_calls' : null, { message: { tool_calls: [piece(n)] } }),
    ),
  ],
  [
    'function_call of older models',
    [1, 2].flatMap((n) => [chunk({ function_call: called(n) }), chunk({}, 'function_call')]),
  ],
  [
    'two choices',
    [0, 1].flatMap((index) => [
      chunk({ tool_calls: [piece(index + 1)] }, null, { index }),
      chunk({}, 'tool_calls', { index }),
    ]),
  ],
  ['NaN in a frame', respelled(plain, '"created":1', '"created":NaN')],
  ['frames that are lists', plain.map((frame) => frame.replace(/^data: (\{.*\})$/m, 'data: [$1]'))],
  ['a first field that nobody knows', ['x: y\n', ...plain]],
  ['lines that end with CR', respelled(plain, '\n', '\r')],
  ['CR and LF, mixed', respelled(plain, '\n\n', '\r\n\r')],
  ['one LF before CRs', [data({ choices: [] }), ...respelled(plain, '\n', '\r')]],
  [
    'functions instead of tools',
    plain,
    { body: { tools: undefined, functions: [{ name: 'pay' }] } },
  ],
  ['tools that are an object', plain, { body: { tools: { 0: TOOLS.chat[0] } } }],
  ['tools twice, the last ones none', plain, { more: '"tools":[]' }],
  ['a whole response', [JSON.stringify(whole(all))]],
  [
    'a whole response with both kinds of calls',
    [JSON.stringify(whole({ ...all, tool_calls: [piece(1)], function_call: called(2) }))],
  ],
  ['a whole response with NaN', [JSON.stringify(whole(all)).replace('"index":0', '"index":NaN')]],
  ['a whole response in a list', [JSON.stringify([whole(all)])]],
  ['two whole responses', [`{"choices":[]}\n${JSON.stringify(whole(all))}`]],
  ['a whole response with deltas', [JSON.stringify({ choices: [{ delta: all }] })]],
])

// Responses.

const event = (json) => `event: ${json.type}\n${data(json)}`
const items = [1, 2, 3].map((n) => ({
  type: 'function_call',
  id: `fc${n}`,
  call_id: `c${n}`,
  name: 'pay',
  status: 'completed',
  arguments: args(n),
}))
const created = event({ type: 'response.created', response: { id: 'r', output: [] } })
const completed = (output) =>
  event({ type: 'response.completed', response: { id: 'r', output, status: 'completed' } })
const added = (item, output_index) =>
  event({ type: 'response.output_item.added', output_index, item })
const done = (item, output_index) =>
  event({ type: 'response.output_item.done', output_index, item })
const told = (item, at) => {
  const within = { output_index: at, item_id: item.id }
  const type = 'response.function_call_arguments'
  return [
    added({ ...item, arguments: '' }, at),
    event({ type: `${type}.delta`, ...within, delta: item.arguments }),
    event({ type: `${type}.done`, ...within, arguments: item.arguments }),
    done(item, at),
  ]
}
const OTHERS = [
  'custom_tool_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
  'mcp_approval_request',
  'next_call',
]
const response = [created, ...items.flatMap(told), completed(items)]

cases('responses', [
  ['calls as they are', response],
  [
    'the same call twice at the end',
    [created, ...told(items[0], 0), completed([items[0], items[0]])],
  ],
  ['ends without beginnings', [created, ...items.map(done), completed(items)]],
  [
    'beginnings without ends',
    [created, ...items.flatMap((one, at) => told(one, at).slice(0, 3)), completed(items)],
  ],
  ['beginnings alone', [created, ...items.map(added)]],
  ['one place for all', [created, ...items.flatMap((one) => told(one, 0)), completed(items)]],
  ['no place', [created, ...items.flatMap((one) => told(one, undefined)), completed(items)]],
  ['calls at the beginning', [event({ type: 'response.created', response: { output: items } })]],
  ['an end of another call', [created, added(items[0], 0), done(items[1], 0), completed([])]],
  ['escaped types', respelled(response, 'function_call', 'function\\u005fcall')],
  ['a stored prompt, no tools', response, { body: { tools: undefined, prompt: { id: 'p' } } }],
  ['a whole response', [JSON.stringify({ id: 'r', object: 'response', output: items })]],
  [
    'an environment of the provider beside a function call',
    (() => {
      const own = items.map((item) => ({ ...item, environment: { type: 'container_auto' } }))
      const events = own.flatMap((item, at) => [added(item, at), done(item, at)])
      return [created, ...events, completed(own)]
    })(),
  ],
  ...OTHERS.map((type) => {
    const own = items.map(({ arguments: text, ...item }) => ({
      ...item,
      type,
      arguments: text,
      input: text,
      action: { type: 'exec', command: [text] },
    }))
    const events = own.flatMap((item, at) => [added(item, at), done(item, at)])
    return [type, [created, ...events, completed(own)]]
  }),
])

test('responses: what the provider runs itself is no call of the client', async () => {
  for (const type of ['web_search_call', 'mcp_call', 'code_interpreter_call', 'shell_call']) {
    const own = items.map((item) => ({
      ...item,
      type,
      environment: { type: 'container_reference' },
    }))
    const frames = [
      created,
      ...own.flatMap((item, at) => [added(item, at), done(item, at)]),
      completed(own),
    ]
    const { text, report } = await capped('responses', frames)
    assert.deepEqual([text, report.blocked, report.error], [frames.join(''), [], undefined], type)
  }
})

// Messages.

const begin = (content = []) =>
  event({ type: 'message_start', message: { id: 'm', role: 'assistant', content, usage: {} } })
const block = (n, input = {}) => ({ type: 'tool_use', id: `c${n}`, name: 'pay', input })
const blocks = (n, index = n - 1) => [
  event({ type: 'content_block_start', index, content_block: block(n) }),
  event({
    type: 'content_block_delta',
    index,
    delta: { type: 'input_json_delta', partial_json: args(n) },
  }),
  event({ type: 'content_block_stop', index }),
]
const close = [
  event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} }),
  event({ type: 'message_stop' }),
]
const three = (made) => [1, 2, 3].flatMap(made)

cases('messages', [
  ['calls as they are', [begin(), ...three((n) => blocks(n)), ...close]],
  ['one index for all', [begin(), ...three((n) => blocks(n, 0)), ...close]],
  ['no index', [begin(), ...three((n) => blocks(n, null)), ...close]],
  ['blocks without ends', [begin(), ...three((n) => blocks(n).slice(0, 2)), ...close]],
  ['one index, no ends', [begin(), ...three((n) => blocks(n, 0).slice(0, 2)), ...close]],
  ['a message without an end', [begin(), ...three((n) => blocks(n))]],
  ['blocks and a message without ends', [begin(), ...three((n) => blocks(n).slice(0, 2))]],
  [
    'arguments in the beginning, and no end',
    [
      begin(),
      ...three((n) =>
        event({
          type: 'content_block_start',
          index: n,
          content_block: block(n, JSON.parse(args(n))),
        }),
      ),
      ...close,
    ],
  ],
  [
    'a message that begins with calls',
    [begin(three((n) => block(n, JSON.parse(args(n))))), ...close],
  ],
  [
    'escaped types',
    respelled([begin(), ...three((n) => blocks(n)), ...close], 'tool_use', 'tool\\u005fuse'),
  ],
  ['calls behind the end', [begin(), ...blocks(1), ...close, ...blocks(2), ...blocks(3)]],
  ['calls at once', [begin(), ...[0, 1, 2].flatMap((at) => three((n) => blocks(n)[at])), ...close]],
  [
    'arguments behind the end of a call',
    [begin(), ...blocks(1), ...[2, 3].map((n) => blocks(n, 0)[1]), ...close],
  ],
  [
    'a whole response',
    [JSON.stringify({ role: 'assistant', content: three((n) => block(n, args(n))) })],
  ],
])

test('what names no call passes, be it JSON or not', async () => {
  const frames = [
    'x: y\n\n',
    'data: {"choices": broken\n\n',
    'data: NaN\r\n\r\n',
    'data: 7\r\r',

    chunk({ content: 'a', tool_calls: null }),
    chunk({ content: '\\u0074', function_call: null }),
    chunk({ tool_calls: [] }),
    chunk({}, 'stop'),
    DONE,
  ]
  const { text, report } = await capped('chat', frames)
  assert.deepEqual([text, report.blocked, report.error], [frames.join(''), [], undefined])
})

test('a call that is left out, and no other, is answered with a text and an end', async () => {
  const { text } = await capped('chat', [
    chunk({}, 'tool_calls', { message: { tool_calls: [piece(1)] } }),
    DONE,
  ])
  assert.match(text, /in a form that cannot be read here/)
  assert.match(text, /"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/)
  const { text: cut } = await capped('chat', [...pieces().slice(0, 1), ...pieces()])
  assert.equal(new Set(cut.match(/transfer-\d/g)).size, 1)
})

test('a type that is written twice, or in another case, is no call for anybody', async () => {
  for (const [wire, frames, type, other] of [
    ['responses', response, 'function_call', 'message'],
    ['messages', [begin(), ...three((n) => blocks(n)), ...close], 'tool_use', 'text'],
  ]) {
    for (const odd of [`"type":"${type}","type":"${other}"`, `"Type":"${type}"`]) {
      const { text, report } = await capped(wire, respelled(frames, `"type":"${type}"`, odd))
      assert.doesNotMatch(text, new RegExp(`"type":"${type}"`, 'i'))
      assert.equal(report.error, 'proxy.call_form')
    }
  }
})

test('arguments that are an object are those that they say', async () => {
  const call = (id, args) => ({ id, type: 'function', function: { name: 'pay', arguments: args } })
  const ask = async (earlier, now) => {
    const said = [0, 1, 2].flatMap((n) => [
      { role: 'assistant', content: null, tool_calls: [call(`c${n}`, earlier(n))] },
      { role: 'tool', tool_call_id: `c${n}`, content: 'done' },
    ])
    const messages = [{ role: 'user', content: 'go' }, ...said]
    const response = whole({ role: 'assistant', content: null, tool_calls: [call('z', now)] })
    const body = { messages, stream: false }
    const { report } = await capped('chat', [JSON.stringify(response)], { body, most: 9 })
    return report.blocked.map(({ reason }) => reason)
  }
  assert.deepEqual(await ask((n) => ({ id: n }), { id: 7 }), [])
  assert.deepEqual(await ask(() => ({ id: 7 }), '{"id":7}'), ['duplicate'])
  assert.deepEqual(await ask(() => '{"id":7}', { id: 7 }), ['duplicate'])
})

test('what has come of arguments is not parsed again with each piece', async (t) => {
  let parsed = 0
  const { parse } = JSON
  t.after(() => (JSON.parse = parse))
  const own = (args) => ({ index: 0, id: 'c', function: { name: 'pay', arguments: args } })
  const pieces = Array.from({ length: 400 }, () =>
    chunk({ tool_calls: [own(`,[${' '.repeat(95)}]`)] }),
  )
  const frames = [chunk({ tool_calls: [own('[0')] }), ...pieces, ...END]
  JSON.parse = (text, ...more) => {
    parsed += text.length
    return parse(text, ...more)
  }
  await capped('chat', [frames.join('')])
  JSON.parse = parse
  assert.ok(parsed < 3 * frames.join('').length, `${parsed} characters`)
})
