// Guarded tools without a framework: claims of several processes, limits, traces, options.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listTurns, memoryStore } from 'turnlock'
import { guardToolCall, guardTools } from 'turnlock/guard'

const look = () => [{ role: 'user', content: 'look' }]
const LOST = /it was started before, and whether it finished is not known/
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** The same store, as another process has it. */
const elsewhere = (store) => ({ ...store })
const c = { conversationId: 'c' }

/** A guarded tool `send`, and what its runs were given. */
function guarded(execute, options, name = 'send') {
  const runs = []
  const own = (input, context) => {
    runs.push({ input, context })
    return execute(input, context)
  }
  const tools = guardTools({ [name]: { execute: own } }, options)
  let calls = 0
  const call = (input = { to: 'Ada' }, more = {}) =>
    tools[name].execute(input, { toolCallId: `call_${++calls}`, messages: look(), ...more })
  return { runs, call, tools }
}

/** A store with a clock that is turned by hand. */
function clocked() {
  let now = 0
  return { store: memoryStore({ now: () => now }), turn: (ms) => (now += ms) }
}

/** A call that a process began and never ended: what its store has of it. */
async function abandoned(options, execute = () => new Promise(() => {})) {
  const { store, turn } = clocked()
  // What it writes after its claim is lost.
  const commit = (name, one) => (one.revision > 1 ? { ok: true } : store.commit(name, one))
  const frozen = { ...store, commit: async (...given) => commit(...given) }
  const dead = guarded(execute, { store: frozen, ...c, timeoutMs: 1_000, ...options })
  const messages = look()
  void dead.call({ to: 'Ada' }, { messages }).catch(() => {})
  while (dead.runs.length === 0) await later(1)
  turn(20_000)
  return { store, dead, messages }
}

