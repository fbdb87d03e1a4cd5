/** Repairs the history of a request that a provider has refused. */
import { answer, encode } from '../core/instance.js'
import { history as part } from '../core/parts/history.js'
import type { Repair } from '../generated/common.js'
import type { Dialect } from '../types.js'

/** A repaired history of a request. */
export interface RepairedHistory {
  /** The member of the body that has the history: `messages`, `input` or `contents`. */
  member: string
  /** Its repaired value, as JSON text: numbers keep their digits. */
  list: string
  /** `index` is the place in the list that was sent. Not empty. */
  repairs: Repair[]
}

/**
 * Repairs the history in the body of a request, by the rules that a refusal names.
 *
 * @param body JSON text
 * @param refusal the text or the body of the provider's response
 * @returns `undefined` if the refusal names no fault of the history, or none that `normalizeHistory`
 * repairs
 * @throws TurnlockError `json.*` for a body that is not JSON
 */
export function repairRequest(
  dialect: Dialect,
  body: string,
  refusal: string,
): RepairedHistory | undefined {
  const [name, given, text] = [encode(dialect), encode(body), encode(refusal)]
  const repaired = answer(part.call((glue) => glue.history_repair(name, given, text)))
  return repaired === '' ? undefined : (JSON.parse(repaired) as RepairedHistory)
}
