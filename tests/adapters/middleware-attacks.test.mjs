// The middleware under the loops of AI SDK 6 and 7, with models that answer as they like: bounds,
// duplicates, calls that the provider runs, dynamic tools, streams that fail or hang.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as ai7 from 'ai'
import * as ai7test from 'ai/test'
import * as ai6 from 'ai6'
import * as ai6test from 'ai6/test'
import fc from 'fast-check'
import { signature } from 'turnlock'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { holds } from '../properties/hold.mjs'

const VERSIONS = {
  'AI SDK 6': [ai6, ai6test.MockLanguageModelV3],
  'AI SDK 7': [ai7, ai7test.MockLanguageModelV4],
}
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const finish = (unified) => ({
  type: 'finish',
  finishReason: { unified, raw: unified },
  usage: USAGE,
})

/** The frames of a part of content, as a stream has them. */
function framesOf(part, at) {
  if (part.type === 'text') {
    const id = String(at)
    return [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: part.text },
      { type: 'text-end', id },
    ]
  }
  if (part.type !== 'tool-call') return [part]
  const { toolCallId: id, toolName, input, providerExecuted, dynamic } = part
  const own = { ...(providerExecuted && { providerExecuted }), ...(dynamic && { dynamic }) }
  return [
    { type: 'tool-input-start', id, toolName, ...own },
    { type: 'tool-input-delta', id, delta: input.slice(0, 3) },
    { type: 'tool-input-delta', id, delta: input.slice(3) },
    { type: 'tool-input-end', id },
    part,
  ]
}
const reasonOf = (content) =>
  content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop'

/** A model that answers its n-th request with the n-th content; the last one again and again. */
function modelOf([ai, Mock], script, options, prompts = []) {
  let requests = 0
  const next = ({ prompt }) => {
    prompts.push(prompt)
    return script[Math.min(requests++, script.length - 1)]
  }
  const model = new Mock({
    doGenerate: async (given) => {
      const content = next(given)
      const { finishReason, usage } = finish(reasonOf(content))
      return { content, finishReason, usage, warnings: [] }
    },
    doStream: async (given) => {
      const content = next(given)
      const frames = [
        { type: 'stream-start', warnings: [] },
        ...content.flatMap(framesOf),
        finish(reasonOf(content)),
      ]
      return { stream: ReadableStream.from(frames) }
    },
  })
  return ai.wrapLanguageModel({ model, middleware: turnlockMiddleware(options) })
}

const call = (n, name, input, more = {}) => ({
  type: 'tool-call',
  toolCallId: `call_${n}`,
  toolName: name,
  input,
  ...more,
})
const found = (n, name) => ({
  type: 'tool-result',
  toolCallId: `call_${n}`,
  toolName: name,
  result: { seen: n },
  providerExecuted: true,
})

let count = 0
const content = fc
  .array(
    fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom('Hello.', '', 'a\u202eb').map((text) => ({ text })) },
      {
        weight: 4,
        arbitrary: fc.record({
          name: fc.constantFrom('look', 'find', 'dyn', 'web', 'missing'),
          input: fc.constantFrom(
            '{}',
            '',
            ' {} ',
            '{"a":1}',
            '{"a":1.0}',
            '{ "a" : 1 }',
            '{"a":2}',
            '{"a":',
            'x',
            '[1]',
            '{"b":{"c":[1,2]},"a":1}',
            '{"a":1,"b":{"c":[1,2]}}',
          ),
        }),
      },
    ),
    { maxLength: 5 },
  )
  .map((parts) =>
    parts.flatMap(({ text, name, input }) => {
      if (text !== undefined) return text === '' ? [] : [{ type: 'text', text }]
      const n = count++
      if (name !== 'web') return [call(n, name, input, name === 'dyn' ? { dynamic: true } : {})]
      return [call(n, name, '{"q":1}', { providerExecuted: true }), found(n, name)]
    }),
  )

const repaired = JSON.stringify({ repaired: true })
async function run(sdk, how, script, maxTools, repair) {
  const [ai] = sdk
  const runs = []
  const prompts = []
  const tool = (name) => ({
    inputSchema: ai.jsonSchema({ type: 'object' }),
    execute: (args) => (runs.push(signature({ tool: name, args })), ['found']),
  })
  const tools = {
    look: tool('look'),
    find: tool('find'),
    dyn: ai.dynamicTool({ description: 'x', ...tool('dyn') }),
    web: {
      type: 'provider',
      isProviderExecuted: true,
      id: 'x.web',
      name: 'web',
      args: {},
      inputSchema: ai.jsonSchema({}),
    },
  }
  const model = modelOf(sdk, script, { maxTools }, prompts)
  const errors = []
  const result = await ai[how]({
    model,
    tools,
    maxRetries: 0,
    stopWhen: ai.stepCountIs(6),
    prompt: 'look',
    onError: ({ error }) => errors.push(error),
    // A host that repairs arguments runs what it repaired.
    ...(repair && {
      experimental_repairToolCall: async ({ toolCall }) => ({ ...toolCall, input: repaired }),
    }),
  })
  const [text, steps] = [await result.text, await result.steps]
  return { runs, prompts, text, steps, errors }
}

