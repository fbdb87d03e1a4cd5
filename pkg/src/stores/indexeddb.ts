/**
 * A store in the browser's IndexedDB: turns survive a reload, a closed tab and a crash.
 *
 * @example
 * const store = indexedDbStore()
 * const turn = runTurn({ model, messages, tools, store })
 *
 * @module
 */
import { INDEXED_DB_STORE_OPTIONS } from '../generated/rows.js'
import type { IndexedDbStoreOptions } from '../generated/stores.js'
import { readOptions } from '../options.js'
import { connect, done, failure, finished, type Connection } from './indexeddb-connection.js'
import { OwnerLocks } from './owner-locks.js'
import { judge, namesOf, recordExists, refusal, repeatedName } from './store.js'
import type { CommitResult, Commit, EventGroup, StoredTurn, StoredOutcome, Store } from './store.js'
import { Watchers } from './watchers.js'

export type { IndexedDbStoreOptions }

interface Turn {
  turn: string
  owner: string
  revision: number
  open: boolean
  state: string
  /** Number of records, and so the number of the next one. */
  records: number
  /** Whether the owner held a lock when it wrote. If so, a missing lock means that it is gone. */
  locked: boolean
  at: number
  expires: number
}

/** The row of the clock, under a name that no turn has. */
interface ClockRow {
  turn: typeof CLOCK
  /** What has expired by this time may be deleted. */
  at: number
  /** When the clock was first found far ahead of `at`; 0 if it was not. */
  seen: number
  expires: number
}

interface Reusable {
  key: string
  text: string
  at: number
  expires: number
}

/** Number of expired turns, and of expired outcomes, that one sweep deletes. */
const SWEPT = 100

const CLOCK = 'clock'
/** Milliseconds between two sweeps from which on the clock may have jumped. */
const JUMP = 3_600_000
/** Milliseconds for which such a clock must go on before it is believed. */
const BELIEVED = 86_400_000

/**
 * The row of the clock at a sweep. A clock that is ahead for a moment must not delete what it makes look
 * expired, and a page that was closed for long looks the same.
 */
function clockAt(now: number, before: ClockRow | undefined): ClockRow {
  const row = (at: number, seen: number): ClockRow => ({ turn: CLOCK, at, seen, expires: Infinity })
  // A row that nobody can have written counts as none.
  if (!before || !Number.isFinite(before.at + before.seen)) return row(now, 0)
  const { at, seen } = before
  if (now - at <= JUMP) return row(now, 0)
  if (seen === 0 || seen > now) return row(at, now)
  return now - seen >= BELIEVED ? row(now, 0) : before
}

/** The time by the clock, or by its row where the clock may have jumped ahead. */
const trusted = (now: number, clock: ClockRow | undefined) =>
  clock && now - clock.at > JUMP ? clock.at : now

/** The key range of a turn. Arrays sort after all numbers and strings. */
const under = (turn: string, after?: number) =>
  IDBKeyRange.bound(after === undefined ? [turn] : [turn, after], [turn, []], true)

/**
 * Stores turns in IndexedDB, for all pages and workers of the origin.
 *
 * A commit is one transaction. Those that write records or state are `durability: "strict"`: they
 * complete only when they are on disk. Those with events only are relaxed.
 *
 * The owner of a running turn holds a Web Lock, so that another page detects at once that the tab
 * was closed or crashed (`idleMs: Infinity`). A page that enters the back/forward cache releases
 * its locks and requests them again when it returns; its later writes are subject to the same rule
 * as any others. For a frozen page, and where there are no Web Locks, only the idle time shows that
 * an owner is gone.
 *
 * Errors: `store.denied` (no storage for this page: sandboxed, or blocked by the user),
 * `store.quota`, `store.blocked` (another page blocks the database), `store.version` (a newer
 * version of this package has upgraded it), `store.closed` (closed in the middle of an operation,
 * for example when the user clears the site's data), `store.unavailable`. The next operation
 * reopens a closed connection.
 */
