// Spans and metrics, through the SDK of OpenTelemetry with its exporters in memory.
import assert from 'node:assert/strict'
import test, { after, before, beforeEach } from 'node:test'
import * as api from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { customModel, defineTool, memoryStore, openaiChat, resumeTurn, runTurn } from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { openTelemetry } from 'turnlock/otel'
import { createRedactor } from 'turnlock/redact'
import { createHandler } from 'turnlock/server'
import { until } from '../patience.mjs'
import { createProvider } from '../provider/server.mjs'
import { scenarioLogs } from './logs.mjs'

const exporter = new InMemorySpanExporter()
const open = new Set()
const watching = {
  onStart: (span) => open.add(span),
  onEnd: (span) => open.delete(span),
  forceFlush: async () => {},
  shutdown: async () => {},
}
const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({
  exporter: metrics,
  exportIntervalMillis: 3_600_000,
})
let provider
before(async () => {
  const spanProcessors = [new SimpleSpanProcessor(exporter), watching]
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }))
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  provider = await createProvider()
})
beforeEach(() => {
  exporter.reset()
  open.clear()
})
after(async () => {
  await provider?.close()
  await reader.shutdown()
})

const messages = [{ role: 'user', content: 'a secret question' }]
const scripted = (behaviour) =>
  openaiChat({
    model: 'scripted',
    apiKey: 'key',
    maxRetries: 0,
    baseURL: `${provider.url}/s/${crypto.randomUUID()}/${behaviour}/v1`,
  })
const tool = (more) =>
  defineTool({
    description: 'd',
    inputSchema: { type: 'object' },
    readOnly: true,
    ...more,
    execute: more?.execute ?? (() => ['a secret.txt']),
  })
const own = { api, provider: 'openai', model: 'gpt', agent: 'files' }

/** The spans as a tree of names, children in the order in which they began. */
function tree() {
  const spans = exporter.getFinishedSpans()
  const isIn = new Set(spans.map((span) => span.spanContext().spanId))
  const parentOf = (span) => span.parentSpanContext?.spanId
  const time = ([seconds, nanos]) => seconds * 1e9 + nanos
  const below = (id) =>
    spans
      .filter((span) => (id === undefined ? !isIn.has(parentOf(span)) : parentOf(span) === id))
      .sort((a, b) => time(a.startTime) - time(b.startTime))
      .map((span) => {
        const children = below(span.spanContext().spanId)
        return children.length ? [span.name, ...children] : span.name
      })
  return below(undefined)
}
const spanOf = (name) => exporter.getFinishedSpans().find((span) => span.name === name)
const all = () =>
  JSON.stringify(exporter.getFinishedSpans().map(({ attributes, events }) => [attributes, events]))

test('a turn, its phases, inferences and tools are one trace, without content', async () => {
  const telemetry = openTelemetry(own)
  const options = { model: scripted('one-call'), messages, tools: { list_files: tool() } }
  const turn = telemetry.turn((onTrace) =>
    runTurn({ ...options, onTrace, conversationId: 'chat-1' }),
  )
  const { status } = await turn.result
  await until(() => open.size === 0)
  assert.equal(status, 'complete')
  assert.deepEqual(tree(), [
    [
      'invoke_agent files',
      ['phase tool_phase', 'chat gpt', 'execute_tool list_files'],
      ['phase action_phase', 'chat gpt'],
    ],
  ])
  const whole = spanOf('invoke_agent files')
  assert.deepEqual(whole.attributes, {
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt',
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'files',
    'gen_ai.conversation.id': 'chat-1',
    'turnlock.request_id': turn.requestId,
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 10,
    'turnlock.status': 'complete',
  })
  assert.notEqual(whole.spanContext().traceId, turn.requestId.replaceAll('-', ''))
  assert.equal(whole.parentSpanContext, undefined)
  const chat = spanOf('chat gpt')
  assert.equal(chat.kind, api.SpanKind.CLIENT)
  assert.deepEqual(chat.attributes['gen_ai.response.finish_reasons'], ['tool_calls'])
  const ran = spanOf('execute_tool list_files').attributes
  assert.deepEqual(
    [ran['gen_ai.tool.name'], ran['gen_ai.tool.call.id'], ran['turnlock.tool.status']],
    ['list_files', 'call_list_files', 'ok'],
  )
  assert.doesNotMatch(all(), /secret/)
  await reader.forceFlush()
  const [{ scopeMetrics }] = metrics.getMetrics().slice(-1)
  const told = scopeMetrics[0].metrics.map(({ descriptor, dataPoints }) => [
    descriptor.name,
    dataPoints.reduce((sum, { value }) => sum + (value.count ?? value), 0),
  ])
  assert.deepEqual(Object.fromEntries(told), {
    'gen_ai.client.inference.duration': 2,
    'gen_ai.client.inference.usage.input_tokens': 20,
    'gen_ai.client.inference.usage.output_tokens': 10,
    'gen_ai.invoke_agent.duration': 1,
    'gen_ai.execute_tool.duration': 1,
    'gen_ai.invoke_agent.inference_calls': 1,
    'gen_ai.invoke_agent.tool_calls': 1,
  })
})

