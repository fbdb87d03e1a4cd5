// In `bound`, a call that clients read in different ways is withheld: by the name of the event, by names
// in any case, by the kind of the call, by what they repair.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProxy } from 'turnlock/proxy'
import { callsOf, LENIENT, valueOf } from './lenient-readers.mjs'
import { WIRES } from './wires.mjs'

const ONE = '{"n":1}'
const TWO = '{"n":2}'
const HISTORY = [1, 2].map(() => ['ls', { n: 1 }, 'same'])
const data = (json) => `data: ${typeof json === 'string' ? json : JSON.stringify(json)}\n\n`
const event = (json, type = json.type) => `event: ${type}\n${data(json)}`

/**
 * Sends a request with `history` through `bound`; the provider answers with `answer`, and then with
 * `second`.
 */
async function through(wire, answer, options = {}) {
  const { history = HISTORY, stream = true, second = '', schema } = options
  let requests = 0
  let report
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    mode: 'bound',
    onReport: (own) => (report = own),
    fetch: async () => new Response(requests++ ? second : answer),
  })
  const request = WIRES[wire].body(history, { stream })
  if (schema) {
    const [tool] = request.tools
    const own = tool.function ?? tool
    own['input_schema' in own ? 'input_schema' : 'parameters'] = schema
  }
  const body = JSON.stringify(request)
  const url = `https://edge.example${WIRES[wire].path}`
  const response = await proxy(new Request(url, { method: 'POST', body }))
  return { text: await response.text(), report }
}

/** Whether some client runs `ls` with `{"n":1}`, which was called twice with one result. */
const runsRepeat = (wire, text) =>
  LENIENT.some((client) =>
    callsOf(wire, text, client).some(
      ({ name, args }) => name === 'ls' && JSON.stringify(valueOf(args)) === ONE,
    ),
  )

async function withheld(wire, answer, name, options) {
  const { text, report } = await through(wire, answer, options)
  assert.ok(!runsRepeat(wire, text), `${name}: ${text}`)
  const isReported = report.blocked.length > 0 || report.error !== undefined
  assert.ok(isReported, `${name}: ${JSON.stringify(report)}`)
  return { text, report }
}

// Messages.

const messages = (...frames) =>
  event({
    type: 'message_start',
    message: { id: 'm', role: 'assistant', content: [], usage: {} },
  }) +
  frames.join('') +
  event({ type: 'content_block_stop', index: 0 }) +
  event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} }) +
  event({ type: 'message_stop' })
const block = { type: 'tool_use', id: 'call_1', name: 'ls', input: {} }
const start = (own = {}) => ({
  type: 'content_block_start',
  index: 0,
  content_block: { ...block, ...own },
})
const piece = (partial_json, own = {}) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'input_json_delta', partial_json, ...own },
})

// Responses.

const item = (args, own = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'ls',
  arguments: args,
  ...own,
})
const added = (args = '', own) =>
  event({ type: 'response.output_item.added', output_index: 0, item: item(args, own) })
const done = (args, own) =>
  event({ type: 'response.output_item.done', output_index: 0, item: item(args, own) })
const completed = (...output) =>
  event({ type: 'response.completed', response: { id: 'r', status: 'completed', output } })
const responses = (...frames) =>
  event({ type: 'response.created', response: { id: 'r', output: [] } }) + frames.join('')
const part = { output_index: 0, item_id: 'fc_1' }

// Chat.

const chunk = (delta, finish_reason = null) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
})
const chat = (...calls) =>
  calls
    .map((call) => data(typeof call === 'string' ? call : chunk({ tool_calls: [call] })))
    .join('') +
  data(chunk({}, 'tool_calls')) +
  data('[DONE]')
const call = (args, own = {}) => ({
  index: 0,
  id: 'call_1',
  type: 'function',
  function: { name: 'ls', arguments: args, ...own },
})

