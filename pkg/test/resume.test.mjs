// Turns whose owner is gone, in one process: the store's clock says so.
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  cancelTurn,
  customModel,
  defineTool,
  followTurn,
  memoryStore,
  normalizeHistory,
  pauseTurn,
  resumeTurn,
  runTurn,
} from 'turnlock'

const messages = [{ role: 'user', content: 'go' }]
const model = customModel(async function* ({ tools }) {
  if (!tools?.length) return yield { type: 'text', text: 'Done.' }
  yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'act' }
  yield { type: 'tool_call_arguments', index: 0, text: '{}' }
})

for (const [kind, again, then = kind] of [
  ['plain', false],
  ['readOnly', true],
  ['idempotent', true],
  ['readOnly', true, 'idempotent'],
  // What a tool was when it was claimed, or is now, is not enough.
  ['readOnly', false, 'plain'],
  ['plain', false, 'readOnly'],
]) {
  test(`a claimed call without an outcome, ${kind} and now ${then}: ${again ? 'runs again' : 'unknown'}`, async () => {
    let now = 0
    const store = memoryStore({ now: () => now })
    const keys = []
    let inside
    const started = new Promise((resolve) => (inside = resolve))
    const acts = (kind) => ({
      description: 'Acts',
      inputSchema: { type: 'object' },
      ...(kind !== 'plain' && { [kind]: true }),
      async execute(_, { idempotencyKey, signal }) {
        if (keys.push(idempotencyKey) > 1) return 'acted'
        inside()
        // Hangs until it is told that it is no longer wanted.
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))
      },
    })
    const parts = { model, requestId: 'r', store }
    const tools = { act: defineTool(acts(kind)) }
    // From its start on, no sign of life of the first one arrives while the other one begins.
    let goOn
    const gate = new Promise((resolve) => (goOn = resolve))
    const commit = async (...given) => {
      if (keys.length) await gate
      return store.commit(...given)
    }
    const cutOff = { ...store, commit }
    const first = runTurn({ ...parts, store: cutOff, tools, messages, keep: { leaseMs: 300 } })
    await started
    now = 20_000
    const { status, text, toolResults, error } = await resumeTurn({
      ...parts,
      tools: { act: defineTool(acts(then)) },
    }).result
    assert.deepEqual([status, text, error], ['complete', 'Done.', undefined])
    assert.deepEqual(
      toolResults.map((result) => [result.status, result.result]),
      again ? [['ok', 'acted']] : [['unknown', undefined]],
    )
    assert.equal(keys.length, again ? 2 : 1)
    assert.equal(new Set(keys).size, 1)
    goOn()
    // Whoever had it learns that it is another's.
    assert.equal((await first.result).error.code, 'turn.conflict')
  })
}

test('a turn is kept no shorter than its lease: its owner would lose its claims', () => {
  const begin = (keep) => runTurn({ model, messages, store: memoryStore(), keep })
  const refused = { code: 'options.invalid', message: /keep\.ttlMs/ }
  assert.throws(() => begin({ ttlMs: 14_999 }), refused)
  assert.throws(() => begin({ ttlMs: 500, leaseMs: 501 }), refused)
  begin({ ttlMs: 500, leaseMs: 500 }).cancel()
})

const collect = async (turn) => {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}

/** A turn that waits for an approval of its one call, and what resumes it. */
async function waiting(own = {}, options = {}) {
  const store = memoryStore()
  const act = (changed) =>
    defineTool({
      description: 'Acts',
      inputSchema: { type: 'object' },
      needsApproval: true,
      execute: () => 'acted',
      ...own,
      ...changed,
    })
  const parts = { model, store, requestId: 'r', ...options }
  const turn = runTurn({ ...parts, tools: { act: act() }, messages })
  const { resume: point, approvals: waiting } = (await collect(turn)).at(-1)
  const result = await turn.result
  assert.deepEqual([result.resume, result.approvals, 'calls' in result], [point, waiting, false])
  const [{ signature }] = waiting
  const approvals = [{ signature, approved: true }]
  const { projectId: _, ...rest } = parts
  const resume = (changed, more) =>
    resumeTurn({ ...rest, tools: { act: act(changed) }, approvals, ...more })
  return { store, signature, resume }
}

test('a resumed turn keeps its project, in every event and for its tools', async () => {
  let seen
  const execute = (_, { projectId }) => void (seen = projectId)
  const { resume } = await waiting({ execute }, { projectId: 'apollo' })
  const events = await collect(resume())
  assert.ok(events.some(({ type }) => type === 'text'))
  assert.deepEqual([...new Set(events.map(({ projectId }) => projectId))], ['apollo'])
  assert.equal(seen, 'apollo')
})

