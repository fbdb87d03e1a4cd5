// Traces of turns over HTTP: who sees them, what is in them, how a dashboard reads them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, defineTool, memoryStore } from 'turnlock'
import { createRedactor } from 'turnlock/redact'
import { createHandler, memoryTraces } from 'turnlock/server'

/** Calls `find` with `q` twice in one response, and then answers. */
const twice = customModel(async function* ({ tools }) {
  if (!tools?.length) return yield { type: 'text', text: 'Answered.' }
  for (const [index, id] of ['c1', 'c2'].entries()) {
    yield { type: 'tool_call_start', index, id, name: 'find' }
    yield { type: 'tool_call_arguments', index, text: '{"q":"ada@example.com"}' }
    yield { type: 'tool_call_end', index }
  }
})

function handlerOf(options = {}) {
  const errors = []
  const handler = createHandler({
    model: twice,
    tools: {
      find: defineTool({
        description: 'find',
        inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
        readOnly: true,
        execute: () => 'secret result',
      }),
    },
    store: memoryStore(),
    authorize: (request) => {
      const tenant = request.headers.get('x-tenant')
      return tenant ? { tenant } : null
    },
    onError: (error) => errors.push(error),
    ...options,
  })
  const call = (path, tenant = 'ann', init = {}, context = {}) =>
    handler(
      new Request(`http://app.example/api/chat${path}`, {
        headers: { 'content-type': 'application/json', ...(tenant && { 'x-tenant': tenant }) },
        ...init,
      }),
      context,
    )
  const run = async (requestId, own = {}, tenant = 'ann', context = {}) => {
    const messages = [{ role: 'user', content: 'secret question' }]
    const body = JSON.stringify({ messages, requestId, ...own })
    const response = await call('/messages_two_stage', tenant, { method: 'POST', body }, context)
    assert.equal(response.status, 200)
    await response.text()
  }
  const get = async (path, tenant) => {
    const response = await call(path, tenant)
    assert.equal(response.status, 200, path)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    return response.json()
  }
  const codeOf = async (path, tenant) => {
    const response = await call(path, tenant)
    return [response.status, (await response.json()).error.code]
  }
  return { call, run, get, codeOf, errors }
}

const typesOf = (events) => events.map(({ type }) => type)

test('traces: there are none unless the host asks for them', async () => {
  for (const traces of [undefined, false]) {
    const { run, codeOf } = handlerOf({ traces })
    await run('t1')
    for (const path of ['/traces', '/t1/trace', '/messages/traces', '/messages_two_stage/t1/trace'])
      assert.deepEqual(await codeOf(path), [404, 'route.not_found'])
  }
})

test('traces: phases, inferences and calls of a turn, a replayed repeat with both its events', async () => {
  const { run, get } = handlerOf({ traces: true })
  await run('t1', { conversationId: 'chat', projectId: 'p1' })
  const trace = await get('/t1/trace')
  assert.deepEqual(
    { ...trace, events: undefined },
    { requestId: 't1', projectId: 'p1', conversationId: 'chat', events: undefined },
  )
  const { events } = trace
  const phases = events.filter(({ type }) => type.startsWith('orchestration_phase'))
  assert.deepEqual(
    phases.map(({ type, details }) => [type, details.phase]),
    [
      ['orchestration_phase_start', 'tool_phase'],
      ['orchestration_phase_end', 'tool_phase'],
      ['orchestration_phase_start', 'action_phase'],
      ['orchestration_phase_end', 'action_phase'],
    ],
  )
  const of = (id) => typesOf(events.filter(({ tool_call_id }) => tool_call_id === id))
  assert.deepEqual(of('c1'), ['tool_call', 'tool_result'])
  assert.deepEqual(of('c2').sort(), ['duplicate_tool_call', 'tool_result'])
  assert.equal(typesOf(events).filter((type) => type === 'llm_call').length, 2)
  for (const [at, { id }] of events.entries()) assert.ok(at === 0 || id > events[at - 1].id)
  for (const path of ['/messages/t1/trace', '/messages_two_stage/t1/trace'])
    assert.deepEqual(await get(path), trace)
})

test('traces: a resumed turn goes on under the same id', async () => {
  const { run, call, get } = handlerOf({ traces: true })
  await run('t1', { policy: { pauseAfterTools: true } })
  const before = (await get('/t1/trace')).events
  const body = JSON.stringify({ requestId: 't1' })
  await (await call('/messages_two_stage/resume', 'ann', { method: 'POST', body })).text()
  const { events } = await get('/t1/trace')
  assert.deepEqual(events.slice(0, before.length), before)
  const types = typesOf(events.slice(before.length))
  assert.ok(types.includes('orchestration_phase_start') && types.includes('llm_call'))
})

