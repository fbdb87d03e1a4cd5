/**
 * A store in the browser's IndexedDB: turns survive a reload, a closed tab and a crash.
 *
 * @example
 * const store = indexedDbStore()
 * const turn = runTurn({ model, messages, tools, store })
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import { connect, done, failure, finished, type Connection } from './indexeddb-connection.js'
import { OwnerLocks } from './owner-locks.js'
import { judge, recordExists, refusal, repeatedName } from './store.js'
import type { Answer, Commit, EventGroup, Kept, Recalled, Store } from './store.js'
import { Watchers } from './watchers.js'

/** Where an {@link indexedDbStore} keeps its turns. */
export interface IndexedDbStoreOptions {
  /** The database; one for each user where several share a browser. @defaultValue "turnlock" */
  name?: string
  /** @defaultValue `globalThis.indexedDB` */
  indexedDB?: IDBFactory
  /**
   * How long to wait for a database that another page holds back, in milliseconds; then
   * `store.blocked`. @defaultValue 10000
   */
  openTimeoutMs?: number
}

interface Turn {
  turn: string
  owner: string
  revision: number
  open: boolean
  state: string
  /** How many records there are: the number of the next one. */
  records: number
  /** The owner held a lock while it wrote, so that a missing lock says that it is gone. */
  locked: boolean
  at: number
  expires: number
}

interface Reusable {
  key: string
  text: string
  at: number
  expires: number
}

/** How many expired turns, and outcomes, are cleared away at a time. */
const SWEPT = 100

/** Everything under a turn: arrays sort behind every number and string. */
const under = (turn: string, after?: number) =>
  IDBKeyRange.bound(after === undefined ? [turn] : [turn, after], [turn, []], true)

/**
 * Keeps turns in IndexedDB, for all pages and workers of the origin.
 *
 * A commit is one transaction. Those that write records or state are `durability: "strict"`: they
 * are on the disk before they count. Those with events only are relaxed.
 *
 * The owner of a running turn holds a Web Lock, so that another page sees at once that the tab was
 * closed or crashed (`idleMs: Infinity`). A page that goes into the back/forward cache lets its
 * locks go, and asks for them again when it comes back; what it then writes is judged by the rule
 * like anything else. Of a page that is frozen, and wherever there are no Web Locks, time alone
 * tells.
 *
 * Its failures: `store.denied` (no storage for this page: sandboxed, storage blocked by the user),
 * `store.quota`, `store.blocked` (another page holds the database back), `store.version` (a newer
 * version of this package has upgraded it), `store.closed` (taken away in the middle of an
 * operation, as when the user clears the site's data), `store.unavailable`. A connection that was
 * closed is opened again by the next operation.
 */
