// runTurn and resumeTurn over generated scripts, chunk boundaries, tools, faults, stores and cancels.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  anthropic,
  defineTool,
  memoryStore,
  openaiChat,
  openaiResponses,
  resumeTurn,
  runTurn,
} from 'turnlock'
import * as anthropicWire from '../../pkg/dist/testing/provider/wire/anthropic.js'
import * as chatWire from '../../pkg/dist/testing/provider/wire/openai-chat.js'
import * as responsesWire from '../../pkg/dist/testing/provider/wire/openai-responses.js'
import { cutAt, cuts, holds } from './hold.mjs'

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))

const WIRES = {
  chat: [openaiChat, chatWire, { baseURL: 'https://provider.example/v1' }],
  messages: [anthropic, anthropicWire, {}],
  responses: [openaiResponses, responsesWire, {}],
}

// What a model says.
const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 3 })
const args = fc.oneof(
  fc.constantFrom({}, { a: 1 }, { a: 2 }, { path: 'é😀' }).map((value) => ({ args: value })),
  fc
    .constantFrom('', '{', '[]', 'null', '{"a":1,"a":2}', '{"a": 1}')
    .map((text) => ({ argsText: text })),
)
const calls = fc.tuple(
  fc.constantFrom('c1', 'c2', 'c3'),
  fc.constantFrom('ok', 'throws', 'hangs', 'odd', 'late', 'unknown'),
  args,
  fc.integer({ min: 1, max: 3 }),
)
const entries = fc.record({
  reasoning: pieces,
  text: pieces,
  textAfter: pieces,
  calls: fc
    .array(calls, { maxLength: 4 })
    .map((all) => all.map(([id, name, own, fragments]) => ({ id, name, fragments, ...own }))),
  then: fc.constantFrom(undefined, undefined, undefined, undefined, 'error', 'malformed', 'cut'),
  finish: fc.constantFrom(undefined, undefined, undefined, 'stop', 'length'),
})
const answers = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ entry: entries, cuts, breaks: fc.constantFrom(1, 1, 1, 1, 0.5, 0.9) }),
  },
  { weight: 1, arbitrary: fc.record({ status: fc.constantFrom(400, 401, 429, 500, 529) }) },
  { weight: 1, arbitrary: fc.constant({ throws: true }) },
)

