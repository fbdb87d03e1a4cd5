// JSON of as many levels as the core reads, everywhere where values of others come in: what holds them
// may be deeper, so that no value ends a turn that could read it alone.
import assert from 'node:assert/strict'
import test from 'node:test'
import { bundleTool } from 'turnlock/evidence'
import { defineTool, memoryStore, normalizeHistory, resumeTurn, runTurn } from 'turnlock'
import { runPlanning } from 'turnlock/planning'
import { scriptedModel } from 'turnlock/testing'

/** The most levels of a value; see docs/limits.md. */
const MOST = 128

const nested = (levels) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const messages = [{ role: 'user', content: 'go' }]
const tool = (execute, more) =>
  defineTool({ description: 'd', inputSchema: { type: 'object' }, execute, ...more })
const calling = (...calls) => [
  ...calls.flatMap(([name, args], index) => [
    { type: 'tool_call_start', index, id: `c${index}`, name },
    { type: 'tool_call_arguments', index, text: JSON.stringify(args) },
    { type: 'tool_call_end', index },
  ]),
  { type: 'finish', reason: 'tool_calls', raw: 'tool_calls' },
]

test('arguments: a call that is deeper is refused, and the conversation goes on', async () => {
  for (const levels of [MOST - 1, MOST, MOST + 1]) {
    const seen = []
    const calls = calling(['charge', {}], ['look', { a: nested(levels - 1) }])
    const model = scriptedModel([calls, 'done', 'more', 'and more'])
    const tools = {
      charge: tool(() => 'charged'),
      look: tool((args) => seen.push(args), { readOnly: true }),
    }
    const policy = { maxTools: 2 }
    const result = await runTurn({ model, messages, tools, store: memoryStore(), policy }).result
    assert.equal(result.status, 'complete', `${levels}: ${result.error?.code}`)
    assert.equal(result.toolResults[0].status, 'ok')
    assert.equal(seen.length, levels > MOST ? 0 : 1, `${levels}`)
    const next = [...messages, ...result.messages, { role: 'user', content: 'on' }]
    for (const dialect of ['openai-chat', 'anthropic', 'gemini', 'bedrock']) {
      assert.ok(normalizeHistory(next, { dialect }).messages.length > 2)
    }
    const again = await runTurn({ model, messages: next, tools, policy: { maxTools: 0 } }).result
    assert.equal(again.status, 'complete', `${levels}: ${again.error?.code}`)
  }
})

test('elements of a history may be 32 levels deeper than values, as texts and as objects', () => {
  // Beside the list are the element, its content and the part.
  const told = (levels) => [
    { role: 'user', content: [{ type: 'custom', data: nested(levels - 3) }] },
  ]
  for (const dialect of ['openai-chat', 'anthropic']) {
    assert.doesNotThrow(() => normalizeHistory(told(MOST + 32), { dialect }))
    assert.throws(() => normalizeHistory(told(MOST + 33), { dialect }), { code: 'json.too_deep' })
  }
})

test('a kept turn with arguments of all levels is resumed', async () => {
  const store = memoryStore()
  const seen = []
  const pay = tool((args) => seen.push(args), { needsApproval: true })
  const tools = { pay }
  const args = { a: nested(MOST - 1) }
  const model = scriptedModel([calling(['pay', args]), 'done'])
  let paused
  const first = runTurn({ model, messages, tools, store, requestId: 'deep' })
  for await (const event of first) paused = event
  const { signature } = paused.approvals[0]
  const approvals = [{ signature, approved: true }]
  const second = await resumeTurn({ model, tools, store, requestId: 'deep', approvals }).result
  assert.equal(second.status, 'complete', second.error?.code)
  assert.deepEqual(seen, [args])
})

test('an answer that is deeper is asked for again', async () => {
  for (const levels of [MOST, MOST + 1]) {
    const model = scriptedModel([JSON.stringify(nested(levels)), '[]'])
    const turn = runTurn({ model, messages, answerSchema: { type: 'array' } })
    const { status, error } = await turn.result
    assert.equal(status, 'complete', error?.code)
    assert.equal(model.requests.length, levels > MOST ? 2 : 1)
  }
})

test('a report that is deeper is dropped, in a turn and in a pass', async () => {
  for (const levels of [MOST, MOST + 1, 200, 5000]) {
    const look = tool((_, { report }) => (report(nested(levels)), 1), { readOnly: true })
    const told = []
    const model = scriptedModel([calling(['look', {}]), 'done'])
    for await (const event of runTurn({ model, messages, tools: { look } })) {
      if (event.type === 'tool_progress') told.push(event.data)
      assert.notEqual(event.type, 'error', event.code)
    }
    assert.equal(told.length, levels > MOST ? 0 : 1, `${levels}`)
    const asks = '{"tool_calls":[{"tool_name":"look","params":{},"reason":"r"}]}'
    const pass = { model: scriptedModel([asks, '{"p":1}']), input: {}, tools: { look } }
    assert.deepEqual((await runPlanning(pass)).plan, { p: 1 })
  }
})

test('data of replicates in a tool: what is deeper is invalid', async () => {
  for (const levels of [MOST - 3, MOST, MOST + 1]) {
    const ask = bundleTool({
      name: 'ask',
      description: 'd',
      inputSchema: { type: 'object' },
      replicate: () => ({ data: nested(levels) }),
    })
    const model = scriptedModel([calling(['ask', {}]), 'done'])
    const { status, error, toolResults } = await runTurn({ model, messages, tools: { ask } }).result
    assert.equal(status, 'complete', `${levels}: ${error?.code}`)
    assert.equal(toolResults.length, 1)
  }
})
