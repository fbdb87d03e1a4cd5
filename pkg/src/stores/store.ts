/**
 * What a store keeps, and the one rule by which it answers.
 *
 * A turn is one linear sequence of commits. The core decides what is written; a store keeps it
 * atomically. It knows nothing of tools, claims or outcomes: every text is opaque to it.
 *
 * **The rule**, applied to each commit in one transaction. *Current* is what is kept for the turn;
 * what has expired counts as absent.
 *
 * 1. Nothing is current: the commit is applied if and only if its `revision` is 1.
 * 2. `owner` and `revision` are those of the current: this very commit was applied before and its
 *    answer got lost. Answer `{ ok: true }`, write nothing.
 * 3. The current is open, `revision` is its next one, and `owner` is its owner or `takeOver` is
 *    set: the commit is applied.
 * 4. Anything else is refused, and the answer says what stands there.
 *
 * Two owners that race for a revision therefore end with one that wrote and one that knows it did
 * not, and an owner that was replaced can never write again, however late it wakes up.
 *
 * A store for another database implements {@link Store} and passes `storeConformance` of
 * `turnlock/testing`.
 *
 * @module
 */
import { TurnlockError } from '../errors.js'

/** Keeps turns. Every method may be called at any time, also while others are under way. */
export interface Store {
  /** Everything kept for a turn but its events; `undefined` if it is unknown or has expired. */
  read(turn: string): Promise<Kept | undefined>
  /**
   * Applies all of a commit, or nothing of it.
   *
   * @throws TurnlockError `store.record_exists`, and where the store itself fails `store.quota`,
   * `store.blocked`, `store.closed`, `store.denied`, `store.unavailable`, … A commit that was
   * rejected may be repeated as it is: by rule 2 that is harmless.
   */
  commit(turn: string, commit: Commit): Promise<Answer>
  /**
   * Groups with `last > after`, ascending by `last`, at most `most` of them; fewer only where there
   * are no more.
   */
  events(turn: string, after: number, most: number): Promise<EventGroup[]>
  /** A reusable outcome, kept apart from turns, if it has not expired. */
  recall(key: string): Promise<Recalled | undefined>
  /**
   * Optional: calls `changed` soon after a commit to the turn was applied, by whomever; returns the
   * way to stop. `owner` is who wrote, where the store knows. Calls without a reason are fine, and
   * so is one call for several commits.
   */
  watch?(turn: string, changed: (owner?: string) => void): () => void
}

/** A turn as it stands. */
export interface Kept {
  /** Who wrote the last commit. */
  owner: string
  /** The number of the last commit. */
  revision: number
  /** False: the turn is over. */
  open: boolean
  /**
   * Milliseconds since the last commit, by the store's own clock; `Infinity` where the store knows
   * that the owner is gone.
   */
  idleMs: number
  /** The last state that was written. */
  state: string
  /** Names and texts, in the order in which they were written. */
  records: [name: string, text: string][]
}

/** One write to a turn. */
export interface Commit {
  /** Who writes: 128 random bits in hex, made anew by each run or resume of a turn. */
  owner: string
  /** The number of this commit in its turn: 1, 2, … */
  revision: number
  /** Makes `owner` the owner in place of another. */
  takeOver: boolean
  /** False: the turn is over (complete, failed, cancelled), and nobody writes after this. */
  open: boolean
  /** Replaces the kept state; `null` keeps it. Never `null` in revision 1. */
  state: string | null
  /**
   * Written once and never changed. A name that the turn already has fails the commit with
   * `store.record_exists`, and nothing of it is applied.
   */
  records: [name: string, text: string][]
  /** `last`: number of the last event in the group; `text`: the events as a JSON array. */
  events: EventGroup | null
  /** Groups with `last <= forget` are dropped; 0 drops none. */
  forget: number
  /** Kept apart from the turn, under a key of its own, for `ttlMs`; replaces what was there. */
  reusable: [key: string, text: string, ttlMs: number][]
  /** The turn expires, with everything in it, so many milliseconds after its last commit. */
  ttlMs: number
}

/** Events `…last` of a turn, kept by one commit. */
export interface EventGroup {
  last: number
  text: string
}

/** A reusable outcome, and the milliseconds since it was written. */
export interface Recalled {
  text: string
  ageMs: number
}

/** What came of a commit; where it was refused, what stands there (nothing: no such turn). */
export type Answer =
  { ok: true } | { ok: false; owner?: string; revision?: number; open?: boolean; state?: string }

/** The part of a turn by which a commit is judged. */
export type Standing = Pick<Kept, 'owner' | 'revision' | 'open'>

/** The rule (see the top of this file). `apply` is the only verdict that writes. */
export function judge(
  current: Standing | undefined,
  { owner, revision, takeOver }: Commit,
): 'apply' | 'repeated' | 'refuse' {
  if (!current) return revision === 1 ? 'apply' : 'refuse'
  if (current.owner === owner && current.revision === revision) return 'repeated'
  const next = current.open && current.revision === revision - 1
  return next && (current.owner === owner || takeOver) ? 'apply' : 'refuse'
}

/** The answer to a refused commit. */
export function refusal(current: (Standing & { state: string }) | undefined): Answer {
  if (!current) return { ok: false }
  const { owner, revision, open, state } = current
  return { ok: false, owner, revision, open, state }
}

/** The failure of a commit that names a record that is there. */
export function recordExists(name: string): TurnlockError {
  return new TurnlockError('store.record_exists', `the turn has a record ${JSON.stringify(name)}`, {
    name,
  })
}

/** The name of a record that comes twice in one list. */
export function repeatedName(records: Commit['records']): string | undefined {
  if (records.length < 2) return undefined
  const seen = new Set<string>()
  return records.find(([name]) => seen.size === seen.add(name).size)?.[0]
}

const METHODS = ['read', 'commit', 'events', 'recall'] as const

/**
 * Holds what a host gives as a store to the interface.
 *
 * @throws TurnlockError `store.unsupported` for a Workers KV namespace, `options.invalid` for
 * anything else that is no {@link Store}
 */
export function checkStore(store: unknown): asserts store is Store {
  const has = (name: string) =>
    typeof (store as Record<string, unknown> | null | undefined)?.[name] === 'function'
  if (METHODS.every(has)) return
  if (has('get') && has('put') && has('list') && has('getWithMetadata')) {
    throw new TurnlockError(
      'store.unsupported',
      'Workers KV cannot be a store: it is eventually consistent and has no compare-and-set, so ' +
        'two isolates would both believe that a tool call is theirs, and run it twice; use ' +
        'durableObjectStore(ctx) or redisStore(client)',
    )
  }
  const lacks = METHODS.filter((name) => !has(name)).join(', ')
  throw new TurnlockError(
    'options.invalid',
    `store: give memoryStore() or another Store; this has no ${lacks}`,
  )
}