const { type: _, ...untyped } = piece(ONE)

test('an event whose name is not its type is no call for anybody', async () => {
  for (const name of ['content_block_delta', ' content_block_delta', 'content_block_delta ']) {
    for (const json of [untyped, { ...untyped, type: 'x' }, { ...untyped, type: 'ping' }]) {
      await withheld('messages', messages(event(start()), event(json, name)), name)
      // Behind the pieces that are judged.
      await withheld(
        'messages',
        messages(event(start()), event(piece(TWO)), event(json, name)),
        name,
      )
    }
  }
  for (const [name, frames] of Object.entries({
    'a type without a name': [data(start()), data(piece(ONE))],
    'another name': [event(start()), event(piece(ONE), 'ping'), event(piece(TWO))],
    'two names': [event(start()), `event: ping\n${event(piece(ONE))}`],
    'two names, the other way round': [
      event(start()),
      `event: content_block_delta\nevent: ping\n${data({ ...untyped, type: 'ping' })}`,
    ],
    'a start by its name': [event(start({ input: { n: 1 } }), 'content_block_start')],
    'a start by its name alone': [
      event({ ...start({ input: { n: 1 } }), type: 'x' }, 'content_block_start'),
    ],
    'a text that is a block by its name': [
      event(
        { type: 'x', index: 0, content_block: { type: 'text', text: '' } },
        'content_block_start',
      ),
      event(start({ input: { n: 1 } })),
    ],
  })) {
    await withheld('messages', messages(...frames), name)
  }
  const byName = (json, name) =>
    event({ ...part, ...json }, `response.function_call_arguments.${name}`)
  for (const end of ['done', 'delta']) {
    const json = end === 'done' ? { arguments: ONE } : { delta: ONE }
    for (const own of [json, { ...json, type: 'x' }, { ...json, type: 'response.in_progress' }]) {
      for (const frames of [
        [added(), byName(own, end), done(TWO), completed(item(TWO))],
        // The call is over, and has passed.
        [added(), done(TWO), byName(own, end), completed(item(TWO))],
      ]) {
        await withheld('responses', responses(...frames), `${end} ${JSON.stringify(own)}`)
      }
    }
  }
  const typeless = { output_index: 0, item: item(ONE) }
  await withheld('responses', responses(event(typeless, 'response.output_item.done')), 'item')
  const whole = { response: { id: 'r', output: [item(ONE)] } }
  await withheld('responses', responses(event(whole, 'response.completed')), 'response')
})

// earendil-works/pi#1984 (2026-03-09): proxies that leave out the names; anomalyco/opencode#38106
// (2026-07-21): events of a server's own between the chunks of Chat Completions.
test('an event whose name is its type, or has none, passes byte for byte', async () => {
  const frames = [start(), piece('{"n"'), piece(':2}')]
  const named = messages(...frames.map((json) => event(json)))
  const events = responses(added(), done(TWO), completed(item(TWO)))
  for (const [wire, sent] of [
    ['messages', named],
    ['messages', named.replace(/^event: .*\n/gm, '')],
    ['messages', named.replace(/^event: .*\n/gm, 'event: message\n')],
    ['messages', named.replace(/^event: /gm, 'event:')],
    [
      'messages',
      named.replace('event: message_stop', 'event: ping\ndata: {}\n\n: x\n\nevent: message_stop'),
    ],
    ['responses', events],
    ['responses', events.replace(/^event: .*\n/gm, '')],
    ['chat', chat(call(TWO)).replace(/^data/gm, 'event: chunk\ndata')],
    ['chat', `event: server.progress\n${data({ tool: 'ls', label: 'x' })}${chat(call(TWO))}`],
  ]) {
    const { text, report } = await through(wire, sent)
    assert.deepEqual([text, report.calls, report.error], [sent, ['ls'], undefined])
  }
})

