// Bundles, chains and passes as responses and streams, and a pass as the object that runs.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { customModel, defineTool, runTurn } from 'turnlock'
import { toUIMessageResponse } from 'turnlock/ai-sdk'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { scriptedModel } from 'turnlock/testing'
import { readEvents } from '../../tests/server/client.mjs'
import { partsOf } from './parts.mjs'

const { live } = await partsOf('../dist')
const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))
after(() => {
  assert.deepEqual(unhandled, [])
  assert.equal(live(), 0, 'everything is forgotten')
})

const asks = (tool_name, params = {}) =>
  JSON.stringify({ tool_calls: [{ tool_name, params, reason: 'the secret price' }] })
const quote = (execute) =>
  defineTool({ description: 'A price.', inputSchema: { type: 'object' }, readOnly: true, execute })
const never = () => new Promise(() => {})

const startBundle = (own) =>
  runBundle({ task: 'triage', replicate: async () => ({ data: { label: 'a' } }), ...own })
const startChain = (own) =>
  runChain({
    query: 'capital of France',
    answer: async () => 'Paris.',
    plan: async () => '{}',
    search: async () => ({}),
    synthesize: async () => '',
    ...own,
  })
const startPass = (own) =>
  runPlanning({
    model: scriptedModel([asks('quote'), '{"size":1}']),
    input: { symbol: 'BTC' },
    tools: { quote: quote(() => ({ price: 42 })) },
    ...own,
  })
/** What never ends by itself. */
const held = {
  bundle: () => startBundle({ replicate: never }),
  chain: () => startChain({ answer: never }),
  pass: () => startPass({ tools: { quote: quote(never) }, policy: { toolTimeoutMs: 600_000 } }),
}
const STARTS = { bundle: startBundle, chain: startChain, pass: startPass }
const LAST = { bundle: 'bundle_ready', chain: 'complete', pass: 'complete' }

async function listed(events) {
  const list = []
  for await (const event of events) list.push(event)
  return list
}

for (const [name, start] of Object.entries(STARTS)) {
  test(`a ${name} as a response: the events that iterating gives, numbered`, async () => {
    const run = start()
    const response = run.toResponse({ status: 202, headers: { 'x-own': 'kept' } })
    assert.equal(response.status, 202)
    assert.equal(response.headers.get('x-own'), 'kept')
    assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'no-cache, no-transform')
    assert.equal(response.headers.get('x-accel-buffering'), 'no')
    const { events, ids } = await readEvents(response)
    assert.deepEqual(
      ids,
      events.map((_, at) => String(at + 1)),
    )
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, at) => at + 1),
    )
    assert.equal(events.at(-1).type, LAST[name])
    assert.deepEqual(events, JSON.parse(JSON.stringify(await listed(run))))
    assert.deepEqual(events, JSON.parse(JSON.stringify(await listed(run.toReadableStream()))))
  })

  test(`a ${name} that tells nothing for long sends comments, and still notices who leaves`, async () => {
    const run = held[name]()
    const reader = run.toResponse({ keepAliveMs: 1 }).body.getReader()
    const decoder = new TextDecoder()
    let comments = 0
    while (comments < 3) {
      const { value } = await reader.read()
      if (decoder.decode(value) === ': keep-alive\n\n') comments++
    }
    await reader.cancel()
    assert.ok((await listed(run)).length > 0)
  })

  test(`a client that leaves a ${name} cancels it`, async () => {
    for (const reader of [
      (run) => run.toResponse().body.getReader(),
      (run) => run.toReadableStream().getReader(),
    ]) {
      const run = held[name]()
      const own = reader(run)
      await own.read()
      await own.cancel()
      const last = (await listed(run)).at(-1)
      if (name === 'bundle') assert.equal(last.bundle.meta.stopped, 'cancelled')
      else if (name === 'chain') assert.equal(last.status, 'cancelled')
      else assert.equal(last.code, 'request.cancelled')
    }
  })
}

test('a UI message stream has the headers of an event stream, and comments', async () => {
  const stalled = customModel(async function* () {
    yield { type: 'text', text: 'a' }
    await never()
  })
  const turn = runTurn({ model: stalled, messages: [{ role: 'user', content: 'go' }] })
  const headers = { 'cache-control': 'no-store, no-transform', 'content-type': 'text/plain' }
  const response = toUIMessageResponse(turn, { keepAliveMs: 1, headers })
  assert.deepEqual(
    ['content-type', 'cache-control', 'x-accel-buffering', 'x-vercel-ai-ui-message-stream'].map(
      (name) => response.headers.get(name),
    ),
    ['text/event-stream; charset=utf-8', 'no-store, no-transform', 'no', 'v1'],
  )
  const reader = response.body.getReader()
  let read = ''
  while (!/"delta":"a"[^]*: keep-alive/.test(read)) {
    read += new TextDecoder().decode((await reader.read()).value)
  }
  await reader.cancel()
  assert.equal((await turn.result).status, 'cancelled')
})

