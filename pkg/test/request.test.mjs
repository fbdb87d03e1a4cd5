// The tool-request pass as a host meets it: what the tables cannot say.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import {
  auditToolUse,
  inventoryTools,
  lintPrompt,
  parseToolRequest,
  runPlanning,
  planningPrompts,
} from 'turnlock/planning'
import { customModel, defineTool, signature } from 'turnlock'
import { scriptedModel } from 'turnlock/testing'
import { partsOf } from './parts.mjs'

const { live } = await partsOf('../dist')
const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))
after(() => {
  assert.deepEqual(unhandled, [])
  assert.equal(live(), 0, 'every pass is forgotten')
})

const input = { symbol: 'BTC', global_context: { regime: 'calm' } }
const asks = (...calls) =>
  JSON.stringify({
    tool_calls: calls.map(([tool_name, params = {}]) => ({ tool_name, params, reason: 'why' })),
  })
const reads = (execute, own = {}) =>
  defineTool({
    description: 'reads',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute,
    ...own,
  })
const failing = async (promise, code) => {
  const error = await promise.then(
    () => assert.fail('it did not fail'),
    (error) => error,
  )
  assert.deepEqual([error.name, error.code], ['TurnlockError', code], error.message)
  return error
}

test('misuse rejects, and nothing is asked', async () => {
  const model = scriptedModel([])
  const run = (own) => runPlanning({ model, input, ...own })
  await failing(run({ model: {} }), 'options.invalid')
  await failing(run({ input: 'text' }), 'options.invalid')
  await failing(run({ input: [] }), 'options.invalid')
  await failing(run({ input: { global_context: [] } }), 'options.invalid')
  await failing(run({ input: { big: 1n } }), 'json.not_serializable')
  await failing(run({ policy: { maxToolCalls: -1 } }), 'options.invalid')
  await failing(run({ policy: { maxIterations: 5 } }), 'options.invalid')
  await failing(run({ policy: { allow: 'search' } }), 'options.invalid')
  await failing(run({ policy: { typo: 1 } }), 'options.invalid')
  await failing(run({ tools: { search: {} } }), 'options.invalid')
  await failing(run({ tools: { request_tools: reads(() => 1) } }), 'tool.invalid_name')
  await failing(run({ prompts: { plan: { id: 'x' } } }), 'options.invalid')
  await failing(run({ record: 1 }), 'options.invalid')
  await failing(run({ record: [], replay: [] }), 'options.invalid')
  await failing(run({ replay: {} }), 'options.invalid')
  for (const own of [
    { parsePlan: 'JSON' },
    { onTrace: [] },
    { redact: /sk-/ },
    { prompts: 'Plan.' },
    { signal: new AbortController() },
  ]) {
    const [name] = Object.keys(own)
    const { message } = await failing(run(own), 'options.invalid')
    assert.ok(message.startsWith(`\`${name}\``), message)
  }
  for (const broken of [null, {}, { signature: 'x', status: 'ok', duration_ms: 1 }]) {
    const error = await failing(run({ replay: [broken] }), 'options.invalid')
    assert.match(error.message, /replay\[0\]/)
  }
  assert.equal(model.requests.length, 0)
})

test('the input is not changed, and the result says what the plan pass had', async () => {
  const given = { ...input, global_context: { regime: 'calm', tool_results: ['stale'] } }
  const before = structuredClone(given)
  const tools = { quote: reads(() => 42) }
  const run = (first) => runPlanning({ model: scriptedModel([first, '{}']), input: given, tools })
  const found = await run(asks(['quote']))
  assert.deepEqual(found.input.global_context.tool_results, found.toolResults)
  assert.equal(found.input.global_context.regime, 'calm')
  const none = await run(asks())
  assert.deepEqual(none.input, input)
  assert.deepEqual(given, before)
})

test('prompts of the host, by text or by name, are used and traced', async () => {
  const model = scriptedModel([asks(), 'plan'])
  const events = []
  await runPlanning({
    model,
    input,
    onTrace: (event) => events.push(event),
    prompts: { request: 'Ask.', plan: { id: 'mine.v2', text: 'Plan.' } },
  })
  const [asked, planned] = model.requests.map(({ messages }) => messages[0].content)
  assert.match(asked, /^Ask\.\n\nLimit: 2 calls\. Tools:\n\[\]\n\n.*\n\nPlan\.\n\n/)
  assert.equal(planned, 'Plan.')
  const ids = events.map((event) => event.prompt_template_id)
  assert.deepEqual(ids, ['custom', 'custom', 'mine.v2'])
  const { createHash } = await import('node:crypto')
  const hash = createHash('sha256').update('Plan.').digest('hex')
  assert.equal(events.at(-1).prompt_template_hash, hash)
  const { plan } = planningPrompts()
  assert.equal(plan.hash, createHash('sha256').update(plan.text).digest('hex'))
})