// k0rdent/kof#1041, eclipse-dirigible/dirigible#6607, langgenius/dify#35793, openbkn-ai/bkn-foundry#458:
// lists and single traces of other tenants, for clients that are authorized and for those that are not.
test('traces: a tenant has its own traces only, whatever it asks for', async () => {
  const { run, get, codeOf } = handlerOf({ traces: { content: true } })
  await run('of-ann')
  await run('of-bob', { conversationId: 'chat' }, 'bob')
  const idsOf = ({ traces }) => traces.map(({ requestId }) => requestId)
  assert.deepEqual(idsOf(await get('/traces')), ['of-ann'])
  assert.deepEqual(idsOf(await get('/traces', 'bob')), ['of-bob'])
  for (const query of ['tenant=bob', 'requestId=of-bob', 'conversationId=chat', 'after=0'])
    assert.deepEqual(idsOf(await get(`/traces?${query}`)), ['of-ann'])
  const unknown = [404, 'turn.not_found']
  for (const path of [
    '/of-bob/trace',
    '/of-bob/trace?after=0',
    '/of-bob/trace?tenant=bob',
    '/never/trace',
    '/never/trace?after=5',
    '/%/trace',
    '/a%2Fb/trace',
    `/${'x'.repeat(129)}/trace`,
  ]) {
    assert.deepEqual(await codeOf(path), unknown, path)
  }
  for (const path of ['/traces', '/of-ann/trace'])
    assert.deepEqual(await codeOf(path, null), [401, 'auth.required'])
})

test('traces: authorize sees the route', async () => {
  const routes = []
  const { run, call, get, codeOf } = handlerOf({
    traces: true,
    authorize(request, _env, route) {
      routes.push(route)
      const isOperator = request.headers.get('x-tenant') === 'operator'
      if (route === 'trace' || route === 'traces') return isOperator ? { tenant: 'ann' } : null
      return { tenant: 'ann' }
    },
  })
  await run('t1')
  for (const path of ['/t1/trace', '/messages/t1/trace', '/traces', '/messages_two_stage/traces']) {
    assert.deepEqual(await codeOf(path), [401, 'auth.required'])
    await get(path, 'operator')
  }
  await call('/turns')
  await call('/t1/events')
  await call('')
  assert.deepEqual(routes, [
    'start',
    ...['trace', 'trace', 'trace', 'trace', 'traces', 'traces', 'traces', 'traces'],
    ...['turns', 'events', 'switches'],
  ])
})

test('traces: neither arguments nor results nor texts, unless the host says so', async () => {
  const { run, get } = handlerOf({ traces: true })
  await run('t1')
  const text = JSON.stringify([await get('/t1/trace'), await get('/traces')])
  assert.doesNotMatch(text, /secret|ada@example|"args"/)
})

test('traces: arguments with content, redacted ones with redact, in the trace of one turn', async () => {
  const redact = createRedactor()
  for (const [options, args] of [
    [{ traces: { content: true } }, { q: 'ada@example.com' }],
    [{ traces: true, redact }, { q: '[redacted:email]' }],
    [{ traces: { content: true }, redact: () => redact }, { q: '[redacted:email]' }],
  ]) {
    const { run, get } = handlerOf(options)
    await run('t1')
    const { events } = await get('/t1/trace')
    const calls = events.filter(({ tool_call_id }) => tool_call_id)
    assert.equal(calls.length, 4)
    for (const call of calls) assert.deepEqual(call.args, args, call.type)
    for (const event of events) if (!event.tool_call_id) assert.equal('args' in event, false)
    assert.doesNotMatch(JSON.stringify(events), /secret/)
    assert.doesNotMatch(JSON.stringify(await get('/traces')), /ada@|"args"/)
  }
})

