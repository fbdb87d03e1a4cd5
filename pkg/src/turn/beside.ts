/**
 * What writes to a turn beside its owner: a pause that is asked for, and who may run the calls of a
 * page. Loaded when it is used, so it imports nothing: what it shares would be loaded apart from the
 * rest by every page.
 */
import type { KeptState } from './kept.js'
import type { Approval, CallOutcome } from './resume.js'
import type { Commit, StoredTurn, ListedTurn, Store } from '../stores/store.js'
import type { Tool } from '../tools/tools.js'
import type { ToolCall, TurnEvent } from '../types.js'

/** What was granted: those of the calls that the claimant may run. */
export interface ClaimResult {
  requestId: string
  granted: string[]
}

/** Where a turn stands when a pause is asked for. */
export interface PauseStatus {
  requestId: string
  status: KeptState['status']
  /** The pause has no effect: the turn is in its answer phase, and completes. */
  ended?: 'answering'
}

/** A turn in its store, and what this module would import. */
interface Place {
  store: Store
  /** The name of the turn. */
  key: string
  /** The writer of commits. */
  owner: string
  /** Attempts to write between two writes of a busy owner. */
  ATTEMPTS: number
  backOff(attempt: number): Promise<unknown>
  inTime<T>(reading: Promise<T>): Promise<T>
  refuse(code: string, message: string): Error
}

/** The calls that are claimed, and by whom. */
interface Claiming {
  toolBatchId: number
  ids: readonly string[]
  tools: Readonly<Record<string, Tool>>
  claimant: string
}

/** An open turn. */
export interface OpenTurn {
  requestId: string
  conversationId?: string
  /** `failed`: its model failed; it can be resumed. */
  status: 'running' | 'paused' | 'failed'
  /** Whether its owner is gone, so that it can be resumed although it runs. */
  interrupted: boolean
  toolBatchId: number
  /** `seq` of its last event that was stored with the state. */
  seq: number
  /** Milliseconds since it was written; absent where the store knows only that its owner is gone. */
  idleMs?: number
}

/** The turns of a list. What is not of this form is another version's. */
export function listed(open: readonly ListedTurn[]): OpenTurn[] {
  return open.flatMap(({ turn, state, idleMs }) => {
    try {
      const [, requestId] = JSON.parse(turn) as [unknown, unknown]
      if (typeof requestId !== 'string') return []
      const { status, seq, toolBatchId, leaseMs, conversationId } = JSON.parse(state) as KeptState
      if (status !== 'running' && status !== 'paused' && status !== 'failed') return []
      const interrupted = status === 'running' && idleMs >= leaseMs
      return {
        requestId,
        ...(conversationId != null && { conversationId }),
        status,
        interrupted,
        toolBatchId,
        seq,
        ...(idleMs < Infinity && { idleMs: Math.floor(idleMs) }),
      }
    } catch {
      return []
    }
  })
}

/**
 * The name of a claim: a record of the turn, written once and never changed. Not by the batch, which
 * is another one when a resume has settled a part of the calls. Providers may use an id again, then
 * the call before has an outcome.
 */
