// Tools without `execute`: a turn at the edge pauses with their calls, and a page runs them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { claimCalls, customModel, defineTool, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { createChat } from 'turnlock/chat'
import { remoteTurns } from 'turnlock/remote'
import { createHandler, toNodeListener } from 'turnlock/server'

const messages = [{ role: 'user', content: 'go' }]
const inputSchema = { type: 'object' }
const locate = defineTool({ description: 'where', inputSchema })
const reread = defineTool({ description: 'again', inputSchema, readOnly: true })

/** Asks for these tools at once, then answers with what it was told. */
const modelOf = (...names) =>
  customModel(async function* ({ messages: seen }) {
    const told = seen.filter(({ content }) => String(content).includes('TOOL RESULT'))
    if (told.length) return yield { type: 'text', text: told.map(({ content }) => content).join() }
    for (const [index, name] of names.entries()) {
      yield { type: 'tool_call_start', index, id: `c${index}`, name }
      yield { type: 'tool_call_arguments', index, text: `{"n":${index}}` }
      yield { type: 'tool_call_end', index }
    }
  })

async function all(turn) {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}

/** A turn that waits for a page, and its last event. */
async function waiting(names = ['locate'], more = {}) {
  const host = {
    store: memoryStore(),
    model: modelOf(...names),
    tools: { locate, reread, ...more },
  }
  const policy = { maxTools: 4, readMode: 'batch' }
  const turn = runTurn({ ...host, messages, policy, requestId: 'r' })
  const events = await all(turn)
  return { host, events, paused: events.at(-1), resume: (own) => resumeTurn({ ...host, ...own }) }
}

test('each call is granted once: again to its claimant, or if it may run twice', async () => {
  const { host, paused } = await waiting(['locate', 'reread'])
  assert.deepEqual(
    paused.calls.map(({ id, name, args }) => [id, name, args]),
    [
      ['c0', 'locate', { n: 0 }],
      ['c1', 'reread', { n: 1 }],
    ],
  )
  const ask = (own) =>
    claimCalls({ ...host, ...paused.resume, model: undefined, toolCallIds: ['c0', 'c1'], ...own })
  const both = await Promise.all([ask({ claimant: 'a' }), ask({ claimant: 'b' })])
  const granted = both.map((one) => one.granted)
  assert.equal(granted.flat().filter((id) => id === 'c0').length, 1)
  const [winner, loser] = granted[0].includes('c0') ? ['a', 'b'] : ['b', 'a']
  assert.deepEqual((await ask({ claimant: winner })).granted, ['c0', 'c1'])
  assert.deepEqual((await ask({ claimant: loser })).granted, ['c1'])
  // Without the tools, nothing is known to be safe to run twice.
  assert.deepEqual((await ask({ claimant: loser, tools: undefined })).granted, [])
})

test('of two calls that are alike a page runs one, unless its tool may be called again', async () => {
  const model = () => {
    let asked = false
    return customModel(async function* () {
      if (asked) return yield { type: 'text', text: 'done' }
      asked = true
      for (const [index, args] of ['{"n":1}', '{ "n": 1.0 }'].entries()) {
        yield { type: 'tool_call_start', index, id: `c${index}`, name: 'pay' }
        yield { type: 'tool_call_arguments', index, text: args }
        yield { type: 'tool_call_end', index }
      }
    })
  }
  for (const [own, granted, results] of [
    [{}, ['c0'], [['c0', 'paid c0', false]]],
    [{ readOnly: true }, ['c0'], [['c0', 'paid c0', false], ['c1', 'paid c0', true]]], // prettier-ignore
    [{ dedupe: 'allow' }, ['c0', 'c1'], [['c0', 'paid c0', false], ['c1', 'paid c1', false]]], // prettier-ignore
  ]) {
    for (const readMode of ['auto', 'batch']) {
      const pay = defineTool({ description: 'pays', inputSchema, ...own })
      const host = { store: memoryStore(), model: model(), tools: { pay } }
      const policy = { maxTools: 4, readMode }
      const { resume, calls } = await runTurn({ ...host, messages, policy, requestId: 'r' }).result
      const { store, tools } = host
      const toolCallIds = calls.map(({ id }) => id)
      const claimed = await claimCalls({ ...resume, store, tools, toolCallIds })
      assert.deepEqual(claimed.granted, granted, JSON.stringify(own))
      const outcomes = granted.map((id) => ({ toolCallId: id, result: `paid ${id}` }))
      const { status, toolResults } = await resumeTurn({ ...host, ...resume, outcomes }).result
      assert.equal(status, 'complete')
      assert.deepEqual(
        toolResults.map(({ toolCallId, result, replayed }) => [toolCallId, result, replayed]),
        results,
      )
    }
  }
})