/** A model that answers its requests in turn, and then with a text. */
function modelOf(wire, script) {
  const [make, { stream, failure }, own] = WIRES[wire]
  let n = 0
  const fetch = async (_, { body, signal }) => {
    const answer = script[n++] ?? { entry: { text: ['Done.'] }, cuts: [], breaks: 1 }
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
    if (answer.throws) throw new TypeError('fetch failed')
    if (answer.status) return Response.json(failure(answer.status, 'no'), { status: answer.status })
    const whole = new TextEncoder().encode(
      stream(answer.entry, { n, body: JSON.parse(body) }).join(''),
    )
    const all = cutAt(whole.subarray(0, Math.ceil(whole.length * answer.breaks)), answer.cuts)
    const broken = answer.breaks < 1
    let at = 0
    const source = {
      async pull(controller) {
        if (at % 3 === 1) await new Promise((resolve) => setImmediate(resolve))
        if (signal?.aborted) return controller.error(signal.reason)
        while (at < all.length && all[at].length === 0) at++
        if (at < all.length) controller.enqueue(all[at++])
        else if (broken) controller.error(new TypeError('terminated'))
        else controller.close()
      },
    }
    return new Response(new ReadableStream(source), {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
  const model = make({ ...own, model: 'm', apiKey: 'k', fetch, maxRetries: 0 })
  return { model, asked: () => n }
}

/** Tools that do what tools do; `ran` has every start. */
function toolsOf(ran, shape) {
  const cyclic = {}
  cyclic.self = cyclic
  const odd = [
    undefined,
    null,
    cyclic,
    10n,
    () => 1,
    Symbol('s'),
    { then: 1 },
    'x'.repeat(70_000),
    NaN,
  ]
  const tool = (name, execute) =>
    defineTool({
      description: name,
      inputSchema: { type: 'object' },
      ...shape,
      async execute(own, context) {
        const { toolBatchId, toolCallId, idempotencyKey } = context
        ran.push({ name, args: JSON.stringify(own), toolBatchId, toolCallId, idempotencyKey })
        return execute(context)
      },
    })
  return {
    ok: tool('ok', () => ({ n: ran.length })),
    throws: tool('throws', () => {
      throw new Error('the tool failed')
    }),
    hangs: tool('hangs', () => new Promise(() => {})),
    odd: tool('odd', () => odd[ran.length % odd.length]),
    late: tool('late', async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (ran.length % 2) throw new Error('late')
      return 'late'
    }),
  }
}

/** A store that fails, or answers late and having written, at some of its commits. */
function storeOf({ fails, lost }) {
  const store = memoryStore()
  let n = 0
  return {
    ...store,
    async commit(...given) {
      const at = n++
      if (fails.includes(at)) throw Object.assign(new Error('down'), { code: 'store.unavailable' })
      const answer = await store.commit(...given)
      if (lost.includes(at)) throw Object.assign(new Error('lost'), { code: 'store.unavailable' })
      return answer
    },
  }
}

const ENDS = ['complete', 'cancelled', 'error', 'paused']
const STATUS = { complete: 'complete', cancelled: 'cancelled', error: 'failed', paused: 'paused' }

/** Reads a turn to its end, cancelling it on the way; its events, in order. */
async function follow(turn, cancel, stop) {
  const events = []
  if (cancel.at === 0) turn.cancel('the host')
  for await (const event of turn) {
    events.push(event)
    if (events.length !== cancel.at) continue
    if (cancel.how === 'cancel') turn.cancel('the host')
    else if (cancel.how === 'signal') stop.abort()
    else break
  }
  return events
}

const counts = fc.array(fc.nat(12), { maxLength: 3 })
const options = fc.record({
  wire: fc.constantFrom(...Object.keys(WIRES)),
  mode: fc.constantFrom('two_stage', 'two_stage', 'unified'),
  script: fc.array(answers, { maxLength: 5 }),
  shape: fc.record({ readOnly: fc.boolean() }),
  policy: fc.record(
    {
      maxTools: fc.nat(3),
      actionMaxTools: fc.nat(2),
      actionTools: fc.constantFrom('*', 'readOnly', ['ok', 'throws']),
      maxCycles: fc.constantFrom(1, 2),
      readMode: fc.constantFrom('auto', 'first_call', 'batch'),
      resultsAs: fc.constantFrom('box', 'native'),
      pauseAfterTools: fc.boolean(),
      maxSteps: fc.integer({ min: 1, max: 4 }),
      stagnation: fc.constantFrom('report', 'stop'),
    },
    { requiredKeys: [] },
  ),
  cancel: fc.record({
    at: fc.oneof(fc.constant(Infinity), fc.constant(Infinity), fc.nat(12)),
    how: fc.constantFrom('cancel', 'signal', 'leave'),
  }),
  store: fc.option(fc.record({ fails: fc.oneof(fc.constant([]), counts), lost: counts })),
  resumes: fc.nat(3),
})

test('a turn has one end, numbered events, its budget, and runs no call twice', async () => {
  const property = fc.asyncProperty(options, async (given) => {
    const { wire, mode, script, shape, cancel, resumes } = given
    const pauses = given.store !== null && given.policy.pauseAfterTools === true
    const times = { toolTimeoutMs: 20, toolsTotalMs: 60, pauseAfterTools: pauses }
    const policy = { ...given.policy, ...times }
    const ran = []
    const stop = new AbortController()
    const store = given.store ? storeOf(given.store) : undefined
    const model = modelOf(wire, script)
    const common = {
      model: model.model,
      tools: toolsOf(ran, shape),
      signal: stop.signal,
      ...(store && { store, requestId: 'r' }),
    }
    const messages = [{ role: 'user', content: 'go' }]
    const turn = runTurn({ ...common, mode, policy, messages })
    let result
    const seen = new Map()
    const check = async (now, how) => {
      const events = await follow(now, how, stop)
      result = await now.result
      // The error of an owner that was refused, or lost its store, is not stored, and repeats the
      // number of the last event that was.
      const refused = /^(turn|store)\./.test(result.error?.code ?? '')
      const isTold = refused && events.at(-1)?.type === 'error'
      const stored = isTold ? events.slice(0, -1) : events
      if (isTold && stored.length) assert.ok(events.at(-1).seq >= stored.at(-1).seq)
      // Readers of a turn that is resumed begin where it left off.
      const first = stored[0]?.seq ?? 1
      assert.deepEqual(
        stored.map(({ seq }) => seq),
        stored.map((_, at) => first + at),
      )
      for (const event of stored) {
        const before = seen.get(event.seq)
        if (before && before.type !== 'error') assert.deepEqual(event, before)
        seen.set(event.seq, event)
      }
      const ends = events.filter(({ type }) => ENDS.includes(type))
      const left = how.how === 'leave' && events.length === how.at
      if (!left) assert.deepEqual(ends, events.slice(-1))
      if (!left) assert.equal(STATUS[ends[0].type], result.status)
      if (result.status === 'failed') assert.match(result.error.code, /^[a-z]+\.[a-z_]+$/)
      return events
    }
    const [one] = await check(turn, cancel)
    if (one) assert.equal(one.seq, 1)
    if (store && !stop.signal.aborted) {
      for (let n = 0; n < resumes; n++) {
        await check(resumeTurn({ ...common }), { at: Infinity })
        if (result.status === 'complete') break
      }
    }
    // What comes late changes nothing; nothing is left to fail.
    const before = JSON.stringify(result)
    await new Promise((resolve) => setTimeout(resolve, 2))
    assert.equal(JSON.stringify(result), before)
    assert.deepEqual(unhandled.splice(0), [])
    const { maxTools = 1, actionMaxTools = 1, actionTools = [], maxCycles = 1 } = policy
    const action = actionTools.length ? actionMaxTools : 0
    // The unified loop counts inferences, and no calls.
    const isUnified = mode === 'unified'
    const most = isUnified ? Infinity : maxCycles * (maxTools + action)
    assert.ok(ran.length <= most, `${ran.length} calls, of ${most}`)
    const { maxSteps = 5 } = policy
    const steps = maxSteps + (store ? resumes : 0)
    if (isUnified) assert.ok(model.asked() <= steps, `${model.asked()} inferences, of ${steps}`)
    const keys = ran.map(({ idempotencyKey }) => idempotencyKey)
    assert.deepEqual([...new Set(keys)], keys, 'a call ran twice')
    const places = ran.map(({ toolBatchId, toolCallId }) => `${toolBatchId} ${toolCallId}`)
    assert.deepEqual([...new Set(places)], places)
  })
  await holds('turns', property, 250)
})
