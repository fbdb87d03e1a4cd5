// Where a text, or the list of events, is divided: at a number that a client says it has, at the
// beginning of what is kept, at a resume, between reports of a tool; and values within other values.
import assert from 'node:assert/strict'
import test from 'node:test'
import { bundleTool } from 'turnlock/evidence'
import { customModel, defineTool, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { createRedactor } from 'turnlock/redact'
import { createHandler } from 'turnlock/server'

const VALUE = 'registered-value-0123456789'
const SSN = '123-45-6789'
const PIECES = ['Hello. ', 'It says: ', ...VALUE.match(/.{1,2}/g), ' and no more.']
const messages = [{ role: 'user', content: 'go' }]

const says = (pieces, wait) =>
  customModel(async function* () {
    for (const [index, text] of pieces.entries()) {
      if (index === 1) await wait
      yield { type: 'text', text }
      // So that each is an event.
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })

/** Says half of the value, calls a tool, and says the other half. */
const divided = () => {
  let inference = 0
  return customModel(async function* () {
    if (inference++ === 0) {
      yield { type: 'text', text: `It is ${VALUE.slice(0, 5)}` }
      yield* calling('look', {})
    } else {
      yield { type: 'text', text: VALUE.slice(5) }
      yield { type: 'finish', reason: 'stop', raw: 'stop' }
    }
  })
}
function* calling(name, args) {
  yield { type: 'tool_call_start', index: 0, id: 'c1', name }
  yield { type: 'tool_call_arguments', index: 0, text: JSON.stringify(args) }
  yield { type: 'tool_call_end', index: 0 }
  yield { type: 'finish', reason: 'tool_calls', raw: 'x' }
}
const calls = (name) => {
  let inference = 0
  return customModel(async function* () {
    if (inference++ === 0) return yield* calling(name, {})
    yield { type: 'text', text: 'done' }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })
}
const tool = (execute) =>
  defineTool({ description: 'x', inputSchema: { type: 'object' }, readOnly: true, execute })
const look = tool(() => 1)

function handlerOf(options) {
  const handler = createHandler({
    store: memoryStore(),
    authorize: () => ({ tenant: 'a' }),
    ...options,
  })
  const ask = (path, body) =>
    handler(
      new Request(`https://app.example/api/chat${path}`, {
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        headers: { 'content-type': 'application/json' },
      }),
    )
  return { ask, start: () => ask('/messages', { messages, requestId: 'r' }) }
}
const eventsOf = async (response) =>
  Array.from((await response.text()).matchAll(/^data: (.*)$/gm), ([, data]) => JSON.parse(data))
const textOf = (events) =>
  events
    .filter(({ type }) => type === 'text')
    .map(({ chunk }) => chunk)
    .join('')

test('an event that is not stored yet, as the last one that a client has, shows no rest of a secret', async () => {
  let go
  const wait = new Promise((resolve) => (go = resolve))
  const { ask, start } = handlerOf({
    model: says(PIECES, wait),
    redact: createRedactor({ values: [VALUE] }),
  })
  const first = start()
  // The turn is stored from its first event on.
  for (;;) {
    const { status, body } = await ask('/r/events')
    await body?.cancel()
    if (status === 200) break
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const after = PIECES.map((_, index) => index + 1)
  const attached = after.map((seq) => ask(`/r/events?after=${seq}`))
  go()
  const all = await eventsOf(await first)
  assert.equal(textOf(all), 'Hello. It says: [redacted:value] and no more.')
  for (const [index, response] of attached.entries()) {
    const events = await eventsOf(await response)
    assert.deepEqual(
      events.map(({ seq, chunk }) => [seq, chunk]),
      all.filter(({ seq }) => seq > after[index]).map(({ seq, chunk }) => [seq, chunk]),
    )
  }
})

test('where the first events are not kept, no rest of a secret in them is shown', async () => {
  const { ask, start } = handlerOf({
    model: says(PIECES),
    keep: { events: 8 },
    redact: createRedactor({ values: [VALUE] }),
  })
  const all = await eventsOf(await start())
  let read = 0
  for (const { seq } of all) {
    const events = await eventsOf(await ask(`/r/events?after=${seq}`))
    if (events[0]?.code === 'turn.events_gone') continue
    assert.equal(textOf(events), '')
    if (events.length === 0) continue
    read++
    assert.equal(events.at(-1).text, all.at(-1).text)
  }
  assert.ok(read > 3, `${read} readers got events`)
})

test('an answer shows no rest of a value that a call divides', async () => {
  const redact = createRedactor({ values: [VALUE] })
  const events = []
  for await (const event of runTurn({ model: divided(), tools: { look }, messages, redact })) {
    events.push(event)
  }
  const { text, fullContent } = events.at(-1)
  assert.deepEqual([text, fullContent], ['', 'It is [redacted:value]'])
})

test('a resume that cannot read the events before it fails, and shows no text', async () => {
  const redact = createRedactor({ values: [VALUE] })
  const store = memoryStore()
  const common = { model: divided(), store, tools: { look }, redact }
  const own = { requestId: 'q', mode: 'two_stage', policy: { pauseAfterTools: true } }
  const paused = await runTurn({ ...common, ...own, messages }).result
  assert.equal(paused.status, 'paused')
  let fails = 1
  const events = (...args) =>
    fails-- > 0 ? Promise.reject(new Error('reset')) : store.events(...args)
  const flaky = new Proxy(store, { get: (own, name) => (name === 'events' ? events : own[name]) })
  const shown = []
  for await (const event of resumeTurn({ ...common, store: flaky, requestId: 'q' })) {
    shown.push(event.chunk ?? event.code ?? '')
  }
  assert.deepEqual(shown.filter(Boolean), ['store.unavailable'])
})

test('what a bundle that is a tool says of a field is hidden, in results and reports', async () => {
  const user = { type: 'object', properties: { ssn: { type: 'string' } } }
  const bundle = bundleTool({
    name: 'b',
    description: 'b',
    inputSchema: { type: 'object' },
    stop: 'never',
    k: 2,
    schema: { type: 'object', properties: { user } },
    replicate: () => ({ data: { user: { ssn: SSN } } }),
  })
  for (const field of ['**.ssn', '/user/ssn', 'user.*']) {
    const redact = createRedactor({ fields: [field] })
    const types = new Set()
    for await (const event of runTurn({
      model: calls('b'),
      tools: { b: bundle },
      messages,
      redact,
    })) {
      types.add(event.type)
      assert.ok(!JSON.stringify(event).includes(SSN), `${field}: ${JSON.stringify(event)}`)
    }
    assert.ok(types.has('tool_progress') && types.has('tool_results'))
  }
})

test('names below a hidden field are not in pointers', async () => {
  const redactor = createRedactor({ fields: ['**.people'] })
  const summary = { consensus: { [`/a/people/${SSN}/x`]: 1, '/a/b': 2 }, disagreements: [] }
  const delta = [{ path: `/people/${SSN}`, values: [] }]
  const event = { type: 'summary', summary, delta }
  for await (const one of redactor.events([event].values())) {
    assert.ok(!JSON.stringify(one).includes(SSN), JSON.stringify(one))
    assert.equal(one.summary.consensus['/a/b'], 2)
  }
})

test('a text goes on from one report of a tool to the next', async () => {
  const redact = createRedactor({ values: [VALUE] })
  const reports = tool((_, { report }) => {
    report(`out: ${VALUE.slice(0, 16)}`)
    report(`${VALUE.slice(16)}, and more`)
    return 1
  })
  const shown = []
  for await (const event of runTurn({
    model: calls('t'),
    tools: { t: reports },
    messages,
    redact,
  })) {
    if (event.type === 'tool_progress') shown.push(event.data)
  }
  assert.equal(shown.join(''), 'out: [redacted:value], and more')
})

test('a trace has no secret in the name of a tool that there is not', async () => {
  const redact = createRedactor({ values: [VALUE] })
  const traces = []
  const onTrace = (event) => traces.push(event)
  await runTurn({ model: calls(`x ${VALUE}`), tools: { look }, messages, redact, onTrace }).result
  assert.ok(traces.some(({ tool_name: name }) => name?.includes('[redacted:value]')))
  assert.ok(!JSON.stringify(traces).includes(VALUE))
})

test('a trace of a turn and of a handler has no secret in names, ids and reasons', async () => {
  const redact = createRedactor({ values: [VALUE] })
  for (const isHandler of [false, true]) {
    const traces = []
    const onTrace = (event) => traces.push(event)
    let step = 0
    const model = customModel(async function* () {
      if (step++ > 0) return yield { type: 'text', text: 'done' }
      yield { type: 'tool_call_start', index: 0, id: `call ${VALUE}`, name: `x ${VALUE}` }
      yield { type: 'tool_call_arguments', index: 0, text: '{}' }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'finish', reason: 'tool_calls', raw: `for ${VALUE}` }
    })
    if (isHandler) {
      const authorize = () => ({ tenant: 't' })
      const handler = createHandler({ model, redact, onTrace, authorize, store: memoryStore() })
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ messages })
      const request = new Request('http://host.example/api/chat', { method: 'POST', headers, body })
      await (await handler(request)).text()
    } else await runTurn({ model, messages, redact, onTrace }).result
    assert.ok(traces.some(({ tool_call_id: id }) => id === 'call [redacted:value]'))
    assert.ok(traces.some(({ tool_name: name }) => name?.includes('[redacted:value]')))
    assert.ok(!JSON.stringify(traces).includes(VALUE), JSON.stringify(traces))
  }
  assert.deepEqual(redact.trace({ type: 'a', tools: [VALUE, 'b'], raw_finish_reason: VALUE }), {
    type: 'a',
    tools: ['[redacted:value]', 'b'],
    raw_finish_reason: '[redacted:value]',
  })
})

