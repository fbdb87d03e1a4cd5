// The calls of a history, each with its signature, and what a budget would have saved. Knows no page.
import { normalize, signature } from 'turnlock'

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value)).length

/**
 * The calls in order.
 * @returns {{ calls: object[], steps: object[], messages: object[] }} `steps`: the model's messages,
 *   each with its user turn and the bytes of the request that it answers
 */
export function callsOf(history) {
  const { messages, repairs } = normalize(history, { dialect: 'openai-chat' })
  const results = new Map(
    messages.filter(({ role }) => role === 'tool').map((one) => [one.tool_call_id, one.content]),
  )
  // What a repair answered has no result.
  for (const { action, toolCallId } of repairs) {
    if (action === 'synthesized') results.delete(toolCallId)
  }
  const [calls, steps] = [[], []]
  let [turn, sent] = [0, 0]
  for (const message of messages) {
    if (message.role === 'user') turn++
    if (message.role === 'assistant') {
      steps.push({ turn, sent, message, first: calls.length })
      for (const { id, function: own } of message.tool_calls ?? []) {
        const signed = signatureOf(own)
        const { name, arguments: args } = own
        calls.push({
          id,
          name,
          args,
          signed,
          turn,
          step: steps.length - 1,
          result: results.get(id),
        })
      }
    }
    sent += bytes(message)
  }
  return { calls, steps, messages }
}

function signatureOf({ name, arguments: text }) {
  try {
    return signature({ tool: name, args: JSON.parse(text || '{}') })
  } catch {
    // No JSON: the same only as the same text.
    return `${name} ${text}`
  }
}

/** The calls by signature, within a user turn; the most repeated first. */
export function groupsOf(calls) {
  const groups = new Map()
  calls.forEach((call, at) => {
    const key = `${call.turn} ${call.signed}`
    const group = groups.get(key) ?? { ...call, places: [], texts: new Set(), results: new Set() }
    group.places.push(at)
    group.texts.add(call.args)
    group.results.add(call.result)
    groups.set(key, group)
  })
  return [...groups.values()].sort((a, b) => b.places.length - a.places.length)
}

/**
 * What `maxTools: budget` would have changed: in each user turn, the model answers as soon as so
 * many different calls have run.
 */
export function saved({ calls, steps }, budget) {
  const out = { models: 0, runs: 0, bytes: 0, cut: undefined }
  for (const turn of new Set(steps.map((step) => step.turn))) {
    const own = steps.filter((step) => step.turn === turn)
    const ran = new Set()
    let ended = false
    let answers = 0
    for (const step of own) {
      const asked = calls.filter((call) => steps[call.step] === step)
      // The answer itself is asked for once.
      if (ended && ++answers > 1) {
        out.models++
        out.bytes += step.sent
      }
      for (const call of asked) {
        if (ended || ran.has(call.signed)) out.runs++
        else ran.add(call.signed)
        ended ||= ran.size >= budget
        if (ended) out.cut ??= calls.indexOf(call) + 1
      }
    }
  }
  return out
}