test('chat: a piece in an event that official clients leave out is withheld', async () => {
  const sent = chat(call('{"n":')).replace('data: [DONE]\n\n', '')
  const hidden = `event: thread.run.step.delta\n${data(chunk({ tool_calls: [call('2}')] }))}`
  const { text, report } = await through('chat', hidden + sent)
  assert.doesNotMatch(text, /call_1/)
  assert.equal(report.error, 'proxy.call_form')
})

/** A text with a letter of its names in another case. */
const SPELLINGS = {
  capital: (name) => name[0].toUpperCase() + name.slice(1),
  capitals: (name) => name.toUpperCase(),
  'the long s': (name) => name.replace('s', 'ſ'),
  'the long s as an escape': (name) => name.replace('s', '\\u017f'),
  'the long s as an escape in capitals': (name) => name.replace('s', '\\u017F'),
  'the Kelvin sign': (name) => name.replace('k', '\u212a'),
  'the Kelvin sign as an escape': (name) => name.replace('k', '\\u212A'),
  'a dotless i': (name) => name.replace('i', 'ı'),
}

test('members of a call in another case are no call for anybody, alone or beside the usual ones', async () => {
  for (const [how, spell] of Object.entries(SPELLINGS)) {
    /** The JSON with `name` spelled otherwise, alone or with `value` before or behind it. */
    const spelled = (json, name, value) => {
      const text = JSON.stringify(json)
      const [own, other] = [`"${name}":`, `"${spell(name)}":`]
      if (own === other) return []
      const extra = `${other}${JSON.stringify(value)}`
      return value === undefined
        ? [text.replace(own, other)]
        : [
            text.replace(own, `${extra},${own}`),
            text.replace(/\}$/, '').replace(own, `"x":0,${own}`) + `,${extra}}`,
          ]
    }
    // Chat.
    const wanted = { tool_calls: [call(ONE)] }
    for (const [json, name, value] of [
      [chunk(wanted), 'tool_calls'],
      [chunk(wanted), 'choices'],
      [chunk(wanted), 'delta'],
      [chunk(wanted), 'function'],
      [chunk(wanted), 'arguments'],
      [chunk(wanted), 'name'],
      [chunk({ tool_calls: [call(TWO)] }), 'function', { name: 'ls', arguments: ONE }],
      [chunk({ tool_calls: [call(TWO)] }), 'arguments', ONE],
      [chunk({ tool_calls: [call(ONE, { name: 'other' })] }), 'name', 'ls'],
      [chunk({ tool_calls: [call(TWO)] }), 'delta', wanted],
      [chunk({ function_call: { name: 'ls', arguments: TWO } }), 'arguments', ONE],
    ]) {
      for (const text of spelled(json, name, value)) {
        await withheld('chat', chat(text), `${how} ${text}`)
        const first = chat(call(TWO, { name: 'other' })).replace(
          /data: \{"id":"c".*?"tool_calls"\}[^]*/,
          '',
        )
        await withheld('chat', first + chat(text), `${how} ${text}`)
        const whole = text.replaceAll('"delta"', '"message"')
        await withheld('chat', whole, `${how} ${whole}`, { stream: false })
      }
    }
    // Messages.
    for (const [json, name, value] of [
      [piece(ONE), 'partial_json'],
      [piece(ONE), 'delta'],
      [piece(ONE), 'type'],
      [piece(TWO), 'partial_json', ONE],
      [piece(TWO), 'delta', { type: 'input_json_delta', partial_json: ONE }],
      [piece(ONE), 'index', 7],
    ]) {
      for (const text of spelled(json, name, value)) {
        const frame = `event: content_block_delta\n${data(text)}`
        await withheld('messages', messages(event(start()), frame), `${how} ${text}`)
        await withheld(
          'messages',
          messages(event(start()), frame, event(piece(''))),
          `${how} ${text}`,
        )
      }
    }
    for (const [json, name, value] of [
      [start({ input: { n: 1 } }), 'content_block'],
      [start({ input: { n: 1 } }), 'input'],
      [start({ input: { n: 2 } }), 'input', { n: 1 }],
      [start({ input: { n: 1 }, name: 'other' }), 'name', 'ls'],
      [start({ input: { n: 1 } }), 'type'],
    ]) {
      for (const text of spelled(json, name, value)) {
        await withheld(
          'messages',
          messages(`event: content_block_start\n${data(text)}`),
          `${how} ${text}`,
        )
        const whole = `{"type":"message","content":[${text}],"stop_reason":"tool_use"}`
        await withheld('messages', whole, `${how} ${whole}`, { stream: false })
      }
    }
    for (const text of spelled(
      { type: 'message', content: [{ ...block, input: { n: 1 } }] },
      'content',
    )) {
      await withheld('messages', text, `${how} ${text}`, { stream: false })
    }
    // Responses.
    for (const [json, name, value] of [
      [item(ONE), 'arguments'],
      [item(TWO), 'arguments', ONE],
      [item(ONE), 'name'],
      [item(ONE, { name: 'other' }), 'name', 'ls'],
      [item(ONE), 'type'],
    ]) {
      for (const text of spelled(json, name, value)) {
        const frame = data(`{"type":"response.output_item.done","output_index":0,"item":${text}}`)
        const end = data(`{"type":"response.completed","response":{"id":"r","output":[${text}]}}`)
        for (const frames of [[frame, end], [end], [added(), frame, end]]) {
          await withheld('responses', responses(...frames), `${how} ${text}`)
        }
        await withheld('responses', `{"id":"r","output":[${text}]}`, how, { stream: false })
      }
    }
    const type = 'response.function_call_arguments.'
    for (const [json, name, value] of [
      [{ type: `${type}delta`, ...part, delta: ONE }, 'delta'],
      [{ type: `${type}delta`, ...part, delta: TWO }, 'delta', ONE],
      [{ type: `${type}done`, ...part, arguments: ONE }, 'arguments'],
      [{ type: `${type}done`, ...part, arguments: TWO }, 'arguments', ONE],
    ]) {
      for (const text of spelled(json, name, value)) {
        const frames = [added(), data(text), done(TWO), completed(item(TWO))]
        await withheld('responses', responses(...frames), `${how} ${text}`)
      }
    }
  }
})

