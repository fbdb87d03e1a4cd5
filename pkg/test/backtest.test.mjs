// A backtest replays what was recorded bar by bar: no bar reads the result of another one.
import assert from 'node:assert/strict'
import test from 'node:test'
import { defineTool, openaiChat } from 'turnlock'
import { runPlanning } from 'turnlock/planning'
import { recordModel, replayModel, scriptedModel } from 'turnlock/testing'
import { createProvider } from '../../tests/provider/server.mjs'

let provider
test.before(async () => (provider = await createProvider()))
test.after(() => provider.close())

const asks = (...names) =>
  JSON.stringify({
    tool_calls: names.map((tool_name) => ({ tool_name, params: { symbol: 'BTC' }, reason: 'why' })),
  })
const readOnly = (execute) =>
  defineTool({ description: 'Reads.', inputSchema: { type: 'object' }, readOnly: true, execute })
/** A tool that must not run. */
const noPrice = { price: readOnly(() => assert.fail('a replay runs no tool')) }
const planner = () => scriptedModel([asks('price'), '{"size":1}'])

const resultsOf = ({ toolResults }) => toolResults.map(({ result, error }) => result ?? error.code)
const bars = Array.from({ length: 30 }, (_, bar) => ({ bar, global_context: { close: 100 + bar } }))

/** Records a pass for each input; its tool returns 1000, 1001, … */
async function recordAll(inputs, own = () => ({})) {
  const record = []
  const passes = []
  for (const [at, input] of inputs.entries()) {
    const tools = { price: readOnly(() => ({ price: 1000 + at })) }
    passes.push(await runPlanning({ model: planner(), tools, input, record, ...own(at) }))
  }
  return { passes, records: JSON.parse(JSON.stringify(record)) }
}

const replayOne = (input, replay, own) =>
  runPlanning({ model: planner(), tools: noPrice, input, replay, ...own })

test('30 bars: each replays its own result, with the ids of its recording', async () => {
  const { passes, records } = await recordAll(bars)
  assert.equal(records.length, 30)
  // In any order, as bars of several symbols may come.
  for (const bar of [...bars.keys()].reverse()) {
    const { planId, runId, ...pass } = await replayOne(bars[bar], records, { strict: true })
    assert.deepEqual(resultsOf(pass), [{ price: 1000 + bar }])
    assert.deepEqual([planId, runId], [passes[bar].planId, passes[bar].runId])
    const { toolResults, plan, input } = passes[bar]
    assert.deepEqual([pass.toolResults, pass.plan, pass.input], [toolResults, plan, input])
  }
})

// A cache that lost its first candle shifted every later one (freqtrade#5391).
test('a bar without a record is a miss, and gets no record of another bar', async () => {
  const { records } = await recordAll(bars.slice(0, 3))
  const rest = records.slice(1)
  const loose = await replayOne(bars[0], rest)
  assert.deepEqual([resultsOf(loose), loose.fellBack], [['replay.miss'], 'all_failed'])
  assert.match(loose.toolResults[0].error.message, /records of other plans.*: 2/)
  await assert.rejects(replayOne(bars[0], rest, { strict: true }), (error) => {
    assert.deepEqual([error.name, error.code], ['TurnlockError', 'replay.miss'])
    assert.match(error.message, /`price`.*records of other plans/)
    return true
  })
  assert.deepEqual(resultsOf(await replayOne(bars[2], rest, { strict: true })), [{ price: 1002 }])
})

test('a changed input is another bar', async () => {
  const { records } = await recordAll(bars.slice(0, 1))
  const changed = { ...bars[0], global_context: { close: 99 } }
  await assert.rejects(replayOne(changed, records, { strict: true }), { code: 'replay.miss' })
  // Old results of tools are no part of the input.
  const global_context = { ...bars[0].global_context, tool_results: ['old'] }
  const same = { ...bars[0], global_context }
  assert.deepEqual(resultsOf(await replayOne(same, records, { strict: true })), [{ price: 1000 }])
})

test('two bars with equal inputs and different results: a miss, until each has a planId', async () => {
  const input = { symbol: 'BTC' }
  const { passes, records } = await recordAll([input, input])
  assert.equal(passes[0].planId, passes[1].planId)
  const loose = await replayOne(input, records)
  assert.deepEqual(resultsOf(loose), ['replay.miss'])
  await assert.rejects(replayOne(input, records, { strict: true }), (error) => {
    assert.equal(error.code, 'replay.miss')
    assert.match(error.message, /different results.*planId/)
    return true
  })
  const named = await recordAll([input, input], (at) => ({ planId: `bar-${at}` }))
  for (const at of [1, 0]) {
    const own = { planId: `bar-${at}`, strict: true }
    assert.deepEqual(resultsOf(await replayOne(input, named.records, own)), [{ price: 1000 + at }])
  }
  // Without its id, it is another plan.
  await assert.rejects(replayOne(input, named.records, { strict: true }), { code: 'replay.miss' })
})

