// Every event log of the scenario tables as a UI message stream, read by AI SDK 6 and 7.
import assert from 'node:assert/strict'
import test, { before } from 'node:test'
import * as ai7 from 'ai'
import * as ai6 from 'ai6'
import { toUIMessageResponse } from 'turnlock/ai-sdk'
import { UiMessageStream } from '../../pkg/dist/adapters/ai-sdk/stream.js'
import { scenarioLogs, standingText } from './logs.mjs'

let logs
before(async () => (logs = await scenarioLogs()))

/** A turn that tells these events; the adapter reads nothing else of it. */
const told = (events) => ({
  requestId: events[0].requestId,
  toReadableStream: () => ReadableStream.from(events),
})

/** The message that a client of this version has behind a response. */
async function read(ai, response, message) {
  const transport = new ai.DefaultChatTransport({ api: 'http://x/', fetch: async () => response })
  const sent = { chatId: 'c', messages: [], trigger: 'submit-message', messageId: undefined }
  const stream = await transport.sendMessages(sent)
  let failure
  const onError = (error) => (failure ??= error)
  const messages = ai.readUIMessageStream({ stream, message, onError })
  for await (const one of messages) message = one
  return { message, failure }
}

const callsOf = (parts) => parts.filter(({ type }) => type.startsWith('tool-'))
const textOf = (parts) => parts.map(({ type, text }) => (type === 'text' ? text : '')).join('')

/** What the events say of the calls, by the order in which they were told. */
function settled(events) {
  const results = events.flatMap((one) => (one.type === 'tool_results' ? one.toolResults : []))
  return results.map(({ name, status, result }) => ({ name, status, result }))
}

for (const [name, ai] of Object.entries({ ai6, ai7 })) {
  test(`${name} reads every turn of the scenario tables`, async () => {
    assert.ok(logs.length > 150, `${logs.length} scenarios`)
    for (const { name: scenario, legs } of logs) {
      const events = legs.flat()
      if (events.length === 0) continue
      const last = events.at(-1)
      const { message, failure } = await read(ai, toUIMessageResponse(told(events)))
      const where = `${scenario}\n${JSON.stringify(message?.parts)}`
      if (last.type === 'error') {
        assert.match(failure?.message ?? '', new RegExp(`^${last.code}: `), where)
        continue
      }
      assert.equal(failure, undefined, `${where} ${failure}`)
      const parts = message?.parts ?? []
      assert.ok(!message || message.id === last.requestId, where)
      const isVoid = events.some(({ voidFrom }) => voidFrom)
      const all = events.map((one) => (one.type === 'text' ? one.chunk : '')).join('')
      assert.equal(textOf(parts), isVoid ? all : standingText(events), where)
      const calls = callsOf(parts)
      const open = calls.filter(({ state }) => /^input-|^approval-/.test(state))
      if (last.type === 'complete') assert.deepEqual(open, [], where)
      const ran = events.flatMap((one) => (one.type === 'tool_calls' ? one.toolCalls : []))
      const denied = calls.filter(({ state }) => state === 'output-denied')
      const waits = (last.type === 'paused' && last.approvals?.length) || 0
      if (last.type !== 'cancelled') {
        assert.equal(calls.length, ran.length + denied.length + waits, where)
      }
      const ok = settled(events).filter(({ status }) => status === 'ok')
      // A revised result takes the place of the one before.
      const revised = events.some((one) => one.toolResults?.some((result) => result.revised))
      const outputs = calls.filter(({ state }) => state === 'output-available')
      if (!revised) assert.equal(outputs.length, ok.length, where)
      if (last.type === 'paused' && last.approvals) {
        const asked = calls.filter(({ state }) => state === 'approval-requested')
        assert.deepEqual(
          asked.map(({ approval }) => approval.id).sort(),
          last.approvals.map(({ signature }) => signature).sort(),
          where,
        )
      }
    }
  })
}

/** The response of one leg, as a handler sends it to a client that has those before. */
function legResponse(stream, seen, leg) {
  stream.seen(seen)
  const text = [...leg.flatMap((event) => stream.take(event)), ...stream.finish()]
  return new Response(text.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''))
}

const shape = (message) =>
  message.parts
    .filter(({ type }) => type !== 'step-start')
    .map(({ type, state, text, toolCallId, output, errorText }) => ({
      type,
      state,
      text,
      toolCallId,
      output,
      errorText,
    }))

for (const [name, ai] of Object.entries({ ai6, ai7 })) {
  test(`${name} reads a turn leg by leg as it reads it whole`, async () => {
    let resumed = 0
    for (const { name: scenario, legs } of logs) {
      if (legs.length < 2 || legs.at(-1).at(-1).type === 'error') continue
      let message
      for (const [at, leg] of legs.entries()) {
        const stream = new UiMessageStream(leg[0].requestId)
        const response = legResponse(stream, legs.slice(0, at).flat(), leg)
        const had = await read(ai, response, message && structuredClone(message))
        if (leg.at(-1).type !== 'error') assert.equal(had.failure, undefined, scenario)
        message = had.message ?? message
      }
      const whole = await read(ai, toUIMessageResponse(told(legs.flat())))
      assert.deepEqual(shape(message), shape(whole.message), scenario)
      resumed++
    }
    assert.ok(resumed > 10, `${resumed} turns with legs`)
  })
}
