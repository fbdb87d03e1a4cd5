// The two-stage route of a handler: its switches and the turns that exist when they change.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, defineTool, memoryStore, pauseTurn } from 'turnlock'
import { remoteTurns } from 'turnlock/remote'
import { createHandler } from 'turnlock/server'

const OFF = { TWO_STAGE_ENABLED: 'false' }
const messages = [{ role: 'user', content: 'hi' }]

/** Calls `tool` in the tool phase, and then answers. */
const calling = (tool) =>
  customModel(async function* ({ tools }) {
    if (!tools?.length) return yield { type: 'text', text: 'Answered.' }
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: tool }
    yield { type: 'tool_call_end', index: 0 }
  })

function handlerOf(options = {}) {
  const runs = []
  const tool = (name, more = {}) =>
    defineTool({ description: name, inputSchema: {}, execute: () => runs.push(name), ...more })
  const handler = createHandler({
    model: calling('look'),
    tools: {
      look: tool('look', { readOnly: true }),
      send: tool('send', { needsApproval: true }),
      page: defineTool({ description: 'page', inputSchema: {} }),
    },
    store: memoryStore(),
    authorize: (request) => ({ tenant: request.headers.get('x-tenant') ?? 'ann' }),
    ...options,
  })
  const call = (method, path, body, env = {}, headers = {}) =>
    handler(
      new Request(`http://app.example/api/chat${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      }),
      { env },
    )
  return { call, runs }
}

async function eventsOf(response) {
  assert.equal(response.status, 200, response.status === 200 ? '' : await response.clone().text())
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice(6)))
}

const codeOf = async (response) => [response.status, (await response.json()).error.code]

test('rollback: a paused turn is read, resumed and cancelled while its mode is off', async () => {
  const { call, runs } = handlerOf()
  const at = '/messages_two_stage'
  const start = (requestId) =>
    call('POST', at, { messages, requestId, policy: { pauseAfterTools: true } })
  for (const requestId of ['resumed', 'cancelled']) {
    assert.equal((await eventsOf(await start(requestId))).at(-1).type, 'paused')
  }
  assert.deepEqual(await codeOf(await call('POST', at, { messages }, OFF)), [404, 'route.disabled'])
  const { turns } = await (await call('GET', `${at}/turns`, undefined, OFF)).json()
  assert.deepEqual(turns.map((turn) => turn.requestId).sort(), ['cancelled', 'resumed'])
  assert.equal(
    (await eventsOf(await call('GET', `${at}/resumed/events`, undefined, OFF))).at(-1).type,
    'paused',
  )
  const paused = await call('POST', `${at}/pause`, { requestId: 'resumed' }, OFF)
  assert.deepEqual(await paused.json(), { requestId: 'resumed', status: 'paused' })
  // The results are there: resuming asks for the answer alone.
  const body = { requestId: 'resumed', toolBatchId: 1 }
  const events = await eventsOf(await call('POST', `${at}/resume`, body, OFF))
  assert.deepEqual([events.at(-1).type, events.at(-1).text], ['complete', 'Answered.'])
  assert.deepEqual(runs, ['look', 'look'])
  const cancelled = await call('POST', `${at}/cancel`, { requestId: 'cancelled' }, OFF)
  assert.deepEqual(await cancelled.json(), { requestId: 'cancelled', status: 'cancelled' })
})

test('rollback: a turn of another tenant stays unknown while its mode is off', async () => {
  const { call } = handlerOf()
  const own = { messages, requestId: 'mine', policy: { pauseAfterTools: true } }
  await eventsOf(await call('POST', '/messages_two_stage', own))
  const other = { 'x-tenant': 'bob' }
  const path = '/messages_two_stage/resume'
  const response = await call('POST', path, { requestId: 'mine' }, OFF, other)
  assert.deepEqual(await codeOf(response), [404, 'turn.not_found'])
})

test('rollback: approvals and calls of a page are answered while their mode is off', async () => {
  for (const [tool, answers] of [
    ['send', ({ approvals: [{ signature }] }) => ({ approvals: [{ signature, approved: true }] })],
    ['page', ({ calls: [{ id }] }) => ({ outcomes: [{ toolCallId: id, result: 'seen' }] })],
  ]) {
    const { call, runs } = handlerOf({ model: calling(tool) })
    const at = '/messages_two_stage'
    const paused = (await eventsOf(await call('POST', at, { messages }))).at(-1)
    assert.equal(paused.type, 'paused')
    const { requestId, toolBatchId } = paused.resume
    if (tool === 'page') {
      const claimed = { requestId, toolBatchId, toolCallIds: ['c1'] }
      assert.equal((await call('POST', `${at}/claim`, claimed, OFF)).status, 200)
    }
    const body = { requestId, toolBatchId, ...answers(paused) }
    const events = await eventsOf(await call('POST', `${at}/resume`, body, OFF))
    assert.equal(events.at(-1).type, 'complete')
    assert.deepEqual(runs, tool === 'send' ? ['send'] : [])
  }
})

test('rollback: clients of the AI SDK and AG-UI answer an approval on the route that is off', async () => {
  for (const format of ['ai-sdk', 'ag-ui']) {
    const { call, runs } = handlerOf({ model: calling('send'), format })
    const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }], content: 'go' }
    const chat =
      format === 'ai-sdk'
        ? { id: 'chat' }
        : { threadId: 'chat', runId: 'r1', tools: [], context: [] }
    const path = '/messages_two_stage'
    const frames = await eventsOf(await call('POST', path, { ...chat, messages: [user] }))
    let body
    if (format === 'ai-sdk') {
      const { approvalId, toolCallId } = frames.find((frame) => frame.approvalId)
      const approval = { id: approvalId, approved: true }
      const part = { type: 'tool-send', toolCallId, state: 'approval-responded', approval }
      const assistant = { id: frames[0].messageId, role: 'assistant', parts: [part] }
      body = { ...chat, messages: [user, assistant] }
    } else {
      const [{ id }] = frames.at(-1).outcome.interrupts
      const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }]
      body = { ...chat, runId: 'r2', messages: [user], resume }
    }
    const rest = await eventsOf(await call('POST', path, body, OFF))
    assert.ok(JSON.stringify(rest).includes('Answered.'), format)
    assert.deepEqual(runs, ['send'], format)
    const fresh = { ...chat, messages: [user] }
    const refused = await call('POST', path, fresh, OFF)
    assert.deepEqual(await codeOf(refused), [404, 'route.disabled'], format)
  }
})

/** A handler whose model looks, reads where it may, and answers; `offered` are the tools of each request. */
function hybrid(options = {}) {
  const offered = []
  const model = customModel(async function* ({ tools = [] }) {
    offered.push(tools.map((tool) => tool.function.name).sort())
    const name = offered.length === 1 ? 'look' : tools.length ? 'read' : undefined
    if (!name) return yield { type: 'text', text: 'Answered.' }
    yield { type: 'tool_call_start', index: 0, id: `c${offered.length}`, name }
    yield { type: 'tool_call_end', index: 0 }
  })
  const ran = []
  const tool = (name, more) =>
    defineTool({ description: name, inputSchema: {}, execute: () => ran.push(name), ...more })
  const tools = {
    look: tool('look', { readOnly: true }),
    read: tool('read', { readOnly: true }),
    send: tool('send'),
  }
  const errors = []
  const onError = (error) => errors.push(error)
  const { call } = handlerOf({ model, tools, onError, ...options })
  const run = async (policy, env, path = '/messages_two_stage', headers) => {
    offered.length = ran.length = 0
    const response = await call('POST', path, { messages, policy }, env, headers)
    if (response.status !== 200) return codeOf(response)
    await response.text()
    return [offered[1] ?? [], ran.slice(1)]
  }
  return { call, run, errors }
}
const strict = [[], []]
const reads = [['read'], ['read']]
const readOnly = [['look', 'read'], ['read']]
const all = [['look', 'read', 'send'], ['read']]
const beyond = [400, 'request.invalid']

test('actionTools: the environment switches the answer phase from request to request', async () => {
  const { run, errors } = hybrid()
  const env = (value) => ({ TWO_STAGE_ACTION_TOOLS: value })
  for (const [value, expected] of [
    [undefined, strict],
    ['', strict],
    ['read', reads],
    [' read , look ', readOnly],
    ['readOnly', readOnly],
    ['readonly', readOnly],
    ['*', all],
    ['none', strict],
    [['read'], reads],
    [[], strict],
  ]) {
    assert.deepEqual(await run(undefined, env(value)), expected, `${value}`)
  }
  assert.deepEqual(errors, [])
  // Values that cannot be read are reported, and so are names of no tool.
  for (const [value, expected] of [
    ['read;look', strict],
    ['read,', strict],
    ['read,reed', reads],
    ['constructor', strict],
  ]) {
    assert.deepEqual(await run(undefined, env(value)), expected, value)
    assert.match(errors.pop().message, /twoStage\.actionTools/)
  }
})

test('actionTools: header, callback, environment, values and policy in this order', async () => {
  const env = { TWO_STAGE_ACTION_TOOLS: 'read' }
  const at = '/messages_two_stage'
  assert.deepEqual(await hybrid({ twoStage: { actionTools: '*' } }).run(), all)
  assert.deepEqual(await hybrid({ twoStage: { actionTools: '*' } }).run(undefined, env), reads)
  const callback = { twoStage: () => ({ actionTools: 'readOnly' }) }
  assert.deepEqual(await hybrid(callback).run(undefined, env), readOnly)
  const gateway = { twoStage: { headers: { actionTools: 'x-tools' } } }
  assert.deepEqual(await hybrid(gateway).run(undefined, env, at, { 'x-tools': 'none' }), strict)
  const policy = { policy: { actionTools: ['look', 'read'] } }
  assert.deepEqual(await hybrid(policy).run(), readOnly)
  assert.deepEqual(await hybrid(policy).run(undefined, env), reads)
  assert.deepEqual(await hybrid(policy).run(undefined, { TWO_STAGE_ACTION_TOOLS: 'none' }), strict)
})

// letta-ai/letta-code#2016: an allowlist of the request; QwenLM/qwen-code#9827: the model was still
// offered the tools that were not on the list.
test('actionTools: a request chooses among the tools of the handler', async () => {
  for (const [allowed, asked, expected] of [
    [['read'], ['read'], reads],
    [['read'], [], strict],
    [['look', 'read'], ['read'], reads],
    [['look', 'read'], 'readOnly', readOnly],
    ['readOnly', ['read'], reads],
    ['readOnly', 'readOnly', readOnly],
    ['*', 'readOnly', readOnly],
    ['*', ['read'], reads],
    ['*', '*', all],
  ]) {
    const { run } = hybrid({ twoStage: { actionTools: allowed } })
    assert.deepEqual(await run({ actionTools: asked }), expected, JSON.stringify([allowed, asked]))
  }
  // Allowed, and off unless a request asks.
  const off = hybrid({ twoStage: { actionTools: ['read'] }, policy: { actionTools: [] } })
  assert.deepEqual(await off.run(), strict)
  assert.deepEqual(await off.run({ actionTools: ['read'] }), reads)
  // The policy of the host is the most where twoStage names none.
  const policy = hybrid({ policy: { actionTools: ['read'] } })
  assert.deepEqual(await policy.run({ actionTools: ['read'] }), reads)
  assert.deepEqual(await policy.run({ actionTools: [] }), strict)
})

test('actionTools: a request for others is refused, and nothing runs', async () => {
  for (const [options, asked] of [
    [{}, ['read']],
    [{}, 'readOnly'],
    [{}, '*'],
    [{ twoStage: { actionTools: ['read'] } }, ['read', 'send']],
    [{ twoStage: { actionTools: ['read'] } }, 'readOnly'],
    [{ twoStage: { actionTools: 'readOnly' } }, ['send']],
    [{ twoStage: { actionTools: 'readOnly' } }, '*'],
    [{ twoStage: { actionTools: '*' } }, ['constructor']],
    [{ twoStage: { actionTools: '*' } }, ['unknown']],
    [{ policy: { actionTools: ['read'] } }, ['look']],
    // Of a wrong form.
    [{ twoStage: { actionTools: '*' } }, 'read'],
    [{ twoStage: { actionTools: '*' } }, [5]],
    [{ twoStage: { actionTools: '*' } }, { read: true }],
  ]) {
    const { call, run } = hybrid(options)
    assert.deepEqual(await run({ actionTools: asked }), beyond, JSON.stringify([options, asked]))
    const body = { messages, requestId: 'again', policy: { actionTools: asked } }
    const { error } = await (await call('POST', '/messages_two_stage', body)).json()
    assert.match(error.message, /^policy\.actionTools: expected/)
    const known = await call('GET', '/again/events')
    assert.deepEqual(await codeOf(known), [404, 'turn.not_found'])
  }
  // The environment takes tools away from requests, too.
  const { run } = hybrid({ twoStage: { actionTools: '*' } })
  const none = { TWO_STAGE_ACTION_TOOLS: 'none' }
  assert.deepEqual(await run({ actionTools: ['read'] }, none), beyond)
})

test('actionTools: unified turns have none, so that a rollback refuses no body', async () => {
  const { call } = hybrid({ twoStage: { actionTools: ['read'] } })
  const body = { messages, policy: { actionTools: ['read'] } }
  assert.equal((await eventsOf(await call('POST', '', body, OFF))).at(-1).type, 'complete')
})

test('actionTools: tools of each request may lack some of the names', async () => {
  const read = defineTool({ description: 'read', inputSchema: {}, execute: () => 1 })
  const { run, errors } = hybrid({
    tools: () => ({ read }),
    twoStage: { actionTools: ['read', 'x'] },
  })
  assert.deepEqual((await run())[0], ['read'])
  assert.deepEqual(errors, [])
})

test('actionTools: values in code are checked at the call, and shown by GET once they are there', async () => {
  for (const actionTools of [5, 'read;look', ['a b'], ['unknown'], 'unknown', {}]) {
    const expected = { code: 'options.invalid', message: /^`twoStage\.actionTools`/ }
    assert.throws(() => hybrid({ twoStage: { actionTools } }), expected, `${actionTools}`)
  }
  const shown = async (options) =>
    (await (await hybrid(options).call('GET', '')).json()).twoStage.actionTools
  assert.equal(await shown({}), undefined)
  assert.deepEqual(await shown({ twoStage: { actionTools: ['read'] } }), ['read'])
})

test('actionTools: remote turns ask for them, and are told of a refusal', async () => {
  const { call } = hybrid({ twoStage: { actionTools: ['read'] }, policy: { actionTools: [] } })
  const { run: remote } = remoteTurns({
    url: 'http://app.example/api/chat',
    fetch: (url, { method, body }) =>
      call(method, new URL(url).pathname.slice('/api/chat'.length), body && JSON.parse(body)),
  })
  const result = await remote({ messages, policy: { actionTools: ['read'] } }).result
  assert.deepEqual(
    result.toolResults.map(({ name }) => name),
    ['look', 'read'],
  )
  const { error } = await remote({ messages, policy: { actionTools: '*' } }).result
  assert.equal(error.code, 'request.invalid')
})

/** Starts a turn, and asks for a pause once its events have come to a place. */
async function pausedAt(isThere, options, policy) {
  let release
  const held = new Promise((resolve) => (release = resolve))
  const { call } = handlerOf(options(held))
  const response = await call('POST', '/messages_two_stage', { messages, requestId: 'r', policy })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!isThere(text)) text += (await reader.read()).value
  const paused = await (await call('POST', '/pause', { requestId: 'r' })).json()
  release()
  for (let part; !(part = await reader.read()).done;) text += part.value
  const events = text.split('\n').filter((line) => line.startsWith('data: {'))
  return [paused, JSON.parse(events.at(-1).slice(6)).type]
}

/** Calls a tool that waits, in the phases named, and answers after a part of its text. */
const waiting = (phases) => (held) => ({
  model: customModel(async function* ({ tools = [] }) {
    if (phases.includes('answer') && !tools.length) {
      yield { type: 'text', text: 'Half ' }
      await held
    }
    if (!tools.length) return yield { type: 'text', text: 'an answer.' }
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: tools[0].function.name }
    yield { type: 'tool_call_end', index: 0 }
  }),
  tools: {
    look: defineTool({
      description: 'look',
      inputSchema: {},
      execute: () => phases.includes('tool') && held,
    }),
    read: defineTool({ description: 'read', inputSchema: {}, execute: () => held }),
  },
})

// huggingface/smolagents#1847: an interrupt during a streamed answer was ignored without a word.
test('pause: in the answer phase it says that it has no effect', async () => {
  const answering = { requestId: 'r', status: 'running', ended: 'answering' }
  const says = (text) => text.includes('"chunk":"Half "')
  assert.deepEqual(await pausedAt(says, waiting('answer')), [answering, 'complete'])
  const begun = (text) => /"phase_start".*"action_phase"|"action_phase".*"phase_start"/.test(text)
  assert.deepEqual(await pausedAt(begun, waiting('answer')), [answering, 'complete'])
})

test('pause: in a hybrid answer phase it has no effect, either', async () => {
  const options = (held) => ({ ...waiting([])(held), twoStage: { actionTools: ['read'] } })
  const calls = (text) => /"tool_calls"[^\n]*"name":"read"/.test(text)
  const answering = { requestId: 'r', status: 'running', ended: 'answering' }
  assert.deepEqual(await pausedAt(calls, options), [answering, 'complete'])
})

test('pause: in the tool phase it pauses behind the tools', async () => {
  const calls = (text) => text.includes('"tool_calls"')
  const running = { requestId: 'r', status: 'running' }
  assert.deepEqual(await pausedAt(calls, waiting('tool')), [running, 'paused'])
})

test('pause: before a second cycle, which has a tool phase, nothing says that it is over', async () => {
  const options = (held) => ({
    ...waiting('answer')(held),
    policy: { maxCycles: 2, actionTools: [] },
  })
  const says = (text) => text.includes('"chunk":"Half "')
  const running = { requestId: 'r', status: 'running' }
  assert.deepEqual(await pausedAt(says, options), [running, 'complete'])
})

test('pause: remote turns and pauseTurn give the same', async () => {
  let release
  const held = new Promise((resolve) => (release = resolve))
  const store = memoryStore()
  const { call } = handlerOf({ ...waiting('answer')(held), store })
  const remote = remoteTurns({
    url: 'http://app.example/api/chat',
    fetch: (url, { method, body }) =>
      call(method, new URL(url).pathname.slice('/api/chat'.length), body && JSON.parse(body)),
  })
  const turn = remote.run({ messages, requestId: 'r' })
  for await (const event of turn) {
    if (event.chunk !== 'Half ') continue
    const answering = { requestId: 'r', status: 'running', ended: 'answering' }
    assert.deepEqual(await remote.pause({ requestId: 'r' }), answering)
    assert.deepEqual(await pauseTurn({ requestId: 'r', tenant: 'ann', store }), answering)
    release()
  }
  assert.deepEqual(await remote.pause({ requestId: 'r' }), { requestId: 'r', status: 'complete' })
})