// openai/openai-agents-js#1418, 2026-06-23: a resume evaluated the callback again. It may have effects,
// throw, or return something else by then.
test('needsApproval: called once for a call, and not by a resume', async () => {
  const asked = []
  const { resume } = await waiting({ needsApproval: (args) => asked.push(args) > 0 })
  const needsApproval = () => {
    throw new Error('asked again')
  }
  const { status, toolResults } = await resume({ needsApproval }).result
  assert.deepEqual([status, toolResults[0].result, asked.length], ['complete', 'acted', 1])
})

test('needsApproval: each decision, as a value and as a promise', async () => {
  for (const [decision, want] of [
    [true, 'paused'],
    ['ask', 'paused'],
    [{ decision: 'ask' }, 'paused'],
    [false, 'complete'],
    ['allow', 'complete'],
    [{ decision: 'allow', reason: 'small' }, 'complete'],
    ['deny', 'denied'],
    [{ decision: 'deny' }, 'denied'],
    [{ decision: 'deny', reason: 7 }, 'denied'],
    [{ decision: 'deny', reason: 'This account is blocked.' }, 'denied'],
    // Anything else asks; nothing is no.
    [{}, 'paused'],
    [{ decision: false }, 'paused'],
    ['never', 'paused'],
    [1, 'paused'],
    [undefined, 'complete'],
  ]) {
    for (const needsApproval of [() => decision, async () => decision]) {
      let runs = 0
      const execute = () => ++runs
      const act = defineTool({ inputSchema: { type: 'object' }, needsApproval, execute })
      const options = { model, messages, tools: { act }, store: memoryStore() }
      const events = await collect(runTurn(options))
      const about = JSON.stringify(decision)
      const refused = events.find(({ type }) => type === 'refused')
      assert.equal(events.at(-1).type, want === 'denied' ? 'complete' : want, about)
      assert.equal(refused?.reason, want === 'denied' ? 'not_approved' : undefined, about)
      assert.equal(runs, want === 'complete' ? 1 : 0, about)
      const reason = typeof decision?.reason === 'string' && ` Reason: "${decision.reason}"`
      if (refused) assert.equal(refused.notice.includes('Reason'), Boolean(reason), about)
      if (refused && reason) assert.ok(refused.notice.endsWith(reason), about)
    }
  }
})

test('needsApproval: a promise is awaited', async () => {
  const run = (needsApproval) => {
    const act = defineTool({
      inputSchema: { type: 'object' },
      needsApproval,
      execute: () => 'acted',
    })
    const options = { model, messages, tools: { act }, store: memoryStore() }
    return collect(runTurn(options))
  }
  const shown = (events, type) => events.filter((event) => event.type === type)
  const free = await run(async () => false)
  assert.equal(shown(free, 'tool_results')[0].toolResults[0].result, 'acted')
  assert.equal(shown(free, 'approval_required').length, 0)
  const asks = await run(async () => true)
  assert.deepEqual([asks.at(-1).type, shown(asks, 'tool_calls').length], ['paused', 0])
  const fails = await run(async () => {
    throw new Error('no directory service')
  })
  const [{ reason, notice }] = shown(fails, 'refused')
  assert.equal(reason, 'invalid_arguments')
  assert.match(notice, /no directory service/)
  assert.equal(shown(fails, 'tool_calls').length, 0)
})

test('a tool that takes other arguments by now is not started with the old ones', async () => {
  let runs = 0
  const { resume } = await waiting()
  const inputSchema = { type: 'object', required: ['amount'] }
  const { status, toolResults } = await resume({ inputSchema, execute: () => ++runs }).result
  assert.deepEqual([status, toolResults[0].status, runs], ['complete', 'error', 0])
  assert.equal(toolResults[0].error.code, 'tool.invalid_arguments')
})

test('a tool of a resumed turn is not started behind a stop', async () => {
  let runs = 0
  let checking = () => {}
  let go = () => {}
  const validate = (value) => {
    checking()
    return new Promise((resolve) => (go = () => resolve({ value })))
  }
  const { resume } = await waiting()
  const begun = new Promise((resolve) => (checking = resolve))
  const jsonSchema = { input: () => ({ type: 'object' }) }
  const inputSchema = { '~standard': { version: 1, vendor: 'test', jsonSchema, validate } }
  const turn = resume({ inputSchema, execute: () => ++runs })
  await begun
  turn.cancel()
  assert.equal((await turn.result).toolResults[0].status, 'cancelled')
  go()
  await new Promise((resolve) => setTimeout(resolve))
  assert.equal(runs, 0)
})