test('an outcome goes on with the phase; the second one of two loses', async () => {
  const { host, paused, resume } = await waiting()
  await claimCalls({ store: host.store, ...paused.resume, toolCallIds: ['c0'] })
  const outcomes = [{ toolCallId: 'c0', result: { at: 'home' } }]
  const both = [resume({ ...paused.resume, outcomes }), resume({ ...paused.resume, outcomes })]
  const ends = await Promise.all(both.map(({ result }) => result))
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['complete', 'failed'])
  const { toolResults, text } = ends.find(({ status }) => status === 'complete')
  assert.deepEqual(toolResults[0].result, { at: 'home' })
  assert.match(text, /TOOL RESULT/)
  assert.equal(ends.find(({ status }) => status === 'failed').error.code, 'turn.conflict')
})

test('one outcome of two: the other call waits on, and keeps its claim', async () => {
  const { host, paused, resume } = await waiting(['locate', 'reread'])
  const { store } = host
  await claimCalls({ store, ...paused.resume, toolCallIds: ['c0', 'c1'], claimant: 'a' })
  const first = await all(resume({ ...paused.resume, outcomes: [{ toolCallId: 'c1', result: 1 }] }))
  const still = first.at(-1)
  assert.deepEqual(
    still.calls.map(({ id }) => id),
    ['c0'],
  )
  const again = await claimCalls({ store, ...still.resume, toolCallIds: ['c0'], claimant: 'b' })
  assert.deepEqual(again.granted, [])
  const outcomes = [{ toolCallId: 'c0', error: { message: 'no signal' } }]
  const { status, toolResults } = await resume({ ...still.resume, outcomes }).result
  assert.equal(status, 'complete')
  const [result] = toolResults.filter(({ toolCallId }) => toolCallId === 'c0')
  assert.deepEqual([result.status, result.error.message], ['error', 'no signal'])
})

test('an outcome that nobody knows is unknown; a long one is cut', async () => {
  for (const [outcome, status] of [
    [{}, 'unknown'],
    [{ result: 'x'.repeat(100_000) }, 'ok'],
  ]) {
    const { host, paused, resume } = await waiting()
    await claimCalls({ store: host.store, ...paused.resume, toolCallIds: ['c0'] })
    const outcomes = [{ toolCallId: 'c0', ...outcome }]
    const { toolResults } = await resume({ ...paused.resume, outcomes }).result
    assert.deepEqual([toolResults[0].status, toolResults[0].truncated], [status, status === 'ok'])
  }
})

test('what is not waited for is refused, and the turn stays as it was', async () => {
  const { host, paused, resume } = await waiting()
  const { store } = host
  const ended = async (own) => (await resume({ ...paused.resume, ...own }).result).error?.code
  const outcomes = [{ toolCallId: 'c0', result: 1 }]
  assert.equal(await ended({ outcomes }), 'tool.no_claim')
  assert.equal(await ended({ outcomes: [{ toolCallId: 'c9', result: 1 }] }), 'tool.no_call')
  const claim = (own) => claimCalls({ store, ...paused.resume, toolCallIds: ['c0'], ...own })
  await assert.rejects(claim({ toolCallIds: ['c9'] }), { code: 'tool.no_call' })
  await assert.rejects(claim({ toolBatchId: 7 }), { code: 'turn.conflict' })
  await assert.rejects(claim({ requestId: 'nobody' }), { code: 'turn.not_found' })
  await assert.rejects(claim({ tenant: 'other' }), { code: 'turn.not_found' })
  await assert.rejects(claim({ toolCallIds: 'c0' }), { code: 'options.invalid' })
  await claim()
  assert.equal((await resume({ ...paused.resume, outcomes }).result).status, 'complete')
  await assert.rejects(claim(), { code: 'turn.conflict' })
})

test('misuse is refused at the call', () => {
  const refused = { code: 'options.invalid' }
  const model = modelOf()
  assert.throws(() => runTurn({ model, messages, tools: { locate } }), refused)
  const options = { description: 'd', inputSchema }
  assert.throws(() => defineTool({ ...options, needsApproval: true }), refused)
  assert.throws(() => defineTool({ ...options, execute: 7 }), refused)
  const own = { model, requestId: 'r', store: memoryStore() }
  assert.throws(() => resumeTurn({ ...own, outcomes: [{ toolCallId: 'c' }] }), refused)
  assert.throws(() => resumeTurn({ ...own, toolBatchId: 0, outcomes: [{}] }), refused)
})

