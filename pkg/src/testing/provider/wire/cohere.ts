// @ts-nocheck
// One scripted response as Cohere's version 2 streams it, or whole.
import { argumentPieces, finishOf, isCut, unknown, usageOf } from './entry.js'
import { view as chatView, violation as chatViolation } from './openai-chat.js'

const STOP = { stop: 'COMPLETE', tool_calls: 'TOOL_CALL', length: 'MAX_TOKENS' }
STOP.content_filter = 'ERROR_TOXIC'

const event = (type, own) => `event: ${type}\ndata: ${JSON.stringify({ type, ...own })}\n\n`

/**
 * SSE events, one string each.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function stream(entry, { n = 1 } = {}) {
  const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
  const events = [event('message-start', { id: `msg_${n}`, delta: { message } })]
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  let index = 0
  const block = (kind, pieces) => {
    if (!pieces.length) return
    const at = { index: index++ }
    const content = (own) => ({ ...at, delta: { message: { content: own } } })
    events.push(event('content-start', content({ type: kind, [kind]: '' })))
    for (const piece of pieces) events.push(event('content-delta', content({ [kind]: piece })))
    events.push(event('content-end', at))
  }
  block('thinking', reasoning)
  block('text', text)
  calls.forEach((call, place) => {
    const cut = isCut(entry, place)
    const own = (tool_calls) => ({ index: place, delta: { message: { tool_calls } } })
    const made = { name: call.name, arguments: '' }
    events.push(event('tool-call-start', own({ id: call.id, type: 'function', function: made })))
    for (const piece of argumentPieces(call, cut)) {
      events.push(event('tool-call-delta', own({ function: { arguments: piece } })))
    }
    if (!cut) events.push(event('tool-call-end', { index: place }))
  })
  block('text', textAfter)
  if (entry.then === 'error') {
    const delta = { finish_reason: 'ERROR', error: 'The model is overloaded' }
    return [...events, event('message-end', { delta })]
  }
  if (entry.then === 'malformed') {
    return [...events, 'event: content-delta\ndata: {"type":"content-del\n\n']
  }
  if (entry.then) return events
  const { finish_reason, usage } = whole(entry)
  events.push(event('message-end', { delta: { finish_reason, usage } }))
  return [...events, 'data: [DONE]\n\n']
}

/**
 * The body of a response that is not streamed.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function whole(entry, { n = 1 } = {}) {
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  const said = (type, pieces) => (pieces.length ? [{ type, [type]: pieces.join('') }] : [])
  const content = [
    ...said('thinking', reasoning),
    ...said('text', text),
    ...said('text', textAfter),
  ]
  const tool_calls = calls.map((call) => ({
    ...{ id: call.id, type: 'function' },
    function: { name: call.name, arguments: argumentPieces(call).join('') },
  }))
  const { input: input_tokens, output: output_tokens } = usageOf(entry)
  const tokens = { input_tokens, output_tokens }
  return {
    ...{ id: `msg_${n}`, finish_reason: STOP[finishOf(entry)] ?? finishOf(entry) },
    message: { role: 'assistant', content, ...(calls.length && { tool_calls }) },
    usage: { billed_units: tokens, tokens },
  }
}

/** The body of a failed request. */
export const failure = (status, message) => ({ id: 'x', message })

const KNOWN = ['model', 'messages', 'stream', 'tools', 'tool_choice', 'response_format', 'seed']
KNOWN.push('temperature', 'max_tokens', 'thinking', 'documents', 'stop_sequences', 'k', 'p')
KNOWN.push('citation_options', 'frequency_penalty', 'logprobs', 'presence_penalty', 'priority')
KNOWN.push('safety_mode', 'strict_tools')

/** What the API says to a request that breaks its rules; undefined for a good one. */
export function violation(body) {
  const strange = unknown(body, KNOWN)
  if (strange) return `unknown field: parameter '${strange}' is not a valid field`
  if (body.tools && !body.tools.length) return 'invalid request: tools must not be empty'
  return chatViolation(body)
}

/** @returns {import('./entry.js').View} */
export function view(body) {
  const seen = chatView(body)
  return { ...seen, choice: seen.choice?.toLowerCase() ?? null }
}