describe('guardTools: processes', () => {
  test('a call runs in one process, another one gets its outcome', async () => {
    const store = memoryStore()
    let finish
    const finished = new Promise((resolve) => (finish = resolve))
    const one = guarded(() => finished, { store: elsewhere(store), ...c })
    const two = guarded(() => 'never', { store: elsewhere(store), ...c })
    const first = one.call()
    while (one.runs.length === 0) await later(1)
    const second = two.call()
    finish({ sent: 1 })
    assert.deepEqual(await Promise.all([first, second]), [{ sent: 1 }, { sent: 1 }])
    const three = guarded(() => 'never', { store: elsewhere(store), ...c })
    assert.deepEqual(await three.call(), { sent: 1 })
    assert.equal(two.runs.length + three.runs.length, 0)
  })

  test('calls are no turns: `listTurns` does not list them', async () => {
    const { store } = await abandoned({})
    assert.deepEqual(await listTurns({ store }), [])
  })

  test('the error of a call is its outcome', async () => {
    const store = memoryStore()
    const one = guarded(() => Promise.reject(new Error('full')), { store: elsewhere(store), ...c })
    await assert.rejects(one.call(), /^Error: full$/)
    const two = guarded(() => 'never', { store: elsewhere(store), ...c })
    await assert.rejects(two.call(), /^Error: full$/)
    assert.equal(two.runs.length, 0)
  })

  test('tenants and conversations share nothing', async () => {
    const store = memoryStore()
    for (const options of [
      {},
      { tenant: 'b' },
      { conversationId: 'd' },
      { policy: { projectId: 'p' } },
    ]) {
      const { call, runs } = guarded(() => 1, { store: elsewhere(store), ...c, ...options })
      await call()
      assert.equal(runs.length, 1)
    }
  })

  test('a call whose process is gone is unknown, for good', async () => {
    const { store, messages } = await abandoned({})
    for (let time = 0; time < 2; time++) {
      const next = guarded(() => 'never', { store: elsewhere(store), ...c })
      assert.match(await next.call({ to: 'Ada' }, { messages }), LOST)
      assert.equal(next.runs.length, 0)
    }
  })

  test('an idempotent call runs again, with the same key', async () => {
    const policy = { tools: { send: { idempotent: true } } }
    const { store, dead, messages } = await abandoned({ policy })
    const next = guarded(() => 'done', { store: elsewhere(store), ...c, policy })
    assert.equal(await next.call({ to: 'Ada' }, { messages }), 'done')
    const keys = [dead, next].map(({ runs }) => runs[0].context.idempotencyKey)
    assert.match(keys[0], /^[\da-f]{64}$/)
    assert.equal(keys[0], keys[1])
  })

  test('`reconcile` finds out what became of a call', async () => {
    const answers = [
      [{ result: 'sent' }, 'sent'],
      [{ error: 'bounced' }, /bounced/],
      [{ error: { message: 'bounced' } }, /bounced/],
      [undefined, LOST],
      [() => Promise.reject(new Error('x')), LOST],
    ]
    for (const [answer, expected] of answers) {
      const asked = []
      const reconcile = (call, context) => {
        asked.push([call, context.idempotencyKey])
        return typeof answer === 'function' ? answer() : answer
      }
      const policy = { tools: { send: { reconcile } } }
      const { store, dead, messages } = await abandoned({ policy })
      const next = guarded(() => 'never', { store: elsewhere(store), ...c, policy })
      const outcome = await next.call({ to: 'Ada' }, { messages }).catch(({ message }) => message)
      if (typeof expected === 'string') assert.equal(outcome, expected)
      else assert.match(outcome, expected)
      assert.equal(next.runs.length, 0)
      assert.equal(asked.length, 1)
      const [[{ name, args }, key]] = asked
      assert.deepEqual([name, args], ['send', { to: 'Ada' }])
      assert.equal(key, dead.runs[0].context.idempotencyKey)
    }
  })

  test('a long call shows signs of life, so that it is not given up', async () => {
    const { store, turn } = clocked()
    let signs = 0
    const commit = async (name, one) => {
      const answer = await store.commit(name, one)
      if (one.state === null) signs += 1
      return answer
    }
    const options = { ...c, leaseMs: 100 }
    let finish
    const execute = () => new Promise((resolve) => (finish = resolve))
    const one = guarded(execute, { store: { ...store, commit }, ...options })
    const first = one.call()
    while (!finish) await later(1)
    const two = guarded(() => 'never', { store: elsewhere(store), ...options })
    const second = two.call()
    for (let past = 0; past < 5; past++) {
      const before = signs
      while (signs === before) await later(1)
      turn(80)
    }
    finish('done')
    assert.deepEqual(await Promise.all([first, second]), ['done', 'done'])
  })

  test("without a claim a call does not run; without a record it is its caller's", async () => {
    const store = memoryStore()
    const down = () => Promise.reject(new Error('the store is down'))
    const one = guarded(() => 'never', { store: { ...store, commit: down }, ...c })
    await assert.rejects(one.call(), /the store is down/)
    assert.equal(one.runs.length, 0)
    const commit = (name, commit) => (commit.revision > 1 ? down() : store.commit(name, commit))
    const two = guarded(() => 'done', { store: { ...store, commit }, ...c })
    assert.equal(await two.call(), 'done')
  })

  test('a result without JSON, or a long one, is not repeated', async () => {
    for (const result of [new Map([[1, 2]]), 1n, 'x'.repeat(1_048_600)]) {
      const store = memoryStore()
      const one = guarded(() => result, { store: elsewhere(store), ...c })
      assert.equal(await one.call(), result)
      const two = guarded(() => 'never', { store: elsewhere(store), ...c })
      assert.match(await two.call(), /has run\. Its result was not recorded/)
      assert.equal(two.runs.length, 0)
    }
  })

  test('`dedupe: "allow"`: each call runs, a call that is delivered again does not', async () => {
    const store = memoryStore()
    const policy = { tools: { send: { dedupe: 'allow' } } }
    const options = { ...c, policy }
    const one = guarded(() => 'x', { store: elsewhere(store), ...options })
    await one.call()
    await one.call()
    assert.equal(one.runs.length, 2)
    const two = guarded(() => 'never', { store: elsewhere(store), ...options })
    assert.equal(await two.call({ to: 'Ada' }, { toolCallId: 'call_1' }), 'x')
    assert.equal(two.runs.length, 0)
  })
})

