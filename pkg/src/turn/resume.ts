/** Resumes or cancels turns in another process, isolate or tab. */
import { isObject } from '../checks.js'
import type { Beside, ClaimResult, OpenTurn, PauseStatus } from './beside.js'
import { describe } from '../shared/serialize.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import {
  CANCEL_TURN_OPTIONS,
  CLAIM_CALLS_OPTIONS,
  LIST_TURNS_OPTIONS,
  PAUSE_TURN_OPTIONS,
  RESUME_TURN_OPTIONS,
} from '../generated/rows.js'
import type {
  CancelTurnOptions,
  ClaimCallsOptions,
  ListTurnsOptions,
  PauseTurnOptions,
  ResumeTurnOptions,
} from '../generated/turn.js'
import { eventsBehind, inTime, keepOptions, stateOf, storedEvents, turnKey } from './kept.js'
import { fallbackOptions, turnModelOptions } from '../models/model.js'
import { readOptions } from '../options.js'
import { randomHex } from '../shared/random.js'
import { checkStore, type StoredTurn, type Store } from '../stores/store.js'
import { stringify } from '../shared/text.js'
import type { ToolResultOf, ToolSet } from '../tools/results.js'
import { answerOf } from '../tools/tools.js'
import type { Args, JsonSchema, StandardSchema } from '../tools/tools.js'
import {
  checkBoxSecret,
  checkFallbacks,
  checkModel,
  RunningTurn,
  tracer,
  wireTools,
} from './turn.js'
import type { CoreOptions, Turn } from './turn.js'

export type { CancelTurnOptions, ListTurnsOptions, PauseTurnOptions, ResumeTurnOptions }

/** What became of a call that a page has run; with neither, its outcome is `unknown`. */
export interface CallOutcome {
  toolCallId: string
  result?: unknown
  error?: { code?: string; message: string }
}