export function indexedDbStore(options: IndexedDbStoreOptions = {}): Store {
  const { name = 'turnlock', openTimeoutMs = 10_000 } = options
  const connection: Connection = connect(name, options.indexedDB, openTimeoutMs)
  const locks = new OwnerLocks(`${name}:`)
  const watchers = new Watchers()
  let channel: BroadcastChannel | undefined
  let sweeping = false

  /** `owner` wrote to a turn. */
  const heard = ({ turn, owner, open }: { turn: string; owner: string; open: boolean }) => {
    locks.releaseOthers(turn, open ? owner : null)
    watchers.tell(turn, owner)
  }
  const listen = () => {
    if (channel || typeof BroadcastChannel === 'undefined') return
    channel = new BroadcastChannel(`turnlock:${name}`)
    channel.addEventListener('message', ({ data }) => heard(data))
    // Where Node plays the browser, this alone keeps no process alive.
    ;(channel as { unref?: () => void }).unref?.()
  }
  globalThis.addEventListener?.('pagehide', () => {
    // A page with locks or an open channel may be kept out of the back/forward cache.
    locks.suspend()
    channel?.close()
    channel = undefined
  })
  globalThis.addEventListener?.('pageshow', (event) => {
    if (!(event as PageTransitionEvent).persisted) return
    locks.resume()
    listen()
    // What happened meanwhile was not heard.
    watchers.tellAll()
  })

  const current = async (tx: IDBTransaction, turn: string): Promise<Turn | undefined> => {
    const kept = await done<Turn | undefined>(tx.objectStore('turns').get(turn))
    return kept && kept.expires > Date.now() ? kept : undefined
  }

  /** Deletes a turn and all under it. */
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
    const kept: Turn = { turn, owner, revision, open, state, records, locked, at, expires }
    tx.objectStore('turns').put(kept)
    if (events) tx.objectStore('events').put({ turn, last: events.last, text: events.text })
    if (forget > 0) {
      tx.objectStore('events').delete(IDBKeyRange.bound([turn], [turn, forget]))
    }
    for (const [key, text, reuseMs] of commit.reusable) {
      tx.objectStore('reusable').put({ key, text, at, expires: at + reuseMs })
    }
  }

  const attempt = async (turn: string, commit: Commit): Promise<Answer | 'applied'> => {
    const strict = commit.records.length > 0 || commit.state !== null
    const tx = await connection.transaction('readwrite', strict ? 'strict' : 'relaxed')
    const end = finished(tx)
    try {
      const before = await current(tx, turn)
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
        // It has ended by itself.
      }
      throw failure(tx.error ?? cause)
    }
  }

  /** Clears away what has expired; nobody waits for it, and its failure is nobody's. */
  const sweep = async () => {
    if (sweeping) return
    sweeping = true
    try {
      const tx = await connection.transaction('readwrite', 'relaxed')
      const end = finished(tx)
      const expired = IDBKeyRange.upperBound(Date.now())
      const keys = (store: string) =>
        done<IDBValidKey[]>(tx.objectStore(store).index('expires').getAllKeys(expired, SWEPT))
      const [turns, outcomes] = await Promise.all([keys('turns'), keys('reusable')])
      for (const turn of turns) drop(tx, turn as string)
      for (const key of outcomes) tx.objectStore('reusable').delete(key)
      await end
    } catch {
      // The next one tries again.
    } finally {
      sweeping = false
    }
  }

  return {
    async read(turn) {
      const tx = await connection.transaction('readonly')
      const range = under(turn)
      let kept: Turn | undefined
      let rows: { name: string; text: string }[]
      try {
        const all = done<typeof rows>(tx.objectStore('records').getAll(range))
        ;[kept, rows] = await Promise.all([current(tx, turn), all])
      } catch (cause) {
        throw failure(cause)
      }
      if (!kept) return undefined
      const { owner, revision, open, state, at, locked } = kept
      const records = rows.map(({ name, text }): [string, string] => [name, text])
      // Asked after reading: an owner that came since is not taken for gone.
      const gone = open && locked && !(await locks.isHeld(owner))
      const idleMs = gone ? Infinity : Math.max(0, Date.now() - at)
      return { owner, revision, open, idleMs, state, records } satisfies Kept
    },

    async commit(turn, commit) {
      // Held before the first commit can be seen.
      const fresh = commit.open && (await locks.acquire(turn, commit.owner))
      let answer: Answer | 'applied'
      try {
        answer = await attempt(turn, commit)
      } catch (error) {
        if (fresh) locks.release(commit.owner)
        throw error
      }
      if (answer !== 'applied') {
        if (!answer.ok && answer.owner !== commit.owner) locks.release(commit.owner)
        return answer
      }
      const news = { turn, owner: commit.owner, open: commit.open }
      heard(news)
      listen()
      channel?.postMessage(news)
      if (commit.revision === 1) void sweep()
      return { ok: true }
    },

    async events(turn, after, most) {
      if (most < 1) return []
      const tx = await connection.transaction('readonly')
      const range = under(turn, after)
      try {
        const count = Math.min(most, 0xffff_ffff)
        const all = done<EventGroup[]>(tx.objectStore('events').getAll(range, count))
        const [kept, groups] = await Promise.all([current(tx, turn), all])
        return kept ? groups.map(({ last, text }) => ({ last, text })) : []
      } catch (cause) {
        throw failure(cause)
      }
    },

    async recall(key) {
      const tx = await connection.transaction('readonly')
      let kept: Reusable | undefined
      try {
        kept = await done<Reusable | undefined>(tx.objectStore('reusable').get(key))
      } catch (cause) {
        throw failure(cause)
      }
      const now = Date.now()
      if (!kept || kept.expires <= now) return undefined
      return { text: kept.text, ageMs: Math.max(0, now - kept.at) } satisfies Recalled
    },

    watch(turn, changed) {
      listen()
      return watchers.add(turn, changed)
    },
  }
}