test('structured output is asked for in the request pass only', async () => {
  const model = scriptedModel([asks(), '{}'])
  await runPlanning({ model, input, policy: { channel: 'structured' } })
  const [first, second] = model.requests
  assert.equal(first.response_format.json_schema.schema.additionalProperties, false)
  assert.equal(second.response_format, undefined)
})

test('parsePlan gets the text out of its fence; what it throws is typed', async () => {
  const model = () => scriptedModel([asks(['quote']), 'Here:\n```json\n{"size": 1}\n```'])
  const tools = { quote: reads(() => 42) }
  const seen = []
  const parsePlan = async (text) => (seen.push(text), JSON.parse(text).size)
  const { plan, text } = await runPlanning({ model: model(), input, tools, parsePlan })
  assert.deepEqual([plan, text, seen], [1, '{"size": 1}', ['{"size": 1}']])
  const refuse = () => {
    throw new Error('size is too small')
  }
  const pass = runPlanning({ model: model(), input, tools, parsePlan: refuse })
  const { details, message } = await failing(pass, 'plan.invalid')
  assert.match(message, /size is too small/)
  assert.equal(details.text, '{"size": 1}')
  assert.equal(details.toolResults[0].result, 42)
})

test('planSchema: prose is no plan, nor is JSON that does not match', async () => {
  const run = (answer, own) =>
    runPlanning({
      model: scriptedModel([asks(['quote']), answer]),
      input,
      tools: { quote: reads(() => 42) },
      ...own,
    })
  const json = {
    type: 'object',
    properties: { size: { type: 'integer' } },
    required: ['size'],
  }
  const standard = {
    '~standard': {
      version: 1,
      vendor: 'test',
      async validate(value) {
        if (value.size > 9) return { issues: [{ message: 'too big', path: ['size'] }] }
        return { value: { size: value.size * 2 } }
      },
    },
  }
  const fenced = 'Here:\n```json\n{"size": 1}\n```'
  assert.deepEqual((await run(fenced, { planSchema: json })).plan, { size: 1 })
  assert.deepEqual((await run(fenced, { planSchema: standard })).plan, { size: 2 })
  for (const answer of ['Hold {now}: {"size":1}.', '{"size":1} is my plan.']) {
    assert.deepEqual((await run(answer, { planSchema: json })).plan, { size: 1 })
    assert.equal((await run(answer, {})).plan, answer, 'without a schema, prose is a plan')
  }
  const parsePlan = (text) => JSON.parse(text).size
  assert.equal((await run(fenced, { planSchema: standard, parsePlan })).plan, 1)
  for (const answer of ['"hold"', '```json\n"hold"\n```']) {
    assert.equal((await run(answer, { planSchema: { enum: ['buy', 'hold'] } })).plan, 'hold')
  }
  assert.equal((await run('7', { planSchema: { type: 'integer' } })).plan, 7)
  for (const [planSchema, answer, errors] of [
    [json, 'Hold, and wait.', ['#: expected JSON: no JSON that fits was found']],
    [{}, 'Hold, and wait.', ['#: expected JSON: no JSON that fits was found']],
    [{ type: 'string' }, 'Hold, and wait.', ['#: expected JSON: no JSON that fits was found']],
    [standard, 'Hold, and wait.', ['#: expected JSON: no JSON that fits was found']],
    [json, 'Either {"size":1} or {"size":2}.', ['#: several different JSON values fit']],
    [json, '{"size":1,}', ['#: expected JSON: not JSON at byte 10: a trailing comma']],
    [standard, '{"size":10}', ['/size: too big']],
  ]) {
    const error = await failing(run(answer, { planSchema }), 'plan.invalid')
    assert.deepEqual([error.details.errors, error.details.text], [errors, answer])
    assert.equal(error.details.toolResults[0].result, 42)
    assert.ok(error.message.includes(errors[0]), error.message)
  }
  const { details } = await failing(run('{"size":"one"}', { planSchema: json }), 'plan.invalid')
  assert.match(details.errors.join(), /size/)
  const throws = { '~standard': { validate: () => { throw new Error('on purpose') } } } // prettier-ignore
  await failing(run('{}', { planSchema: throws }), 'plan.invalid')
  const misuse = await failing(run('{}', { planSchema: { type: 'objekt' } }), 'options.invalid')
  assert.match(misuse.message, /`planSchema`/)
})