/** The user's decision on the waiting calls of a signature: one tool, these arguments. */
export interface Approval {
  signature: string
  approved: boolean
  /** Why the call is denied: the model reads it with the notice, cut to 500 bytes. */
  reason?: string | undefined
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
 * `turn.cancelled`, `tool.no_result`, `tool.no_approval`, `tool.missing`, `tool.no_call`, `tool.no_claim`, `store.*`. After a conflict, read the turn
 * with `followTurn`. A dead owner may have sent a last write, and its lease starts when that write
 * arrives: try again when `followTurn` reports `turn.interrupted`.
 *
 * @throws TurnlockError for misuse: `options.invalid`, `tool.invalid_schema`, `store.unsupported`
 */
export function resumeTurn<
  const S extends JsonSchema | StandardSchema,
  T extends ToolSet = ToolSet,
>(
  options: ResumeTurnOptions & { answerSchema: S; tools?: T | undefined },
): Turn<Args<S>, ToolResultOf<T>>
export function resumeTurn<T extends ToolSet = ToolSet>(
  options: ResumeTurnOptions & { tools?: T | undefined },
): Turn<unknown, ToolResultOf<T>>
export function resumeTurn(options: ResumeTurnOptions): Turn {
  options = readOptions(options, RESUME_TURN_OPTIONS)
  const { model, fallbacks, tools, store, tenant = '', requestId, toolBatchId } = options
  checkModel(model)
  checkFallbacks(fallbacks)
  checkBatch(toolBatchId)
  const approvals = decisionsIn(options.approvals)
  const results = copied(
    'results',
    options.results,
    isRevision,
    'toolCallId, result } or { toolCallId, drop: true',
  )
  const outcomes = copied(
    'outcomes',
    options.outcomes,
    isOutcome,
    'toolCallId, result } or { toolCallId, error',
  )
  if (outcomes && toolBatchId === undefined) throw wrong('toolBatchId', 'a value with `outcomes`')
  const { signal } = options
  const answer = answerOf(options.answerSchema)
  const wire = wireTools(tools)
  const { redact } = options
  const boxSecret = options.boxSecret === undefined ? undefined : checkBoxSecret(options.boxSecret)
  checkStore(store)
  const key = turnKey(tenant, requestId)
  const before = redact && storedEvents(store, key)
  const turn = open({
    model,
    fallbacks,
    tools,
    requestId,
    store,
    tenant,
    signal,
    // Where they cannot be read, the turn fails, and shows no text.
    before: before?.catch(() => []),
    onTrace: tracer(options),
    outcomes,
    answer,
    redact,
  })
  void restore(turn, store, key, async (kept, events) => {
    // Before the turn writes more of them.
    await before
    return {
      ...turnModelOptions(model),
      ...fallbackOptions(fallbacks),
      repairOnError: options.repairOnError,
      requestId,
      ...(boxSecret !== undefined && { boxSecret }),
      tools: wire,
      keep: keepOptions(tenant, store),
      resume: {
        kept,
        events,
        toolBatchId,
        results,
        approvals: outcomes ? [...(approvals ?? []), ...(await granted(kept))] : approvals,
      },
    }
  })
  return turn

  async function granted(kept: StoredTurn | null): Promise<Approval[]> {
    if (!kept || !outcomes || toolBatchId === undefined) return []
    const beside = await besideOf(store, key)
    return beside.approvalsOf(kept, toolBatchId, outcomes)
  }
}

/**
 * Maximum attempts to write between two writes of a busy owner.
 *
 * Limit | attempts to write between two writes of an owner | attempts | `turn.conflict`
 */
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
  options = readOptions(options, CANCEL_TURN_OPTIONS)
  const { requestId, store, tenant = '', reason = 'cancelled by the host' } = options
  const key = turnKey(tenant, requestId)
  for (let attempt = 1; ; attempt++) {
    const turn = open({ requestId, store, tenant })
    const stored = await restore(turn, store, key, (kept, events) => ({
      requestId,
      keep: keepOptions(tenant, store),
      resume: { kept, events, cancel: String(reason) },
    }))
    const result = await turn.result
    const status = stored && stateOf(stored).status
    if (result.status === 'cancelled' || status === 'cancelled') {
      const rested = result.status === 'cancelled' && (status === 'paused' || status === 'failed')
      return { requestId, status: 'cancelled', ...(rested && { ended: turn }) }
    }
    if (status === 'complete' || (status === 'failed' && !stored?.open))
      return { requestId, status }
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
 * as `paused` behind the results of its tools. The owner learns of it at its next write, or when its
 * store notifies it. Returns the status that the turn has now: `running`, until the owner has paused
 * it. A turn in its answer phase completes; then `ended` is `answering`. Asking again, or for a turn
 * that does not run, changes nothing.
 *
 * @throws TurnlockError `turn.not_found`, `turn.conflict` (the owner wrote again and again), `store.*`;
 * `options.invalid` for misuse
 */
export async function pauseTurn(options: PauseTurnOptions): Promise<PauseStatus> {
  options = readOptions(options, PAUSE_TURN_OPTIONS)
  const { requestId, store, tenant = '' } = options
  checkStore(store)
  const key = turnKey(tenant, requestId)
  const beside = await besideOf(store, key)
  return beside.pause(requestId)
}

function checkBatch(batch: unknown): void {
  if (batch === undefined || (Number.isSafeInteger(batch) && (batch as number) >= 0)) return
  throw wrong('toolBatchId', 'that of the `paused` event')
}

const APPROVAL = { signature: 0, approved: 0, reason: 0 } as const

/** A copy of approvals. Malformed ones would otherwise count as not given. */
function decisionsIn(given: readonly Approval[] | undefined): Approval[] | undefined {
  if (given === undefined) return undefined
  if (!Array.isArray(given)) throw wrong('approvals', 'a list of { signature, approved }')
  return given.map((one: unknown, place) => {
    const at = `approvals[${place}]`
    if (!isObject(one)) throw wrong(at, '{ signature, approved }')
    const { signature, approved, reason } = readOptions(one, APPROVAL, at)
    if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature)) {
      throw wrong(`${at}.signature`, 'the 64 hexadecimal digits that the `paused` event has')
    }
    if (typeof approved !== 'boolean') throw wrong(`${at}.approved`, 'true or false')
    if (reason === undefined) return { signature, approved }
    if (typeof reason !== 'string') throw wrong(`${at}.reason`, 'a string')
    return { signature, approved, reason }
  })
}

const isOutcome = (one: Record<string, unknown>) => typeof one['toolCallId'] === 'string'

