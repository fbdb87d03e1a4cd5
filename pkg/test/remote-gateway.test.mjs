// Turns of a handler behind a gateway that answers in its place. Sources: a load balancer answers 504
// when its idle timeout ends, and has forwarded the request (AWS, "HTTP 504: Gateway timeout"); nginx
// sends 408 and 504 likewise; a POST that is sent again runs twice unless it is idempotent (RFC 9110,
// 9.2.2). Cometline/cometline#128 (2026-09-01): gateways time out after the tools have finished;
// openSUSE/osc#1860 (2025-07-03): a retry after a 504 makes duplicates. A page of HTML with status 200, as
// of a login or a CDN that hides errors. Read on 2026-11-29.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { customModel, defineTool, memoryStore } from 'turnlock'
import { remoteTurns } from 'turnlock/remote'
import { createHandler, toNodeListener } from 'turnlock/server'
import { gateway, GATEWAY_STATUSES } from '../../tests/gateway.mjs'

const messages = [{ role: 'user', content: 'go' }]
const described = { description: 'd', inputSchema: { type: 'object' } }

/** A handler, and before it a gateway that answers with `statuses`; `calls` is what the model calls. */
async function edge({ statuses, calls = ['note'], handler: own, ...gate }) {
  const runs = []
  const tool = (more) =>
    defineTool({ ...described, ...more, execute: (args) => (runs.push(args), 'done') })
  const model = customModel(async function* ({ messages: seen }) {
    const settled = seen.some(({ content }) => String(content).includes('TOOL RESULT'))
    if (settled) return yield { type: 'text', text: 'the answer' }
    for (const [index, name] of calls.entries()) {
      yield { type: 'tool_call_start', index, id: `c${index}`, name }
      yield { type: 'tool_call_arguments', index, text: JSON.stringify({ n: index }) }
      yield { type: 'tool_call_end', index }
    }
  })
  const tools = { note: tool(), asks: tool({ needsApproval: true }), locate: defineTool(described) }
  const authorize = () => ({ tenant: 't' })
  const handler = createHandler({ model, store: memoryStore(), authorize, tools, ...own })
  const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const front = await gateway(server.address().port, statuses, gate)
  const locate = defineTool({ ...described, execute: (args) => (runs.push(args), 'here') })
  const url = `${front.url}/api/chat`
  return {
    runs,
    seen: front.seen,
    turns: remoteTurns({ url, tools: { locate } }),
    close() {
      server.closeAllConnections()
      server.close()
      front.close()
    },
  }
}

const all = async (turn) => {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}

const isPost = (path) => (request) => request === `POST /api/chat${path}`

test('run: a gateway that fails after the request arrived does not fail the turn', async () => {
  const play = async (status) => {
    const { turns, runs, seen, close } = await edge({ statuses: [status, status] })
    const events = await all(turns.run({ messages, requestId: 'r' }))
    close()
    const numbers = events.map(({ seq }) => seq)
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at + 1),
    )
    const last = events.at(-1)
    assert.deepEqual([last.type, last.fullContent], ['complete', 'the answer'], String(status))
    assert.equal(runs.length, 1)
    const request = ['POST /api/chat', status]
    assert.deepEqual(seen.slice(0, 2), [request, request])
  }
  await Promise.all(GATEWAY_STATUSES.map(play))
})

test('resume: a gateway that fails after the request arrived does not fail the turn', async () => {
  const play = async (status) => {
    const matches = isPost('/resume')
    const { turns, runs, close } = await edge({ statuses: [status], calls: ['asks'], matches })
    const paused = (await all(turns.run({ messages }))).at(-1)
    const approvals = paused.approvals.map(({ signature }) => ({ signature, approved: true }))
    const turn = turns.resume({ ...paused.resume, approvals })
    const events = await all(turn)
    const result = await turn.result
    close()
    assert.equal(events[0].seq, paused.seq + 1)
    const seen = [result.status, result.text, runs.length]
    assert.deepEqual(seen, ['complete', 'the answer', 1], String(status))
  }
  await Promise.all(GATEWAY_STATUSES.map(play))
})

test('resume: outcomes of the page arrive once, although a gateway fails each step', async () => {
  const matches = (request) => /claim|resume/.test(request)
  const statuses = [502, 200, true, 504, 200]
  const { turns, runs, seen, close } = await edge({ statuses, calls: ['locate'], matches })
  const paused = (await all(turns.run({ messages }))).at(-1)
  const turn = await turns.answer(paused)
  const { status, toolResults } = await turn.result
  close()
  assert.deepEqual([status, toolResults[0].result, runs.length], ['complete', 'here', 1])
  assert.equal(seen.filter(([request]) => request.includes('/resume')).length, 3)
})