test('a type of a call in another case is no call for anybody', async () => {
  for (const type of ['Tool_Use', 'TOOL_USE', 'tool_uſe']) {
    const own = start({ type, input: { n: 1 } })
    const { text } = await through('messages', messages(event(own)))
    assert.doesNotMatch(text, /call_1/, type)
    const whole = JSON.stringify({ type: 'message', content: [own.content_block] })
    assert.doesNotMatch((await through('messages', whole, { stream: false })).text, /call_1/)
  }
  for (const type of ['Function_Call', 'function_caLL']) {
    const { text } = await through('responses', responses(done(ONE, { type }), completed()))
    assert.doesNotMatch(text, /call_1/, type)
  }
})

test('other names in any case, and the data of tools, pass byte for byte', async () => {
  for (const [wire, sent] of [
    ['messages', messages(event(start({ input: { Name: 'a', name: 'b', Type: 'Tool_Use' } })))],
    ['chat', chat(call('{"Arguments":1,"arguments":2}'))],
    [
      'chat',
      chat(
        JSON.stringify({
          ...chunk({ tool_calls: [call(TWO)] }),
          systemFingerprint: 'x',
          'x-Id': 1,
        }),
      ),
    ],
    ['responses', responses(done('{"Name":1,"name":2}'), completed(item('{"Name":1,"name":2}')))],
    [
      'responses',
      responses(
        event({
          type: 'response.in_progress',
          response: { tools: [{ Name: 1, name: 2 }] },
        }),
        done(TWO),
        completed(item(TWO)),
      ),
    ],
  ]) {
    const { text, report } = await through(wire, sent)
    assert.deepEqual([text, report.error], [sent, undefined])
  }
})