test('content is in the spans of tools where the host says so', async () => {
  const telemetry = openTelemetry({ ...own, content: true })
  const options = { model: scripted('one-call'), messages, tools: { list_files: tool() } }
  await telemetry.turn((onTrace) => runTurn({ ...options, onTrace })).result
  await until(() => open.size === 0)
  const { attributes } = spanOf('execute_tool list_files')
  assert.equal(attributes['gen_ai.tool.call.arguments'], '{"path":".","recursive":true}')
  assert.equal(attributes['gen_ai.tool.call.result'], '["a secret.txt"]')
})

test('a resume has the request id of its turn; what did not run is an event', async () => {
  const store = memoryStore()
  const common = {
    model: scripted('one-call'),
    tools: { list_files: tool({ needsApproval: true }) },
    store,
  }
  const first = openTelemetry(own).turn((onTrace) => runTurn({ ...common, messages, onTrace }))
  let approvals
  for await (const event of first) approvals = event.approvals ?? approvals
  const { requestId } = first
  const decided = approvals.map(({ signature }) => ({ signature, approved: false }))
  const resumed = openTelemetry(own).turn((onTrace) =>
    resumeTurn({ ...common, requestId, approvals: decided, onTrace }),
  )
  assert.equal((await resumed.result).status, 'complete')
  await until(() => open.size === 0)
  const spans = exporter.getFinishedSpans()
  const legs = spans.filter(({ name }) => name === 'invoke_agent files')
  assert.deepEqual(
    legs.map(({ attributes }) => attributes['turnlock.request_id']),
    [requestId, requestId],
  )
  assert.equal(new Set(spans.map((span) => span.spanContext().traceId)).size, 2)
  assert.deepEqual(
    legs.map(({ attributes }) => attributes['turnlock.status']),
    ['paused', 'complete'],
  )
  const events = spans.flatMap((span) => span.events)
  assert.deepEqual(
    events.map(({ name, attributes }) => [name, attributes.reason]),
    [['turnlock.tool_refused', 'not_approved']],
  )
})

