/** Resumes or cancels turns in another process, isolate or tab. */
import { isObject } from './checks.js'
import { describe } from './serialize.js'
import { isTurnlockError, TurnlockError } from './errors.js'
import { CANCEL_TURN_OPTIONS, PAUSE_TURN_OPTIONS, RESUME_TURN_OPTIONS } from './generated/rows.js'
import type { CancelTurnOptions, PauseTurnOptions, ResumeTurnOptions } from './generated/turn.js'
import { eventsBehind, inTime, keepOptions, stateOf, turnKey, type KeptState } from './kept.js'
import { modelOptions } from './models/model.js'
import { checkOptions } from './options.js'
import { randomHex } from './random.js'
import { checkStore, type Kept, type Store } from './stores/store.js'
import { stringify } from './text.js'
import { checkModel, RunningTurn, tracer, wireTools, type CoreOptions, type Turn } from './turn.js'

export type { CancelTurnOptions, PauseTurnOptions, ResumeTurnOptions }

/** The user's decision on a waiting call. It applies only to the arguments of this signature. */
export interface Approval {
  signature: string
  approved: boolean
}

/**
 * What takes the place of a result of the turn: another value, or none. Where
 * calls have the same id, those that `result.messages` shows tell them apart; an id that is not there
 * is that of the last such call.
 */
export type ResultRevision =
  { toolCallId: string; result: unknown } | { toolCallId: string; drop: true }

/**
 * Continues a turn that is paused, whose model failed, or whose owner is gone.
 *
 * Stored outcomes are used. No call is started twice unless its tool is `readOnly` or `idempotent`,
 * and then with the same idempotency key. `seq` continues from its last value.
 *
 * Terminal `error` events: `turn.not_found` (unknown, expired, or another tenant's),
 * `turn.conflict` (ended, running elsewhere, or resumed by another owner at the same time),
 * `turn.cancelled`, `tool.no_result`, `tool.no_approval`, `store.*`. After a conflict, read the turn
 * with `followTurn`. A dead owner may have sent a last write, and its lease starts when that write
 * arrives: try again when `followTurn` reports `turn.interrupted`.
 *
 * @throws TurnlockError for misuse: `options.invalid`, `store.unsupported`
 */
export function resumeTurn(options: ResumeTurnOptions): Turn {
  checkOptions(options, RESUME_TURN_OPTIONS)
  const { model, tools, store, tenant = '', requestId, toolBatchId } = options
  checkModel(model)
  checkBatch(toolBatchId)
  const approvals = copied(options.approvals, checkApprovals)
  const results = copied(options.results, checkResults)
  const { signal } = options
  const turn = open({
    ...{ model, tools, requestId, store, tenant, signal, onTrace: tracer(options) },
  })
  const wire = wireTools(tools)
  void restore(turn, store, turnKey(tenant, requestId), (kept, events) => ({
    ...modelOptions(model),
    ...{ requestId, tools: wire },
    keep: keepOptions(tenant),
    resume: { kept, events, toolBatchId, approvals, results },
  }))
  return turn
}

/** Maximum attempts to write between two writes of a busy owner. */
const ATTEMPTS = 100

/**
 * Cancels a turn, wherever it runs. Its owner ends the provider's stream and cancels its tools at
 * its next write, or when its store notifies it. The turn can no longer be resumed. Cancelling a
 * turn that has ended changes nothing; `status` is its final status.
 *
 * @throws TurnlockError `turn.not_found`, `store.*`; `options.invalid` for misuse
 */
export async function cancelTurn(options: CancelTurnOptions): Promise<CancelledTurn> {
  const { requestId, status } = await endTurn(options)
  return { requestId, status }
}

interface CancelledTurn {
  requestId: string
  status: 'cancelled' | 'complete' | 'failed'
}

/**
 * As {@link cancelTurn}. `ended` is there if this call has ended a turn that nobody ran: a paused
 * one, or one whose model failed. Of any other, its owner tells the end.
 */
export async function endTurn(
  options: CancelTurnOptions,
): Promise<CancelledTurn & { ended?: Turn }> {
  checkOptions(options, CANCEL_TURN_OPTIONS)
  const { requestId, store, tenant = '', reason = 'cancelled by the host' } = options
  const key = turnKey(tenant, requestId)
  for (let attempt = 1; ; attempt++) {
    const turn = open({ requestId, store, tenant })
    const kept = await restore(turn, store, key, (kept, events) => ({
      ...{ requestId, keep: keepOptions(tenant) },
      resume: { kept, events, cancel: String(reason) },
    }))
    const result = await turn.result
    const status = kept && stateOf(kept).status
    if (result.status === 'cancelled' || status === 'cancelled') {
      const rested = result.status === 'cancelled' && (status === 'paused' || status === 'failed')
      return { requestId, status: 'cancelled', ...(rested && { ended: turn }) }
    }
    if (status === 'complete' || (status === 'failed' && !kept?.open)) return { requestId, status }
    const { code, message } = result.error ?? { code: 'core.fault', message: 'no answer' }
    // Another one did between our reading and our writing.
    if (code === 'turn.cancelled') return { requestId, status: 'cancelled' }
    if (code !== 'turn.conflict' || attempt >= ATTEMPTS) throw new TurnlockError(code, message)
    await backOff(attempt)
  }
}