test('resume: a turn that paused again meanwhile shows that pause', async () => {
  const matches = isPost('/resume')
  const policy = { maxTools: 4 }
  const handler = { twoStage: { maxTools: 4 }, policy, tools: undefined }
  const asks = defineTool({ ...described, needsApproval: true, execute: () => 'done' })
  let requests = 0
  handler.tools = { asks }
  handler.model = customModel(async function* () {
    const n = ++requests
    yield { type: 'tool_call_start', index: 0, id: `c${n}`, name: 'asks' }
    yield { type: 'tool_call_arguments', index: 0, text: JSON.stringify({ n }) }
    yield { type: 'tool_call_end', index: 0 }
  })
  const { turns, close } = await edge({ statuses: [503], handler, matches })
  const paused = (await all(turns.run({ messages }))).at(-1)
  const approvals = paused.approvals.map(({ signature }) => ({ signature, approved: true }))
  const events = await all(turns.resume({ ...paused.resume, approvals }))
  close()
  const last = events.at(-1)
  assert.deepEqual([last.type, last.resume?.toolBatchId], ['paused', paused.resume.toolBatchId + 1])
  assert.equal(requests, 2)
})

test('run: a request that a gateway has lost is sent again, and a gateway that has none ends it', async () => {
  const first = await edge({ statuses: [503, 429, 200], lost: true })
  const result = await first.turns.run({ messages }).result
  first.close()
  assert.deepEqual([result.status, first.runs.length], ['complete', 1])
  const never = await edge({ statuses: [403], lost: true })
  const { error } = await never.turns.run({ messages }).result
  never.close()
  assert.deepEqual([error.code, error.details], ['remote.invalid', { status: 403 }])
})

test('run: a gateway that always answers with a page of its own is named in the error', async () => {
  const play = async (type, body) => {
    let asked = 0
    const fetch = async () => {
      asked++
      return new Response(body, { headers: { 'content-type': type } })
    }
    const turns = remoteTurns({ url: 'http://gateway.example/api/chat', fetch, maxRetries: 1 })
    const { error } = await turns.run({ messages }).result
    assert.deepEqual([error.code, error.details, asked], ['remote.invalid', { status: 200 }, 2])
    assert.match(error.message, /expected text\/event-stream, got \w+\/\w+ \(status 200\)$/)
    const claim = turns.cancel({ requestId: 'r' })
    await assert.rejects(claim, { code: 'remote.invalid', details: { status: 200 } })
  }
  await play('text/html', '<h1>Please log in</h1>')
  await play('application/json', '[]')
})

test('run: a conflict in the response of a slow handler is about this turn, after an earlier attempt', async () => {
  const store = memoryStore()
  // The status is sent with a keep-alive, before the store has refused the second request.
  const slow = { ...store, commit: async (...own) => (await pause(), store.commit(...own)) }
  const pause = () => new Promise((resolve) => setTimeout(resolve, 30))
  const handler = { store: slow, limits: { keepAliveMs: 5 } }
  const { turns, runs, close } = await edge({ statuses: [504], handler })
  const { status, text } = await turns.run({ messages, requestId: 'r' }).result
  close()
  assert.deepEqual([status, text, runs.length], ['complete', 'the answer', 1])
})

test('a first request that conflicts is refused, unless its id was made for it', async () => {
  const { turns, close } = await edge({ statuses: [] })
  await turns.run({ messages, requestId: 'same' }).result
  const { error } = await turns.run({ messages, requestId: 'same' }).result
  assert.deepEqual([error.code, error.details], ['turn.conflict', { status: 409 }])
  const again = await turns.resume({ requestId: 'same', toolBatchId: 1 }).result
  assert.equal(again.error.code, 'turn.conflict')
  close()
})

test('cancel: a gateway that fails does not fail the turn', async () => {
  const matches = isPost('/cancel')
  const model = customModel(async function* (_, { signal }) {
    yield { type: 'text', text: 'one ' }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const { turns, close } = await edge({ statuses: [504, 200, 502], handler: { model }, matches })
  const turn = turns.run({ messages })
  const events = []
  for await (const event of turn) {
    events.push(event)
    if (event.type === 'text') turn.cancel('enough')
  }
  close()
  assert.deepEqual([events.at(-1).type, events.at(-1).reason], ['cancelled', 'enough'])
})
