/** The parts of a stored turn that hosts read. Only the core reads the rest of its state. */
import { TurnlockError } from './errors.js'
import type { Keep, StoredAs } from './generated/turn.js'
import { randomHex } from './random.js'
import type { Kept, Store } from './stores/store.js'

export type { Keep }

/** The part of a stored state that is read outside of the core. */
export interface KeptState {
  status: 'running' | 'paused' | 'cancelled' | 'complete' | 'failed'
  /** `seq` of the last event when the state was written. */
  seq: number
  leaseMs: number
  ttlMs: number
  /** The number of the commit by which somebody asked for a pause. */
  pause?: number
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
    throw new TurnlockError('options.invalid', '`tenant`: expected a string')
  }
  if (typeof requestId !== 'string' || requestId === '') {
    throw new TurnlockError('options.invalid', '`requestId`: expected the id of a turn')
  }
  // Different lone surrogates would become the same text in the core.
  if (/\p{Surrogate}/u.test(tenant + '\n' + requestId)) {
    const what = 'expected text without lone surrogates'
    throw new TurnlockError('options.invalid', `\`tenant\`, \`requestId\`: ${what}`)
  }
  return JSON.stringify([tenant, requestId])
}

export const stateOf = (kept: Kept): KeptState => JSON.parse(kept.state) as KeptState

/** Whether the owner of a running turn is gone, so that another owner may take over. */
export const isAbandoned = (kept: Kept): boolean => {
  const { status, leaseMs } = stateOf(kept)
  return status === 'running' && kept.idleMs >= leaseMs
}

/** The core's options for a new owner of a turn. */
export const keepOptions = (tenant: string, keep: Keep = {}): StoredAs => ({
  ...keep,
  tenant,
  owner: randomHex(16),
})

/** Timeout for reading a store, in milliseconds. Longer than the timeouts of our own stores. */
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
    last = next.last
  }
}