/** Waits after an owner wrote between our read and our write. */
const backOff = (attempt: number) =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * Math.min(attempt, 20)))

/**
 * Asks the owner of a running turn for a pause, wherever it runs, as `Turn.pause` does: the turn ends
 * as `paused` behind the results of its tools; a turn that is answering completes. The owner learns
 * of it at its next write, or when its store notifies it. Returns the status that the turn has now:
 * `running`, until the owner has paused it. Asking again, or for a turn that does not run, changes
 * nothing.
 *
 * @throws TurnlockError `turn.not_found`, `turn.conflict` (the owner wrote again and again), `store.*`;
 * `options.invalid` for misuse
 */
export async function pauseTurn(
  options: PauseTurnOptions,
): Promise<{ requestId: string; status: KeptState['status'] }> {
  checkOptions(options, PAUSE_TURN_OPTIONS)
  const { requestId, store, tenant = '' } = options
  checkStore(store)
  const key = turnKey(tenant, requestId)
  const owner = randomHex(16)
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const kept = await inTime(store.read(key))
    if (!kept?.state) throw new TurnlockError('turn.not_found', 'no such turn is kept')
    const state = stateOf(kept)
    const { status, ttlMs, pause } = state
    if (status !== 'running' || pause !== undefined) return { requestId, status }
    const revision = kept.revision + 1
    const commit = {
      ...{ owner, revision, takeOver: true, open: true, records: [], events: null, forget: 0 },
      ...{ state: JSON.stringify({ ...state, pause: revision }), reusable: [], ttlMs },
    }
    if ((await inTime(store.commit(key, commit))).ok) return { requestId, status }
    await backOff(attempt)
  }
  throw new TurnlockError('turn.conflict', 'the owner wrote again and again')
}

function checkBatch(batch: unknown): void {
  if (batch === undefined || (Number.isSafeInteger(batch) && (batch as number) >= 0)) return
  throw new TurnlockError('options.invalid', '`toolBatchId`: expected that of the `paused` event')
}

/** Throws for malformed approvals, which would otherwise count as not given. */
function checkApprovals(approvals: unknown): void {
  if (approvals === undefined) return
  const fits = (one: Partial<Approval> | null) =>
    /^[0-9a-f]{64}$/.test(String(one?.signature)) && typeof one?.approved === 'boolean'
  if (Array.isArray(approvals) && approvals.every(fits)) return
  const what = 'expected a list of { signature, approved: true or false }'
  throw new TurnlockError('options.invalid', `\`approvals\`: ${what}`)
}

/** Throws for revisions that could not be read, or not be what was meant. */
function checkResults(results: unknown): void {
  if (results === undefined) return
  const fits = (one: unknown) => {
    if (!isObject(one) || typeof one['toolCallId'] !== 'string') return false
    return one['drop'] === undefined
      ? !['undefined', 'function', 'symbol'].includes(typeof one['result'])
      : one['drop'] === true && !('result' in one)
  }
  if (Array.isArray(results) && results.every(fits)) return
  const what = 'expected a list of { toolCallId, result } or { toolCallId, drop: true }'
  throw new TurnlockError('options.invalid', `\`results\`: ${what}`)
}

/** A copy of what a check accepts: the host may go on with its own before the store has answered. */
function copied<T>(given: T | undefined, check: (given: unknown) => void): T | undefined {
  check(given)
  return given === undefined ? undefined : (JSON.parse(stringify(given)) as T)
}

function open(host: ConstructorParameters<typeof RunningTurn>[0]): RunningTurn {
  checkStore(host.store)
  turnKey(host.tenant, host.requestId)
  return new RunningTurn(host)
}

/** Reads the stored turn and starts from it. A failure becomes the turn's terminal event. */
async function restore(
  turn: RunningTurn,
  store: Store,
  key: string,
  options: (kept: Kept | null, events: string[]) => CoreOptions,
): Promise<Kept | undefined> {
  try {
    const found = await inTime(store.read(key))
    // The core expects whole milliseconds; clocks of stores may return fractions or run backwards.
    // A value that is not a number must not mean that the owner is gone.
    const kept = found && { ...found, idleMs: found.idleMs > 0 ? Math.floor(found.idleMs) : 0 }
    const events = kept ? await eventsBehind(store, key, stateOf(kept).seq) : []
    turn.begin(true, options(kept ?? null, events))
    return kept
  } catch (error) {
    turn.fail(
      isTurnlockError(error) ? error : new TurnlockError('store.unavailable', describe(error)),
      // This event is not stored, and has no `seq` of its own.
      0,
    )
    return undefined
  }
}
