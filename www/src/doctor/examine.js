// A pasted text → what is wrong in it, and what becomes of it. Knows no page.
import { canonicalize, diagnose, normalize, TurnlockError } from 'turnlock'

/**
 * `violations` are of the history as it was pasted, `left` of the repaired messages (none, unless
 * the core is wrong). With `error` the rest is what was known before it.
 * @returns {{ history?: unknown[], violations?: object[], result?: object, left?: object[], error?: Error }}
 */
export function examine(text, { dialect, strategy, conversationId }) {
  const found = {}
  try {
    found.history = read(text)
    found.violations = diagnose(found.history, { dialect })
    const thread = strategy === 'thread' && { conversationId }
    found.result = normalize(found.history, { dialect, strategy, ...thread })
    const { messages } = found.result
    // A thread that has everything is sent nothing, which no rule about messages fits.
    found.left = messages.length ? diagnose(messages, { dialect }) : []
  } catch (error) {
    found.error = error
  }
  return found
}

/** The array, or a typed error whose `details.offset` counts UTF-16 units, as a text field does. */
function read(text) {
  let history
  try {
    history = JSON.parse(text)
  } catch (error) {
    throw syntaxError(text, error)
  }
  if (Array.isArray(history)) return history
  const inside = ['messages', 'input', 'contents'].find((key) => Array.isArray(history?.[key]))
  const where = inside ? `: the one in \`${inside}\`, without what is around it` : ''
  throw new TurnlockError('options.invalid', `a history is a JSON array${where}`)
}

/** Browsers say what is wrong in words of their own, some without the place; the core has it. */
function syntaxError(text, { message }) {
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