test('responses: a call that was judged is not replaced by another one of a second response', async () => {
  for (const own of [{}, { call_id: 'call_1' }, { id: 'fc_2' }]) {
    for (const output of [[], [item(TWO)], [item(TWO, { name: 'other' })]]) {
      for (const frames of [[added(TWO)], [added()], [added(TWO, { name: 'other' })], []]) {
        const sent = responses(...frames, completed(...output), completed(item(ONE, own)))
        await withheld('responses', sent, JSON.stringify([own, output]))
      }
    }
  }
  // The same response twice has nothing new.
  const twice = responses(added(), completed(item(TWO)), completed(item(TWO)))
  const { text, report } = await through('responses', twice)
  assert.deepEqual([text, report.calls], [twice, ['ls']])
})

test('chat: a call that is a function and a custom tool is withheld', async () => {
  const custom = (input, name = 'ls') => ({ custom: { name, input } })
  for (const own of [
    [{ ...call(TWO), ...custom(ONE) }],
    [{ ...call(TWO, { name: 'other' }), ...custom(ONE), type: 'custom' }],
    [{ ...call(TWO), custom: { input: ONE } }],
    [call(TWO), { index: 0, custom: { input: ONE } }],
    [
      { ...call(''), ...custom(TWO) },
      { index: 0, function: { arguments: ONE } },
    ],
    [
      { index: 0, id: 'call_1', type: 'custom', ...custom('') },
      { index: 0, function: { arguments: ONE } },
    ],
    // Beside the function.
    [{ ...call(TWO), arguments: ONE }],
    [{ ...call(TWO), input: { n: 1 } }],
    [{ ...call(ONE, { name: 'other' }), name: 'ls' }],
  ]) {
    const { text, report } = await through('chat', chat(...own), { history: [] })
    assert.doesNotMatch(text, /call_1/, JSON.stringify(own))
    assert.equal(report.blocked[0].reason, 'form')
    if (own.length > 1) continue
    const [{ index: _, ...whole }] = own
    const message = { role: 'assistant', content: null, tool_calls: [whole] }
    const json = JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
    const answer = await through('chat', json, { history: [], stream: false })
    assert.doesNotMatch(answer.text, /call_1/)
  }
  for (const own of [
    { ...call(TWO), custom: null },
    { index: 0, id: 'call_1', type: 'custom', custom: { name: 'ls', input: 'free text' } },
    { ...call(TWO), name: 'ls', arguments: TWO },
  ]) {
    const sent = chat(own)
    assert.equal((await through('chat', sent, { history: [] })).text, sent)
  }
})

/**
 * Arguments that some client repairs to `{"n":1}`. cline/cline#13001 (2026-08-10), livekit/agents#4974
 * (2026-02-28), BerriAI/litellm#22503 (2026-03-01): no end; NousResearch/hermes-agent#79333 (2026-08-05):
 * a fence, a text behind the object; quarkiverse/quarkus-langchain4j#2642 (2026-06-29),
 * livekit/agents#5409 (2026-04-10): a JSON string; BerriAI/litellm#28988 (2026-05-27): control characters.
 */
const REPAIRED = {
  'no end': '{"n":1',
  'no end, and a comma': '{"n":1,',
  'a trailing comma': '{"n":1,}',
  'a fence': '```json\n{"n":1}\n```',
  'a fence without an end': '```json\n{"n":1}',
  'a fence in capitals': '```JSON\r\n{ "n": 1, }```',
  'a byte order mark': '\ufeff{"n":1}',
  'a JSON string': JSON.stringify(ONE),
  'a JSON string twice': JSON.stringify(JSON.stringify(ONE)),
  'a bracket too many': '{"n":1}}',
  'a text behind it': '{"n":1} Done.',
  'a member without a value': '{"n":1,"m":',
  'a name without an end': '{"n":1,"m',
  'a fence of tildes': '~~~\n{"n":1}\n~~~',
}

