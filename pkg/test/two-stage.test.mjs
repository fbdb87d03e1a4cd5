// The two-stage route of a handler: its switches and the turns that exist when they change.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, defineTool, memoryStore } from 'turnlock'
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