test('approvals and batches that cannot be read are misuse', async () => {
  const { resume, signature } = await waiting()
  for (const more of [
    { approvals: 'all' },
    { approvals: { signature, approved: true } },
    { approvals: [null] },
    { approvals: [{ signature, approved: 'true' }] },
    { approvals: [{ signature: signature.toUpperCase(), approved: true }] },
    { toolBatchId: '1' },
    { toolBatchId: -1 },
    { toolBatchId: 1.5 },
  ]) {
    assert.throws(() => resume({}, more), { code: 'options.invalid' }, JSON.stringify(more))
  }
  assert.equal((await resume({}, { toolBatchId: 0 }).result).status, 'complete')
})

test('idle times that are none do not make an owner gone', async () => {
  for (const idleMs of [NaN, undefined, -5]) {
    const store = memoryStore()
    const odd = { ...store, read: async (turn) => ({ ...(await store.read(turn)), idleMs }) }
    const silent = customModel(async function* () {
      yield { type: 'text', text: 'I' }
      await new Promise(() => {})
    })
    const first = runTurn({ model: silent, messages, requestId: 'r', store })
    for await (const { type } of followTurn({ requestId: 'r', store: odd })) {
      if (type === 'text') break
    }
    const second = await resumeTurn({ model, requestId: 'r', store: odd }).result
    assert.equal(second.error.code, 'turn.conflict')
    assert.equal((await cancelTurn({ requestId: 'r', store: odd })).status, 'cancelled')
    assert.equal((await first.result).status, 'cancelled')
  }
})

test('a store that never answers a read ends what waits for it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const hangs = { ...memoryStore(), read: () => new Promise(() => {}) }
  hangs.events = hangs.read
  const all = Promise.all([
    resumeTurn({ model, requestId: 'r', store: hangs }).result.then(({ error }) => error.code),
    cancelTurn({ requestId: 'r', store: hangs }).catch(({ code }) => code),
    collect(followTurn({ requestId: 'r', store: hangs })).then(([{ code }]) => code),
  ])
  t.mock.timers.tick(20_000)
  assert.deepEqual(await all, ['store.timeout', 'store.timeout', 'store.timeout'])
})

test('a store that answers a commit with something else has failed', async () => {
  for (const answer of [undefined, null, true, {}]) {
    const store = { ...memoryStore(), commit: async () => answer }
    const { error } = await runTurn({ model, messages, store }).result
    assert.deepEqual(error.code, 'store.unavailable')
    assert.match(error.message, /no answer/)
  }
})

/** Talks until it is stopped. */
const talks = customModel(async function* (_, { signal }) {
  while (!signal.aborted) {
    yield { type: 'text', text: 'word ' }
    await new Promise((resolve) => setTimeout(resolve, 4))
  }
})

test('a turn can be stopped while a model talks, however far away the store is', async () => {
  const near = memoryStore()
  const way = () => new Promise((resolve) => setTimeout(resolve, 15))
  const far =
    (method) =>
    async (...given) => {
      await way()
      const answer = await near[method](...given)
      await way()
      return answer
    }
  const store = Object.fromEntries(
    ['read', 'commit', 'events', 'recall'].map((method) => [method, far(method)]),
  )
  const turn = runTurn({ model: talks, messages, requestId: 'r', store })
  for await (const { type } of followTurn({ requestId: 'r', store: near })) {
    if (type === 'text') break
  }
  assert.equal((await cancelTurn({ requestId: 'r', store })).status, 'cancelled')
  assert.equal((await turn.result).status, 'cancelled')
})

test('seq means one event, also where text is not kept', async () => {
  const store = memoryStore()
  const parts = { messages, requestId: 'r', store, keep: { events: 0 } }
  const turn = runTurn({ ...parts, model: talks })
  let last = 0
  for await (const { seq } of turn) {
    if ((last = seq) > 20) {
      await cancelTurn({ requestId: 'r', store })
      break
    }
  }
  const rest = await collect(followTurn({ requestId: 'r', store, after: last }))
  assert.deepEqual(
    rest.map(({ type, seq }) => [type, seq > last]),
    [['cancelled', true]],
  )
})

