// @ts-nocheck
// One scripted response as Anthropic Messages streams it, or whole.
import { argumentPieces, argumentsOf, finishOf, isCut, usageOf } from './entry.js'

const STOP = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
}

const event = (type, own) => `event: ${type}\ndata: ${JSON.stringify({ type, ...own })}\n\n`

/**
 * SSE events, one string each.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function stream(entry, { n = 1, body = {} } = {}) {
  const { usage, ...ended } = whole(entry, { n, body })
  const { stop_reason, stop_sequence } = ended
  const begun = { content: [], stop_reason: null, stop_sequence: null }
  const message = { ...ended, ...begun, usage: { ...usage, output_tokens: 1 } }
  const events = [event('message_start', { message }), event('ping', {})]
  blocksOf(entry).forEach(({ start, deltas, open }, index) => {
    events.push(event('content_block_start', { index, content_block: start }))
    for (const delta of deltas) events.push(event('content_block_delta', { index, delta }))
    if (!open) events.push(event('content_block_stop', { index }))
  })
  if (entry.then === 'error') {
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    return [...events, event('error', { error })]
  }
  if (entry.then === 'malformed') {
    return [...events, 'event: content_block_delta\ndata: {"type":"content_block_del\n\n']
  }
  if (entry.then) return events
  const { output_tokens } = usage
  const delta = { stop_reason, stop_sequence }
  events.push(event('message_delta', { delta, usage: { output_tokens } }))
  return [...events, event('message_stop', {})]
}

/**
 * The body of a response that is not streamed.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function whole(entry, { n = 1, body = {} } = {}) {
  const { input: input_tokens, output: output_tokens } = usageOf(entry)
  return {
    ...{ id: `msg_${n}`, type: 'message', role: 'assistant', model: body.model ?? 'scripted' },
    content: contentOf(entry),
    ...{ stop_reason: STOP[finishOf(entry)] ?? finishOf(entry), stop_sequence: null },
    usage: { input_tokens, output_tokens },
  }
}

function contentOf({ reasoning = [], blocks = [], text = [], calls = [], textAfter = [] }) {
  const said = (pieces) => (pieces.length ? [{ type: 'text', text: pieces.join('') }] : [])
  const thought = { type: 'thinking', thinking: reasoning.join(''), signature: 'sig' }
  const asked = calls.map((call) => ({
    ...{ type: 'tool_use', id: call.id, name: call.name, input: argumentsOf(call) },
  }))
  const thoughts = reasoning.length ? [thought] : []
  return [...thoughts, ...blocks, ...said(text), ...asked, ...said(textAfter)]
}

function blocksOf(entry) {
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const said = (pieces) => ({
    start: { type: 'text', text: '' },
    deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
  })
  const thought = {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...reasoning.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: 'sig' },
    ],
  }
  const ran = blocks.map(({ input, ...block }) => ({
    start: { ...block, ...(input && { input: {} }) },
    deltas: input ? [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }] : [],
  }))
  const asked = calls.map((call, at) => ({
    start: { type: 'tool_use', id: call.id, name: call.name, input: {} },
    deltas: ['', ...argumentPieces(call, isCut(entry, at))].map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    })),
    open: isCut(entry, at),
  }))
  return [
    ...(reasoning.length ? [thought] : []),
    ...ran,
    ...(text.length ? [said(text)] : []),
    ...asked,
    ...(textAfter.length ? [said(textAfter)] : []),
  ]
}

/** The body of a failed request. */
export function failure(status, message) {
  const type =
    { 401: 'authentication_error', 404: 'not_found_error', 429: 'rate_limit_error' }[status] ??
    (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message } }
}

const idsOf = (message, type, key) =>
  (Array.isArray(message?.content) ? message.content : [])
    .filter((block) => block.type === type)
    .map((block) => block[key])
const repeated = (ids) => ids.find((id, at) => ids.indexOf(id) !== at)

/**
 * What the API says to a history that breaks its rules; undefined for a good one. The texts are
 * its own, word for word.
 */
export function violation({ messages = [] }) {
  if (!messages.length) return 'messages: at least one message is required'
  if (messages.some((message) => message.role === 'system')) {
    return 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.'
  }
  if (messages[0].role !== 'user') return 'messages: first message must use the "user" role'
  for (const [at, message] of messages.entries()) {
    const calls = idsOf(message, 'tool_use', 'id')
    if (repeated(calls)) return `messages.${at}: \`tool_use\` ids must be unique`
    const answers = idsOf(messages[at + 1], 'tool_result', 'tool_use_id')
    const open = calls.filter((id) => !answers.includes(id))
    if (open.length) {
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    }
    const results = idsOf(message, 'tool_result', 'tool_use_id')
    const before = idsOf(messages[at - 1], 'tool_use', 'id')
    const orphan = results.findIndex((id) => !before.includes(id))
    if (orphan >= 0) {
      return `messages.${at}.content.${orphan}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${results[orphan]}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    }
    if (repeated(results)) {
      return `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${repeated(results)}`
    }
  }
  return undefined
}

/** @returns {import('./entry.js').View} */
export function view({ messages = [], system = '', tools = [], tool_choice: choice = null }) {
  const text = (content) =>
    typeof content === 'string'
      ? content
      : (content ?? []).map((block) => block.text ?? '').join('\n')
  const blocks = ({ content }) => (Array.isArray(content) ? content : [])
  return {
    tools: tools.flatMap(({ function: own, ...tool }) => {
      const { name = own?.name, input_schema: schema } = tool
      return name ? { name, schema } : []
    }),
    choice: choice?.type ?? null,
    system: text(system),
    list: messages,
    messages: messages.map((one) => ({
      role: one.role,
      text: text(one.content),
      results: blocks(one)
        .filter((block) => block.type === 'tool_result')
        .map((block) => text(block.content)),
    })),
  }
}