test('a handler tells all of its turns', async () => {
  const { onTrace, onEvent } = openTelemetry(own)
  const handler = createHandler({
    model: () => scripted('one-call'),
    tools: { list_files: tool() },
    store: memoryStore(),
    authorize: () => ({ tenant: 't' }),
    onTrace,
    onEvent,
  })
  for (const behaviour of ['messages', 'messages_two_stage']) {
    const response = await handler(
      new Request(`http://localhost/api/chat/${behaviour}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ messages }),
      }),
    )
    assert.match(await response.text(), /"complete"/)
  }
  await until(() => open.size === 0)
  assert.deepEqual(tree(), [
    ['invoke_agent files', ['phase unified', 'chat gpt', 'execute_tool list_files', 'chat gpt']],
    [
      'invoke_agent files',
      ['phase tool_phase', 'chat gpt', 'execute_tool list_files'],
      ['phase action_phase', 'chat gpt'],
    ],
  ])
})

test('a handler without `onEvent` ends the spans of its turns', async () => {
  const { onTrace } = openTelemetry(own)
  const handler = createHandler({
    model: () => scripted('one-call'),
    tools: { list_files: tool() },
    store: memoryStore(),
    authorize: () => ({ tenant: 't' }),
    onTrace,
  })
  for (let turn = 0; turn < 2; turn++) assert.match(await post(handler, {}), /"complete"/)
  await until(() => open.size === 0)
  const legs = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent files')
  assert.deepEqual(
    legs.map(({ attributes }) => attributes['turnlock.status']),
    ['complete', 'complete'],
  )
})

test('by `onTrace` alone, a turn has its status and its tokens, and each leg a span', async () => {
  const { onTrace } = openTelemetry(own)
  const store = memoryStore()
  const common = { store, tools: { list_files: tool({ needsApproval: true }) }, onTrace }
  const model = scripted('one-call')
  const paused = await runTurn({ ...common, model, messages }).result
  const { requestId, approvals } = paused
  const decided = approvals.map(({ signature }) => ({ signature, approved: true }))
  const resumed = await resumeTurn({ ...common, model, requestId, approvals: decided }).result
  const failing = { model: scripted('no-such'), messages, onTrace }
  const failed = await runTurn(failing).result
  await until(() => open.size === 0)
  const legs = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent files')
  const statuses = [paused, resumed, failed].map(({ status }) => status)
  assert.deepEqual(statuses, ['paused', 'complete', 'failed'])
  assert.deepEqual(
    legs.map(({ attributes }) => attributes['turnlock.status']),
    statuses,
  )
  const chats = exporter.getFinishedSpans().filter(({ name }) => name === 'chat gpt')
  const tokens = (spans) =>
    spans.reduce((sum, { attributes }) => sum + (attributes['gen_ai.usage.input_tokens'] ?? 0), 0)
  assert.equal(tokens(legs), tokens(chats))
  assert.ok(tokens(legs) > 0)
})

test('events of a pass that reach `onTrace` begin no span that nothing ends', async () => {
  const { onTrace } = openTelemetry(own)
  const model = customModel(async function* () {
    yield { type: 'text', text: '{"plan":1}' }
  })
  const policy = { maxIterations: 0 }
  await runPlanning({ model, tools: {}, policy, onTrace, input: {} })
  await until(() => open.size === 0)
  assert.deepEqual(tree(), [])
})

test('a failure is the status of its spans', async () => {
  const turn = openTelemetry(own).turn((onTrace) =>
    runTurn({ model: scripted('no-such'), messages, onTrace }),
  )
  assert.equal((await turn.result).status, 'failed')
  await until(() => open.size === 0)
  const whole = spanOf('invoke_agent files')
  assert.deepEqual(whole.status, { code: api.SpanStatusCode.ERROR, message: 'model.status' })
  assert.equal(whole.attributes['error.type'], 'model.status')
})

/** How a host follows turns: returns what starts one. The tables' turns all have the same id. */
const WAYS = {
  'by `turn`': (telemetry) => (start, options) =>
    telemetry.turn((onTrace) => start({ ...options, onTrace })),
  'by `onTrace` alone'({ onTrace }) {
    let turns = 0
    return (start, options) => {
      const tenant = `t${turns++}`
      return start({ ...options, onTrace: (event) => onTrace(event, { tenant }) })
    }
  },
  'by `onTrace` and `onEvent`'({ onTrace, onEvent }) {
    let turns = 0
    return (start, options) => {
      const tenant = `t${turns++}`
      const turn = start({ ...options, onTrace: (event) => onTrace(event, { tenant }) })
      void (async () => {
        for await (const event of turn) onEvent(event, { tenant })
      })()
      return turn
    }
  },
}

for (const [way, following] of Object.entries(WAYS)) {
  test(`every turn of the scenario tables that is followed ${way} ends all of its spans, in one trace a leg`, () =>
    endsAll(following, true))
}
test('every turn of the scenario tables that is followed by `onTrace` alone ends all of its spans, without content', () =>
  endsAll(WAYS['by `onTrace` alone'], false))

async function endsAll(following, content) {
  const telemetry = openTelemetry({ ...own, content })
  const logs = await scenarioLogs(following(telemetry))
  // What a dead process left open stays open; the player cancels it.
  await until(() => open.size === 0)
  const spans = exporter.getFinishedSpans()
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]))
  let below = 0
  for (const span of spans) {
    const parent = byId.get(span.parentSpanContext?.spanId)
    if (span.name.startsWith('invoke_agent')) assert.equal(parent, undefined)
    else if (parent) below += 1
    else assert.fail(`${span.name} stands alone`)
    const time = ([seconds, nanos]) => seconds * 1e9 + nanos
    assert.ok(time(span.endTime) >= time(span.startTime), span.name)
  }
  assert.ok(logs.length > 150 && below > 500, `${below} spans`)
}

test('passes, bundles and chains have spans too', async () => {
  const telemetry = openTelemetry(own)
  let asked = 0
  const model = customModel(async function* () {
    const request = { tool_calls: [{ tool_name: 'look', params: {}, reason: 'r' }] }
    yield { type: 'text', text: asked++ ? '{"plan":1}' : JSON.stringify(request) }
  })
  const look = tool()
  await telemetry.pass((onTrace) =>
    runPlanning({
      model,
      tools: { look },
      policy: { allow: ['look'] },
      onTrace,
      input: { global_context: {} },
    }),
  )
  await telemetry.bundle(runBundle({ task: 't', replicate: async () => ({ data: { a: 1 } }) }))
    .result
  const chain = telemetry.chain(
    runChain({
      query: 'what is it?',

      answer: async function* () {
        yield 'a'
      },
      plan: async () => '{}',

      search: async () => 1,
      refine: async () => 1,
      synthesize: async function* () {
        yield 'b'
      },
    }),
  )
  await chain.result
  await until(() => open.size === 0)
  const [pass, bundle, last] = tree()
  assert.deepEqual(pass, [
    'invoke_workflow tool_requests',
    'chat gpt',
    'execute_tool look',
    'chat gpt',
  ])
  assert.equal(bundle[0], 'invoke_workflow bundle')
  assert.ok(bundle.length >= 3 && bundle.slice(1).every((name) => name === 'replicate'), bundle)
  assert.equal([last].flat()[0], 'invoke_workflow chain')
})

test('what a tool runs is below its call: one trace of turn, pass, bundle and chain', async () => {
  const store = memoryStore()
  const list_files = (telemetry) =>
    tool({
      needsApproval: true,
      async execute(_, context) {
        const answer = async function* () {
          yield 'a'
        }
        const plans = customModel(async function* () {
          yield { type: 'text', text: '{"plan":1}' }
        })
        await telemetry.pass(
          (onTrace) =>
            runPlanning({
              model: plans,
              tools: {},
              policy: { maxIterations: 0 },
              onTrace,
              input: {},
            }),
          context,
        )
        const replicate = async () => ({ data: { a: 1 } })
        await telemetry.bundle(runBundle({ task: 't', replicate, k: 2 }), context).result
        const steps = { search: async () => 1, refine: async () => 1, synthesize: answer }
        const query = 'what is it?'
        const chain = runChain({ query, answer, plan: async () => '{}', ...steps })
        await telemetry.chain(chain, context).result
        return 'done'
      },
    })
  const [first, second] = [openTelemetry(own), openTelemetry({ ...own, content: true })]
  const common = { model: scripted('one-call'), store }
  const paused = first.turn((onTrace) =>
    runTurn({ ...common, tools: { list_files: list_files(first) }, messages, onTrace }),
  )
  let approvals
  for await (const event of paused) approvals = event.approvals ?? approvals
  const { requestId } = paused
  const resumed = second.turn((onTrace) =>
    resumeTurn({
      ...common,
      tools: { list_files: list_files(second) },
      requestId,
      onTrace,
      approvals: approvals.map(({ signature }) => ({ signature, approved: true })),
    }),
  )
  assert.equal((await resumed.result).status, 'complete')
  await until(() => open.size === 0)
  const spans = exporter.getFinishedSpans()
  const legs = spans.filter(({ name }) => name === 'invoke_agent files')
  assert.deepEqual(
    new Set(spans.map((span) => span.spanContext().traceId)),
    new Set(legs.map((span) => span.spanContext().traceId)),
  )
  const named = (nodes, name) =>
    nodes.flatMap((node) =>
      [node].flat()[0] === name ? [node] : Array.isArray(node) ? named(node.slice(1), name) : [],
    )
  const [call, ...more] = named(tree(), 'execute_tool list_files')
  assert.deepEqual(more, [])
  assert.deepEqual(
    call.slice(1).map((node) => [node].flat()[0]),
    ['tool_requests', 'bundle', 'chain'].map((name) => `invoke_workflow ${name}`),
  )
})

test('a run in a tool whose turn is not followed here begins a trace of its own', async () => {
  const telemetry = openTelemetry(own)
  const requestId = crypto.randomUUID()
  const replicate = async () => ({ data: { a: 1 } })
  const bundle = runBundle({ task: 't', replicate })
  await telemetry.bundle(bundle, { requestId, toolCallId: 'c' }).result
  await until(() => open.size === 0)
  const { traceId } = spanOf('invoke_workflow bundle').spanContext()
  assert.notEqual(traceId, requestId.replaceAll('-', ''))
})

/** Answers `POST /api/chat/messages` with this body, and reads the response. */
async function post(handler, body, headers = {}) {
  const response = await handler(
    new Request('http://localhost/api/chat/messages', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ messages, ...body }),
    }),
  )
  return response.text()
}

test('a client that chooses the request id does not choose the trace', async () => {
  const { onTrace, onEvent } = openTelemetry(own)
  const handler = createHandler({
    model: () => scripted('one-call'),
    tools: { list_files: tool() },
    store: memoryStore(),
    onTrace,
    onEvent,
    authorize: (request) => ({ tenant: request.headers.get('x-tenant') }),
  })
  const victim = '0af7651916cd43dd8448eb211c80319c'
  const uuid = victim.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  for (const requestId of [victim, uuid, victim.toUpperCase(), '1', 'same']) {
    exporter.reset()
    for (const tenant of ['a', 'b']) {
      assert.match(await post(handler, { requestId }, { 'x-tenant': tenant }), /"complete"/)
    }
    await until(() => open.size === 0)
    const legs = exporter.getFinishedSpans().filter(({ name }) => name === 'invoke_agent files')
    const traces = legs.map((span) => span.spanContext().traceId)
    assert.equal(new Set(traces).size, 2, 'two tenants share no trace')
    assert.ok(!traces.includes(victim), requestId)
    for (const leg of legs) {
      assert.equal(leg.parentSpanContext, undefined)
      assert.equal(leg.attributes['turnlock.request_id'], requestId)
    }
  }
})

test('a turn is below the span that is active when it begins, unless `parent` is `root`', async () => {
  const outer = api.trace.getTracer('host').startSpan('POST /chat')
  // As a context manager of the host says.
  const active = {
    ...api,
    trace: Object.create(api.trace, { getActiveSpan: { value: () => outer } }),
  }
  for (const parent of [undefined, 'active', 'root']) {
    exporter.reset()
    const telemetry = openTelemetry({ ...own, api: active, ...(parent && { parent }) })
    const options = { model: scripted('one-call'), messages, tools: { list_files: tool() } }
    await telemetry.turn((onTrace) => runTurn({ ...options, onTrace })).result
    await until(() => open.size === 1)
    const whole = spanOf('invoke_agent files')
    const isBelow = whole.parentSpanContext?.spanId === outer.spanContext().spanId
    assert.equal(isBelow, parent !== 'root')
    assert.equal(whole.spanContext().traceId === outer.spanContext().traceId, parent !== 'root')
  }
  outer.end()
})

test('two tenants with the same ids: a run of a tool gets into neither trace by its ids', async () => {
  const telemetry = openTelemetry(own)
  const replicate = async () => ({ data: { a: 1 } })
  let waiting = 0
  const list_files = tool({
    async execute(_, context) {
      waiting += 1
      await until(() => waiting === 2)
      await telemetry.bundle(runBundle({ task: 't', replicate, k: 1 }), context).result
      return 'done'
    },
  })
  const requestId = 'same'
  const turns = ['a', 'b'].map((tenant) =>
    telemetry.turn((onTrace) =>
      runTurn({
        model: scripted('one-call'),
        messages,
        tools: { list_files },
        onTrace,
        requestId,
        tenant,
        store: memoryStore(),
      }),
    ),
  )
  await Promise.all(turns.map(({ result }) => result))
  await until(() => open.size === 0)
  const spans = exporter.getFinishedSpans()
  const ofTurns = spans.filter(({ name }) => name.startsWith('invoke_agent'))
  const bundles = spans.filter(({ name }) => name === 'invoke_workflow bundle')
  assert.deepEqual([ofTurns.length, bundles.length], [2, 2])
  const traces = ofTurns.map((span) => span.spanContext().traceId)
  assert.ok(bundles.some((span) => !traces.includes(span.spanContext().traceId)))
})

test('content of a handler with `redact` is redacted', async () => {
  // initializ/forge#130 (2026-06-09): a host captures content, and relies on its redaction there too.
  const redactor = createRedactor({ values: ['a secret.txt'], fields: ['/path'] })
  const { onTrace, onEvent } = openTelemetry({ ...own, content: true })
  const events = []
  const common = {
    model: () => scripted('one-call'),
    tools: { list_files: tool() },
    store: memoryStore(),
    onTrace,
    authorize: () => ({ tenant: 't' }),
  }
  const told = (event, about) => {
    events.push(event)
    onEvent(event, about)
  }
  for (const redact of [redactor, async () => redactor]) {
    exporter.reset()
    await post(createHandler({ ...common, redact, onEvent: told }), {})
    await until(() => open.size === 0)
    const { attributes } = spanOf('execute_tool list_files')
    const [args, result] = ['arguments', 'result'].map((name) =>
      JSON.parse(attributes[`gen_ai.tool.call.${name}`]),
    )
    assert.deepEqual(
      [args, result],
      [{ path: '[redacted:field]', recursive: true }, ['[redacted:value]']],
    )
  }
  // A host's own events are as they are.
  assert.match(JSON.stringify(events), /a secret\.txt/)
  const broken = { ...redactor, value: undefined }
  exporter.reset()
  await post(createHandler({ ...common, redact: broken, onEvent }), {})
  await until(() => open.size === 0)
  const { attributes } = spanOf('execute_tool list_files')
  assert.equal(attributes['gen_ai.tool.call.result'], '[redaction failed]')
  // A turn of its own is followed by its events, which `redact` has changed.
  exporter.reset()
  await openTelemetry({ ...own, content: true }).turn((onTrace) =>
    runTurn({
      model: scripted('one-call'),
      messages,
      tools: common.tools,
      redact: redactor,
      onTrace,
    }),
  ).result
  await until(() => open.size === 0)
  assert.doesNotMatch(all(), /secret/)
})

test('names and ids that a model or a client wrote are cut, and have no controls', async () => {
  const long = `${'x'.repeat(100)}\u202e\u0000\n\u{e0041}${'y'.repeat(1_000_000)}`
  let step = 0
  const model = customModel(async function* () {
    if (step++ > 0) return yield { type: 'text', text: 'done' }
    for (const [index, name] of [long, `list_files`].entries()) {
      yield { type: 'tool_call_start', index, id: `${index}${long}`, name }
      yield { type: 'tool_call_arguments', index, text: '{}' }
      yield { type: 'tool_call_end', index }
    }
  })
  const telemetry = openTelemetry(own)
  const options = { model, messages, tools: { list_files: tool() }, policy: { maxTools: 2 } }
  const ids = { conversationId: long }
  await telemetry.turn((onTrace) => runTurn({ ...options, ...ids, onTrace })).result
  const steps = (async function* () {
    yield { type: 'step_started', id: long, stepType: long }
    yield { type: 'step_done', id: long, status: long }
    yield { type: 'error', status: long }
  })()
  telemetry.chain(steps)
  await until(() => open.size === 0)
  const spans = exporter.getFinishedSpans()
  assert.ok(spans.length >= 5)
  const texts = spans.flatMap(({ name, attributes, events, status }) => [
    name,
    status.message ?? '',
    ...[attributes, ...events.map((event) => event.attributes)].flatMap((own) =>
      Object.values(own).flat(),
    ),
  ])
  for (const text of texts.filter((text) => typeof text === 'string')) {
    assert.ok(text.length <= 160, `${text.length} characters`)
    assert.doesNotMatch(text, /[\p{Cc}\u202e\u{e0041}]/u)
  }
  assert.ok(texts.some((text) => typeof text === 'string' && text.endsWith('…')))
})

// wandb/weave#7740 (2026-08-27): an address in the name of a span; deslicer/mcp-for-splunk#204
// (2026-06-23): the text of an exception; grafana/agento11y#164 (2026-05-20): arguments and results
// (read 2026-11-30).
const MAIL = 'ada@example.com'
const CARD = '4111111111111111'
/** The beginning of either; signatures, times and ids of turns may hold the digits by chance. */
const LEAK = /ada@|(?<![\da-f.])4111(?!-)/
/** A model that calls a tool that there is not, and one whose id of a call is an address. */
const inventive = () => {
  let step = 0
  const calls = [
    { name: MAIL, id: CARD, args: '{}' },
    { name: CARD, id: 'second', args: JSON.stringify({ to: MAIL }) },
    { name: 'list_files', id: MAIL, args: JSON.stringify({ pan: Number(CARD) }) },
  ]
  return customModel(async function* () {
    if (step++ > 0) return yield { type: 'text', text: `mail ${MAIL}` }
    for (const [index, { name, id, args }] of calls.entries()) {
      yield { type: 'tool_call_start', index, id, name }
      yield { type: 'tool_call_arguments', index, text: args }
      yield { type: 'tool_call_end', index }
    }
  })
}
const everything = async () => {
  await reader.forceFlush()
  const spans = exporter.getFinishedSpans()
  const shown = spans.map(({ name, attributes, events, status }) => [
    name,
    attributes,
    events,
    status,
  ])
  return JSON.stringify([shown, metrics.getMetrics().slice(-1)])
}

test('redacted spans: names of tools, ids of calls, content and errors', async () => {
  const redact = createRedactor()
  const failing = tool({
    execute: () => {
      throw new Error(`failed for ${MAIL}`)
    },
  })
  const options = { messages, policy: { maxTools: 3 } }
  const byHandler = async (tools, more, telemetry) => {
    const { onTrace, onEvent } = telemetry
    const hooks = { onTrace, onEvent, authorize: () => ({ tenant: 't' }) }
    const policy = { maxTools: 3 }
    const handler = createHandler({ ...hooks, ...more, tools, policy, ...PARTS() })
    await post(handler, {})
  }
  const PARTS = () => ({ model: inventive, store: memoryStore() })
  const byTurn = (tools, more, telemetry) =>
    telemetry.turn((onTrace) =>
      runTurn({ ...options, model: inventive(), tools, ...more, onTrace }),
    ).result
  for (const run of [byHandler, byTurn]) {
    for (const list_files of [tool({ execute: () => ({ pan: Number(CARD) }) }), failing]) {
      for (const content of [false, true]) {
        for (const [host, more] of [
          [{}, { redact }],
          [{ redact }, {}],
        ]) {
          exporter.reset()
          await run({ list_files }, more, openTelemetry({ ...own, content, ...host }))
          await until(() => open.size === 0)
          const shown = await everything()
          const where = `${run.name}, content ${content}, ${Object.keys(host)}`
          assert.doesNotMatch(shown, LEAK, where)
          assert.match(shown, /\[redacted:email\]/, where)
          const { attributes } = spanOf('execute_tool list_files')
          const args = attributes['gen_ai.tool.call.arguments']
          assert.equal(args, content ? '{"pan":"[redacted:card]"}' : undefined, where)
        }
      }
    }
  }
})

test('redacted spans: steps of a chain have ids of a model', async () => {
  const steps = (async function* () {
    yield { type: 'step_started', id: MAIL, stepType: CARD }
    yield { type: 'step_done', id: MAIL, status: `failed for ${MAIL}` }
    yield { type: 'error', status: MAIL }
  })()
  openTelemetry({ ...own, redact: createRedactor() }).chain(steps)
  await until(() => open.size === 0)
  const shown = await everything()
  assert.doesNotMatch(shown, LEAK)
  assert.match(shown, /step \[redacted:card\]/)
})

test('redacted spans: a redactor that fails shows nothing', async () => {
  const redact = {
    ...createRedactor(),
    redact: () => {
      throw new Error('broken')
    },
    value: undefined,
  }
  const telemetry = openTelemetry({ ...own, content: true, redact })
  const options = { model: inventive(), messages, policy: { maxTools: 3 } }
  const tools = { list_files: tool() }
  await telemetry.turn((onTrace) => runTurn({ ...options, tools, onTrace })).result
  await until(() => open.size === 0)
  const shown = await everything()
  assert.doesNotMatch(shown, LEAK)
  assert.doesNotMatch(shown, /secret/)
  assert.match(shown, /\[redaction failed\]/)
})

test('misuse is named', () => {
  for (const options of [
    {},
    { api, parent: 'none' },
    { api, contents: true },
    { api, redact: (text) => text },
  ]) {
    assert.throws(() => openTelemetry(options), { code: 'options.invalid' })
  }
})