for (const wire of Object.keys(WIRES)) {
  const ARGS = 'ARGUMENTS'
  const answer = (args) =>
    WIRES[wire]
      .stream({ calls: [{ id: 'call_1', name: 'ls', args: ARGS }] }, { n: 1, body: {} })
      .join('')
      .replaceAll(`\\"${ARGS}\\"`, () => JSON.stringify(args).slice(1, -1))

  test(`${wire}: arguments that a client repairs count as the call that it runs`, async () => {
    for (const [how, args] of Object.entries(REPAIRED)) {
      const { text, report } = await through(wire, answer(args))
      assert.doesNotMatch(text, /call_1/, how)
      assert.equal(report.blocked[0].reason, 'duplicate', how)
    }
  })

  test(`${wire}: arguments that a client repairs count in the history`, async () => {
    if (wire === 'messages') return
    for (const [how, args] of Object.entries(REPAIRED)) {
      const body = JSON.stringify(WIRES[wire].body(HISTORY))
      const odd = body.replaceAll(JSON.stringify(ONE), () => JSON.stringify(args))
      assert.notEqual(odd, body)
      let requests = 0
      const proxy = createProxy({
        upstream: 'https://provider.example',
        authorize: () => ({ tenant: 'me' }),
        mode: 'bound',
        fetch: async () => new Response(requests++ ? '' : answer(ONE)),
      })
      const url = `https://edge.example${WIRES[wire].path}`
      const response = await proxy(new Request(url, { method: 'POST', body: odd }))
      assert.doesNotMatch(await response.text(), /call_1/, how)
    }
  })

  test(`${wire}: arguments that nobody can repair are withheld; those that are new pass`, async () => {
    for (const args of [
      "{'n': 1}",
      '{n:1}',
      '{"n":01}',
      '{"n":NaN}',
      'n=1',
      '{"n":1 "m":2}',
      '{"n":/**/1}',
    ]) {
      const { text, report } = await through(wire, answer(args))
      assert.doesNotMatch(text, /call_1/, args)
      assert.equal(report.blocked[0].reason, 'form')
    }
    for (const args of [
      '{"n":2',
      '{"n":2,}',
      '```json\n{"n":2}\n```',
      '{"a":"x\ny"}',
      '{"a":"\\ud83d',
    ]) {
      const sent = answer(args)
      const { text, report } = await through(wire, sent)
      assert.deepEqual([text, report.blocked], [sent, []], args)
    }
  })
}

test('arguments of another type than a text are withheld', async () => {
  const type = 'response.function_call_arguments.'
  for (const [wire, sent] of [
    ['messages', messages(event(start()), event(piece({ n: 1 })))],
    ['messages', messages(event(start()), event(piece([ONE])))],
    ['messages', messages(event(start()), event(piece(TWO, { type: 'text_delta' })))],
    ['messages', messages(event(start({ input: ONE })))],
    ['responses', responses(done({ n: 1 }), completed(item({ n: 1 })))],
    ['responses', responses(added({ n: 1 }), completed(item({ n: 1 })))],
    [
      'responses',
      responses(added(), event({ type: `${type}delta`, ...part, delta: { n: 1 } }), done(TWO)),
    ],
    [
      'responses',
      responses(added(), event({ type: `${type}done`, ...part, arguments: { n: 1 } }), done(TWO)),
    ],
    ['chat', chat(call({ n: 1 }))],
  ]) {
    const { text } = await through(wire, sent)
    assert.doesNotMatch(text, /call_1/, sent)
  }
})