test('a bundle that rejects ends its response with the error', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string', 'x-weight': 0 } } }
  const { events, ids } = await readEvents(startBundle({ schema }).toResponse())
  assert.deepEqual(ids, ['1'])
  const [{ message, ...event }] = events
  assert.deepEqual(event, { type: 'error', seq: 1, code: 'options.invalid' })
  assert.match(message, /schema/)
})

test('a pass is a promise of its plan, and tells its events beside it', async () => {
  const traced = []
  const pass = startPass({ onTrace: (event) => traced.push(event) })
  assert.ok(pass instanceof Promise)
  assert.equal(Object.prototype.toString.call(pass), '[object Promise]')
  const events = await listed(pass)
  const { input, ...result } = await pass
  assert.deepEqual(result.plan, { size: 1 })
  assert.ok(input)
  const last = events.pop()
  // The input is the host's, and is not told.
  assert.deepEqual(last, { type: 'complete', seq: events.length + 1, ...result })
  assert.deepEqual(
    events.map(({ type }) => type),
    ['llm_call', 'strategist_tool_request', 'strategist_tool_result', 'llm_call'],
  )
  assert.deepEqual(
    events,
    traced.map((event, at) => ({ ...event, seq: at + 1 })),
  )
  assert.ok(events.every(({ plan_id, at }) => plan_id === result.planId && at > 0))
  assert.equal(await pass.then(({ plan }) => plan.size), 1)
  let over = false
  await pass.catch(() => assert.fail()).finally(() => (over = true))
  assert.ok(over)
  const [both] = await Promise.all([pass])
  assert.equal(both.plan.size, 1)
})

test('a pass that fails tells so last, and rejects for whom it concerns', async () => {
  const refuses = customModel(async function* () {
    yield { type: 'error', class: 'auth', retryable: false, message: 'secret key', raw: null }
  })
  for (const [options, code] of [
    [{ model: refuses }, 'model.stream'],
    [{ input: 'text' }, 'options.invalid'],
    [{ parsePlan: () => JSON.parse('{') }, 'plan.invalid'],
  ]) {
    // Nobody awaits this one, and it is nobody's unhandled rejection: the events have the error.
    const [last] = (await listed(startPass(options))).slice(-1)
    assert.deepEqual([last.type, last.code], ['error', code], last.message)
    const pass = startPass(options)
    await assert.rejects(pass, { name: 'TurnlockError', code })
    assert.equal((await listed(pass)).at(-1).code, code)
  }
  assert.deepEqual(
    (await listed(runPlanning())).map(({ code }) => code),
    ['options.invalid'],
  )
})

test('a pass is cancelled by its owner and by a reader that leaves', async () => {
  const pass = held.pass()
  for await (const event of pass) if (event.type === 'strategist_tool_request') break
  await assert.rejects(pass, { code: 'request.cancelled', message: /the reader left/ })
  const other = held.pass()
  other.cancel('enough')
  await assert.rejects(other, { code: 'request.cancelled', message: /enough/ })
  // After the end, nothing is left to cancel.
  const over = startPass()
  await over
  over.cancel()
  assert.equal((await listed(over)).at(-1).type, 'complete')
})

test('redaction covers every event of a pass, and not its plan', async () => {
  const tools = { quote: quote(() => ({ secret: 'secret price', list: ['secret'] })) }
  const model = () =>
    scriptedModel([asks('quote', { secret: 'secret' }), '{"secret":"the secret plan"}'])
  const redact = (text) => text.replaceAll('secret', '***')
  const pass = startPass({ model: model(), tools, redact })
  const events = await listed(pass)
  assert.doesNotMatch(JSON.stringify(events), /secret/)
  const last = events.at(-1)
  assert.deepEqual(last.plan, { '***': 'the *** plan' })
  assert.equal(last.toolResults[0].tool_name, 'quote')
  assert.equal(last.calls[0].signature, (await pass).calls[0].signature)
  assert.deepEqual((await pass).plan, { secret: 'the secret plan' })
  const parsePlan = () => {
    throw new Error('a secret reason')
  }
  const failing = startPass({ model: model(), tools, redact, parsePlan })
  const [{ message }] = (await listed(failing)).slice(-1)
  assert.match(message, /a \*\*\* reason/)
  const broken = startPass({ model: model(), tools, redact: () => never.missing() })
  assert.equal((await listed(broken)).at(-1).text, '[redaction failed]')
})

test('a plan without JSON is a plan, and an error where events are told', async () => {
  const cycle = {}
  cycle.self = cycle
  for (const made of [1n, cycle]) {
    const pass = startPass({ parsePlan: () => made, redact: (text) => text })
    assert.equal((await listed(pass)).at(-1).code, 'json.not_serializable')
    assert.equal((await pass).plan, made)
  }
})