test('hostile tools cost a result, never the plan', async () => {
  const getter = {
    get price() {
      throw new Error('no')
    },
  }
  const never = new Promise(() => {})
  const hostile = {
    throws: () => {
      throw Object.create(null)
    },
    rejects: () => Promise.reject(new Error('later')),
    getter: () => getter,
    bomb: () => ({ toJSON: () => ({ toJSON: 1n }) }),
    big: () => 1n,
    func: () => () => 1,
    hangs: () => never,
    thenable: () => ({ then: (done) => done({ then: null }) }),
    proxy: () => new Proxy({}, { ownKeys: () => { throw new Error('trap') } }), // prettier-ignore
    pollutes: () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}'),
    undefined: () => undefined,
    long: () => 'x'.repeat(5_000_000),
  }
  for (const [name, execute] of Object.entries(hostile)) {
    const model = scriptedModel([asks([name]), '{"plan":1}'])
    const { plan, calls } = await runPlanning({
      model,
      input,
      tools: { [name]: reads(execute) },
      // The others have whatever time they need.
      policy: { toolTimeoutMs: name === 'hangs' ? 50 : 600_000, totalToolMs: 600_000 },
    })
    assert.deepEqual(plan, { plan: 1 }, name)
    const fine = ['thenable', 'pollutes', 'undefined', 'long'].includes(name)
    assert.equal(calls[0].status, fine ? 'ok' : name === 'hangs' ? 'timeout' : 'error', name)
    assert.ok(JSON.stringify(model.requests).length < 100_000, name)
  }
  assert.equal({}.polluted, undefined)
})

test('params are what the model wrote, whatever their names are', async () => {
  const model = scriptedModel([
    '{"tool_calls":[{"tool_name":"echo","params":{"__proto__":{"admin":true},"n":1.0},"reason":"r"}]}',
    '{}',
  ])
  let got
  const tools = { echo: reads((args) => ((got = args), Object.keys(args))) }
  const { toolResults } = await runPlanning({ model, input, tools })
  assert.equal(got.admin, undefined)
  assert.deepEqual(toolResults[0].result, ['__proto__', 'n'])
})

test('a signal ends the pass, and tells its tools', async () => {
  const stop = new AbortController()
  let told
  const tools = {
    slow: reads((_, { signal }) => {
      signal.addEventListener('abort', () => (told = true))
      stop.abort(new Error('enough'))
      return new Promise(() => {})
    }),
  }
  const model = scriptedModel([asks(['slow']), '{}'])
  const pass = runPlanning({ model, input, tools, signal: stop.signal })
  const { details, message } = await failing(pass, 'request.cancelled')
  assert.deepEqual([message, told, details.calls[0].status], ['enough', true, 'cancelled'])
  const none = scriptedModel([])
  await failing(
    runPlanning({ model: none, input, signal: AbortSignal.abort() }),
    'request.cancelled',
  )
  assert.equal(none.requests.length, 0)
})

test('calls run side by side', async () => {
  // Each waits for the other one's start: one behind the other they would never end.
  let open = 0
  let meet
  const met = new Promise((resolve) => (meet = resolve))
  const both = () => {
    if (++open === 2) meet('met')
    return met
  }
  const model = scriptedModel([asks(['a'], ['b']), '{}'])
  const { toolResults } = await runPlanning({
    model,
    input,
    tools: { a: reads(both), b: reads(both) },
    policy: { toolTimeoutMs: 60_000, totalToolMs: 60_000 },
  })
  assert.deepEqual(
    toolResults.map(({ result }) => result),
    ['met', 'met'],
  )
})

