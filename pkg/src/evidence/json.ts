/** Host values as strict JSON. Values that `JSON.stringify` silently changes are rejected. */
import { isTurnlockError, TurnlockError } from '../errors.js'
import { describe, refuseEmptied } from '../shared/serialize.js'

/**
 * Maximum characters of one replicate's JSON. The core's limit is the same number of bytes.
 *
 * Limit | the JSON of a replicate | characters | the replicate is invalid
 */
const REPLICATE_CHARS = 4 * 1024 * 1024

/**
 * Returns the JSON of a value. Members that are `undefined` are omitted, as usual in JavaScript.
 *
 * @throws TurnlockError `json.not_serializable`: NaN, infinities, a cycle, a bigint, a function,
 * `undefined` itself or in an array, bytes, what would become `{}` such as a `Map`; `json.too_large`
 */
export function strictJson(value: unknown, most = REPLICATE_CHARS): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
    // Slower by far, so only to say what is wrong.
    if (!isPlain(value)) text = JSON.stringify(value, refuse)
  } catch (error) {
    if (error instanceof TurnlockError) throw error
    throw wrong(describe(error))
  }
  if (text === undefined) throw wrong(`${typeof value} is no JSON value`)
  if (text.length > most) {
    throw new TurnlockError('json.too_large', `JSON of ${text.length} characters; at most ${most}`)
  }
  return text
}

/** Whether `JSON.stringify` changes nothing. It has shown that there is no cycle. */
function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean'
  if (value === null) return true
  // `every` would skip holes.
  if (Array.isArray(value)) return value.findIndex((item) => !isPlain(item)) < 0
  const members: unknown[] = Object.values(value)
  const emptied = members.length === 0 && value.constructor !== Object
  if ('toJSON' in value || ArrayBuffer.isView(value) || emptied) return false
  return members.every((member) => member === undefined || isPlain(member))
}

function refuse(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw wrong(`${value} at \`${key}\``)
  const nothing = value === undefined || typeof value === 'function' || typeof value === 'symbol'
  if (nothing && Array.isArray(this)) throw wrong(`${typeof value} in an array, at ${key}`)
  if (nothing && value !== undefined) throw wrong(`${typeof value} at \`${key}\``)
  return refuseEmptied(key, value)
}

const wrong = (why: string) =>
  new TurnlockError('json.not_serializable', `the value has no JSON: ${why}`)

/** An error as one line of a replicate's `quality.errors`. */
export function errorLine(error: unknown): string {
  const code = isTurnlockError(error) ? `${error.code}: ` : ''
  return code + describe(error)
}