test('equal inputs with equal results, and a record of every plan, are unambiguous', async () => {
  const input = { symbol: 'BTC' }
  const { records } = await recordAll([input])
  const [one] = records
  const twice = [one, { ...one, duration_ms: one.duration_ms + 5 }]
  assert.deepEqual(resultsOf(await replayOne(input, twice, { strict: true })), [{ price: 1000 }])
  const { plan_id: _, ...ofAll } = one
  assert.deepEqual(resultsOf(await replayOne(bars[7], [ofAll], { strict: true })), [
    { price: 1000 },
  ])
  // One of this plan that says something else contradicts it.
  const contrary = [ofAll, { ...one, result: { price: 1 } }]
  assert.deepEqual(resultsOf(await replayOne(input, contrary)), ['replay.miss'])
})

test('recorded passes with equal inputs: their calls have ids of their own', async () => {
  const contexts = []
  for (let pass = 0; pass < 2; pass++) {
    const tools = { price: readOnly((_, context) => void contexts.push(context)) }
    const { runId } = await runPlanning({ model: planner(), tools, input: {}, record: [] })
    assert.equal(contexts[pass].requestId, runId)
  }
  assert.notEqual(contexts[0].idempotencyKey, contexts[1].idempotencyKey)
  // A pass that is neither recorded nor replayed is another plan each time.
  const [one, other] = [await runPlanning({ model: planner(), input: {} }), await runPlanning({ model: planner(), input: {} })] // prettier-ignore
  assert.notEqual(one.planId, other.planId)
  for (const name of ['planId', 'runId']) {
    const empty = runPlanning({ model: planner(), input: {}, [name]: '' })
    await assert.rejects(empty, { code: 'options.invalid' })
  }
})

test('policy.allow names tools that there are', async () => {
  const run = (allow) =>
    runPlanning({ model: planner(), tools: noPrice, input: {}, policy: { allow } })
  for (const allow of [['prices'], ['price', 'Price'], ['']]) {
    await assert.rejects(run(allow), (error) => {
      assert.equal(error.code, 'options.invalid')
      assert.match(error.message, /policy\.allow.*there is no tool/)
      return true
    })
  }
  assert.equal((await run([])).fellBack, 'all_blocked')
})

const boxSecret = '0123456789abcdef'.repeat(2)
let sessions = 0
/** A pass of the scripted provider's planner, over HTTP, and its events. */
async function planned(fetch, own) {
  const events = []
  const model = openaiChat({
    baseURL: `${provider.url}/s/backtest-${sessions++}/planner/v1`,
    model: 'scripted',
    apiKey: 'sk-of-the-backtest',
    fetch: (url, init) => fetch(url.replace(/backtest-\d+/, 'backtest'), init),
  })
  const pass = runPlanning({ model, boxSecret, startedAt: 0, source: 'backtest', ...own })
  for await (const event of pass) events.push(event)
  return JSON.stringify([events, await pass])
}

test('30 bars with a recorded model: the whole backtest is the same byte for byte', async () => {
  const live = recordModel((url, init) =>
    globalThis.fetch(url.replace('/s/backtest/', `/s/backtest-${sessions}/`), init),
  )
  const record = []
  let price = 0
  const search = readOnly(() => [`The price is ${price++}.`])
  for (const input of bars) await planned(live, { tools: { search }, input, record })
  assert.equal(record.length, 30)
  const tape = JSON.stringify(live.tape)
  assert.ok(!tape.includes('sk-of-the-backtest'))
  const backtest = async () => {
    const fetch = replayModel(JSON.parse(tape))
    const all = []
    const tools = { search: readOnly(() => assert.fail('a replay runs no tool')) }
    for (const input of bars) {
      all.push(await planned(fetch, { tools, input, replay: record, strict: true }))
    }
    return all
  }
  const first = await backtest()
  assert.deepEqual(await backtest(), first)
  for (const [bar, text] of first.entries()) {
    const [, { toolResults }] = JSON.parse(text)
    assert.deepEqual(toolResults[0].result, [`The price is ${bar}.`])
  }
})

test('strict: a request that the recorded model does not have ends the pass', async () => {
  const live = recordModel()
  const record = []
  const tools = { search: readOnly(() => ['now']) }
  const url = `${provider.url}/s/strict/planner/v1`
  const run = (fetch, own) =>
    runPlanning({
      model: openaiChat({ baseURL: url, model: 'scripted', fetch }),
      tools,
      boxSecret,
      ...own,
    })
  await run(live, { input: { bar: 1 }, record })
  const { tape } = live
  // Without the request pass of the tape, a plan from the input alone would be another plan.
  const [, plan] = tape.entries
  const missed = run(replayModel({ version: 1, entries: [plan] }), {
    input: { bar: 1 },
    replay: record,
    strict: true,
  })
  await assert.rejects(missed, (error) => {
    assert.equal(error.code, 'replay.miss')
    assert.match(error.message, /no response to request 1/)
    return true
  })
  const changed = run(replayModel(tape), { input: { bar: 2 }, replay: record, strict: true })
  await assert.rejects(changed, (error) => {
    assert.equal(error.code, 'replay.miss')
    assert.match(error.message, /body\/messages\/1\/content was .*1.* and is .*2/)
    return true
  })
})