test('recording: every result, by list or by function; a recorder that throws costs nothing', async () => {
  const tools = {
    quote: reads(() => ({ price: 42 })),
    boom: reads(() => {
      throw new Error('no')
    }),
  }
  const model = () => scriptedModel([asks(['quote', { s: 1 }], ['boom']), '{"plan":1}'])
  const list = []
  const trace = []
  await runPlanning({
    model: model(),
    input,
    tools,
    record: list,
    planId: 'p',
    onTrace: (event) => trace.push(event),
  })
  assert.deepEqual([trace[0].source, auditToolUse(trace, 'p').source], [null, null])
  assert.deepEqual(
    list.map(({ signature: _, duration_ms, ...rest }) => [Number.isInteger(duration_ms), rest]),
    [
      [
        true,
        {
          plan_id: 'p',
          tool_name: 'quote',
          params: { s: 1 },
          status: 'ok',
          result: { price: 42 },
          truncated: false,
        },
      ],
      [
        true,
        {
          plan_id: 'p',
          tool_name: 'boom',
          params: {},
          status: 'error',
          error: { code: 'tool.threw', message: 'no' },
          truncated: false,
        },
      ],
    ],
  )
  assert.equal(list[0].signature, signature({ tool: 'quote', args: { s: 1.0 } }))
  const calls = []
  const record = (call) => {
    calls.push(call.tool_name)
    throw new Error('disk full')
  }
  const { plan } = await runPlanning({ model: model(), input, tools, record })
  assert.deepEqual([plan, calls], [{ plan: 1 }, ['quote', 'boom']])
})

test('replaying: the same bytes each time, and never a live call', async () => {
  const tools = { quote: reads(() => assert.fail('a live call')), miss: reads(() => assert.fail()) }
  const replay = [
    { signature: signature({ tool: 'quote', args: {} }), status: 'ok', result: 7, duration_ms: 9, truncated: false }, // prettier-ignore
  ]
  const run = async () => {
    const model = scriptedModel([asks(['quote'], ['miss']), '{"plan":1}'])
    const trace = []
    const result = await runPlanning({
      model,
      input,
      tools,
      replay,
      startedAt: 1000,
      onTrace: (event) => trace.push(event),
    })
    return { result, trace, requests: model.requests }
  }
  const first = await run()
  await new Promise((resolve) => setTimeout(resolve, 15))
  assert.equal(JSON.stringify(await run()), JSON.stringify(first))
  const { result, trace } = first
  assert.deepEqual(
    result.calls.map(({ status, replayed }) => [status, replayed]),
    [
      ['ok', true],
      ['error', false],
    ],
  )
  assert.equal(result.toolResults[1].error.code, 'replay.miss')
  assert.equal(trace.at(-1).at, 1009)
  assert.equal(trace[0].source, null, 'no source is guessed')
})

test('records of one signature: that of the plan counts, and no other', async () => {
  const entry = (plan_id, result) => ({
    signature: signature({ tool: 'quote', args: {} }),
    plan_id,
    result,
    status: 'ok',
    duration_ms: 1,
    truncated: false,
  })
  const replay = [entry('a', 1), entry('b', 2), entry('c', 3)]
  for (const [planId, wanted, code] of [
    ['a', 1],
    ['b', 2],
    ['z', undefined, 'replay.miss'],
  ]) {
    const model = scriptedModel([asks(['quote']), '{}'])
    const tools = { quote: reads(() => 0) }
    const { toolResults } = await runPlanning({ model, input, tools, replay, planId })
    assert.deepEqual([toolResults[0].result, toolResults[0].error?.code], [wanted, code])
  }
})

test('redaction: no canary reaches the trace; where it fails, nothing does', async () => {
  const canary = 'sk-live-4f9a'
  const request = JSON.stringify({
    tool_calls: [
      { tool_name: 'quote', params: { key: canary, [canary]: [canary] }, reason: `use ${canary}` },
    ],
  })
  const tools = { quote: reads(() => ({ [canary]: canary, body: canary })) }
  const run = async (redact) => {
    const trace = []
    const onTrace = (event) => trace.push(event)
    const model = scriptedModel([request, '{}'])
    const { toolResults } = await runPlanning({ model, input, tools, onTrace, redact })
    assert.equal(toolResults[0].result.body, canary, 'the plan has the result as it is')
    return JSON.stringify(trace)
  }
  const plain = await run()
  assert.ok(!plain.includes(`"body":"${canary}"`), 'no value of a result is in a trace')
  assert.ok(plain.includes(canary))
  assert.ok(!(await run((text) => text.replaceAll(canary, '[key]'))).includes(canary))
  const dropped = await run(() => {
    throw new Error('no')
  })
  assert.ok(!dropped.includes(canary) && dropped.includes('[redaction failed]'))
})

