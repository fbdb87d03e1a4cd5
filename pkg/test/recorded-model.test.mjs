// A whole turn against a recorded model: with `boxSecret` and the same `requestId`, each request has the
// bytes of the recorded one, so that the recording answers it.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as turnlock from 'turnlock'
import { runPlanning } from 'turnlock/planning'
import { CLIENTS, modelOf } from '../../tests/lanes.mjs'
import { createProvider } from '../../tests/provider/server.mjs'

let provider
test.before(async () => (provider = await createProvider()))
test.after(() => provider.close())

const { defineTool, memoryStore, resumeTurn, runTurn } = turnlock

const boxSecret = '0123456789abcdef'.repeat(2)
const messages = [{ role: 'user', content: 'What is in my files?' }]
const inputSchema = { type: 'object' }
const toolsOf = (needsApproval) => ({
  list_files: defineTool({
    description: 'Lists files.',
    inputSchema,
    needsApproval,
    execute: () => ['notes.txt', 'plan.txt'],
  }),
  read_file: defineTool({
    description: 'Reads a file.',
    inputSchema,
    execute: ({ path }) => `The text of ${path}.`,
  }),
})

/** A `fetch` that records the response to each request by the bytes of the request. */
function recorder() {
  const tape = new Map()
  const record = async (url, init) => {
    const response = await fetch(url, init)
    const { status, headers } = response
    const recorded = { body: await response.arrayBuffer(), status, headers }
    tape.set(await new Response(init.body).text(), recorded)
    return new Response(recorded.body, recorded)
  }
  return { tape, record }
}

/** A `fetch` that answers from the recording alone. */
const player = (tape) => async (_, init) => {
  const recorded = tape.get(await new Response(init.body).text())
  if (!recorded) throw new TypeError('this request was not recorded')
  return new Response(recorded.body, recorded)
}

let sessions = 0
/** A model of the scripted provider, whose requests `fetch` sends. */
const modelBy = (dialect, fetch, script = 'list-then-read') =>
  modelOf(turnlock, dialect, {
    baseURL: `${provider.url}/s/recorded-${sessions++}/${script}/v1`,
    model: 'scripted',
    apiKey: 'secret',
    maxRetries: 0,
    fetch,
  })

/** Runs a turn. One that pauses for a decision is approved, and resumed from what was stored. */
async function play(model, { needsApproval = false, ...own } = {}) {
  const store = memoryStore()
  const options = { model, tools: toolsOf(needsApproval), store, boxSecret, ...own }
  const policy = { maxTools: 2 }
  const first = await runTurn({ messages, policy, requestId: 'turn-1', ...options }).result
  if (first.status !== 'paused') return first
  const approvals = first.approvals.map(({ signature }) => ({ signature, approved: true }))
  return resumeTurn({ ...first.resume, ...options, approvals }).result
}

for (const dialect of Object.keys(CLIENTS)) {
  for (const needsApproval of [false, true]) {
    const name = needsApproval ? 'a resumed turn' : 'a turn'
    test(`${dialect}: the recording of ${name} answers the same turn again`, async () => {
      const { tape, record } = recorder()
      const live = await play(modelBy(dialect, record), { needsApproval })
      assert.deepEqual([live.status, live.toolResults.length], ['complete', 2], live.error?.message)
      assert.ok(tape.size >= 3)
      const again = await play(modelBy(dialect, player(tape)), { needsApproval })
      assert.deepEqual([again.status, again.text], ['complete', live.text], again.error?.message)
      assert.deepEqual(again.messages, live.messages)
      // Another nonce is another request.
      const others = [
        { boxSecret: undefined },
        { boxSecret: 'f'.repeat(32) },
        { requestId: 'turn-2' },
      ]
      for (const own of others) {
        const missed = await play(modelBy(dialect, player(tape)), { needsApproval, ...own })
        assert.deepEqual([missed.status, missed.error.code], ['failed', 'model.unreachable'])
      }
    })
  }
}

const passTools = {
  search: defineTool({
    description: 'Searches.',
    inputSchema,
    readOnly: true,
    execute: () => ['The tide is high at noon.'],
  }),
}

/** Runs a planning pass. */
const plan = (fetch, own) =>
  runPlanning({
    model: modelBy('openai-chat', fetch, 'planner'),
    input: { question: 'tides' },
    tools: passTools,
    policy: { allow: ['search'] },
    planId: 'plan-1',
    runId: 'run-1',
    boxSecret,
    ...own,
  })

test('a planning pass: the recording of the model answers its replay', async () => {
  const { tape, record } = recorder()
  const results = []
  const live = await plan(record, { record: results })
  assert.deepEqual([live.fellBack, results.length, tape.size], [null, 1, 2])
  const again = await plan(player(tape), { replay: results })
  assert.deepEqual(again.plan, live.plan)
  for (const own of [{ boxSecret: undefined }, { runId: 'run-2' }, { planId: 'plan-2' }]) {
    const missed = plan(player(tape), {
      replay: results.map((one) => ({ ...one, plan_id: own.planId ?? one.plan_id })),
      ...own,
    })
    await assert.rejects(missed, { code: 'model.unreachable' })
  }
  await assert.rejects(plan(record, { boxSecret: 'short' }), { code: 'options.invalid' })
})