test('arguments in another place than the API has them are withheld', async () => {
  const others = [{ text: ONE }, { input: { n: 1 } }, { arguments: ONE }]
  for (const own of others) {
    const odd = { ...piece(TWO), ...own }
    await withheld('messages', messages(event(start()), event(odd)), JSON.stringify(odd))
    const within = piece(TWO, own)
    await withheld('messages', messages(event(start()), event(within)), JSON.stringify(within))
  }
  for (const own of [
    { input: ONE },
    { input: { n: 1 } },
    { action: { n: 1 } },
    { function: { arguments: ONE } },
  ]) {
    for (const frames of [
      [done(TWO, own), completed()],
      [added(), done(TWO), completed(item(TWO, own))],
      [completed(item(TWO, own))],
    ]) {
      const { text, report } = await through('responses', responses(...frames), { history: [] })
      assert.ok(!text.includes(Object.keys(own)[0] + '":'), text)
      assert.equal(report.blocked[0].reason, 'form')
    }
  }
  const ended = event({
    type: 'response.function_call_arguments.done',
    ...part,
    arguments: TWO,
    input: ONE,
  })
  await withheld('responses', responses(added(), ended, done(TWO), completed()), 'done')
  await withheld(
    'responses',
    responses(done(ONE, { type: 'tool_call' }), completed()),
    'another type',
  )
  await withheld(
    'chat',
    chat({ ...call(TWO), function: { ...call(TWO).function, input: ONE } }),
    'input',
  )
})

// earendil-works/pi#4517 (2026-05-14), lijunzh/koda#49 (2026-03-05): names in another case;
// AtomicBot-ai/atomic-agent#182 (2026-08-19), openclaw/openclaw#96729 (2026-06-25).
test('arguments that a client fits to the schema of the tool count as the call that it runs', async () => {
  const integer = { type: 'integer' }
  const schema = {
    type: 'object',
    properties: { n: integer, m: integer, of: { type: 'object', properties: { n: integer } } },
  }
  const deep = { ...schema, properties: { ...schema.properties, deep: nested(200) } }
  const same = [
    [{ n: '1' }, { n: 1 }],
    [{ n: 1, m: null }, { n: 1 }],
    [{ of: '{"n":1}' }, { of: { n: 1 } }],
    [{ of: { n: '1', m: null } }, { of: { n: 1, m: null } }],
  ]
  for (const wire of Object.keys(WIRES)) {
    const answer = (args) =>
      WIRES[wire]
        .stream({ calls: [{ id: 'call_1', name: 'ls', args }] }, { n: 1, body: {} })
        .join('')
    for (const [a, b] of [...same, ...same.map((pair) => pair.toReversed())]) {
      const [history, sent] = [[1, 2].map(() => ['ls', a, 'same']), answer(b)]
      const { text, report } = await through(wire, sent, { history, schema })
      assert.doesNotMatch(text, /call_1/, JSON.stringify([wire, a, b]))
      assert.equal(report.blocked[0].reason, 'duplicate')
      // Without the schema they are two calls, and what passes is not changed.
      for (const other of [undefined, { type: 'object', properties: { n: {} } }, deep]) {
        assert.equal((await through(wire, sent, { history, schema: other })).text, sent)
      }
    }
    const first = answer(same[0][0])
    assert.equal((await through(wire, first, { history: [], schema })).text, first)
  }
})

/** A schema of so many levels. */
const nested = (levels) =>
  levels === 0 ? {} : { type: 'object', properties: { a: nested(levels - 1) } }