test('a trace sink that throws costs nothing', async () => {
  const model = scriptedModel([asks(), '{"plan":1}'])
  const onTrace = () => {
    throw new Error('sink')
  }
  assert.deepEqual((await runPlanning({ model, input, onTrace })).plan, { plan: 1 })
})

test('the audit: which tool, when, why and with what, plan by plan', async () => {
  const kept = [{ type: 'llm_call', requestId: 'a turn' }]
  const tools = { quote: reads(() => ({ price: 42 })), order: { ...reads(() => 1), readOnly: false } } // prettier-ignore
  for (const planId of ['p1', 'p2']) {
    const first = planId === 'p1' ? asks(['quote', { s: 'BTC' }], ['order'], ['quote', { s: 'BTC' }]) : 'no' // prettier-ignore
    const model = scriptedModel([first, '{}'])
    await runPlanning({
      model,
      input,
      tools,
      planId,
      runId: 'r',
      source: 'nightly',
      startedAt: 5000,
      onTrace: (event) => kept.push(event),
    })
  }
  const { runId, source, calls, rejected, inferences } = auditToolUse(kept, 'p1')
  assert.deepEqual([runId, source, rejected], ['r', 'nightly', []])
  const [used, blocked, again] = calls
  assert.deepEqual([used.tool_name, used.params, used.reason], ['quote', { s: 'BTC' }, 'why'])
  assert.equal(used.status, 'ok')
  assert.equal(used.result_summary, 'object of 1 member (price), 12 bytes')
  assert.ok(used.requestedAt >= 5000 && used.settledAt >= used.requestedAt)
  assert.deepEqual([blocked.status, blocked.refusal], ['blocked', 'not_read_only'])
  assert.deepEqual([again.status, again.duration_ms], ['skipped', null])
  assert.deepEqual(
    inferences.map((one) => one.pass),
    ['request_pass', 'plan_pass'],
  )
  const second = auditToolUse(kept, 'p2')
  assert.deepEqual([second.calls, second.rejected[0].reason], [[], 'no_json'])
  assert.deepEqual(auditToolUse(kept, 'p3').calls, [])
})

test('the audit keeps two runs of one plan apart', async () => {
  const kept = []
  for (const [runId, price] of [
    ['r1', 1],
    ['r2', 'twenty'],
  ]) {
    await runPlanning({
      model: scriptedModel([asks(['quote']), '{}']),
      input,
      planId: 'p',
      runId,
      tools: { quote: reads(() => price) },
      source: runId,
      onTrace: (event) => kept.push(event),
    })
  }
  const summaries = (audit) => audit.calls.map((call) => call.result_summary)
  const [one, two] = ['number, 1 byte', 'text of 6 characters, 8 bytes']
  const both = auditToolUse(kept, 'p')
  assert.deepEqual(summaries(both), [one, two])
  assert.deepEqual([both.runId, both.source, both.inferences.length], [null, null, 4])
  assert.deepEqual(
    both.runs.map((run) => [run.runId, run.source, ...summaries(run)]),
    [
      ['r1', 'r1', one],
      ['r2', 'r2', two],
    ],
  )
  const second = auditToolUse(kept, 'p', 'r2')
  assert.deepEqual([second.runId, second.source, summaries(second)], ['r2', 'r2', [two]])
  // Events of runs at the same time stand in each other's way no more than those of runs in turn.
  const zipped = [0, 1, 2, 3].flatMap((at) => [kept[at], kept[at + 4]])
  assert.deepEqual(auditToolUse(zipped, 'p'), both)
})

test('parseToolRequest', () => {
  const policy = { allow: ['search'] }
  const text = asks(['search', { q: 1 }], ['order'])
  const { toolCalls, rejected, valid } = parseToolRequest(text, policy)
  assert.ok(valid)
  const expected = signature({ tool: 'search', args: { q: 1 } })
  assert.deepEqual(toolCalls, [
    { tool_name: 'search', params: { q: 1 }, reason: 'why', signature: expected },
  ])
  assert.deepEqual(rejected, [
    { index: 1, tool_name: 'order', reason: 'not_allowed', detail: null },
  ])
  const odd = parseToolRequest('{"tool_calls":[{"tool_name":"search","params":{}}]}', policy)
  assert.deepEqual([odd.valid, odd.toolCalls.length, odd.rejected], [true, 1, []])
  assert.deepEqual(odd.notes, [
    { index: 0, tool_name: 'search', reason: 'missing_field', detail: 'reason' },
  ])
  // Half of a surrogate pair could be any other half once it is replaced.
  const lone = parseToolRequest(text.replace('"why"', '"\ud800"'), policy)
  assert.deepEqual([lone.valid, lone.rejected[0].detail], [false, 'json.lone_surrogate'])
  assert.equal(parseToolRequest('', policy).valid, true)
  assert.throws(() => parseToolRequest(text, {}), { code: 'options.invalid' })
  assert.throws(() => parseToolRequest(1, policy), { code: 'options.invalid' })
})