/** Whether a revision can be read, and is what was meant. */
const isRevision = (one: Record<string, unknown>) =>
  isOutcome(one) &&
  (one['drop'] === undefined
    ? !['undefined', 'function', 'symbol'].includes(typeof one['result'])
    : one['drop'] === true && !('result' in one))

/**
 * A copy of a list of what `fits`: the host may go on with its own before the store has answered.
 */
function copied<T>(
  name: string,
  given: T | undefined,
  fits: (one: Record<string, unknown>) => boolean,
  what: string,
): T | undefined {
  if (given === undefined) return undefined
  const all = Array.isArray(given) && given.every((one) => isObject(one) && fits(one))
  if (!all) throw wrong(name, `a list of { ${what} }`)
  return JSON.parse(stringify(given)) as T
}

/**
 * Claims calls of tools without `execute`, before a page runs them. Each call is granted once; again
 * only to its claimant, or if its tool is `readOnly` or `idempotent`. Of calls that are alike, the
 * first is granted, and all of them only if `tools` says `dedupe: 'allow'`; its outcome settles the
 * others, too. Other calls are not in `granted`.
 *
 * @throws TurnlockError `turn.not_found`; `turn.conflict` (the turn does not wait at that batch);
 * `tool.no_call` (a call that does not wait for a page); `store.*`; `options.invalid` for misuse
 */
export async function claimCalls(options: ClaimCallsOptions): Promise<ClaimResult> {
  options = readOptions(options, CLAIM_CALLS_OPTIONS)
  const { requestId, toolBatchId, toolCallIds: ids, store, tenant = '', tools = {} } = options
  const { claimant = randomHex(16) } = options
  checkStore(store)
  if (!Array.isArray(ids)) throw wrong('toolCallIds', 'a list of ids')
  const key = turnKey(tenant, requestId)
  const beside = await besideOf(store, key)
  return beside.claim(requestId, { toolBatchId, ids, tools, claimant })
}

/**
 * The turns of a tenant that are open: those that run, are paused, or can be resumed because their
 * model failed; those that were written last first, at most 100, so that a reloaded page finds them. Of
 * a conversation, those among them that are its.
 *
 * @throws TurnlockError `store.unsupported` for a store without `list`; `store.*`; `options.invalid`
 * for misuse
 */
export async function listTurns(options: ListTurnsOptions): Promise<OpenTurn[]> {
  const { store, tenant = '', conversationId } = readOptions(options, LIST_TURNS_OPTIONS)
  checkStore(store)
  // A tenant that no turn has.
  turnKey(tenant, 'any')
  if (!store.list) throw refuse('store.unsupported', 'this store does not list its turns')
  const { listed } = await import('./beside.js')
  const open = listed(await inTime(store.list(tenant, MOST_LISTED)))
  return open.filter((one) => conversationId === undefined || one.conversationId === conversationId)
}

/**
 * Turns in a list.
 *
 * Limit | turns of `listTurns` | turns | the newest
 */
const MOST_LISTED = 100

/** What writes to a turn beside its owner, loaded when it is used. */
async function besideOf(store: Store, key: string): Promise<Beside> {
  const { Beside } = await import('./beside.js')
  return new Beside({ store, key, owner: randomHex(16), inTime, refuse, ATTEMPTS, backOff })
}

const refuse = (code: string, message: string) => new TurnlockError(code, message)

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
  options: (kept: StoredTurn | null, events: string[]) => CoreOptions | Promise<CoreOptions>,
): Promise<StoredTurn | undefined> {
  try {
    const found = await inTime(store.read(key))
    // The core expects whole milliseconds; clocks of stores may return fractions or run backwards.
    // A value that is not a number must not mean that the owner is gone.
    const stored = found && { ...found, idleMs: found.idleMs > 0 ? Math.floor(found.idleMs) : 0 }
    const events = stored ? await eventsBehind(store, key, stateOf(stored).seq) : []
    turn.begin(true, await options(stored ?? null, events))
    return stored
  } catch (error) {
    turn.fail(
      isTurnlockError(error) ? error : new TurnlockError('store.unavailable', describe(error)),
      // This event is not stored, and has no `seq` of its own.
      0,
    )
    return undefined
  }
}