// anomalyco/opencode#31514 (2026-06-09): with hyphens for underscores;
// XiaomiMiMo/MiMo-Code#2343 (2026-09-07): parameters too.
test('names that a client finds in another spelling count as those of the tool and its parameters', async () => {
  for (const args of ['{"N":1}', '{"_n":1}', '{"\\u004e":1}', '```\n{"N":1,}\n```']) {
    const { text, report } = await through('chat', chat(call(args)))
    assert.doesNotMatch(text, /call_1/, args)
    assert.equal(report.blocked[0].reason, 'duplicate')
  }
  // Which of two a client takes is not known, and a tool may have both.
  const both = chat(call('{"n":1,"N":2}'))
  assert.equal((await through('chat', both)).text, both)
  // Values are the tool's.
  const value = chat(call('{"n":{"a":1}}'))
  const past = [1, 2].map(() => ['ls', { n: { A: 1 } }, 'same'])
  assert.equal((await through('chat', value, { history: past })).text, value)
  for (const name of [
    'l_s',
    'l-s',
    'l s',
    'LS',
    'Ls',
    ' ls',
    'ls\n',
    'lſ',
    'l\u200bs',
    '\u00a0ls',
  ]) {
    for (const [wire, sent] of [
      ['chat', chat(call(ONE, { name }))],
      ['messages', messages(event(start({ name, input: { n: 1 } })))],
      ['responses', responses(done(ONE, { name }), completed(item(ONE, { name })))],
    ]) {
      const { text, report } = await through(wire, sent)
      assert.doesNotMatch(text, /call_1/, JSON.stringify(name))
      assert.equal(report.blocked[0].reason, 'duplicate')
    }
    const { report } = await through('chat', chat(call(TWO, { name })))
    assert.deepEqual([report.calls, report.blocked], [[name], []])
  }
})

test('what is written anew has no line ends of any client within a line', async () => {
  const ends = ['\u0085', '\u2028', '\u2029']
  for (const wire of Object.keys(WIRES)) {
    for (const end of ends) {
      const said = `a${end}data: [DONE]${end}b`
      const frames = WIRES[wire].stream(
        { text: [said], calls: [{ id: 'call_1', name: 'ls', args: { n: 1 } }], textAfter: [said] },
        { n: 1, body: {} },
      )
      const second = WIRES[wire].stream({ text: [said] }, { n: 2, body: {} }).join('')
      // Providers that write ASCII have an escape here.
      const ascii = (text) =>
        text.replaceAll(end, `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`)
      const sent = ascii(frames.join(''))
      const { text } = await through(wire, sent, { second: ascii(second) })
      assert.doesNotMatch(text, /call_1/)
      assert.ok(text.includes(ascii(said).slice(0, 12)))
      assert.doesNotMatch(text, /[\u0085\u2028\u2029]/)
    }
  }
})

test('a byte order mark that is cut anywhere passes, in every mode', async () => {
  for (const wire of Object.keys(WIRES)) {
    const stream = WIRES[wire].stream({ text: ['Hi'] }, { n: 1, body: {} }).join('')
    const whole = JSON.stringify(WIRES[wire].whole({ text: 'Hi' }))
    for (const mode of ['observe', 'repair', 'bound']) {
      for (const body of [stream, whole]) {
        for (const size of [1, 2, 3, 4]) {
          for (const before of ['\ufeff', '\ufeff\n']) {
            const bytes = new TextEncoder().encode(before + body)
            const pieces = new ReadableStream({
              start(controller) {
                controller.enqueue(bytes.subarray(0, size))
                controller.enqueue(bytes.subarray(size))
                controller.close()
              },
            })
            let report
            const proxy = createProxy({
              upstream: 'https://provider.example',
              authorize: () => ({ tenant: 'me' }),
              mode,
              onReport: (own) => (report = own),
              fetch: async () => new Response(pieces),
            })
            const sent = JSON.stringify(WIRES[wire].body([], { stream: body === stream }))
            const url = `https://edge.example${WIRES[wire].path}`
            const response = await proxy(new Request(url, { method: 'POST', body: sent }))
            const got = Buffer.from(await response.arrayBuffer())
            assert.ok(got.equals(Buffer.from(bytes)), `${wire} ${mode} ${size}: ${got}`)
            assert.deepEqual([report.error, report.outcome], [undefined, 'complete'])
          }
        }
      }
    }
  }
})
