/** The parts of a stored turn that hosts read. Only the core reads the rest of its state. */
import { isObject } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import type { Keep, PhaseName, StoredAs, TurnEvent } from '../generated/turn.js'
import { randomHex } from '../shared/random.js'
import type { StoredTurn, Store } from '../stores/store.js'

export type { Keep }

/** The part of a stored state that is read outside of the core. */
export interface KeptState {
  status: 'running' | 'paused' | 'cancelled' | 'complete' | 'failed'
  /** `seq` of the last event when the state was written. */
  seq: number
  /** The number of the last batch. */
  toolBatchId: number
  /** The number of the cycle of tool phase and answer phase, from 1. */
  cycle: number
  phase: { name: PhaseName }
  conversationId?: string | null
  leaseMs: number
  ttlMs: number
  /** The number of the commit by which somebody asked for a pause. */
  pause?: number
  /** Who asked for it: the owner of that commit. */
  pausedBy?: string
  /** Whether text is stored. If not, `seq` has gaps. */
  keepsText: boolean
}

/**
 * The name of a turn in a store. It is unambiguous for any contents of its parts.
 *
 * @throws TurnlockError `options.invalid`
 */
export function turnKey(tenant: unknown, requestId: unknown): string {
  if (typeof tenant !== 'string') {
    throw wrong('tenant', 'a string')
  }
  if (typeof requestId !== 'string' || requestId === '') {
    throw wrong('requestId', 'the id of a turn')
  }
  // Different lone surrogates would become the same text in the core.
  if (/\p{Surrogate}/u.test(tenant + '\n' + requestId)) {
    const what = 'text without lone surrogates'
    throw wrong('tenant`, `requestId', what)
  }
  return JSON.stringify([tenant, requestId])
}

const foreign = () => new TurnlockError('store.version', 'the turn was kept by another version')

/**
 * The state of a stored turn.
 *
 * @throws TurnlockError `store.version`
 */
export function stateOf(kept: StoredTurn): KeptState {
  const state = parsed<KeptState & { v?: unknown }>(kept.state)
  if (state.v !== 1) throw foreign()
  return state
}

/**
 * The stored events of a group.
 *
 * @throws TurnlockError `store.version`
 */
export function eventsIn(text: string): TurnEvent[] {
  const events = parsed<TurnEvent[]>(text)
  if (!Array.isArray(events) || !events.every((event) => isObject(event))) throw foreign()
  return events
}

/** What was kept as JSON: a list or an object. */
export function parsed<T extends object>(text: string): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Said below.
  }
  if (typeof value !== 'object' || value === null) throw foreign()
  return value as T
}

/** Whether the owner of a running turn is gone, so that another owner may take over. */
export const isAbandoned = (kept: StoredTurn): boolean => {
  const { status, leaseMs } = stateOf(kept)
  return status === 'running' && kept.idleMs >= leaseMs
}

/** The core's options for a new owner of a turn in a store. */
export function keepOptions(
  tenant: string,
  store: Pick<Store, 'gatherMs'> | undefined,
  keep?: Keep,
): StoredAs {
  if (!isObject(keep ?? {})) throw wrong('keep', 'an object')
  const gatherMs = keep?.gatherMs ?? store?.gatherMs
  return { ...keep, ...(gatherMs !== undefined && { gatherMs }), tenant, owner: randomHex(16) }
}

/**
 * Timeout for reading a store, in milliseconds. Longer than the timeouts of our own stores.
 *
 * Limit | reading a store | ms | `store.timeout`
 */
const READ_MS = 20_000

/**
 * Limits the time of a store read, because a resumed turn must end even if the store hangs.
 *
 * @throws TurnlockError `store.timeout`
 */
export async function inTime<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `the store did not answer within ${READ_MS} ms`
    timer = setTimeout(() => reject(new TurnlockError('store.timeout', message)), READ_MS)
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Limit | groups of events read at once | groups | read on */
const MOST_GROUPS = 1024

/** The texts of all groups of events after `after`. */
export async function eventsBehind(store: Store, turn: string, after: number): Promise<string[]> {
  const texts: string[] = []
  for (let last = after; ;) {
    const groups = await inTime(store.events(turn, last, MOST_GROUPS))
    for (const group of groups) texts.push(group.text)
    const next = groups.at(-1)
    // Avoid a further round trip, because an owner may write in the meantime.
    if (!next || groups.length < MOST_GROUPS) return texts
    if (!(next.last > last)) throw foreign()
    last = next.last
  }
}

/** The stored events of a turn, in order; none of a turn that is unknown. */
export async function storedEvents(store: Store, turn: string): Promise<TurnEvent[]> {
  const texts = await eventsBehind(store, turn, 0)
  return texts.flatMap(eventsIn)
}
