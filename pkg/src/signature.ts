/** Canonical JSON, and the signatures of calls. */
import { signature as part } from './core/parts/signature.js'
import { canonicalText, signCall } from './shared/signing.js'

/**
 * Converts a JSON text to its RFC 8785 form. One deviation: a plain integer literal that is not
 * the ECMAScript text of its own double keeps its exact digits.
 *
 * @throws TurnlockError `json.syntax`, `json.duplicate_key`, `json.lone_surrogate`,
 * `json.too_deep` (over 128 levels), `json.too_large` (over 16 MiB), `json.number_range`
 */
export function canonicalize(json: string): string {
  return canonicalText(part, json)
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
  return signCall(part, call_)
}
