/** The synchronous operations of the core. */
import { answer, call, core, encode } from './core.js'
import { TurnlockError } from './errors.js'
import type { Delta, Dialect } from './types.js'

/**
 * Converts a JSON text to its RFC 8785 form. One deviation: a plain integer literal that is not
 * the ECMAScript text of its own double keeps its exact digits.
 *
 * @throws TurnlockError `json.syntax`, `json.duplicate_key`, `json.lone_surrogate`,
 * `json.too_deep` (over 128 levels), `json.too_large` (over 16 MiB), `json.number_range`
 */
export function canonicalize(json: string): string {
  if (typeof json !== 'string') {
    throw new TurnlockError('json.syntax', 'canonicalize takes JSON as a string')
  }
  requireWellFormed(json)
  const bytes = encode(json)
  return answer(call(core(), (glue) => glue.canonicalize(bytes))).slice(1)
}

/**
 * The identity of a call: lower-case hex SHA-256 of the canonical text of
 * `{"action":…|null,"args":…,"projectId":…|null,"tool":…}`.
 *
 * @param call `args` is a value, or a string of JSON text
 * @throws TurnlockError the `json.*` codes of {@link canonicalize}, and `json.not_serializable`
 */
export function signature(call_: {
  tool: string
  action?: string | null | undefined
  args: unknown
  projectId?: string | null | undefined
}): string {
  const { tool, action = null, args, projectId = null } = call_
  if (typeof tool !== 'string')
    throw new TurnlockError('options.invalid', '`tool`: expected a string')
  // Text with something after its JSON value would change the object around it.
  const text = typeof args === 'string' ? canonicalize(args) : stringify(args)
  const around = JSON.stringify({ action, projectId, tool })
  requireWellFormed(`${tool}${action ?? ''}${projectId ?? ''}`)
  const bytes = encode(`{"args":${text},${around.slice(1)}`)
  return answer(call(core(), (glue) => glue.signature(bytes)))
}

/** `JSON.stringify` with a typed error for values that it cannot serialize. */
export function stringify(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new TurnlockError('json.not_serializable', `the value has no JSON: ${reason}`)
  }
  if (text === undefined) {
    throw new TurnlockError('json.not_serializable', `a ${typeof value} has no JSON`)
  }
  return text
}

function requireWellFormed(text: string): void {
  // TextEncoder would turn two different lone surrogates into the same replacement character.
  const at = isWellFormed(text) ? -1 : text.search(LONE)
  if (at >= 0) {
    throw new TurnlockError('json.lone_surrogate', `lone surrogate at ${at}`, { offset: at })
  }
}

const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

/** Whether a text has no lone surrogates. */
export function isWellFormed(text: string): boolean {
  const own = text as { isWellFormed?(): boolean }
  return own.isWellFormed ? own.isWellFormed() : !LONE.test(text)
}

/** Decodes one response. */
export interface DeltaDecoder {
  /** Decodes the next bytes, which may be split anywhere. */
  feed(bytes: Uint8Array): Delta[]
  /** Ends the stream, returns its last deltas and frees the decoder. */
  end(): Delta[]
}

const finalizers =
  typeof FinalizationRegistry === 'undefined'
    ? undefined
    : new FinalizationRegistry<() => void>((free) => free())

/** Calls `free` when `owner` is garbage-collected, to free its memory in the core. */
export function onceFreed(owner: object, free: () => void): void {
  finalizers?.register(owner, free, owner)
}

/**
 * Decodes a provider's stream. The deltas do not depend on the chunking. Malformed input becomes
 * a delta of type `error`; decoding never throws.
 *
 * @throws TurnlockError `dialect.unknown`, `dialect.no_stream`
 */
export function decodeStream(dialect: Dialect): DeltaDecoder {
  const on = core()
  const handle = Number(answer(call(on, (glue) => glue.stream_new(dialect))))
  let ended = false
  const free = () => call(on, (glue) => glue.stream_free(handle))
  const decoder: DeltaDecoder = {
    feed: (bytes) => (ended ? [] : deltas(call(on, (glue) => glue.stream_feed(handle, bytes)))),
    end() {
      if (ended) return []
      ended = true
      finalizers?.unregister(decoder)
      const last = deltas(call(on, (glue) => glue.stream_end(handle)))
      free()
      return last
    },
  }
  // A decoder that is dropped before its end must not leak the core's memory.
  onceFreed(decoder, free)
  return decoder
}

function deltas(text: string): Delta[] {
  if (text === '') return []
  const items = JSON.parse(answer(text)) as (string | Delta)[]
  return items.map((item) => (typeof item === 'string' ? { type: 'text', text: item } : item))
}