test('an outcome is kept at once, and does not wait for the other calls of its batch', async () => {
  const inner = memoryStore()
  let keep
  const kept = new Promise((resolve) => (keep = resolve))
  const commit = (turn, commit) => {
    if (commit.records.some(([name]) => name === 'outcome/1/c0')) keep()
    return inner.commit(turn, commit)
  }
  let last
  const execute = ({ n }) => n || new Promise((resolve) => (last = resolve))
  const two = customModel(async function* ({ tools }) {
    if (!tools?.length) return yield { type: 'text', text: 'Done.' }
    for (const index of [0, 1]) {
      yield { type: 'tool_call_start', index, id: `c${index}`, name: 'act' }
      yield { type: 'tool_call_arguments', index, text: JSON.stringify({ n: 1 - index }) }
    }
  })
  const act = defineTool({ description: 'Acts', inputSchema: { type: 'object' }, execute })
  const turn = runTurn({
    model: two,
    messages,
    tools: { act },
    policy: { maxTools: 2 },
    store: { ...inner, commit },
    keep: { leaseMs: 600_000 },
  })
  await kept
  last(2)
  assert.equal((await turn.result).status, 'complete')
})

test('names of turns are text that every part reads alike', async () => {
  const store = memoryStore()
  for (const own of [{ requestId: 'r\ud800' }, { tenant: '\udfff' }, { requestId: '' }]) {
    const options = { model, messages, requestId: 'r', store, ...own }
    assert.throws(() => runTurn(options), { code: 'options.invalid' })
    assert.throws(() => resumeTurn(options), { code: 'options.invalid' })
    await assert.rejects(cancelTurn(options), { code: 'options.invalid' })
  }
  assert.equal(
    (await runTurn({ model, messages, requestId: 'ü😀', store }).result).requestId,
    'ü😀',
  )
})

test('an outcome of another turn is no approval', async () => {
  const options = { readOnly: true, reuseMs: 60_000 }
  const { store, resume, signature } = await waiting(options)
  assert.equal((await resume().result).toolResults[0].status, 'ok')
  const act = defineTool({
    description: 'Acts',
    inputSchema: { type: 'object' },
    needsApproval: true,
    ...options,
    execute: () => 'acted',
  })
  const other = await collect(runTurn({ model, messages, tools: { act }, store, requestId: 'r2' }))
  assert.deepEqual(
    other.at(-1).approvals?.map((call) => call.signature),
    [signature],
  )
})

test('options of another type are misuse', () => {
  const store = memoryStore()
  for (const own of [
    { tools: null },
    { tools: 5 },
    { signal: 5 },
    { signal: null },
    { onTrace: 5 },
  ]) {
    const options = { model, messages, requestId: 'r', store, ...own }
    assert.throws(() => runTurn(options), { code: 'options.invalid' }, JSON.stringify(own))
    assert.throws(() => resumeTurn(options), { code: 'options.invalid' }, JSON.stringify(own))
  }
})

