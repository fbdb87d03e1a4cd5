// Error codes that no other test provokes: `turnlock-codegen --check` requires a test for each.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defineTool, followTurn, memoryStore, runTurn, TurnlockError } from 'turnlock'
import { runChain } from 'turnlock/chain'
import { createProxy } from 'turnlock/proxy'
import { createHandler } from 'turnlock/server'
import { scriptedModel, tapeFetch } from 'turnlock/testing'

const messages = [{ role: 'user', content: 'go' }]
const PLAN = {
  reasoning: 'both',
  pattern: 'parallel',
  steps: ['x', 'y'].map((query) => ({ id: query, type: 'search', query, depends_on: [] })),
}
const chain = (own) =>
  runChain({
    query: 'Compare Ohio and Texas.',
    classify: () => 'complex',
    answer: () => 'simple',
    plan: () => PLAN,
    search: ({ query }) => [query],
    synthesize: () => 'both',
    limits: { maxRetries: 0 },
    ...own,
  }).result
/** The error codes of the steps. */
const codes = ({ steps }) => steps.map(({ error }) => error?.code)

test('model.script_ended: a script or a tape that is over', async () => {
  const scripted = await runTurn({ model: scriptedModel([]), messages }).result
  assert.equal(scripted.error.code, 'model.failed')
  assert.match(scripted.error.message, /model\.script_ended|script/)
  const fetch = tapeFetch([])
  await assert.rejects(fetch('https://api.example/v1', {}), { code: 'model.script_ended' })
})

test('tool.threw: an error of a tool has this code, and a TurnlockError its own', async () => {
  const hostile = Object.defineProperty(new TurnlockError('a.b', 'x'), 'code', {
    get: () => assert.fail('a code that throws'),
  })
  const thrown = {
    plain: [Object.assign(new Error('x'), { code: 'ENOENT' }), 'tool.threw'],
    own: [new TurnlockError('host.full', 'x'), 'host.full'],
    ours: [new TurnlockError('tool.duplicate', 'x'), 'tool.threw'],
    words: [new TurnlockError('two words', 'x'), 'tool.threw'],
    none: [new TurnlockError(undefined, 'x'), 'tool.threw'],
    hostile: [hostile, 'tool.threw'],
  }
  const tools = Object.fromEntries(
    Object.entries(thrown).map(([name, [error]]) => [
      name,
      defineTool({ description: 'x', inputSchema: {}, execute: () => Promise.reject(error) }),
    ]),
  )
  const model = scriptedModel([...Object.keys(tools).map((call) => ({ call })), { text: 'so' }])
  const policy = { maxTools: 9 }
  const { toolResults } = await runTurn({ model, messages, tools, policy }).result
  assert.deepEqual(
    toolResults.map(({ name, error }) => [name, error.code]),
    Object.entries(thrown).map(([name, [, code]]) => [name, code]),
  )
})

test('turn.events_gone: a reader of events that are not kept any longer', async () => {
  const store = memoryStore()
  const model = scriptedModel([...'abcd'].map((q) => ({ call: 'look', args: { q } })))
  const look = defineTool({ description: 'x', inputSchema: {}, readOnly: true, execute: () => 1 })
  const more = { policy: { maxTools: 3 }, keep: { events: 2, gatherMs: 0 } }
  const turn = runTurn({ model, messages, store, tools: { look }, ...more })
  const { requestId } = await turn.result
  const read = []
  for await (const event of followTurn({ requestId, store })) read.push(event)
  assert.deepEqual([read.at(-1).type, read.at(-1).code], ['error', 'turn.events_gone'])
})

test('request.content_type: a handler takes JSON only', async () => {
  const handler = createHandler({
    model: scriptedModel([]),
    authorize: () => ({ tenant: 't' }),
    store: memoryStore(),
  })
  const response = await handler(
    new Request('https://app.example/api/chat/messages', {
      method: 'POST',
      body: JSON.stringify({ messages }),
      headers: { 'content-type': 'text/plain' },
    }),
  )
  assert.equal(response.status, 415)
  assert.equal((await response.json()).error.code, 'request.content_type')
})

test('proxy.failed: a callback that throws', async () => {
  const told = []
  const proxy = createProxy({
    authorize: () => ({ tenant: 't' }),
    upstream() {
      throw new Error('no database')
    },
    onError: (error) => told.push(error.message),
  })
  const response = await proxy(
    new Request('https://edge.example/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages }),
      headers: { 'content-type': 'application/json' },
    }),
  )
  assert.equal(response.status, 500)
  const { error } = await response.json()
  assert.equal(error.code, 'proxy.failed')
  assert.doesNotMatch(JSON.stringify(error), /database/)
  assert.deepEqual(told, ['no database'])
})

test('chain.invalid_result: a condition that is neither true nor false', async () => {
  const [first, second] = PLAN.steps
  const steps = [first, { ...second, depends_on: ['x'], when: 'x is good' }]
  const plan = () => ({ ...PLAN, pattern: 'conditional', steps })
  const outcome = await chain({ plan, condition: () => 'maybe' })
  assert.deepEqual(codes(outcome).slice(0, 2), [undefined, 'chain.invalid_result'])
})

test('chain.result_too_large: what a search returns', async () => {
  const outcome = await chain({
    search: ({ query }) => (query === 'x' ? 'x'.repeat((1 << 20) + 1) : ['y']),
  })
  assert.deepEqual(codes(outcome).slice(0, 2), ['chain.result_too_large', undefined])
  assert.equal(outcome.text, 'both')
})

test('chain.too_long: an answer of 32 MiB', async () => {
  const piece = 'x'.repeat(1 << 20)
  const outcome = await chain({
    async *synthesize() {
      for (let at = 0; at < 40; at++) yield piece
    },
  })
  assert.deepEqual([outcome.status, outcome.error?.code], ['failed', 'chain.too_long'])
})

test('chain.cancelled: a chain that is cancelled', async () => {
  const controller = new AbortController()
  const outcome = await chain({
    signal: controller.signal,
    search() {
      controller.abort('enough')
      return new Promise(() => {})
    },
  })
  assert.deepEqual([outcome.status, outcome.error?.code], ['cancelled', 'chain.cancelled'])
})
