/**
 * The interface of stores, and the rule by which they accept commits.
 *
 * A turn is a linear sequence of commits. The core decides what is written; a store writes it
 * atomically. Stores have no knowledge of tools, claims or outcomes: every text is opaque to them.
 *
 * **The rule** is applied to each commit in one transaction. *Current* is the stored state of the
 * turn; an expired turn counts as absent.
 *
 * 1. There is no current state: the commit is applied if and only if its `revision` is 1.
 * 2. `owner` and `revision` equal the current ones: this commit was already applied and its answer
 *    was lost. Answer `{ ok: true }` and write nothing.
 * 3. The current state is open, `revision` is the next one, and `owner` is the current owner, or
 *    `takeOver` is set and `replaces` is the current owner or `null`: the commit is applied.
 * 4. Any other commit is refused, and the answer contains the current state.
 *
 * If two owners race for a revision, one therefore writes and the other one learns that it did not.
 * An owner that was replaced can never write again, even after a long pause.
 *
 * A store for another database implements {@link Store} and passes `storeConformance` of
 * `turnlock/testing`.
 *
 * @module
 */
import { TurnlockError } from '../errors.js'

/** Stores turns. Every method may be called at any time, also while other calls are pending. */
export interface Store {
  /** The stored turn without its events; `undefined` if it is unknown or has expired. */
  read(turn: string): Promise<StoredTurn | undefined>
  /**
   * Applies a commit completely or not at all.
   *
   * @throws TurnlockError `store.record_exists`, and if the store itself fails `store.quota`,
   * `store.blocked`, `store.closed`, `store.denied`, `store.unavailable`, … After such an error,
   * the same commit may be repeated, which rule 2 makes harmless.
   */
  commit(turn: string, commit: Commit): Promise<CommitResult>
  /**
   * Groups with `last > after`, ascending by `last`, at most `most` of them; fewer only if there
   * are no more.
   */
  events(turn: string, after: number, most: number): Promise<EventGroup[]>
  /** A reusable outcome, if it has not expired. Outcomes are stored separately from turns. */
  recall(key: string): Promise<StoredOutcome | undefined>
  /**
   * Optional: `idleMs` as {@link Store.read} returns it, without the rest; `undefined` for a turn
   * that is unknown or has expired. Those who wait for events of a silent turn ask it, which without
   * this method takes a `read`.
   */
  idle?(turn: string): Promise<number | undefined>
  /**
   * Optional: the open turns of a tenant, at most `most`, by `idleMs` ascending. Where more are open,
   * those that were written last, or those that began or were taken over last. The names of a
   * tenant's turns are `JSON.stringify([tenant, requestId])`.
   */
  list?(tenant: string, most: number): Promise<ListedTurn[]>
  /**
   * Optional: calls `changed` soon after any owner's commit to the turn was applied. Returns a
   * function that stops watching. `owner` is the writer, if the store knows it. Extra calls are
   * allowed, and so is one call for several commits.
   */
  watch?(turn: string, changed: (owner?: string) => void): () => void
  /**
   * Optional: the default of `keep.gatherMs` for turns of this store, from 0 to 10000 milliseconds.
   * A store that bills each write has a longer one.
   */
  readonly gatherMs?: number
}

/**
 * Milliseconds for which text is gathered in stores that bill by row: two rows for each commit of
 * text. A reader sees text at most that late.
 *
 * Not a limit.
 */
export const ROW_GATHER_MS = 250

/** A stored turn. */
export interface StoredTurn {
  /** The owner that wrote the last commit. */
  owner: string
  /** The number of the last commit. */
  revision: number
  /** False if the turn has ended. */
  open: boolean
  /**
   * Milliseconds since the last commit, by the store's own clock; `Infinity` if the turn is open and
   * the store knows that the owner is gone.
   */
  idleMs: number
  /** The last state that was written. */
  state: string
  /** Names and texts, in the order in which they were written. */
  records: [name: string, text: string][]
}

