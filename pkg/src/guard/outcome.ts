/** How a guarded call ended. */
import { isObject } from '../checks.js'
import type { RefusalReason } from '../generated/turn.js'
import type { ReconciledOutcome } from '../tools/tools.js'
import { describe, refuseEmptied } from '../shared/serialize.js'

/** How a call ended. */
export type GuardOutcome =
  /** It ran. `replayed`: an earlier time, of which this is the result. */
  | { status: 'ok'; result: unknown; replayed: boolean }
  /** It ran and failed. */
  | { status: 'error' | 'timeout' | 'cancelled'; error: string; replayed: boolean }
  /** It did not run. `notice`: what the model should read in place of a result. */
  | { status: 'blocked'; reason: RefusalReason; notice: string }
  /** It was started by a process that is gone. Whether it finished is not known. */
  | { status: 'unknown'; notice: string }

/** The outcome of a call that ran, or may have run: it is recorded. */
export type Settled = Exclude<GuardOutcome, { status: 'blocked' }>

/**
 * The longest result that is recorded.
 *
 * Limit | recorded result of a guarded tool | characters of JSON | a repeat gets a notice
 */
export const MAX_RECORDED = 1_048_576

/**
 * The outcome as JSON text, for a store. A result that has no JSON, or a long one, is recorded as
 * `unknown`: the call does not run again, and its result cannot be repeated.
 */
export function record(settled: Settled): string {
  if (settled.status !== 'ok') return JSON.stringify(settled)
  try {
    const result = settled.result === undefined ? null : settled.result
    const text = JSON.stringify({ ...settled, result }, refuseEmptied)
    if (text.length <= MAX_RECORDED) return text
  } catch {
    // Recorded as `unknown`.
  }
  return JSON.stringify(unrecorded)
}

const unrecorded: Settled = {
  status: 'unknown',
  notice: 'This call has run. Its result was not recorded, so it cannot be repeated here.',
}

/** The outcome of a call whose process is gone. */
export const lost: Extract<Settled, { status: 'unknown' }> = {
  status: 'unknown',
  notice:
    'This call was started before, and it is not known whether it finished. Do not repeat it.',
}

/** The outcome that a recorded text has, as a repeat of the call gets it. */
export function replayed(text: string): Settled {
  const settled = JSON.parse(text) as Settled
  return settled.status === 'unknown' ? settled : { ...settled, replayed: true }
}

/** The outcome of a call that threw. */
export const failed = (error: unknown, status: 'error' | 'timeout' | 'cancelled'): Settled => ({
  status,
  error: describe(error),
  replayed: false,
})

/** The outcome by the answer of a `reconcile`; `undefined` if it does not know. */
export function reconciledOutcome(answer: ReconciledOutcome): Settled | undefined {
  if (!isObject(answer)) return undefined
  const { result, error } = answer as { result?: unknown; error?: unknown }
  if (error !== undefined && error !== null) {
    const message = isObject(error) ? error['message'] : error
    return { status: 'error', error: describe(message), replayed: true }
  }
  return result === undefined ? undefined : { status: 'ok', result, replayed: true }
}