describe('guardTools: policy', () => {
  test('budgets and allowlists', async () => {
    const budget = guarded(() => 1, { policy: { maxCalls: 2 } })
    const messages = look()
    const call = (to, own = budget) => own.call({ to }, { messages })
    assert.deepEqual([await call('a'), await call('b')], [1, 1])
    assert.match(await call('c'), /the tool budget of this turn is used up/)
    const listed = guarded(() => 1, { policy: { allow: ['other'] } })
    assert.match(await call('a', listed), /this phase has other tools/)
  })

  test('a call after an untrusted result needs an approval', async () => {
    const policy = {
      tools: { fetch_page: { untrusted: true, readOnly: true } },
      afterUntrusted: 'ask',
    }
    const execute = () => 'x'
    const tools = guardTools({ fetch_page: { execute }, send: { execute } }, { policy })
    const messages = look()
    const options = { toolCallId: 'a', messages }
    assert.equal(await tools.send.needsApproval({ to: 'Ada' }, options), false)
    assert.equal(tools.fetch_page.needsApproval, undefined)
    await tools.fetch_page.execute({ url: 'x' }, { toolCallId: 'b', messages })
    assert.equal(await tools.send.needsApproval({ to: 'Ada' }, options), true)
    const blocked = await tools.send.execute({ to: 'Ada' }, options)
    assert.match(blocked, /it was not approved/)
  })

  test('untrusted text stays in a conversation, by its id or its history', async () => {
    const flags = { untrusted: true, readOnly: true }
    const policy = { tools: { fetch_page: flags }, afterUntrusted: 'ask' }
    const asks = async (options, messages) => {
      const execute = () => 'x'
      const tools = guardTools(
        { fetch_page: { execute }, send: { execute } },
        { policy, ...options },
      )
      await tools.fetch_page.execute({ url: 'x' }, { toolCallId: 'a', messages: look() })
      return tools.send.needsApproval({ to: 'Ada' }, { toolCallId: 'b', messages })
    }
    const next = [...look(), { role: 'user', content: 'and now?' }]
    assert.equal(await asks({ conversationId: 'untrusted' }, next), true)
    assert.equal(await asks({}, next), false, 'it may be the conversation of another user')
    const [asked, returned] = shown('a', { url: 'x' })
    returned.content[0].toolName = 'fetch_page'
    assert.equal(await asks({}, [...look(), asked, returned, ...look()]), true)
  })

  test('arguments that a schema made of JSON are signed too', async () => {
    const { call, runs } = guarded(() => 'x', {})
    const messages = look()
    const rows = [
      { at: new Date(0) },
      { at: new Date(1) },
      { id: 1n },
      { id: 2n },
      { names: new Set(['a']) },
      { names: new Set(['b']) },
      { text: '\ud800' },
    ]
    for (const row of [...rows, ...rows]) await call(row, { messages })
    assert.deepEqual(
      runs.map(({ input }) => input),
      rows,
    )
  })

  test('windows: a run, a turn of the user, a session', async () => {
    const runs = async (options) => {
      const own = guarded(() => 1, options)
      const [one, two] = [look(), look()]
      const answered = [
        ...one,
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'go on' },
      ]
      for (const messages of [one, one, two, answered]) await own.call({ to: 'Ada' }, { messages })
      return own.runs.length
    }
    assert.equal(await runs({}), 3, 'without a name, each list of messages is a run')
    assert.equal(await runs({ conversationId: 'w1' }), 2)
    assert.equal(await runs({ conversationId: 'w2', policy: { window: 'turn' } }), 3)
    assert.equal(await runs({ conversationId: 'w3', policy: { window: 'session' } }), 1)
    assert.equal(await runs({ policy: { window: 'session' } }), 1)
    assert.equal(await runs({ conversationId: 'w4', turnId: 'm1' }), 1)
  })

  test('a call ends at its time limit, and its signal is aborted', async () => {
    const signals = []
    const execute = (_, { abortSignal }) => {
      signals.push(abortSignal)
      return new Promise(() => {})
    }
    const events = []
    const onTrace = (event) => events.push(event)
    const policy = { tools: { send: { timeoutMs: 20 } } }
    const { call } = guarded(execute, { policy, onTrace })
    await assert.rejects(call(), /the tool did not finish in 20 ms/)
    assert.equal(signals[0].aborted, true)
    assert.equal(events.at(-1).status, 'timeout')
  })

  test('an aborted call ends, and does not start again', async () => {
    const left = new AbortController()
    const { call, runs } = guarded(() => new Promise(() => {}), {})
    const messages = look()
    const pending = call({ to: 'Ada' }, { messages, abortSignal: left.signal })
    left.abort(new Error('the user left'))
    await assert.rejects(pending, /the user left/)
    await assert.rejects(call({ to: 'Ada' }, { messages }), /the user left/)
    assert.equal(runs.length, 1)
  })

  test('a stream that its reader leaves is cancelled', async () => {
    let isClosed = false
    async function* execute() {
      try {
        yield 1
        yield 2
      } finally {
        isClosed = true
      }
    }
    const events = []
    const { call } = guarded(execute, { onTrace: (event) => events.push(event) })
    for await (const value of call()) {
      assert.equal(value, 1)
      break
    }
    assert.equal(isClosed, true)
    assert.equal(events.at(-1).status, 'cancelled')
  })

  test('traces name calls and no arguments; `redact` hides errors and names', async () => {
    const events = []
    const redact = (text) => text.replaceAll('sk-1', '***')
    const { call } = guarded(() => Promise.reject(new Error('bad key sk-1')), {
      conversationId: 'of sk-1',
      redact,
      onTrace(event) {
        events.push(event)
        throw new Error('of the host')
      },
    })
    const messages = look()
    const args = { to: 'sk-1 secret' }
    await assert.rejects(call(args, { messages }), /bad key sk-1/)
    const repeated = call(args, { messages: [...messages, ...shown('call_1', args)] })
    assert.match(await repeated, /already at hand/)
    assert.deepEqual(
      events.map(({ type }) => type),
      ['tool_call', 'tool_result', 'duplicate_tool_call', 'tool_refused'],
    )
    const text = JSON.stringify(events)
    assert.ok(!text.includes('sk-1') && !text.includes('secret'), text)
    assert.equal(events[1].error, 'bad key ***')
    assert.equal(events[3].reason, 'duplicate')
    for (const { at, signature, tool_name } of events) {
      assert.ok(at > 1e12)
      assert.match(signature, /^[\da-f]{64}$/)
      assert.equal(tool_name, 'send')
    }
  })

  test('a history counts: what another process ran is not run again', async () => {
    const args = { to: 'Ada' }
    const { call, runs } = guarded(() => 'never', {})
    const messages = [...look(), ...shown('call_0', args, 'sent')]
    assert.match(await call(args, { messages }), /already at hand/)
    const reading = { tools: { send: { readOnly: true } } }
    const read = guarded(() => 'new', { policy: reading })
    const twice = [...look(), ...shown('a', args, 'old'), ...shown('b', args, 'old')]
    assert.equal(await read.call(args, { messages: twice }), 'old')
    assert.equal(read.runs.length + runs.length, 0)
    const denied = {
      type: 'tool-result',
      toolCallId: 'c',
      toolName: 'send',
      output: { type: 'execution-denied' },
    }
    const [asked] = shown('c', args)
    const other = guarded(() => 'sent', {})
    const history = [...look(), asked, { role: 'tool', content: [denied] }]
    assert.equal(await other.call(args, { messages: history }), 'sent')
  })
})