test('a pause whose store gives no answer fails by code', async () => {
  const kept = memoryStore()
  const silent = customModel(async function* (_, { signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const turn = runTurn({ model: silent, messages, store: kept, requestId: 'r' })
  for await (const { type } of turn) {
    if (type !== 'phase_start') continue
    for (const answer of [undefined, null, {}, { ok: 1 }]) {
      const store = { ...kept, commit: async () => answer }
      const asked = pauseTurn({ requestId: 'r', store })
      await assert.rejects(asked, { name: 'TurnlockError', code: 'store.unavailable' })
    }
    break
  }
})

test('a pause from elsewhere lands behind the tools, and a resume answers', async () => {
  const store = memoryStore()
  const state = async () => JSON.parse((await store.read('["","r"]')).state)
  let runs = 0
  const act = defineTool({
    description: 'Acts',
    inputSchema: { type: 'object' },
    async execute() {
      runs++
      assert.deepEqual(await pauseTurn({ requestId: 'r', store }), {
        requestId: 'r',
        status: 'running',
      })
      // The owner has heard of it when it has written its state again.
      while ((await state()).pause) await new Promise((resolve) => setTimeout(resolve, 1))
      return 'acted'
    },
  })
  const parts = { model, tools: { act }, store, requestId: 'r' }
  assert.equal((await runTurn({ ...parts, messages }).result).status, 'paused')
  assert.deepEqual((await pauseTurn({ requestId: 'r', store })).status, 'paused')
  const { status, text, toolResults } = await resumeTurn(parts).result
  assert.deepEqual([status, text, toolResults.length, runs], ['complete', 'Done.', 1, 1])
  assert.deepEqual((await pauseTurn({ requestId: 'r', store })).status, 'complete')
  await assert.rejects(pauseTurn({ requestId: 'other', store }), { code: 'turn.not_found' })
  const misused = { model, messages, policy: { pauseAfterTools: true } }
  assert.throws(() => runTurn(misused), { code: 'options.invalid', message: /a store/ })
})

/** A turn that paused behind the result of its one call, and what resumes it. */
async function looked(options = {}) {
  const store = memoryStore()
  const look = defineTool({
    description: 'Looks',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 'a secret',
  })
  const parts = { store, requestId: 'r', tools: { act: look } }
  const policy = { pauseAfterTools: true, ...options }
  assert.equal((await runTurn({ ...parts, model, messages, policy }).result).status, 'paused')
  const resume = (more) => resumeTurn({ ...parts, model, ...more })
  return { resume }
}

test('a result that is replaced is cut as one of the tool is, and traced', async () => {
  const { resume } = await looked({ maxToolResultBytes: 20 })
  const trace = []
  const results = [{ toolCallId: 'c1', result: 'x'.repeat(50) }]
  const { status, toolResults } = await resume({ results, onTrace: (one) => trace.push(one) })
    .result
  assert.equal(status, 'complete')
  const [{ truncated, revised, result }] = toolResults
  assert.deepEqual([truncated, revised], [true, true])
  assert.match(result, /^x{19}…/)
  const [told] = trace.filter(({ type }) => type === 'tool_result')
  assert.deepEqual([told.revised, told.tool_call_id, told.truncated], [true, 'c1', true])
})

test('revisions that cannot be meant are refused before anything is read', async () => {
  const { resume } = await looked()
  for (const results of [
    {},
    [null],
    ['c1'],
    [{ result: 1 }],
    [{ toolCallId: 1, result: 1 }],
    [{ toolCallId: 'c1' }],
    [{ toolCallId: 'c1', drop: false }],
    [{ toolCallId: 'c1', drop: true, result: 1 }],
    [{ toolCallId: 'c1', result: undefined }],
    [{ toolCallId: 'c1', result: () => 1 }],
    [{ toolCallId: 'c1', result: 1n }],
  ]) {
    const code =
      typeof results[0]?.result === 'bigint' ? 'json.not_serializable' : 'options.invalid'
    assert.throws(() => resume({ results }), { code }, String(results))
  }
  const { status, toolResults } = await resume({ results: [{ toolCallId: 'c1', drop: true }] })
    .result
  assert.deepEqual([status, toolResults[0].error.code], ['complete', 'tool.result_dropped'])
})

test('what a tool says of a call that may have run is recorded once', async () => {
  const asked = []
  for (const [answer, status, part] of [
    [{ result: { id: 7 } }, 'ok', { id: 7 }],
    [{ result: null }, 'ok', null],
    [{ error: 'refused' }, 'error', 'refused'],
    [{ error: { message: 'refused', code: 'pay.refused' } }, 'error', 'refused'],
    [{ error: new Error('refused') }, 'error', 'refused'],
    [{ result: 1n }, 'error', 'BigInt'],
    [undefined, 'unknown', 'not known'],
    [{}, 'unknown', 'neither `result` nor `error`'],
    ['done', 'unknown', 'neither `result` nor `error`'],
  ]) {
    let now = 0
    const store = memoryStore({ now: () => now })
    let begun
    const inside = new Promise((resolve) => (begun = resolve))
    const tool = (own) => ({
      act: defineTool({ description: 'Acts', inputSchema: { type: 'object' }, ...own }),
    })
    const parts = { model, requestId: 'r', store, projectId: 'apollo' }
    const execute = (_, { idempotencyKey }) => (begun(idempotencyKey), new Promise(() => {}))
    const first = runTurn({ ...parts, messages, tools: tool({ execute }), keep: { leaseMs: 300 } })
    const key = await inside
    now = 1_000_000
    const reconcile = (call, { idempotencyKey, signal }) => {
      asked.push(call)
      assert.deepEqual([idempotencyKey, signal.aborted], [key, false])
      return answer
    }
    const never = () => assert.fail('it ran again')
    const tools = tool({ execute: never, reconcile })
    const { toolResults } = await resumeTurn({ model, requestId: 'r', store, tools }).result
    const [{ result, error, signature, ...rest }] = toolResults
    assert.equal(rest.status, status)
    if (error) assert.ok(error.message.includes(part), error.message)
    else assert.deepEqual(result, part)
    assert.deepEqual(asked.at(-1), { id: 'c1', name: 'act', args: {}, signature })
    const after = []
    for await (const event of followTurn({ requestId: 'r', store })) after.push(event)
    const told = after.filter(({ type }) => type === 'tool_results')
    assert.deepEqual([told.length, told[0].toolResults[0].status], [1, status])
    first.cancel()
  }
  assert.equal(asked.length, 9)
  const wrong = { description: '', inputSchema: {}, execute: () => 1, reconcile: true }
  assert.throws(() => defineTool(wrong), { code: 'options.invalid', message: /reconcile/ })
})

test('what was taken out of a turn is in no history that its events make, whatever its ids', async () => {
  const store = memoryStore()
  const read = defineTool({
    description: 'Reads',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => 'SECRET',
  })
  // The same id in each response, as some providers have it; the second call is a repeat.
  const parts = { model, store, requestId: 'r', tools: { act: read } }
  const policy = { maxTools: 2, pauseAfterTools: true }
  const first = await collect(runTurn({ ...parts, messages, policy }))
  const turn = resumeTurn({ ...parts, results: [{ toolCallId: 'c1', drop: true }] })
  const second = await collect(turn)
  const revised = second.filter(({ type }) => type === 'tool_results')
  assert.deepEqual(
    revised.map(({ toolBatchId }) => toolBatchId),
    [1, 2, 3],
  )
  assert.ok(JSON.stringify(first).includes('SECRET'))
  for (const dialect of [
    'openai-chat',
    'anthropic',
    'gemini',
    'openai-responses',
    'mistral',
    'bedrock',
  ]) {
    const made = normalizeHistory([...messages, ...first, ...second], { dialect })
    assert.equal(JSON.stringify(made).includes('SECRET'), false, dialect)
    const added = normalizeHistory([...messages, ...(await turn.result).messages], { dialect })
    assert.equal(JSON.stringify(added).includes('SECRET'), false, dialect)
  }
})

test('the code of a reconciled error is short, and none of ours', async () => {
  for (const code of ['C'.repeat(2e6), 'tool.result_dropped', 'a b', 7]) {
    let now = 0
    const store = memoryStore({ now: () => now })
    let begun
    const inside = new Promise((resolve) => (begun = resolve))
    const tool = (own) => ({
      act: defineTool({ description: 'Acts', inputSchema: { type: 'object' }, ...own }),
    })
    const parts = { model, requestId: 'r', store, messages, keep: { leaseMs: 300 } }
    const hang = () => (begun(), new Promise(() => {}))
    const first = runTurn({ ...parts, tools: tool({ execute: hang }) })
    await inside
    now = 1_000_000
    const reconcile = () => ({ error: { code, message: 'm' } })
    const tools = tool({ execute: () => assert.fail('it ran again'), reconcile })
    const { toolResults } = await resumeTurn({ model, requestId: 'r', store, tools }).result
    assert.deepEqual(toolResults[0].error, { code: 'tool.threw', message: 'm' })
    first.cancel()
  }
})

test('what a resume is given is copied at the call', async () => {
  const store = memoryStore()
  const act = defineTool({ description: '', inputSchema: {}, execute: () => 'secret' })
  const parts = { model, tools: { act }, store, requestId: 'copied' }
  const policy = { pauseAfterTools: true }
  assert.equal((await runTurn({ ...parts, messages, policy }).result).status, 'paused')
  const result = { text: 'public' }
  const results = [{ toolCallId: 'c1', result }]
  const turn = resumeTurn({ ...parts, results })
  result.text = 'changed'
  results.pop()
  const { toolResults } = await turn.result
  assert.deepEqual(toolResults[0].result, { text: 'public' })
  assert.equal(toolResults[0].revised, true)
})

test('a resume that is refused says why', async () => {
  const store = memoryStore()
  const act = defineTool({ description: '', inputSchema: {}, execute: () => 'acted' })
  const parts = { model, tools: { act }, store, requestId: 'why' }
  const policy = { pauseAfterTools: true }
  await runTurn({ ...parts, messages, policy }).result
  const why = async (own) => (await resumeTurn({ ...parts, ...own }).result).error?.message
  assert.match(await why({ toolBatchId: 0 }), /continued after that batch/)
  assert.match(await why({ toolBatchId: 7 }), /has no such batch/)
  assert.equal(await why({}), undefined)
  assert.match(await why({}), /the turn has ended/)
})