async function edge(store = memoryStore()) {
  const handler = createHandler({
    model: modelOf('locate', 'note'),
    store,
    authorize: () => ({ tenant: 't' }),
    tools: { locate, note: defineTool({ description: 'n', inputSchema, execute: () => 'noted' }) },
    policy: { maxTools: 2, readMode: 'batch' },
    twoStage: { enabled: true, default: true, maxTools: 2 },
  })
  const server = createServer(toNodeListener(handler)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/api/chat`
  const close = () => (server.closeAllConnections(), server.close())
  return { url, close }
}

const tab = (url, runs, execute = () => ({ at: 'home' })) =>
  remoteTurns({
    url,
    headers: { connection: 'close' },
    tools: {
      locate: defineTool({
        description: 'where',
        inputSchema,
        execute: (args, context) => (runs.push(args), execute(args, context)),
      }),
    },
  })

test('two tabs: one runs the call, and the turn goes on with its outcome', async () => {
  const { url, close } = await edge()
  const runs = []
  const [one, two] = [tab(url, runs), tab(url, runs)]
  const turn = one.run({ messages })
  const events = await all(turn)
  const paused = events.at(-1)
  assert.deepEqual([paused.type, paused.calls.map(({ name }) => name)], ['paused', ['locate']])
  const shown = await all(two.follow({ requestId: turn.requestId }))
  assert.deepEqual(shown, events)
  const answers = await Promise.all([one.answer(paused), two.answer(shown.at(-1))])
  const mine = answers.filter(Boolean)
  assert.equal(mine.length, 1)
  const rest = await all(mine[0])
  const { status, toolResults } = await mine[0].result
  assert.deepEqual([status, runs], ['complete', [{ n: 0 }]])
  // The result is that of the whole turn; a call of the handler's own tool came first.
  assert.deepEqual(toolResults.at(-1).result, { at: 'home' })
  assert.equal(rest[0].seq, paused.seq + 1)
  assert.equal(await two.answer(paused), undefined)
  close()
})

test('a tool of the page that throws, and a page without the tool', async () => {
  const { url, close } = await edge()
  const failing = tab(url, [], () => {
    throw new Error('denied by the user')
  })
  const turn = failing.run({ messages })
  const paused = (await all(turn)).at(-1)
  assert.equal(await remoteTurns({ url }).answer(paused), undefined)
  const { toolResults, status } = await (await failing.answer(paused)).result
  const { error } = toolResults.find(({ name }) => name === 'locate')
  assert.deepEqual([status, error.message], ['complete', 'denied by the user'])
  close()
})

test('a chat runs the calls of its page by itself', async () => {
  const { url, close } = await edge()
  const runs = []
  const chat = createChat({ turns: tab(url, runs) })
  chat.send('go')
  const state = await new Promise((resolve) => {
    chat.subscribe(() => {
      const now = chat.getSnapshot()
      if (now.status !== 'running') resolve(now)
    })
  })
  assert.deepEqual([state.status, runs], ['complete', [{ n: 0 }]])
  const calls = state.messages[1].parts.filter(({ type }) => type === 'call')
  assert.deepEqual(calls.map(({ name, status }) => [name, status]).sort(), [
    ['locate', 'ok'],
    ['note', 'ok'],
  ])
  close()
})

test('bad bodies of a claim and of outcomes', async () => {
  const { url, close } = await edge()
  const post = async (path, body) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()).error.code
  }
  const own = { requestId: 'r', toolBatchId: 0 }
  assert.equal(await post('/claim', own), 'request.invalid')
  assert.equal(await post('/claim', { ...own, toolCallIds: [7] }), 'request.invalid')
  assert.equal(await post('/claim', { ...own, toolCallIds: ['c'] }), 'turn.not_found')
  assert.equal(await post('/resume', { ...own, outcomes: [{}] }), 'request.invalid')
  const many = Array.from({ length: 129 }, () => ({ toolCallId: 'c' }))
  assert.equal(await post('/resume', { ...own, outcomes: many }), 'request.invalid')
  close()
})

test('a claim with options of a wrong type is misuse, and no state of the turn', async () => {
  const { host, paused } = await waiting(['locate'])
  const own = { store: host.store, ...paused.resume, toolCallIds: ['c0'] }
  const wrong = { toolBatchId: 'x', toolCallIds: [5], claimant: 5, tools: null }
  for (const [name, value] of Object.entries(wrong)) {
    const error = { code: 'options.invalid', message: new RegExp(`^\`${name}\``) }
    await assert.rejects(claimCalls({ ...own, [name]: value }), error)
  }
  assert.deepEqual((await claimCalls(own)).granted, ['c0'])
})