export function indexedDbStore(options: IndexedDbStoreOptions = {}): Store {
  options = readOptions(options, INDEXED_DB_STORE_OPTIONS)
  const { name = 'turnlock', openTimeoutMs = 10_000 } = options
  const connection: Connection = connect(name, options.indexedDB, openTimeoutMs)
  const locks = new OwnerLocks(`${name}:`)
  const watchers = new Watchers()
  let channel: BroadcastChannel | undefined
  let sweeping = false

  /** Handles the news that `owner` wrote to a turn. */
  const onCommit = ({ turn, owner, open }: { turn: string; owner: string; open: boolean }) => {
    locks.releaseOthers(turn, open ? owner : null)
    watchers.tell(turn, owner)
  }
  const listen = () => {
    if (channel || typeof BroadcastChannel === 'undefined') return
    channel = new BroadcastChannel(`turnlock:${name}`)
    channel.addEventListener('message', ({ data }) => onCommit(data))
    // In Node, the channel must not keep the process alive.
    ;(channel as { unref?: () => void }).unref?.()
  }
  globalThis.addEventListener?.('pagehide', () => {
    // Locks or an open channel may prevent a page from entering the back/forward cache.
    locks.suspend()
    channel?.close()
    channel = undefined
  })
  globalThis.addEventListener?.('pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    locks.resume()
    listen()
    // The page missed all changes in the meantime.
    watchers.tellAll()
  })

  const get = <T>(tx: IDBTransaction, key: string) =>
    done<T | undefined>(tx.objectStore('turns').get(key))

  /**
   * How a turn stands: whether it has expired, and whether only the clock says so, which may have jumped
   * ahead. Then a turn stands if its owner is there.
   */
  const standing = async (tx: IDBTransaction, turn: string) => {
    const [row, clock] = await Promise.all([get<Turn>(tx, turn), get<ClockRow>(tx, CLOCK)])
    return row && { row, ...expiry(row, clock) }
  }
  const expiry = ({ expires, open, locked }: Turn, clock: ClockRow | undefined) => {
    const now = Date.now()
    const isExpired = !(expires > now)
    return { isExpired, isDoubtful: isExpired && open && locked && expires > trusted(now, clock) }
  }
  type Standing = Awaited<ReturnType<typeof standing>>

  /** Asks for the lock only where that decides: a transaction ends meanwhile. */
  const current = async (found: Standing): Promise<Turn | undefined> => {
    if (!found?.isExpired) return found?.row
    return found.isDoubtful && (await locks.isHeld(found.row.owner)) ? found.row : undefined
  }

  /** Deletes a turn with its records and events. */
  const drop = (tx: IDBTransaction, turn: string) => {
    tx.objectStore('turns').delete(turn)
    tx.objectStore('records').delete(under(turn))
    tx.objectStore('events').delete(under(turn))
  }

  const write = (tx: IDBTransaction, turn: string, commit: Commit, before: Turn | undefined) => {
    const { owner, revision, open, events, forget, ttlMs } = commit
    if (!before) drop(tx, turn)
    const at = Date.now()
    let records = before?.records ?? 0
    for (const [name, text] of commit.records) {
      tx.objectStore('records').add({ turn, n: records++, name, text })
    }
    const state = commit.state ?? before?.state ?? ''
    const locked = locks.has(owner)
    const expires = at + ttlMs
    const row: Turn = { turn, owner, revision, open, state, records, locked, at, expires }
    tx.objectStore('turns').put(row)
    if (events) tx.objectStore('events').put({ turn, last: events.last, text: events.text })
    if (forget > 0) {
      tx.objectStore('events').delete(IDBKeyRange.bound([turn], [turn, forget]))
    }
    for (const [key, text, reuseMs] of commit.reusable) {
      tx.objectStore('reusable').put({ key, text, at, expires: at + reuseMs })
    }
  }

  /**
   * `holder`: the owner whose doubtful turn stands, or an empty text. Where that must be known, returns
   * the row.
   */
  const attempt = async (
    turn: string,
    commit: Commit,
    holder?: string,
  ): Promise<CommitResult | 'applied' | Turn> => {
    const strict = commit.records.length > 0 || commit.state !== null
    const tx = await connection.transaction('readwrite', strict ? 'strict' : 'relaxed')
    const end = finished(tx)
    try {
      const found = await standing(tx, turn)
      if (found?.isDoubtful && holder === undefined) return found.row
      const isHeld = found?.isDoubtful && found.row.owner === holder
      const before = found?.isExpired && !isHeld ? undefined : found?.row
      const verdict = judge(before, commit)
      if (verdict === 'repeated') return { ok: true }
      if (verdict === 'refuse') return refusal(before)
      const twice = repeatedName(commit.records)
      if (twice !== undefined) throw recordExists(twice)
      const names = tx.objectStore('records').index('name')
      for (const [name] of before ? commit.records : []) {
        if (await done(names.getKey([turn, name]))) throw recordExists(name)
      }
      write(tx, turn, commit, before)
      await end
      return 'applied'
    } catch (cause) {
      try {
        tx.abort()
      } catch {
        // The transaction has already ended.
      }
      throw failure(tx.error ?? cause)
    }
  }

  /** Deletes expired data in the background and ignores failures. */
  const sweep = async () => {
    if (sweeping) return
    sweeping = true
    try {
      const tx = await connection.transaction('readwrite', 'relaxed')
      const end = finished(tx)
      const clock = clockAt(Date.now(), await get<ClockRow>(tx, CLOCK))
      tx.objectStore('turns').put(clock)
      const expired = IDBKeyRange.upperBound(clock.at)
      const keys = (store: string) =>
        done<IDBValidKey[]>(tx.objectStore(store).index('expires').getAllKeys(expired, SWEPT))
      const [turns, outcomes] = await Promise.all([keys('turns'), keys('reusable')])
      for (const turn of turns) drop(tx, turn as string)
      for (const key of outcomes) tx.objectStore('reusable').delete(key)
      await end
    } catch {
      // The next sweep tries again.
    } finally {
      sweeping = false
    }
  }

  return {
    async read(turn) {
      const tx = await connection.transaction('readonly')
      const range = under(turn)
      let found: Standing
      let rows: { name: string; text: string }[]
      try {
        const all = done<typeof rows>(tx.objectStore('records').getAll(range))
        ;[found, rows] = await Promise.all([standing(tx, turn), all])
      } catch (cause) {
        throw failure(cause)
      }
      const row = await current(found)
      if (!row) return undefined
      const { owner, revision, open, state, at, locked } = row
      const records = rows.map(({ name, text }): [string, string] => [name, text])
      // Checked after the read, so that an owner that arrived since is not considered gone.
      const isAbandoned = open && locked && !(await locks.isHeld(owner))
      const idleMs = isAbandoned ? Infinity : Math.max(0, Date.now() - at)
      return { owner, revision, open, idleMs, state, records } satisfies StoredTurn
    },

    async commit(turn, commit) {
      // Acquire the lock before the first commit becomes visible.
      const fresh = commit.open && (await locks.acquire(turn, commit.owner))
      let answer: CommitResult | 'applied'
      try {
        const found = await attempt(turn, commit)
        if (typeof found === 'object' && 'locked' in found) {
          const holder = (await locks.isHeld(found.owner)) ? found.owner : ''
          answer = (await attempt(turn, commit, holder)) as CommitResult | 'applied'
        } else answer = found
      } catch (error) {
        if (fresh) locks.release(commit.owner)
        throw error
      }
      if (answer !== 'applied') {
        if (!answer.ok && answer.owner !== commit.owner) locks.release(commit.owner)
        return answer
      }
      const news = { turn, owner: commit.owner, open: commit.open }
      onCommit(news)
      listen()
      channel?.postMessage(news)
      if (commit.revision === 1) void sweep()
      return { ok: true }
    },

    async events(turn, after, most) {
      if (most < 1) return []
      const tx = await connection.transaction('readonly')
      const range = under(turn, after)
      let found: [Standing, EventGroup[]]
      try {
        const count = Math.min(most, 0xffff_ffff)
        const all = done<EventGroup[]>(tx.objectStore('events').getAll(range, count))
        found = await Promise.all([standing(tx, turn), all])
      } catch (cause) {
        throw failure(cause)
      }
      const row = await current(found[0])
      return row ? found[1].map(({ last, text }) => ({ last, text })) : []
    },

    async list(tenant, most) {
      const tx = await connection.transaction('readonly')
      const begin = namesOf(tenant)
      let rows: Turn[]
      let clock: ClockRow | undefined
      try {
        const range = IDBKeyRange.bound(begin, `${begin}\uffff`)
        const all = done<Turn[]>(tx.objectStore('turns').getAll(range))
        ;[rows, clock] = await Promise.all([all, get<ClockRow>(tx, CLOCK)])
      } catch (cause) {
        throw failure(cause)
      }
      const now = Date.now()
      const open = rows.filter((row) => row.open)
      const found = open.map((row) => current({ row, ...expiry(row, clock) }))
      const alive = (await Promise.all(found)).filter((row) => row !== undefined)
      const newest = alive.sort((a, b) => b.at - a.at).slice(0, most)
      const listed = await Promise.all(
        newest.map(async ({ turn, owner, state, at, locked }) => {
          const isAbandoned = locked && !(await locks.isHeld(owner))
          return { turn, state, idleMs: isAbandoned ? Infinity : Math.max(0, now - at) }
        }),
      )
      // Those whose owners are gone are last.
      return listed.sort((a, b) => a.idleMs - b.idleMs)
    },

    async recall(key) {
      const tx = await connection.transaction('readonly')
      let row: Reusable | undefined
      try {
        row = await done<Reusable | undefined>(tx.objectStore('reusable').get(key))
      } catch (cause) {
        throw failure(cause)
      }
      const now = Date.now()
      if (!row || row.expires <= now) return undefined
      return { text: row.text, ageMs: Math.max(0, now - row.at) } satisfies StoredOutcome
    },

    watch(turn, changed) {
      listen()
      return watchers.add(turn, changed)
    },
  }
}
