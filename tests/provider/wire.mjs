// One scripted response in a provider's wire form. An entry is one of `model` in a scenario
// table: { reasoning, text, calls, textAfter, finish, usage, then } (see tests/scenarios).

/** @typedef {{ id: string, name: string, args?: unknown, argsText?: string, fragments?: number }} Call */
/** @typedef {{ reasoning?: string[], text?: string[], calls?: Call[], textAfter?: string[], finish?: string, usage?: { input: number, output: number }, then?: string }} Entry */

const argumentsOf = (call) => call.argsText ?? JSON.stringify(call.args ?? {})

/** Cuts a text in `count` pieces. */
function pieces(text, count = 1) {
  const size = Math.max(1, Math.ceil(text.length / count))
  const out = []
  for (let at = 0; at < text.length; at += size) out.push(text.slice(at, at + size))
  return out
}

const finishOf = (entry) => entry.finish ?? (entry.calls?.length ? 'tool_calls' : 'stop')

/**
 * OpenAI chat: SSE events, one string each.
 * @param {Entry} entry
 */
export function openaiChat(entry, { model = 'scripted', n = 1 } = {}) {
  const head = { id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: 1700000000, model }
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const events = [chunk({ role: 'assistant', content: '' })]
  for (const text of entry.reasoning ?? []) events.push(chunk({ reasoning_content: text }))
  for (const text of entry.text ?? []) events.push(chunk({ content: text }))
  const calls = entry.calls ?? []
  calls.forEach((call, index) => {
    const first = { name: call.name, arguments: '' }
    const open = { index, id: call.id, type: 'function', function: first }
    events.push(chunk({ tool_calls: [open] }))
    const cut = entry.then === 'cut' && index === calls.length - 1
    const text = argumentsOf(call)
    const sent = cut ? text.slice(0, Math.ceil(text.length / 2)) : text
    for (const piece of pieces(sent, call.fragments)) {
      events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
    }
  })
  for (const text of entry.textAfter ?? []) events.push(chunk({ content: text }))
  if (entry.then === 'error') {
    const error = { message: 'The model is overloaded', type: 'overloaded_error', code: 529 }
    return [...events, `data: ${JSON.stringify({ error })}\n\n`]
  }
  if (entry.then === 'malformed') return [...events, 'data: {"choices":[{"delta":{"content":"x\n\n']
  if (entry.then) return events
  events.push(chunk({}, finishOf(entry)))
  const { input = 10, output = 5 } = entry.usage ?? {}
  const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
  events.push(`data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`, 'data: [DONE]\n\n')
  return events
}

const STOP = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
}

/**
 * Anthropic: SSE events, one string each.
 * @param {Entry} entry
 */
export function anthropic(entry, { model = 'scripted', n = 1 } = {}) {
  const event = (type, own) => `event: ${type}\ndata: ${JSON.stringify({ type, ...own })}\n\n`
  const { input = 10, output = 5 } = entry.usage ?? {}
  const message = {
    ...{ id: `msg_${n}`, type: 'message', role: 'assistant', content: [], model },
    ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: input, output_tokens: 1 } },
  }
  const events = [event('message_start', { message }), event('ping', {})]
  let index = 0
  const block = (content_block, deltas, open = false) => {
    events.push(event('content_block_start', { index, content_block }))
    for (const delta of deltas) events.push(event('content_block_delta', { index, delta }))
    if (!open) events.push(event('content_block_stop', { index }))
    index++
  }
  const said = (texts) =>
    block(
      { type: 'text', text: '' },
      texts.map((text) => ({ type: 'text_delta', text })),
    )
  if (entry.reasoning?.length) {
    const deltas = entry.reasoning.map((thinking) => ({ type: 'thinking_delta', thinking }))
    block({ type: 'thinking', thinking: '' }, [
      ...deltas,
      { type: 'signature_delta', signature: 'sig' },
    ])
  }
  if (entry.text?.length) said(entry.text)
  const calls = entry.calls ?? []
  calls.forEach((call, at) => {
    const cut = entry.then === 'cut' && at === calls.length - 1
    const text = argumentsOf(call)
    const sent = cut ? text.slice(0, Math.ceil(text.length / 2)) : text
    const delta = (partial_json) => ({ type: 'input_json_delta', partial_json })
    const open = { type: 'tool_use', id: call.id, name: call.name, input: {} }
    block(open, ['', ...pieces(sent, call.fragments)].map(delta), cut)
  })
  if (entry.textAfter?.length) said(entry.textAfter)
  if (entry.then === 'error') {
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    return [...events, event('error', { error })]
  }
  if (entry.then === 'malformed') {
    return [...events, 'event: content_block_delta\ndata: {"type":"content_block_del\n\n']
  }
  if (entry.then) return events
  const stop_reason = STOP[finishOf(entry)] ?? finishOf(entry)
  const delta = { stop_reason, stop_sequence: null }
  events.push(event('message_delta', { delta, usage: { output_tokens: output } }))
  events.push(event('message_stop', {}))
  return events
}