test('a value is known by the name that it has, however JSON gives it one', () => {
  const { value } = createRedactor()
  const password = 'Tr0ub4dor&3x'
  assert.deepEqual(
    value({
      env: [
        { name: 'DB_PASSWORD', value: password },
        { key: 'CITY', value: 'anywhere' },
      ],
      argv: ['mysql', '--password', password, '--user', 'ada'],
      phone: 4155552671,
      tokens: ['f3Kq9ZtB7xLw2Vn8Rm4P'],
      sizes: [1, 2],
    }),
    {
      env: [
        { name: 'DB_PASSWORD', value: '[redacted:field]' },
        { key: 'CITY', value: 'anywhere' },
      ],
      argv: ['mysql', '--password', '[redacted:field]', '--user', 'ada'],
      phone: '[redacted:phone]',
      tokens: ['[redacted:secret]'],
      sizes: [1, 2],
    },
  )
})

test('a registered value is found in JSON in JSON as any of its writers spells it', () => {
  const own = 'wJalrXUtnFEMI/K7MDENG/b<&é>EXA"MPLE'
  const { redact } = createRedactor({ values: [own], kinds: ['value'] })
  const ascii = (text) =>
    text.replace(/[^\0-~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const html = (text) => text.replace(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`)
  const slashes = (text) => text.replaceAll('/', '\\/')
  const plain = JSON.stringify(own)
  for (const inner of [
    plain,
    ascii(plain),
    html(plain),
    html(ascii(plain)),
    slashes(plain),
    slashes(ascii(plain)),
  ]) {
    const twice = JSON.stringify(`{"key":${inner}}`)
    assert.equal(redact(twice), String.raw`"{\"key\":\"[redacted:value]\"}"`, twice)
  }
})

test('JSON in an answer is read anew behind a call that cut other JSON', async () => {
  const redactor = createRedactor({ fields: ['/user/ssn'] })
  const events = [
    { type: 'text', chunk: 'I look up {"name": "Ada' },
    { type: 'tool_calls', toolCalls: [] },
    { type: 'text', chunk: `Here it is: {"user":{"ssn":"${SSN}"}}` },
  ]
  const shown = []
  for await (const event of redactor.events(events.values())) shown.push(event.chunk ?? '')
  assert.deepEqual(shown, [
    'I look up {"name": "Ada',
    '',
    'Here it is: {"user":{"ssn":"[redacted:field]"}}',
  ])
})