for (const [version, sdk] of Object.entries(VERSIONS)) {
  for (const how of ['streamText', 'generateText']) {
    test(`${version}, ${how}: whatever a model calls, the budget holds and no call runs twice`, () =>
      holds(
        `middleware, ${version}, ${how}`,
        fc.asyncProperty(
          fc.array(content, { minLength: 1, maxLength: 4 }),
          fc.nat({ max: 3 }),
          fc.boolean(),
          async (script, maxTools, repair) => {
            const { runs, prompts, steps, errors } = await run(sdk, how, script, maxTools, repair)
            assert.ok(runs.length <= maxTools, `${runs.length} runs of ${maxTools}`)
            // What a host repairs may be alike.
            if (!repair) assert.equal(new Set(runs).size, runs.length, runs.join('\n'))
            assert.deepEqual(errors, [])
            // The loop of the SDK has an end: one step a call, and the answer.
            assert.ok(steps.length <= maxTools + 2, `${steps.length} steps`)
            for (const prompt of prompts) assert.deepEqual(unanswered(prompt), [])
            // What the provider ran is in the result.
            const first = script[0].filter(({ providerExecuted }) => providerExecuted).length
            const shown = steps[0].content.filter(({ providerExecuted }) => providerExecuted)
            assert.ok(shown.length >= Math.min(first, 1), 'calls of the provider are kept')
          },
        ),
        250,
      ))

    test(`${version}, ${how}: a model that calls where it was told to answer ends with its text`, async () => {
      const again = (n) => [{ type: 'text', text: `Answer ${n}.` }, call(n, 'look', '{}')]
      const { runs, text, steps } = await run(sdk, how, [again(1), again(2), again(3), again(4)], 1)
      assert.equal(runs.length, 1)
      assert.match(text, /Answer \d\./)
      assert.equal(steps.at(-1).finishReason, 'stop')
    })
  }

  test(`${version}: a stream that fails before, within or after a call is an error, and nothing runs twice`, async () => {
    const [ai, Mock] = sdk
    const all = [
      { type: 'stream-start', warnings: [] },
      ...framesOf({ type: 'text', text: 'Hm.' }, 0),
      ...framesOf(call(1, 'look', '{"a":1}')),
      ...framesOf(call(2, 'look', '{"a":1}')),
      finish('tool-calls'),
    ]
    for (let at = 0; at <= all.length; at++) {
      for (const kind of ['throws', 'error part', 'ends']) {
        const runs = []
        const reports = []
        const model = new Mock({
          doStream: async () => ({
            stream: ReadableStream.from(
              (async function* () {
                yield* all.slice(0, at)
                if (kind === 'throws') throw new Error('reset')
                if (kind === 'error part') yield { type: 'error', error: new Error('reset') }
              })(),
            ),
          }),
        })
        const errors = []
        const result = ai.streamText({
          model: ai.wrapLanguageModel({
            model,
            middleware: turnlockMiddleware({ maxTools: 5, onReport: (one) => reports.push(one) }),
          }),
          tools: {
            look: {
              inputSchema: ai.jsonSchema({ type: 'object' }),
              execute: (args) => runs.push(args),
            },
          },
          prompt: 'look',
          maxRetries: 0,
          stopWhen: ai.stepCountIs(1),
          onError: ({ error }) => errors.push(String(error)),
        })
        await result.consumeStream({ onError: (error) => errors.push(String(error)) })
        assert.ok(runs.length <= 1, `${kind} at ${at}: ${runs.length} runs`)
        if (kind !== 'ends') assert.match(errors.join(), /reset/, `${kind} at ${at}`)
        assert.equal(reports.length, 1, `${kind} at ${at}: one report a request`)
      }
    }
  })

  test(`${version}: leaving a stream that waits cancels the provider's`, async () => {
    const [ai, Mock] = sdk
    let cancelled = 0
    const hanging = () =>
      new ReadableStream({
        start: (controller) => controller.enqueue({ type: 'stream-start', warnings: [] }),
        cancel: () => void (cancelled += 1),
      })
    const model = ai.wrapLanguageModel({
      model: new Mock({ doStream: async () => ({ stream: hanging() }) }),
      middleware: turnlockMiddleware(),
    })
    const { stream } = await model.doStream({ prompt: [{ role: 'user', content: [] }] })
    const reader = stream.getReader()
    await reader.read()
    void reader.read()
    await reader.cancel()
    assert.equal(cancelled, 1)
  })
}

/** Calls of a host's tools without a result behind them. */
function unanswered(prompt) {
  const parts = prompt.flatMap(({ role, content }) =>
    Array.isArray(content) ? content.map((part) => ({ role, ...part })) : [],
  )
  const results = new Set(
    parts.filter(({ type }) => type === 'tool-result').map(({ toolCallId }) => toolCallId),
  )
  const calls = parts.filter(({ type, role }) => type === 'tool-call' && role === 'assistant')
  return calls.filter((one) => !one.providerExecuted && !results.has(one.toolCallId))
}

test('a repair keeps what else a tool message has, and is linear in results with one id', async () => {
  const response = { type: 'tool-approval-response', approvalId: 'a1', approved: true }
  const result = {
    type: 'tool-result',
    toolCallId: 'c1',
    toolName: 'look',
    output: { type: 'text', value: 'x' },
  }
  const prompt = [
    { role: 'user', content: [{ type: 'text', text: 'go' }] },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }],
    },
    { role: 'tool', content: [response, ...Array.from({ length: 20_000 }, () => ({ ...result }))] },
  ]
  const { transformParams } = turnlockMiddleware()
  const { prompt: made } = await transformParams({ params: { prompt } })
  const parts = made.filter(({ role }) => role === 'tool').flatMap(({ content }) => content)
  assert.deepEqual(parts, [result, response])
})