test('lintPrompt and inventoryTools', () => {
  const { request, plan } = planningPrompts()
  assert.deepEqual([lintPrompt(request), lintPrompt(plan.text)], [[], []])
  const lints = lintPrompt('Read prompts/plan.txt.\n# DRAFT')
  assert.deepEqual(
    lints.map(({ code, line }) => [code, line]),
    [
      ['prompt.tool_results_missing', 1],
      ['prompt.file_path', 1],
      ['prompt.draft', 2],
    ],
  )
  assert.throws(() => lintPrompt(undefined), { code: 'options.invalid' })
  const strategy = (telemetry) => `Use \`global_context.tool_results\` if present.\n\n${telemetry}`
  const [lint, ...more] = lintPrompt(strategy('Set the stops by `market_structure`.'))
  assert.deepEqual(more, [])
  assert.deepEqual(
    [lint.code, lint.line, lint.found],
    ['prompt.telemetry_not_optional', 3, 'market_structure'],
  )
  assert.match(lint.message, /only if it is present/)
  assert.deepEqual(lintPrompt(strategy('If market_structure is present, set the stops by it.')), [])
  const mcp = [
    { name: 'get_ticks', inputSchema: {}, annotations: { readOnlyHint: true } },
    { name: 'place_order', annotations: { destructiveHint: true } },
  ]
  assert.deepEqual(inventoryTools(mcp), {
    tools: [
      { name: 'get_ticks', access: 'read_only', reason: 'annotated_read_only' },
      { name: 'place_order', access: 'state_changing', reason: 'annotated_state_changing' },
    ],
    allow: ['get_ticks'],
  })
  assert.deepEqual(inventoryTools({ quote: reads(() => 1) }).allow, ['quote'])
  assert.throws(() => inventoryTools('quote'), { code: 'options.invalid' })
})

test('a model that throws in the request pass costs only the request', async () => {
  let asked = 0
  const model = customModel(async function* () {
    if (asked++ === 0) throw new Error('offline')
    yield { type: 'text', text: '{"plan":1}' }
  })
  const { plan, fellBack } = await runPlanning({ model, input })
  assert.deepEqual([plan, fellBack], [{ plan: 1 }, 'model_failed'])
})

test('a pass whose plan is checked by the host can be cancelled', async () => {
  const hang = { '~standard': { version: 1, vendor: 'x', validate: () => new Promise(() => {}) } }
  const stop = new AbortController()
  for (const [own, end] of [
    [{ planSchema: hang }, (pass) => pass.cancel('enough')],
    [{ parsePlan: () => new Promise(() => {}) }, (pass) => pass.cancel('enough')],
    [{ planSchema: hang, signal: stop.signal }, () => stop.abort()],
  ]) {
    const model = scriptedModel([asks(), '{"size":1}'])
    let planned
    const done = new Promise((resolve) => (planned = resolve))
    let calls = 0
    const onTrace = ({ type }) => type === 'llm_call' && ++calls === 2 && planned()
    const pass = runPlanning({ model, input, onTrace, ...own })
    await done
    // The core is through, and the host's function runs.
    await new Promise((resolve) => setTimeout(resolve, 20))
    end(pass)
    await failing(pass, 'request.cancelled')
  }
})

test('a validator that gives neither a value nor issues accepts no plan', async () => {
  for (const given of [5, undefined, null, {}, 'yes']) {
    const planSchema = { '~standard': { version: 1, vendor: 'own', validate: () => given } }
    const model = scriptedModel([asks(['quote']), '{"size":1}'])
    const tools = { quote: reads(() => 42) }
    const pass = runPlanning({ model, input, tools, planSchema })
    const failed = await pass.catch((error) => error)
    assert.equal(failed.code, 'plan.invalid')
    assert.match(failed.message, /gave neither `value` nor `issues`/)
  }
})
