/** A store in memory, for a single process and for tests. */
import { TurnlockError } from '../errors.js'
import { MEMORY_STORE_OPTIONS } from '../generated/rows.js'
import type { MemoryStoreOptions } from '../generated/stores.js'
import { readOptions } from '../options.js'
import {
  isResting,
  judge,
  namesOf,
  recordExists,
  refusal,
  repeatedName,
  tenantOf,
} from './store.js'
import type { Commit, EventGroup, ListedTurn, Store } from './store.js'
import { Watchers } from './watchers.js'

export type { MemoryStoreOptions }

interface Turn {
  tenant: Tenant
  owner: string
  revision: number
  open: boolean
  state: string
  at: number
  expires: number
  /** Characters of what is stored. */
  size: number
  records: Map<string, string>
  groups: EventGroup[]
}

/** The turns of one tenant that may make room, each set in the order in which they came to rest. */
interface Tenant {
  name: string
  turns: number
  size: number
  /** Turns that are over, and those that failed or pause: these can be resumed. */
  over: Set<string>
  resting: Set<string>
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
    for (let remaining = Math.min(most, map.size); remaining > 0; remaining--) {
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
 * Memory is bounded by `maxTurns` and `maxCharacters`. At a limit, the tenant that has the most
 * makes room: by the turn that was over first, else by the one that has failed or paused for
 * longest. So no tenant fills the store for the others. A turn that was deleted at the limit is
 * unknown: its `requestId` would run again.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  options = readOptions(options, MEMORY_STORE_OPTIONS)
  const { maxTurns = 10_000, maxCharacters = 134_217_728, maxReusable = 10_000 } = options
  const { now = () => performance.now() } = options
  for (const [name, value] of Object.entries({ maxTurns, maxCharacters, maxReusable })) {
    if (Number.isInteger(value) && value > 0) continue
    throw new TurnlockError('options.invalid', `${name}: give a whole number above 0`)
  }
  const turns = new Map<string, Turn>()
  const tenants = new Map<string, Tenant>()
  let size = 0
  const reusable = new Map<string, { text: string; at: number; expires: number }>()
  const watchers = new Watchers()

  const drop = (turn: string) => {
    const row = turns.get(turn)
    if (!row) return
    turns.delete(turn)
    const { tenant } = row
    tenant.over.delete(turn)
    tenant.resting.delete(turn)
    tenant.size -= row.size
    size -= row.size
    if (--tenant.turns === 0) tenants.delete(tenant.name)
  }
  const sweepTurns = sweeper(turns, drop)
  const sweepReusable = sweeper(reusable, (key) => reusable.delete(key))

  const current = (turn: string): Turn | undefined => {
    const row = turns.get(turn)
    if (!row || row.expires > now()) return row
    drop(turn)
    return undefined
  }

  const isFull = (more: number) => turns.size >= maxTurns || size + more > maxCharacters

  /** The turn that is missed least: of the tenant that has the most of what is short. */
  const mostDispensable = (): string | undefined => {
    const measure = turns.size >= maxTurns ? 'turns' : 'size'
    let most: Tenant | undefined
    for (const tenant of tenants.values()) {
      if (tenant.over.size + tenant.resting.size === 0) continue
      if (!most || tenant[measure] > most[measure]) most = tenant
    }
    if (!most) return undefined
    const [turn] = most.over.size ? most.over : most.resting
    return turn
  }

  /** Makes room for a new turn with so many characters. */
  const makeRoom = (more: number) => {
    sweepTurns(now(), SWEPT)
    const full = (why: string) => new TurnlockError('store.full', why)
    // It would drop all others and still not fit.
    if (more > maxCharacters) throw full('the turn has more than maxCharacters')
    let swept = false
    while (isFull(more)) {
      const turn = mostDispensable()
      if (turn !== undefined) drop(turn)
      else if (swept) throw full('all turns are running; see maxTurns and maxCharacters')
      else {
        sweepTurns(now(), turns.size)
        swept = true
      }
    }
  }

  const ownerOf = (turn: string): Tenant => {
    const name = tenantOf(turn)
    let tenant = tenants.get(name)
    if (!tenant) {
      tenant = { name, turns: 0, size: 0, over: new Set(), resting: new Set() }
      tenants.set(name, tenant)
    }
    return tenant
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
      const row = current(turn)
      if (!row) return undefined
      const { owner, revision, open, state, at, records } = row
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
      const { owner, revision, open, events, forget, ttlMs } = commit
      const written = lengthOf(commit)
      if (!before) makeRoom(written)

      // No step below can fail.
      const at = now()
      const state = commit.state ?? before?.state ?? ''
      const records = before?.records ?? new Map<string, string>()
      for (const [name, text] of commit.records) records.set(name, text)
      const groups = before?.groups ?? []
      if (events) groups.push({ ...events })
      const remaining = forget > 0 ? groups.filter(({ last }) => last > forget) : groups
      let totalSize = (before?.size ?? 0) + written
      if (commit.state !== null) totalSize -= before?.state.length ?? 0
      if (remaining.length < groups.length) {
        for (const { last, text } of groups) if (last <= forget) totalSize -= text.length
      }
      const tenant = before?.tenant ?? ownerOf(turn)
      const row = {
        tenant,
        owner,
        revision,
        open,
        at,
        expires: at + ttlMs,
        size: totalSize,
        records,
      }
      turns.set(turn, { ...row, groups: remaining, state })
      if (!before) tenant.turns++
      tenant.size += totalSize - (before?.size ?? 0)
      size += totalSize - (before?.size ?? 0)
      tenant.over.delete(turn)
      tenant.resting.delete(turn)
      if (!open) tenant.over.add(turn)
      else if (isResting(state)) tenant.resting.add(turn)
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
      const entry = reusable.get(key)
      if (!entry || entry.expires <= now()) return undefined
      return { text: entry.text, ageMs: now() - entry.at }
    },

    async list(tenant, most) {
      const begin = namesOf(tenant)
      const listed: ListedTurn[] = []
      for (const [turn, { open, state, at, expires }] of turns) {
        if (!open || expires <= now() || !turn.startsWith(begin)) continue
        listed.push({ turn, state, idleMs: now() - at })
      }
      return listed.sort((a, b) => a.idleMs - b.idleMs).slice(0, most)
    },

    async idle(turn) {
      const row = current(turn)
      return row && now() - row.at
    },

    watch: (turn, changed) => watchers.add(turn, changed),
  }
}

function lengthOf({ state, records, events }: Commit): number {
  let length = (state?.length ?? 0) + (events?.text.length ?? 0)
  for (const [name, text] of records) length += name.length + text.length
  return length
}