/** A call and its result, as the AI SDK's messages have them. */
const shown = (toolCallId, input, value = 'x') => [
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId, toolName: 'send', input }] },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId, toolName: 'send', output: { type: 'text', value } },
    ],
  },
]

describe('guardToolCall', () => {
  const call = (toolCallId, input = { q: 1 }) => ({ toolCallId, toolName: 'locate', input })

  test('a call that is delivered again runs once, also after a reload', async () => {
    let runs = 0
    const run = async ({ q }) => ({ q, runs: ++runs })
    const store = memoryStore()
    const both = await Promise.all([1, 2].map(() => guardToolCall(call('p1'), run, { store })))
    assert.deepEqual(
      both.map(({ status, result }) => [status, result]),
      [1, 2].map(() => ['ok', { q: 1, runs: 1 }]),
    )
    const reloaded = await guardToolCall(call('p1'), run, { store: elsewhere(store) })
    assert.deepEqual([reloaded.result, reloaded.replayed], [{ q: 1, runs: 1 }, true])
    assert.equal((await guardToolCall(call('p2'), run, { store })).result.runs, 2)
    assert.equal((await guardToolCall(call('p3'), run)).result.runs, 3)
    assert.equal((await guardToolCall(call('p3'), run)).result.runs, 3)
  })

  test('calls of one message are compared if it is named', async () => {
    let runs = 0
    const run = () => ++runs
    const options = { conversationId: 'page', turnId: 'm1' }
    const first = await guardToolCall(call('q1'), run, options)
    assert.deepEqual(first, { status: 'ok', result: 1, replayed: false })
    const second = await guardToolCall(call('q2'), run, options)
    assert.equal(second.status, 'blocked')
    assert.equal(second.reason, 'duplicate')
    assert.match(second.notice, /already at hand/)
    assert.equal((await guardToolCall(call('q3'), run, { ...options, turnId: 'm2' })).result, 2)
  })

  test('an error is an outcome', async () => {
    const failed = await guardToolCall(call('r1'), () => Promise.reject(new Error('no GPS')))
    assert.deepEqual(failed, { status: 'error', error: 'no GPS', replayed: false })
    const thrown = await guardToolCall(call('r2'), () => {
      throw new Error('no GPS')
    })
    assert.equal(thrown.error, 'no GPS')
  })
})

