/** A store in memory, for a single process and for tests. */
import { TurnlockError } from '../errors.js'
import { MEMORY_STORE_OPTIONS } from '../generated/rows.js'
import type { MemoryStoreOptions } from '../generated/stores.js'
import { checkOptions } from '../options.js'
import { judge, recordExists, refusal, repeatedName } from './store.js'
import type { Commit, EventGroup, Store } from './store.js'
import { Watchers } from './watchers.js'

export type { MemoryStoreOptions }

interface Turn {
  owner: string
  revision: number
  open: boolean
  state: string
  at: number
  expires: number
  records: Map<string, string>
  groups: EventGroup[]
}

/** Number of entries that each new one checks for expiry, which bounds memory without a scan. */
const SWEPT = 4

/** Cycles through `map`, a few entries at a time, and drops expired ones. */
function sweeper<T extends { expires: number }>(
  map: Map<string, T>,
  drop: (key: string) => void,
): (now: number, most: number) => void {
  let round = map.entries()
  return (now, most) => {
    for (let left = Math.min(most, map.size); left > 0; left--) {
      let next = round.next()
      if (next.done) next = (round = map.entries()).next()
      if (next.done) return
      if (next.value[1].expires <= now) drop(next.value[0])
    }
  }
}

/**
 * Stores turns in the memory of this process, until it ends. For a single server process, for
 * tests, and for pages that need no resume after a reload.
 *
 * Memory is bounded by `maxTurns` and by the size of one turn. A closed turn that was deleted at
 * the limit is unknown: its `requestId` would run again.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkOptions(options, MEMORY_STORE_OPTIONS)
  const { maxTurns = 10_000, maxReusable = 10_000, now = () => performance.now() } = options
  for (const [name, value] of Object.entries({ maxTurns, maxReusable })) {
    if (Number.isInteger(value) && value > 0) continue
    throw new TurnlockError('options.invalid', `${name}: give a whole number above 0`)
  }
  const turns = new Map<string, Turn>()
  /** Closed turns, in the order in which they were closed. */
  const closed = new Set<string>()
  const reusable = new Map<string, { text: string; at: number; expires: number }>()
  const watchers = new Watchers()

  const drop = (turn: string) => {
    turns.delete(turn)
    closed.delete(turn)
  }
  const sweepTurns = sweeper(turns, drop)
  const sweepReusable = sweeper(reusable, (key) => reusable.delete(key))

  const current = (turn: string): Turn | undefined => {
    const kept = turns.get(turn)
    if (!kept || kept.expires > now()) return kept
    drop(turn)
    return undefined
  }

  const makeRoom = () => {
    sweepTurns(now(), SWEPT)
    if (turns.size < maxTurns) return
    const [oldest] = closed
    if (oldest !== undefined) return drop(oldest)
    sweepTurns(now(), turns.size)
    if (turns.size < maxTurns) return
    throw new TurnlockError('store.full', `${maxTurns} turns are open; see maxTurns`)
  }

  const keepReusable = ([key, text, ttlMs]: Commit['reusable'][number]) => {
    const at = now()
    sweepReusable(at, SWEPT)
    // Delete first, so that the map stays ordered by age.
    reusable.delete(key)
    const [oldest] = reusable.keys()
    if (reusable.size >= maxReusable && oldest !== undefined) reusable.delete(oldest)
    reusable.set(key, { text, at, expires: at + ttlMs })
  }

  return {
    async read(turn) {
      const kept = current(turn)
      if (!kept) return undefined
      const { owner, revision, open, state, at, records } = kept
      return { owner, revision, open, idleMs: now() - at, state, records: [...records] }
    },

    async commit(turn, commit) {
      const before = current(turn)
      const verdict = judge(before, commit)
      if (verdict === 'repeated') return { ok: true }
      if (verdict === 'refuse') return refusal(before)
      const twice =
        repeatedName(commit.records) ??
        commit.records.find(([name]) => before?.records.has(name))?.[0]
      if (twice !== undefined) throw recordExists(twice)
      if (!before) makeRoom()

      // No step below can fail.
      const { owner, revision, open, state, events, forget, ttlMs } = commit
      const at = now()
      const records = before?.records ?? new Map<string, string>()
      for (const [name, text] of commit.records) records.set(name, text)
      let groups = before?.groups ?? []
      if (events) groups.push({ ...events })
      if (forget > 0) groups = groups.filter(({ last }) => last > forget)
      const kept = { owner, revision, open, at, expires: at + ttlMs, records, groups }
      turns.set(turn, { ...kept, state: state ?? before?.state ?? '' })
      if (!open) closed.add(turn)
      for (const each of commit.reusable) keepReusable(each)
      watchers.tell(turn, owner)
      return { ok: true }
    },

    async events(turn, after, most) {
      const groups = current(turn)?.groups ?? []
      const from = groups.findIndex(({ last }) => last > after)
      if (from < 0) return []
      return groups.slice(from, from + most).map((group) => ({ ...group }))
    },

    async recall(key) {
      const kept = reusable.get(key)
      if (!kept || kept.expires <= now()) return undefined
      return { text: kept.text, ageMs: now() - kept.at }
    },

    watch: (turn, changed) => watchers.add(turn, changed),
  }
}