function claimName({ records }: StoredTurn, id: string): string {
  const isOutcome = (name: string) => name.replace(/^outcome\/\d+\//, '') === id && name !== id
  return `page/${records.filter(([name]) => isOutcome(name)).length}/${id}`
}

export class Beside {
  readonly #at: Place

  constructor(place: Place) {
    this.#at = place
  }

  /** Asks the owner for a pause. */
  pause(requestId: string): Promise<PauseStatus> {
    return this.#writing(async (kept) => {
      const state = this.#stateOf(kept)
      const { status, pause } = state
      const answer: PauseStatus = { requestId, status }
      if (status === 'running' && this.#isAnswering(kept, state)) {
        return { ...answer, ended: 'answering' }
      }
      if (status !== 'running' || pause !== undefined) return answer
      const text = JSON.stringify({ ...state, pause: kept.revision + 1, pausedBy: this.#at.owner })
      return (await this.#commit(kept, text, [])) ? answer : undefined
    })
  }

  async claim(
    requestId: string,
    { toolBatchId, ids, tools, claimant }: Claiming,
  ): Promise<ClaimResult> {
    // Misuse would otherwise be told as a state of the turn, which a page waits for or gives up on.
    const check = (fits: boolean, name: string, what: string) => {
      if (!fits) throw this.#at.refuse('options.invalid', `\`${name}\`: expected ${what}`)
    }
    check(Number.isSafeInteger(toolBatchId), 'toolBatchId', 'that of the `paused` event')
    check(
      ids.every((id) => typeof id === 'string'),
      'toolCallIds',
      'a list of ids',
    )
    check(typeof claimant === 'string', 'claimant', 'a string')
    check(typeof tools === 'object' && tools !== null, 'tools', 'tools by name')
    const text = JSON.stringify({ v: 1, claimant })
    return this.#writing(async (kept) => {
      const calls = await this.#waiting(kept, toolBatchId)
      const granted: string[] = []
      const records: Commit['records'] = []
      for (const id of new Set(ids)) {
        const call = this.#call(calls, id)
        const name = claimName(kept, id)
        const before = kept.records.find(([one]) => one === name)
        const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined
        // The same call runs once, as at the edge: the others follow its outcome.
        const first = calls.find(({ signature }) => signature === call.signature)
        if (first !== call && tool?.dedupe !== 'allow') continue
        if (!before) records.push([name, text])
        else if (before[1] !== text && !tool?.readOnly && !tool?.idempotent) continue
        granted.push(id)
      }
      const written = !records.length || (await this.#commit(kept, null, records))
      return written ? { requestId, granted } : undefined
    })
  }

  /** The approvals by which the calls go on that a page has answered. */
  async approvalsOf(
    kept: StoredTurn,
    toolBatchId: number,
    outcomes: readonly CallOutcome[],
  ): Promise<Approval[]> {
    const calls = await this.#waiting(kept, toolBatchId)
    return outcomes.map(({ toolCallId: id }) => {
      const { signature } = this.#call(calls, id)
      const name = claimName(kept, id)
      if (kept.records.some(([one]) => one === name)) return { signature, approved: true }
      throw this.#at.refuse('tool.no_claim', `nobody has claimed the call ${JSON.stringify(id)}`)
    })
  }

  /** Whether a turn answers, and no further cycle has a tool phase in which it could pause. */
  #isAnswering({ records }: StoredTurn, { phase, cycle }: KeptState): boolean {
    if (phase.name !== 'action_phase') return false
    const [, text = '{}'] = records.find(([name]) => name === 'turn') ?? []
    const { policy } = this.#read<{ policy?: { maxCycles?: number } }>(text)
    return cycle >= (policy?.maxCycles ?? 1)
  }

  #stateOf(kept: StoredTurn): KeptState {
    const state = this.#read<KeptState & { v?: unknown }>(kept.state)
    return state.v === 1 ? state : this.#foreign()
  }

  #read<T extends object>(text: string): T {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      // Said below.
    }
    return typeof value === 'object' && value !== null ? (value as T) : this.#foreign()
  }

  #foreign(): never {
    throw this.#at.refuse('store.version', 'the turn was kept by another version')
  }

  /** Tries until `write` has not come too late. */
  async #writing<T>(write: (kept: StoredTurn) => Promise<T | undefined>): Promise<T> {
    const { store, key, inTime, refuse, backOff, ATTEMPTS } = this.#at
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const stored = await inTime(store.read(key))
      if (!stored?.state) throw refuse('turn.not_found', 'no such turn is kept')
      const written = await write(stored)
      if (written) return written
      await backOff(attempt)
    }
    throw refuse('turn.conflict', 'the owner wrote at the same time, several times: try again')
  }

  async #commit(
    kept: StoredTurn,
    state: string | null,
    records: Commit['records'],
  ): Promise<boolean> {
    const { store, key, owner, inTime, refuse } = this.#at
    const commit: Commit = {
      owner,
      revision: kept.revision + 1,
      takeOver: true,
      open: true,
      state,
      records,
      replaces: kept.owner,
      events: null,
      forget: 0,
      reusable: [],
      ttlMs: this.#stateOf(kept).ttlMs,
    }
    const answer = await inTime(store.commit(key, commit))
    if (typeof answer?.ok === 'boolean') return answer.ok
    // As for an owner: whether it is stored, nobody knows.
    throw refuse('store.unavailable', 'the store gave no answer to a commit')
  }

  #call(calls: readonly ToolCall[], id: string): ToolCall {
    const call = calls.find((one) => one.id === id)
    if (call) return call
    throw this.#at.refuse('tool.no_call', `no call ${JSON.stringify(id)} waits for a page`)
  }

  /** The calls that wait for a page, by the last event of the turn. */
  async #waiting(kept: StoredTurn, toolBatchId: number): Promise<ToolCall[]> {
    const { store, key, inTime, refuse } = this.#at
    const { status, seq } = this.#stateOf(kept)
    const groups = status === 'paused' ? await inTime(store.events(key, seq - 1, 1)) : []
    const events = groups.flatMap(({ text }) => this.#read<TurnEvent[]>(text))
    const last = events.at(-1)
    if (last?.type === 'paused' && last.resume.toolBatchId === toolBatchId) return last.calls ?? []
    throw refuse(
      'turn.conflict',
      'the turn does not wait at that batch: it was resumed or has ended, read it with `followTurn`',
    )
  }
}