test('guardTools and guardToolCall: misuse is named', async () => {
  const invalid = (path) => (error) =>
    error.code === 'options.invalid' && error.message.startsWith(`\`${path}\``)
  const rows = [
    [undefined, {}, 'tools'],
    [{ execute() {} }, {}, 'tools'],
    [[1], {}, 'tools[0]'],
    [{ a: 1 }, {}, 'tools.a'],
    [{}, { store: memoryStore() }, 'conversationId'],
    [{}, { turnId: 'm' }, 'conversationId'],
    [{}, { conversationId: 7 }, 'conversationId'],
    [{}, { timeoutMs: 0 }, 'timeoutMs'],
    [{}, { leaseMs: 99 }, 'leaseMs'],
    [{}, { ttlMs: NaN }, 'ttlMs'],
    [{}, { onTrace: 1 }, 'onTrace'],
    [{}, { redact: 1 }, 'redact'],
    [{}, { policy: { tools: { a: 1 } } }, 'policy.tools.a'],
    [{}, { policy: { tools: { a: { timeoutMs: -1 } } } }, 'policy.tools.a.timeoutMs'],
    [{}, { policy: { tools: { a: { reconcile: 1 } } } }, 'policy.tools.a.reconcile'],
  ]
  for (const [tools, options, path] of rows) {
    assert.throws(() => guardTools(tools, options), invalid(path), path)
  }
  assert.throws(() => guardTools({}, { policy: { maxCalls: -1 } }), { code: 'options.invalid' })
  await assert.rejects(
    guardToolCall({ toolName: 'a' }, () => 1),
    invalid('call.toolCallId'),
  )
  await assert.rejects(guardToolCall({ toolCallId: 'a', toolName: 'a' }), invalid('run'))
})
