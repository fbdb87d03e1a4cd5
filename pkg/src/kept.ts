/** What hosts read of a kept turn; the rest of its state is the core's own. */
import { TurnlockError } from './errors.js'
import { randomHex } from './random.js'
import type { Kept, Store } from './stores/store.js'

/** What is kept of a turn with a store. */
export interface Keep {
  /**
   * Events at most; the oldest are dropped first. With 0 text and reasoning are neither kept nor
   * held back until they are. @defaultValue 10000
   */
  events?: number
  /** Bytes of events at most. @defaultValue 4194304 */
  bytes?: number
  /**
   * Milliseconds from the last write until the turn may be forgotten; no shorter than `leaseMs`.
   * @defaultValue 86400000
   */
  ttlMs?: number
  /** Milliseconds without a write after which an owner counts as gone. @defaultValue 15000 */
  leaseMs?: number
  /** Milliseconds for which text gathers between two writes; four round trips of the store, where that is more. @defaultValue 25 */
  gatherMs?: number
}

/** The part of a kept state that is read outside of the core. */
export interface KeptState {
  status: 'running' | 'paused' | 'cancelled' | 'complete' | 'failed'
  /** `seq` of the last event when the state was written. */
  seq: number
  leaseMs: number
  /** Whether text is kept: without it, `seq` has gaps. */
  keepsText: boolean
}

/**
 * The name of a turn in a store; unambiguous, whatever its parts hold.
 *
 * @throws TurnlockError `options.invalid`
 */
export function turnKey(tenant: unknown, requestId: unknown): string {
  if (typeof tenant !== 'string') {
    throw new TurnlockError('options.invalid', '`tenant`: expected a string')
  }
  if (typeof requestId !== 'string' || requestId === '') {
    throw new TurnlockError('options.invalid', '`requestId`: expected the id of a turn')
  }
  // Two of them would be the same text in the core.
  if (/\p{Surrogate}/u.test(tenant + '\n' + requestId)) {
    const what = 'expected text without lone surrogates'
    throw new TurnlockError('options.invalid', `\`tenant\`, \`requestId\`: ${what}`)
  }
  return JSON.stringify([tenant, requestId])
}

export const stateOf = (kept: Kept): KeptState => JSON.parse(kept.state) as KeptState

/** Whether the owner of a running turn is gone, so that another may take it over. */
export const isAbandoned = (kept: Kept): boolean => {
  const { status, leaseMs } = stateOf(kept)
  return status === 'running' && kept.idleMs >= leaseMs
}

/** The options of the core for a new owner of a turn. */
export const keepOptions = (tenant: string, keep: Keep = {}): Record<string, unknown> => ({
  ...keep,
  tenant,
  owner: randomHex(16),
})

/** Milliseconds for which a store is waited for, to be read. Longer than any of ours waits itself. */
const READ_MS = 20_000

/**
 * What a store reads, if it answers at all: a turn that is resumed must end.
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

const MOST_GROUPS = 1024

/** Texts of all groups of events behind `after`. */
export async function eventsBehind(store: Store, turn: string, after: number): Promise<string[]> {
  const texts: string[] = []
  for (let last = after; ;) {
    const groups = await inTime(store.events(turn, last, MOST_GROUPS))
    for (const group of groups) texts.push(group.text)
    const next = groups.at(-1)
    // No more round trips than needed: meanwhile an owner may write.
    if (!next || groups.length < MOST_GROUPS) return texts
    last = next.last
  }
}