test('traces: names that a model invents are redacted', async () => {
  const model = customModel(async function* ({ tools }) {
    if (!tools?.length) return yield { type: 'text', text: 'Answered.' }
    yield { type: 'tool_call_start', index: 0, id: 'bob@example.com', name: 'ada@example.com' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const { run, get } = handlerOf({ model, traces: true, redact: createRedactor() })
  await run('t1')
  const { events } = await get('/t1/trace')
  const refused = events.find(({ type }) => type === 'tool_refused')
  assert.deepEqual(
    [refused.tool_name, refused.tool_call_id, refused.args],
    ['[redacted:email]', '[redacted:email]', {}],
  )
  assert.doesNotMatch(JSON.stringify([events, await get('/traces')]), /@example/)
})

test('traces: pages of both lists meet, and lose nothing', async () => {
  const { run, get, codeOf } = handlerOf({ traces: true })
  for (const id of ['t1', 't2', 't3']) await run(id)
  const whole = await get('/traces')
  assert.deepEqual(
    whole.traces.map(({ requestId }) => requestId),
    ['t1', 't2', 't3'],
  )
  const all = whole.traces.flatMap(({ events }) => events)
  assert.equal(whole.after, all.at(-1).id)
  for (const [path, expected] of [
    ['/traces', all],
    ['/t2/trace', whole.traces[1].events],
  ]) {
    const read = []
    for (let after = 0; ;) {
      const page = await get(`${path}?limit=3&after=${after}`)
      const events = page.traces ? page.traces.flatMap(({ events }) => events) : page.events
      if (!events.length) break
      assert.ok(events.length <= 3)
      read.push(...events)
      after = page.after ?? events.at(-1).id
      assert.equal(after, events.at(-1).id)
    }
    assert.deepEqual(read, expected)
  }
  assert.deepEqual(await get(`/traces?after=${whole.after}`), { traces: [], after: whole.after })
  const newest = (await get('/traces?limit=1')).traces
  assert.deepEqual(newest, [{ ...whole.traces[2], events: [all.at(-1)] }])
  for (const query of ['limit=0', 'limit=1001', 'limit=x', 'after=-1', 'after=1.5', 'after=']) {
    assert.deepEqual(await codeOf(`/traces?${query}`), [400, 'request.invalid'], query)
    assert.deepEqual(await codeOf(`/t1/trace?${query}`), [400, 'request.invalid'], query)
  }
})

test('traces: a list in memory is bounded, by tenant and by size', () => {
  const event = (requestId) => ({ type: 'tool_registration', tools: [], requestId })
  const byEvents = memoryTraces({ maxEvents: 2 })
  for (const id of ['a', 'b', 'c']) byEvents.append('ann', event(id))
  byEvents.append('bob', event('d'))
  const idsOf = (store, tenant) => store.list(tenant, { limit: 9 }).map((one) => one.requestId)
  assert.deepEqual([idsOf(byEvents, 'ann'), idsOf(byEvents, 'bob')], [['b', 'c'], ['d']])
  const size = JSON.stringify(event('a')).length
  const bySize = memoryTraces({ maxCharacters: 3 * size })
  for (const id of ['a', 'b', 'c']) bySize.append('ann', event(id))
  bySize.append('bob', event('d'))
  assert.deepEqual([idsOf(bySize, 'ann'), idsOf(bySize, 'bob')], [['b', 'c'], ['d']])
  for (const options of [{ maxEvents: 0 }, { maxCharacters: 1.5 }, { most: 5 }]) {
    assert.throws(() => memoryTraces(options), { code: 'options.invalid' })
  }
})

test('traces: a store of the host gets each event in order, and workers wait for the last', async () => {
  const [stored, waits] = [[], []]
  const store = {
    async append(tenant, event) {
      await new Promise((resolve) => setImmediate(resolve))
      stored.push([tenant, event])
    },
    list: (tenant, { requestId }) =>
      stored
        .map(([owner, event], at) => owner === tenant && { ...event, id: at + 1 })
        .filter((event) => event && (!requestId || event.requestId === requestId)),
  }
  for (const given of [store, () => store]) {
    stored.length = 0
    const { run, get } = handlerOf({ traces: { store: given } })
    await run('t1', {}, 'ann', { waitUntil: (promise) => waits.push(promise) })
    await Promise.all(waits)
    assert.deepEqual(new Set(stored.map(([tenant]) => tenant)), new Set(['ann']))
    const times = stored.map(([, { atMs }]) => atMs)
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    )
    assert.equal(stored.at(-1)[1].type, 'orchestration_phase_end')
    assert.equal((await get('/t1/trace')).events.length, stored.length)
  }
})

test('traces: a store that fails does not fail the turn, and its words are for onError', async () => {
  const fails = () => {
    throw new Error('secret: the database is down')
  }
  for (const store of [fails, { append: fails, list: fails }]) {
    const { run, codeOf, errors } = handlerOf({ traces: { store } })
    await run('t1')
    assert.ok(errors.length > 0 && errors.every(({ message }) => /database/.test(message)))
    for (const path of ['/traces', '/t1/trace'])
      assert.deepEqual(await codeOf(path), [500, 'server.failed'])
  }
})

test('traces: misuse is named at the call', () => {
  for (const [traces, path] of [
    ['yes', 'traces'],
    [5, 'traces'],
    [{ content: 'yes' }, 'traces.content'],
    [{ contents: true }, 'traces.contents'],
    [{ store: {} }, 'traces.store'],
    [{ store: { append() {} } }, 'traces.store'],
  ]) {
    const expected = { code: 'options.invalid', message: new RegExp(`\`${path}\``) }
    assert.throws(() => handlerOf({ traces }), expected, path)
  }
})
