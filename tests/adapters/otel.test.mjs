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
import {
  customModel,
  defineTool,
  memoryStore,
  openaiChat,
  resumeTurn,
  runBundle,
  runChain,
  runTurn,
  runWithToolRequests,
} from 'turnlock'
import { openTelemetry } from 'turnlock/otel'
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
    ...{ model: 'scripted', apiKey: 'key', maxRetries: 0 },
    baseURL: `${provider.url}/s/${crypto.randomUUID()}/${behaviour}/v1`,
  })
const tool = (more) =>
  defineTool({
    ...{ description: 'd', inputSchema: { type: 'object' }, readOnly: true, ...more },
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
  assert.equal(whole.spanContext().traceId, turn.requestId.replaceAll('-', ''))
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

test('a resume in another process goes on in the trace; what did not run is an event', async () => {
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
  assert.deepEqual(new Set(spans.map((span) => span.spanContext().traceId)).size, 1)
  const legs = spans.filter(({ name }) => name === 'invoke_agent files')
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
    ...{ model: () => scripted('one-call'), tools: { list_files: tool() }, store: memoryStore() },
    ...{ authorize: () => ({ tenant: 't' }), onTrace, onEvent },
  })
  for (const behaviour of ['messages', 'messages_two_stage']) {
    const response = await handler(
      new Request(`http://localhost/api/chat/${behaviour}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
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

test('every turn of the scenario tables ends all of its spans, in one trace a leg', async () => {
  const telemetry = openTelemetry({ ...own, content: true })
  const logs = await scenarioLogs((start, options) =>
    telemetry.turn((onTrace) => start({ ...options, onTrace })),
  )
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
})

test('passes, bundles and chains have spans too', async () => {
  const telemetry = openTelemetry(own)
  let asked = 0
  const model = customModel(async function* () {
    const request = { tool_calls: [{ tool_name: 'look', params: {}, reason: 'r' }] }
    yield { type: 'text', text: asked++ ? '{"plan":1}' : JSON.stringify(request) }
  })
  const look = tool()
  await telemetry.pass((onTrace) =>
    runWithToolRequests({
      ...{ model, tools: { look }, policy: { allow: ['look'] }, onTrace },
      input: { global_context: {} },
    }),
  )
  await telemetry.bundle(runBundle({ task: 't', replicate: async () => ({ data: { a: 1 } }) }))
    .result
  const chain = telemetry.chain(
    runChain({
      query: 'what is it?',
      ...{
        answer: async function* () {
          yield 'a'
        },
        plan: async () => '{}',
      },
      ...{
        search: async () => 1,
        refine: async () => 1,
        synthesize: async function* () {
          yield 'b'
        },
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

test('what a tool runs is below its call: one trace of turn, pass, bundle and chain, over a resume', async () => {
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
            runWithToolRequests({
              ...{ model: plans, tools: {}, policy: { maxIterations: 0 }, onTrace },
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
      ...{ ...common, tools: { list_files: list_files(second) }, requestId, onTrace },
      approvals: approvals.map(({ signature }) => ({ signature, approved: true })),
    }),
  )
  assert.equal((await resumed.result).status, 'complete')
  await until(() => open.size === 0)
  const spans = exporter.getFinishedSpans()
  assert.deepEqual(
    new Set(spans.map((span) => span.spanContext().traceId)),
    new Set([requestId.replaceAll('-', '')]),
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

test('a run in a tool whose turn is not followed here is in its trace', async () => {
  const telemetry = openTelemetry(own)
  const requestId = crypto.randomUUID()
  const replicate = async () => ({ data: { a: 1 } })
  const bundle = runBundle({ task: 't', replicate })
  await telemetry.bundle(bundle, { requestId, toolCallId: 'c' }).result
  await until(() => open.size === 0)
  const { traceId } = spanOf('invoke_workflow bundle').spanContext()
  assert.equal(traceId, requestId.replaceAll('-', ''))
})

test('misuse is named', () => {
  for (const options of [{}, { api, parent: 'none' }, { api, contents: true }]) {
    assert.throws(() => openTelemetry(options), { code: 'options.invalid' })
  }
})
