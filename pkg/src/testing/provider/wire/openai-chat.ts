// @ts-nocheck
// One scripted response as OpenAI Chat Completions streams it, or whole.
import { argumentPieces, finishOf, isCut, usageOf } from './entry.js'

/**
 * SSE events, one string each.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function stream(entry, { n = 1, body = {} } = {}) {
  const isCounted = body.stream_options?.include_usage === true
  const head = {
    ...{ id: `chatcmpl-${n}`, object: 'chat.completion.chunk', created: 1700000000 + n },
    ...{ model: body.model ?? 'scripted', system_fingerprint: 'fp_scripted' },
  }
  const event = (own) => `data: ${JSON.stringify({ ...head, ...own })}\n\n`
  // Where usage is asked for, every chunk has the member; only the last one fills it.
  const chunk = (delta, finish_reason = null) =>
    event({
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(isCounted && { usage: null }),
    })
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...reasoning.map((piece) => chunk({ reasoning_content: piece })),
    ...blocks.map((block) => chunk({ executed_tools: [block] })),
    ...text.map((piece) => chunk({ content: piece })),
    ...calls.flatMap((call, index) => [
      chunk({
        tool_calls: [
          { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } },
        ],
      }),
      ...argumentPieces(call, isCut(entry, index)).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]),
    ...textAfter.map((piece) => chunk({ content: piece })),
  ]
  if (entry.then === 'error') {
    const error = { message: 'The model is overloaded', type: 'overloaded_error', code: 529 }
    return [...events, `data: ${JSON.stringify({ error })}\n\n`]
  }
  if (entry.then === 'malformed') return [...events, 'data: {"choices":[{"delta":{"content":"x\n\n']
  if (entry.then) return events
  events.push(chunk({}, finishOf(entry)))
  if (isCounted) events.push(event({ choices: [], usage: counted(entry) }))
  return [...events, 'data: [DONE]\n\n']
}

/**
 * The body of a response that is not streamed.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function whole(entry, { n = 1, body = {} } = {}) {
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const content = [...text, ...textAfter].join('')
  const tool_calls = calls.map((call) => ({
    ...{ id: call.id, type: 'function' },
    function: { name: call.name, arguments: argumentPieces(call).join('') },
  }))
  const message = {
    ...{ role: 'assistant', content: content || null, refusal: null },
    ...(reasoning.length && { reasoning_content: reasoning.join('') }),
    ...(blocks.length && { executed_tools: blocks }),
    ...(calls.length && { tool_calls }),
  }
  return {
    ...{ id: `chatcmpl-${n}`, object: 'chat.completion', created: 1700000000 + n },
    ...{ model: body.model ?? 'scripted', system_fingerprint: 'fp_scripted' },
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(entry) }],
    usage: counted(entry),
  }
}

function counted(entry) {
  const { input, output } = usageOf(entry)
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

/** The body of a failed request. */
export function failure(status, message) {
  const type =
    { 401: 'authentication_error', 429: 'rate_limit_error' }[status] ??
    (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { error: { message, type, param: null, code: null } }
}

/**
 * What the API says to a history that breaks its rules; undefined for a good one. The texts are
 * its own, word for word (the spelling of `preceeding` included).
 */
export function violation({ messages = [] }) {
  if (!messages.length) {
    return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
  }
  let asked = []
  let answered = new Map()
  const unanswered = () => asked.filter((id) => !answered.has(id))
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      const id = message.tool_call_id
      if (!asked.includes(id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      }
      if (answered.has(id)) {
        return `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${answered.get(id)}] and messages[${at}].`
      }
      answered.set(id, at)
      continue
    }
    if (unanswered().length) break
    asked = (message.tool_calls ?? []).map((call) => call.id)
    answered = new Map()
  }
  if (!unanswered().length) return undefined
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${unanswered().join(', ')}`
}

/** @returns {import('./entry.js').View} */
export function view({ messages = [], tools = [], tool_choice: choice = null }) {
  const text = ({ content }) =>
    typeof content === 'string'
      ? content
      : (Array.isArray(content) ? content : []).map((part) => part.text ?? '').join('\n')
  return {
    tools: tools.flatMap(({ function: own }) =>
      own ? { name: own.name, schema: own.parameters } : [],
    ),
    choice: choice?.type ?? choice,
    system: '',
    list: messages,
    messages: messages.map((one) => ({
      role: one.role,
      text: one.role === 'tool' ? '' : text(one),
      results: one.role === 'tool' ? [text(one)] : [],
    })),
  }
}
