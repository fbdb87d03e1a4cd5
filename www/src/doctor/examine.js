// A pasted text → what it is, what is wrong in it, and what becomes of it. Knows no page.
import { canonicalize, diagnose, explainRefusal, normalize, TurnlockError } from 'turnlock'
import { callsOf } from '../trace/calls.js'
import { recognise } from '../trace/recognise.js'

/**
 * `violations` are of the history as it was pasted, `left` of the repaired messages (none, unless
 * the core is wrong). `partial`: the request continues state at the provider. With `error` the rest is what was known before it.
 * `refused` are the rules that a provider's error names, the pasted one or `refusal`.
 * @returns {{ what?: string, beside?: string[], history?: unknown[], traced?: object,
 *   refused?: string[], partial?: boolean, violations?: object[], result?: object,
 *   left?: object[], error?: Error }}
 */
export function examine(text, { dialect, strategy, conversationId, refusal }) {
  const found = {}
  try {
    Object.assign(found, read(text))
    const told = refusal || found.refusal
    if (told) found.refused = explainRefusal(told)
    if (found.refusal) return found
    found.traced = tracedOf(found.history)
    const partial = isPartial(found.body)
    found.partial = partial
    found.violations = diagnose(found.history, { dialect, partial })
    const thread = strategy === 'thread' && { conversationId }
    found.result = normalize(found.history, { dialect, strategy, partial, ...thread })
    const { messages } = found.result
    // A thread that has everything is sent nothing, which no rule about messages fits.
    found.left = messages.length ? diagnose(messages, { dialect, partial }) : []
  } catch (error) {
    found.error = error
  }
  return found
}

/**
 * Whether a request body continues state at the provider: a message thread of Anthropic, or a
 * response or a conversation of OpenAI.
 */
export function isPartial(body) {
  if (!body) return false
  const { thread, previous_response_id: response, conversation } = body
  return thread?.type === 'continue' || isReference(response) || isReference(conversation)
}

/** An id, or an object that has one. */
function isReference(value) {
  const id = typeof value === 'object' ? value?.id : value
  return typeof id === 'string' && id !== ''
}

/** The calls in it; undefined where the history cannot be read, which the rest says better. */
function tracedOf(history) {
  try {
    return callsOf(history)
  } catch {
    return undefined
  }
}

/** What it is, or a typed error whose `details.offset` counts UTF-16 units, as a text field does. */
export function read(text) {
  let found
  try {
    found = recognise(text)
  } catch (error) {
    throw syntaxError(text, error)
  }
  if (found) return found
  throw new TurnlockError(
    'options.invalid',
    'there is no history in it: a list of messages or events',
  )
}

/** Browsers say what is wrong in words of their own, some without the place; the core has it. */
export function syntaxError(text, { message }) {
  try {
    canonicalize(text)
  } catch ({ code, details }) {
    if (code === 'json.syntax') return unexpected(text, code, details.offset)
  }
  return new TurnlockError('json.syntax', message)
}

function unexpected(text, code, bytes) {
  const before = new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes))
  const lines = before.split('\n')
  const [line, column] = [lines.length, lines.at(-1).length + 1]
  const next = [...text.slice(before.length, before.length + 2)][0]
  const found = next ? `${JSON.stringify(next)} cannot stand there` : 'the text ends too early'
  const message = `not JSON at line ${line}, column ${column}: ${found}`
  return new TurnlockError(code, message, { offset: before.length, line, column })
}
