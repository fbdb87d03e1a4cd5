// @ts-nocheck
// One scripted response as Ollama's own API streams it: a JSON object a line; or whole, as one.
// Calls come whole in both.
import { argumentPieces, argumentsOf, finishOf, isCut, unknown, usageOf } from './entry.js'
import { view as chatView } from './openai-chat.js'

export const TYPE = 'application/x-ndjson'

/**
 * Lines.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function stream(entry, { body = {} } = {}) {
  const line = (own) => `${JSON.stringify({ ...headOf(body), ...own })}\n`
  const say = (own) => line({ message: { role: 'assistant', content: '', ...own }, done: false })
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  const lines = [
    ...reasoning.map((thinking) => say({ thinking })),
    ...text.map((content) => say({ content })),
  ]
  for (const [index, call] of calls.entries()) {
    const args = argumentPieces(call).join('').replaceAll('\n', ' ') || '{}'
    const raw = `{"id":${JSON.stringify(call.id)},"function":{"index":${index},"name":${JSON.stringify(call.name)},"arguments":${args}}}`
    const whole = say({ tool_calls: ['CALL'] }).replace('"CALL"', () => raw)
    lines.push(isCut(entry, index) ? whole.slice(0, whole.indexOf('"arguments":') + 14) : whole)
  }
  lines.push(...textAfter.map((content) => say({ content })))
  if (entry.then === 'error') return [...lines, '{"error":"The model is overloaded"}\n']
  if (entry.then === 'malformed') return [...lines, '{"model":"scripted","message":what}\n']
  if (entry.then) return lines
  return [...lines, line({ message: { role: 'assistant', content: '' }, ...endOf(entry) })]
}

/**
 * The body of a response that is not streamed.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function whole(entry, { body = {} } = {}) {
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  const tool_calls = calls.map((call, index) => ({
    ...{ id: call.id, function: { index, name: call.name, arguments: argumentsOf(call) } },
  }))
  const message = {
    ...{ role: 'assistant', content: [...text, ...textAfter].join('') },
    ...(reasoning.length && { thinking: reasoning.join('') }),
    ...(calls.length && { tool_calls }),
  }
  return { ...headOf(body), message, ...endOf(entry) }
}

const headOf = ({ model = 'scripted' }) => ({ model, created_at: '2026-01-01T00:00:00Z' })

function endOf(entry) {
  const { input: prompt_eval_count, output: eval_count } = usageOf(entry)
  // It says `stop` with calls too.
  const done_reason = finishOf(entry) === 'tool_calls' ? 'stop' : finishOf(entry)
  return { done: true, done_reason, prompt_eval_count, eval_count }
}

/** The body of a failed request. */
export const failure = (_, message) => ({ error: message })

const KNOWN = ['model', 'messages', 'stream', 'tools', 'format', 'options', 'think', 'keep_alive']

/** What the API says to a request that breaks its rules; undefined for a good one. */
export function violation(body) {
  const strange = unknown(body, KNOWN)
  // The API itself ignores what it does not know.
  if (strange) return `unknown member: ${strange}`
  const { messages = [] } = body
  if (!messages.length) return 'messages is required'
  for (const { content = '', tool_calls: calls = [] } of messages) {
    if (typeof content !== 'string') {
      return 'json: cannot unmarshal array into Go struct field ChatRequest.messages of type string'
    }
    if (calls.some((call) => typeof call.function.arguments !== 'object')) {
      return 'json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments'
    }
  }
  return undefined
}

/** @returns {import('./entry.js').View} */
export const view = (body) => chatView(body)
