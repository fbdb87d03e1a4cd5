/** Turns that go on, or end, in another process, isolate or tab. */
import { describe } from './serialize.js'
import { isTurnlockError, TurnlockError } from './errors.js'
import { eventsBehind, inTime, keepOptions, stateOf, turnKey } from './kept.js'
import type { Model } from './models/model.js'
import { checkStore, type Kept, type Store } from './stores/store.js'
import type { Tool } from './tools.js'
import { checkModel, RunningTurn, wireTools, type Turn } from './turn.js'
import type { TraceEvent } from './types.js'

/** What the user said of a call that waited. It binds to the signature: other arguments need another. */
export interface Approval {
  signature: string
  approved: boolean
}

/** What `resumeTurn` takes. Mode, policy and history are those that the turn began with. */
export interface ResumeTurnOptions {
  requestId: string
  /** Of the `paused` event; a turn that has gone on behind it ends with `turn.conflict`. */
  toolBatchId?: number
  model: Model
  /** The tools that the turn began with; what is missing cannot be called. */
  tools?: Record<string, Tool>
  store: Store
  /** @defaultValue "" */
  tenant?: string
  /** For calls that wait; those that are not named wait on. */
  approvals?: Approval[]
  /** Cancels the turn. */
  signal?: AbortSignal
  onTrace?(event: TraceEvent): void
}

/**
 * Goes on with a turn that is paused, whose model failed, or whose owner is gone.
 *
 * Outcomes that were kept are used; nothing is started twice unless its tool is `readOnly` or
 * `idempotent`, and then with the same idempotency key. `seq` goes on where it stood.
 *
 * Terminal `error` events: `turn.not_found` (unknown, expired, or another tenant's),
 * `turn.conflict` (over, alive elsewhere, or resumed by another at the same time),
 * `turn.cancelled`, `store.*`. After a conflict, `followTurn` reads along; an owner that died may
 * have sent a last write, which counts from when it arrives: try again when `followTurn` says
 * `turn.interrupted`.
 *
 * @throws TurnlockError for misuse: `options.invalid`, `store.unsupported`
 */
export function resumeTurn(options: ResumeTurnOptions): Turn {
  const { model, tools, store, tenant = '', requestId, toolBatchId, approvals } = options
  checkModel(model)
  checkBatch(toolBatchId)
  checkApprovals(approvals)
  const turn = open({ ...options, tenant })
  const wire = wireTools(tools)
  void restore(turn, store, turnKey(tenant, requestId), (kept, events) => ({
    ...{ dialect: model.dialect, maxRetries: model.maxRetries, requestId, tools: wire },
    keep: keepOptions(tenant),
    resume: { kept, events, toolBatchId, approvals },
  }))
  return turn
}

/** What `cancelTurn` takes. */
export interface CancelTurnOptions {
  requestId: string
  store: Store
  /** @defaultValue "" */
  tenant?: string
  /** @defaultValue "cancelled by the host" */
  reason?: string
}

/** Attempts to get between two writes of an owner that is busy. */
const ATTEMPTS = 100

/**
 * Stops a turn, wherever it runs: its owner ends the provider's stream and tells its tools as
 * soon as it writes next or its store tells it, and no resume is possible any longer. Stopping a
 * turn that is over changes nothing; `status` says how it stands.
 *
 * @throws TurnlockError `turn.not_found`, `store.*`; `options.invalid` for misuse
 */
export async function cancelTurn(
  options: CancelTurnOptions,
): Promise<{ requestId: string; status: 'cancelled' | 'complete' | 'failed' }> {
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
      return { requestId, status: 'cancelled' }
    }
    if (status === 'complete' || (status === 'failed' && !kept?.open)) return { requestId, status }
    const { code, message } = result.error ?? { code: 'core.fault', message: 'no answer' }
    if (code !== 'turn.conflict' || attempt >= ATTEMPTS) throw new TurnlockError(code, message)
    // The owner wrote between our reading and our writing.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 10 * Math.min(attempt, 20)))
  }
}

function checkBatch(batch: unknown): void {
  if (batch === undefined || (Number.isSafeInteger(batch) && (batch as number) >= 0)) return
  throw new TurnlockError('options.invalid', '`toolBatchId`: expected that of the `paused` event')
}

/** An approval that cannot be read would be one that was not given. */
function checkApprovals(approvals: unknown): void {
  if (approvals === undefined) return
  const fits = (one: Partial<Approval> | null) =>
    /^[0-9a-f]{64}$/.test(String(one?.signature)) && typeof one?.approved === 'boolean'
  if (Array.isArray(approvals) && approvals.every(fits)) return
  const what = 'expected a list of { signature, approved: true or false }'
  throw new TurnlockError('options.invalid', `\`approvals\`: ${what}`)
}

function open(host: ConstructorParameters<typeof RunningTurn>[0]): RunningTurn {
  checkStore(host.store)
  turnKey(host.tenant, host.requestId)
  return new RunningTurn(host)
}

/** Reads what is kept, and begins with it; what fails is the turn's terminal event. */
async function restore(
  turn: RunningTurn,
  store: Store,
  key: string,
  options: (kept: Kept | null, events: string[]) => Record<string, unknown>,
): Promise<Kept | undefined> {
  try {
    const found = await inTime(store.read(key))
    // The core counts whole milliseconds; clocks of stores may not, and may run backwards. What
    // is no number must not pass for an owner that is gone.
    const kept = found && { ...found, idleMs: found.idleMs > 0 ? Math.floor(found.idleMs) : 0 }
    const events = kept ? await eventsBehind(store, key, stateOf(kept).seq) : []
    turn.begin(true, options(kept ?? null, events))
    return kept
  } catch (error) {
    turn.fail(
      isTurnlockError(error) ? error : new TurnlockError('store.unavailable', describe(error)),
    )
    return undefined
  }
}