/** An open turn in a list. */
export interface ListedTurn extends Pick<StoredTurn, 'idleMs' | 'state'> {
  turn: string
}

/** One write to a turn. */
export interface Commit {
  /** The writer: 128 random bits in hex, new for each run or resume of a turn. */
  owner: string
  /** The number of this commit in its turn: 1, 2, … */
  revision: number
  /** Whether `owner` may replace another owner. */
  takeOver: boolean
  /**
   * Whom a take-over replaces: the owner that `owner` has read. So one that was read before the turn
   * expired writes nothing to a turn of the same name that began since. `null` or absent: anybody.
   */
  replaces?: string | null
  /** False if the turn ends (complete, failed, cancelled). No commit may follow. */
  open: boolean
  /** Replaces the stored state; `null` leaves it unchanged. Never `null` in revision 1. */
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
  /** Stored separately from the turn, by key, for `ttlMs`. Replaces an existing entry. */
  reusable: [key: string, text: string, ttlMs: number][]
  /** Milliseconds after its last commit until the turn expires, with everything in it. */
  ttlMs: number
}

/** A group of a turn's events up to `last`, written by one commit. */
export interface EventGroup {
  last: number
  text: string
}

/** A reusable outcome, and the milliseconds since it was written. */
export interface StoredOutcome {
  text: string
  ageMs: number
}

/** The result of a commit. If it was refused: the current state, if there is such a turn. */
export type CommitResult =
  { ok: true } | { ok: false; owner?: string; revision?: number; open?: boolean; state?: string }

/** The part of a turn that the rule uses. */
export type TurnHead = Pick<StoredTurn, 'owner' | 'revision' | 'open'>

/** The rule (see the top of this file). `apply` is the only verdict that writes. */
export function judge(
  current: TurnHead | undefined,
  { owner, revision, takeOver, replaces = null }: Commit,
): 'apply' | 'repeated' | 'refuse' {
  if (!current) return revision === 1 ? 'apply' : 'refuse'
  if (current.owner === owner && current.revision === revision) return 'repeated'
  const next = current.open && current.revision === revision - 1
  const may = takeOver && (replaces === null || replaces === current.owner)
  return next && (current.owner === owner || may) ? 'apply' : 'refuse'
}

/** The answer to a refused commit. */
export function refusal(current: (TurnHead & { state: string }) | undefined): CommitResult {
  if (!current) return { ok: false }
  const { owner, revision, open, state } = current
  return { ok: false, owner, revision, open, state }
}

/** How the names of a tenant's turns begin. */
export const namesOf = (tenant: string): string => JSON.stringify([tenant]).slice(0, -1) + ','

/** Whether a state of ours is that of a turn that nobody runs, but that can be resumed. */
export const isResting = (state: string): boolean =>
  /^.{0,20}"status":"(paused|failed)"/.test(state)

/** The tenant of a turn by its name; the empty text for names of another form. */
export function tenantOf(turn: string): string {
  try {
    const [tenant] = JSON.parse(turn) as unknown[]
    return typeof tenant === 'string' ? tenant : ''
  } catch {
    return ''
  }
}

/** The error of a commit with the name of an existing record. */
export function recordExists(name: string): TurnlockError {
  return new TurnlockError('store.record_exists', `the turn has a record ${JSON.stringify(name)}`, {
    name,
  })
}

/** The name of a record that occurs twice in one list. */
export function repeatedName(records: Commit['records']): string | undefined {
  if (records.length < 2) return undefined
  const names = new Set<string>()
  return records.find(([name]) => names.size === names.add(name).size)?.[0]
}

const METHODS = ['read', 'commit', 'events', 'recall'] as const

/**
 * Checks that a value from a host implements the interface.
 *
 * @throws TurnlockError `store.unsupported` for a Workers KV namespace, `options.invalid` for
 * anything else that is not a {@link Store}
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

/** What can be read of rows. One that cannot must not hide the others. */
export function readable<Row, T>(rows: readonly Row[], read: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)]
    } catch {
      return []
    }
  })
}
