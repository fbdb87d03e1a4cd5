/** Serializes a tool's value as bounded JSON text. It always terminates and never throws. */

import { isObject } from '../checks.js'
import { isTurnlockError } from '../errors.js'
import type { SettledCall } from '../generated/turn.js'
import { contentOf } from '../tools/content.js'
import { describe } from './describe.js'

export { describe }

/** Extra characters beyond the limit, so that the core can choose where to cut. */
const SLACK = 16

/**
 * Serializes the value that a tool returned. Only the beginning of a text over `limit` is sent.
 *
 * @param mediaBytes how many bytes of images and files a result may have; none for what is no result
 */
export function serialize(value: unknown, limit: number, mediaBytes?: number): SettledCall {
  let text: string | undefined
  try {
    const content = mediaBytes === undefined ? undefined : contentOf(value, limit, mediaBytes)
    if (content) {
      text = JSON.stringify(content, refuseEmptied)
      return { type: 'ok', text, bytes: utf8Length(text) }
    }
    text = JSON.stringify(value === undefined ? null : value, refuseEmptied)
  } catch (error) {
    return unserializable(describe(error))
  }
  // Functions, symbols, and a `toJSON` that returns one of them.
  if (text === undefined) return unserializable(`a ${typeof value} has no JSON`)
  if (text.length <= limit) return { type: 'ok', text, bytes: utf8Length(text) }
  text = JSON.stringify(failureFirst(value), refuseEmptied)
  return { type: 'ok', text: text.slice(0, limit + SLACK), bytes: utf8Length(text) }
}

/** With the members of MCP's failed result first, so that the core finds them in a text that is cut. */
function failureFirst(value: unknown): unknown {
  if (!isObject(value) || !('isError' in value) || !('content' in value)) return value
  return { isError: value.isError, content: value.content, ...value }
}

/**
 * Throws for bytes, and for what would become `{}` although it holds something: a `Map`, a `Response`,
 * a stream, an object of a class whose members JSON does not see.
 */
export function refuseEmptied(_: string, value: unknown): unknown {
  if (!isObject(value)) return value
  const kind = value.constructor?.name || Object.prototype.toString.call(value).slice(8, -1)
  const written = /^(Object|String|Number|Boolean)$/.test(kind) || Object.keys(value).length > 0
  if (!written || ArrayBuffer.isView(value)) throw new TypeError(`a ${kind} has no JSON`)
  return value
}

/**
 * What a tool returned; of an async generator, what it returned at last, and each value that it
 * yields goes to `report`.
 */
export async function outcomeOf(
  returned: unknown,
  report: (data: unknown) => void,
  signal: AbortSignal,
): Promise<unknown> {
  const value = await returned
  if (!isObject(value)) return value
  const { next, [Symbol.asyncIterator]: iterates } = value as Partial<AsyncGenerator>
  if (typeof next !== 'function' || typeof iterates !== 'function') return value
  const generator = value as unknown as AsyncGenerator
  for (;;) {
    const step = await generator.next()
    if (step.done) return step.value
    if (signal.aborted) return (await generator.return(undefined)).value
    report(step.value)
  }
}

/** The outcome of a tool that threw. */
export function threw(error: unknown): SettledCall {
  const message = describe(error)
  const code = isTurnlockError(error) ? error.code : undefined
  // What a tool cannot know of its own call, such as behind a connection that broke.
  if (code === 'tool.outcome_unknown') return { type: 'unknown', message }
  return failed(code, message)
}

/** A failure by its own code, unless that is one of those which the core gives to calls. */
function failed(code: unknown, message: string): SettledCall {
  const isValidCode = typeof code === 'string' && /^(?!tool\.)[\w.-]{1,64}$/.test(code)
  return { type: 'error', code: isValidCode ? code : 'tool.threw', message }
}

/** What a tool says of a call that may have run. */
export function reconciled(answer: unknown, limit: number, mediaBytes: number): SettledCall {
  if (answer === undefined || answer === null) return { type: 'unknown', message: '' }
  const { result, error } = answer as { result?: unknown; error?: unknown }
  if (error !== undefined && error !== null) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    return failed(code, typeof message === 'string' ? message : describe(error))
  }
  if (result !== undefined) return serialize(result, limit, mediaBytes)
  return { type: 'unknown', message: '`reconcile` returned neither `result` nor `error`' }
}

const unserializable = (why: string): SettledCall => ({
  type: 'error',
  code: 'tool.unserializable',
  message: `the tool's result cannot be sent: ${why}`,
})

/** Computes the UTF-8 length without encoding, because a result may have 50 MB. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    // A surrogate pair has two units and four bytes.
    bytes += unit < 0x800 || (unit & 0xf800) === 0xd800 ? 1 : 2
  }
  return bytes
}

/** The reason of an aborted signal, as text. */
export function abortReason(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason
  if (typeof reason === 'string') return reason
  return (reason instanceof Error && reason.message) || 'aborted'
}

/**
 * Whether a value is plain JSON: nothing of it is lost or changed by `JSON.stringify`, except that
 * members that are `undefined` count as absent.
 */
export function isPlain(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || depth >= 128) return false
  if (Array.isArray(value)) return Array.from(value).every((item) => isPlain(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  const members: unknown[] = Object.values(value)
  return members.every((member) => member === undefined || isPlain(member, depth + 1))
}

/** Whether two values are the same JSON. */
export function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const named = (one: object) => Object.entries(one).filter(([, value]) => value !== undefined)
  const [left, right] = [named(a), new Map<string, unknown>(named(b))]
  return left.length === right.size && left.every(([key, value]) => isSame(value, right.get(key)))
}
