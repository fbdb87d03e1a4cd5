/** Canonical JSON, and the signatures of calls. */
import { answer, encode } from './core/instance.js'
import { signature as part } from './core/parts/signature.js'
import { TurnlockError, wrong } from './errors.js'
import { requireWellFormed, stringify } from './shared/text.js'

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
  return answer(part.call((glue) => glue.canonicalize(bytes))).slice(1)
}

/**
 * The identity of a call: lower-case hex SHA-256 of the canonical text of
 * `{"action":…|null,"args":…,"projectId":…|null,"tool":…}`.
 *
 * @param call `args` is a value, or a string of JSON text
 * @throws TurnlockError the `json.*` codes of {@link canonicalize}, `json.not_serializable`, and
 * `options.invalid`
 */
export function signature(call_: {
  tool: string
  action?: string | null | undefined
  args: unknown
  projectId?: string | null | undefined
}): string {
  const { tool, action = null, args, projectId = null } = Object(call_) as typeof call_
  // What the core does not read would leave a call the signature of another one.
  for (const [name, value] of Object.entries({ tool, action, projectId })) {
    if (typeof value !== 'string' && (value !== null || name === 'tool'))
      throw wrong(name, 'a string')
  }
  // Text with something after its JSON value would change the object around it.
  const text = typeof args === 'string' ? canonicalize(args) : stringify(args)
  const around = JSON.stringify({ action, projectId, tool })
  requireWellFormed(`${tool}${action ?? ''}${projectId ?? ''}`)
  const bytes = encode(`{"args":${text},${around.slice(1)}`)
  return answer(part.call((glue) => glue.signature(bytes)))
}
