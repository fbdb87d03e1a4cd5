/**
 * A store in a Durable Object with SQLite storage.
 *
 * @example
 * export class Turns extends DurableObject {
 *   store = durableObjectStore(this.ctx)
 * }
 * // wrangler.toml: [[migrations]] new_sqlite_classes = ["Turns"]
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import { decodeGroups, encodeGroup, TAIL } from './groups.js'
import {
  judge,
  namesOf,
  readable,
  recordExists,
  refusal,
  repeatedName,
  ROW_GATHER_MS,
} from './store.js'
import type { CommitResult, Commit, EventGroup, StoredTurn, StoredOutcome, Store } from './store.js'
import { pack, pieces, unpack } from './text.js'
import { Watchers } from './watchers.js'

/** The part of `DurableObjectState` that is used. */
export interface DurableObjectStateLike {
  storage: {
    sql: { exec(query: string, ...bindings: unknown[]): Iterable<Record<string, unknown>> }
    transactionSync<T>(work: () => T): T
  }
}

/** The in-memory state of an object; lost with the object. */
interface Instance {
  /** The owner of each open turn that wrote here. It is alive: an object has one instance. */
  owners: Map<string, string>
  watchers: Watchers
}

/** Shared by all stores of an object, which may create one for each request. */
const instances = new WeakMap<object, Instance>()

const TABLES = `
CREATE TABLE IF NOT EXISTS turnlock_turns (turn TEXT PRIMARY KEY, owner TEXT, revision INTEGER,
  open INTEGER, records INTEGER, at REAL, expires REAL, sweep REAL, forgot INTEGER, last INTEGER,
  tail TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turnlock_turns_sweep ON turnlock_turns (sweep);
CREATE TABLE IF NOT EXISTS turnlock_states (turn TEXT, piece INTEGER, text TEXT,
  PRIMARY KEY (turn, piece)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turnlock_records (turn TEXT, n INTEGER, piece INTEGER, name TEXT,
  text TEXT, PRIMARY KEY (turn, n, piece)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS turnlock_records_name ON turnlock_records (turn, name, piece);
CREATE TABLE IF NOT EXISTS turnlock_events (turn TEXT, last INTEGER, piece INTEGER, text TEXT,
  PRIMARY KEY (turn, last, piece)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS turnlock_reusable (key TEXT, piece INTEGER, text TEXT, at REAL,
  expires REAL, PRIMARY KEY (key, piece)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS turnlock_reusable_expires ON turnlock_reusable (expires);
`
const OF_A_TURN = ['turnlock_turns', 'turnlock_states', 'turnlock_records', 'turnlock_events']
/** Number of expired turns, and of expired outcomes, that a new turn deletes. */
const SWEPT = 8

function failure(cause: unknown): TurnlockError {
  if (cause instanceof TurnlockError) return cause
  const text = cause instanceof Error ? cause.message : String(cause)
  const full = /SQLITE_FULL|SQLITE_TOOBIG|disk is full|storage limit|too big/i.test(text)
  const code = full ? 'store.quota' : 'store.unavailable'
  return new TurnlockError(code, `the Durable Object's storage failed: ${text}`, undefined, cause)
}

interface Row {
  owner: string
  revision: number
  open: number
  records: number
  at: number
  expires: number
  /** Not after `expires`, and rarely changed: its index is what finds expired turns. */
  sweep: number
  /** Groups of events with `last` up to this are dropped. */
  forgot: number
  /** `last` of the last group. */
  last: number
  /** The last groups of events (see groups.ts). */
  tail: string
}

/**
 * Stores turns in the SQLite storage of the Durable Object that calls it.
 *
 * An object has one instance worldwide, so an owner that never wrote through this instance ended
 * with an earlier one: `read` returns `idleMs: Infinity` for it. A commit need not wait for the
 * disk: the runtime holds back everything that the object sends (including a tool's requests) until
 * the write is on disk. Later turns delete expired data; the object's alarm is left to the host.
 *
 * @param state the object's `ctx`; its class must be one of `new_sqlite_classes`
 * @throws TurnlockError `store.unsupported` for an object without SQLite storage
 */
export function durableObjectStore(state: DurableObjectStateLike): Store {
  let storage: DurableObjectStateLike['storage']
  let sql: DurableObjectStateLike['storage']['sql']
  try {
    storage = state.storage
    sql = storage.sql
    sql.exec('SELECT 1')
  } catch (cause) {
    const message =
      'durableObjectStore needs SQLite storage: name the class in new_sqlite_classes of a migration'
    throw new TurnlockError('store.unsupported', message, undefined, cause)
  }
  let instance = instances.get(state)
  if (!instance) {
    for (const statement of TABLES.split(';')) if (statement.trim()) sql.exec(statement)
    instances.set(state, (instance = { owners: new Map(), watchers: new Watchers() }))
  }
  const { owners, watchers } = instance

  const rows = <T>(query: string, ...bindings: unknown[]): T[] =>
    [...sql.exec(query, ...bindings)] as T[]
  const run = (query: string, ...bindings: unknown[]): void => void sql.exec(query, ...bindings)
  /** Entirely synchronous, so no other event of the object can interleave. */
  const transaction = <T>(work: () => T): T => {
    try {
      return storage.transactionSync(work)
    } catch (cause) {
      throw failure(cause)
    }
  }
  const join = (texts: { text: string }[]) => unpack(texts.map(({ text }) => text).join(''))

  const current = (id: string): Row | undefined => {
    const [row] = rows<Row>('SELECT * FROM turnlock_turns WHERE turn = ?', id)
    return row && row.expires > Date.now() ? row : undefined
  }
  const standing = ({ owner, revision, open }: Row) => ({ owner, revision, open: open === 1 })
  const stateOf = (id: string) =>
    join(rows('SELECT text FROM turnlock_states WHERE turn = ? ORDER BY piece', id))
  const idleMs = (id: string, row: Row) => {
    const isAbandoned = row.open === 1 && owners.get(id) !== row.owner
    const now = Date.now()
    // The clock was set back. An owner that lives commits soon; others count from this look.
    if (row.at > now) run('UPDATE turnlock_turns SET at = ? WHERE turn = ?', now, id)
    return isAbandoned ? Infinity : Math.max(0, now - row.at)
  }
  const drop = (id: string) => {
    for (const table of OF_A_TURN) run(`DELETE FROM ${table} WHERE turn = ?`, id)
    owners.delete(id)
  }
  const sweep = () => {
    const expired = (from: string, ...now: number[]) =>
      rows<{ id: string }>(`SELECT DISTINCT ${from} LIMIT ${SWEPT}`, ...now)
    const now = Date.now()
    const turns = 'turn AS id FROM turnlock_turns WHERE sweep <= ? AND expires <= ?'
    for (const { id } of expired(turns, now, now)) drop(id)
    for (const { id } of expired('key AS id FROM turnlock_reusable WHERE expires <= ?', now)) {
      run('DELETE FROM turnlock_reusable WHERE key = ?', id)
    }
  }

  const write = (id: string, commit: Commit, before: Row | undefined) => {
    const { owner, revision, open, events, forget, ttlMs } = commit
    if (!before) {
      drop(id)
      sweep()
    }
    const at = Date.now()
    let n = before?.records ?? 0
    for (const [name, text] of commit.records) {
      for (const [piece, part] of pieces(text).entries()) {
        const row = [id, n, piece, pack(name), part]
        run('INSERT INTO turnlock_records VALUES (?, ?, ?, ?, ?)', ...row)
      }
      n++
    }
    const group = events ? encodeGroup(events) : ''
    let tail = before?.tail ?? ''
    if (events && tail.length + group.length > TAIL) {
      if (tail) run('INSERT INTO turnlock_events VALUES (?, ?, 0, ?)', id, before!.last, tail)
      tail = ''
    }
    if (group.length > TAIL) {
      for (const [piece, part] of pieces(group).entries()) {
        run('INSERT INTO turnlock_events VALUES (?, ?, ?, ?)', id, events!.last, piece, part)
      }
    } else tail += group
    const last = events?.last ?? before?.last ?? 0
    // Groups that come later are not among them.
    const forgot = Math.max(before?.forgot ?? 0, Math.min(forget, last))
    const row = [owner, revision, open ? 1 : 0, n, at, at + ttlMs, forgot, last, tail]
    if (before) {
      const set =
        'owner = ?, revision = ?, open = ?, records = ?, at = ?, expires = ?, forgot = ?, last = ?, tail = ?'
      run(`UPDATE turnlock_turns SET ${set} WHERE turn = ?`, ...row, id)
    } else {
      const values = [id, ...row.slice(0, 6), at + ttlMs, ...row.slice(6)]
      run('INSERT INTO turnlock_turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)', ...values)
    }
    // An index row more, so only now and then.
    if (before && (before.sweep > at + ttlMs || before.sweep < at + ttlMs - ttlMs / 8)) {
      run('UPDATE turnlock_turns SET sweep = expires WHERE turn = ?', id)
    }
    if (commit.state !== null) {
      run('DELETE FROM turnlock_states WHERE turn = ?', id)
      for (const [piece, part] of pieces(commit.state).entries()) {
        run('INSERT INTO turnlock_states VALUES (?, ?, ?)', id, piece, part)
      }
    }
    if (forget > 0) run('DELETE FROM turnlock_events WHERE turn = ? AND last <= ?', id, forget)
    for (const [key, text, reuseMs] of commit.reusable) {
      run('DELETE FROM turnlock_reusable WHERE key = ?', pack(key))
      for (const [piece, part] of pieces(text).entries()) {
        const row = [pack(key), piece, part, at, at + reuseMs]
        run('INSERT INTO turnlock_reusable VALUES (?, ?, ?, ?, ?)', ...row)
      }
    }
  }

  const commit = (id: string, commit: Commit): CommitResult | 'applied' => {
    const before = current(id)
    const verdict = judge(before && standing(before), commit)
    if (verdict === 'repeated') return { ok: true }
    if (verdict === 'refuse') {
      return refusal(before && { ...standing(before), state: stateOf(id) })
    }
    const has = 'SELECT 1 FROM turnlock_records WHERE turn = ? AND name = ?'
    const twice =
      repeatedName(commit.records) ??
      commit.records.find(([name]) => before && rows(has, id, pack(name)).length)?.[0]
    if (twice !== undefined) throw recordExists(twice)
    write(id, commit, before)
    return 'applied'
  }

  const read = (id: string): StoredTurn | undefined => {
    const row = current(id)
    if (!row) return undefined
    const query =
      'SELECT n, piece, name, text FROM turnlock_records WHERE turn = ? ORDER BY n, piece'
    const records: [string, string][] = []
    for (const { piece, name, text } of rows<{ piece: number; name: string; text: string }>(
      query,
      id,
    )) {
      if (piece === 0) records.push([name, text])
      else records.at(-1)![1] += text
    }
    return {
      ...standing(row),
      state: stateOf(id),
      idleMs: idleMs(id, row),
      records: records.map(([name, text]) => [unpack(name), unpack(text)]),
    }
  }

  const events = (id: string, after: number, most: number): EventGroup[] => {
    const row = current(id)
    if (!row) return []
    const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
    const lasts = rows<{ last: number }>(
      `SELECT last FROM turnlock_events WHERE turn = ? AND last > ? AND piece = 0
       ORDER BY last LIMIT ?`,
      id,
      after,
      limit,
    )
    const query = 'SELECT text FROM turnlock_events WHERE turn = ? AND last = ? ORDER BY piece'
    const from = Math.max(after, row.forgot)
    const texts = lasts.map(({ last }) => join(rows(query, id, last)))
    return [...texts, row.tail]
      .flatMap(decodeGroups)
      .filter(({ last }) => last > from)
      .slice(0, limit)
  }

  const recall = (id: string): StoredOutcome | undefined => {
    const query =
      'SELECT text, at FROM turnlock_reusable WHERE key = ? AND expires > ? ORDER BY piece'
    const found = rows<{ text: string; at: number }>(query, id, Date.now())
    if (!found[0]) return undefined
    return { text: join(found), ageMs: Math.max(0, Date.now() - found[0].at) }
  }

  return {
    gatherMs: ROW_GATHER_MS,
    read: async (turn) => transaction(() => read(pack(turn))),

    async commit(turn, given) {
      const id = pack(turn)
      const answer = transaction(() => commit(id, given))
      if (answer !== 'applied') {
        // Whoever writes is there, also where nothing is written.
        if (given.open && (answer.ok || answer.owner === given.owner)) owners.set(id, given.owner)
        return answer
      }
      if (given.open) owners.set(id, given.owner)
      else owners.delete(id)
      watchers.tell(turn, given.owner)
      return { ok: true }
    },

    events: async (turn, after, most) => transaction(() => events(pack(turn), after, most)),
    recall: async (key) => transaction(() => recall(pack(key))),

    list: async (tenant, most) =>
      transaction(() => {
        const begin = namesOf(tenant)
        const open = rows<Row & { turn: string }>(
          `SELECT * FROM turnlock_turns WHERE turn >= ? AND turn < ? AND open = 1 AND expires > ?
           ORDER BY at DESC LIMIT ?`,
          begin,
          `${begin}\u{10ffff}`,
          Date.now(),
          Math.min(most, Number.MAX_SAFE_INTEGER),
        )
        const listed = readable(open, (row) => {
          const { turn: id } = row
          return { turn: unpack(id), state: stateOf(id), idleMs: idleMs(id, row) }
        })
        // Those whose owners are gone are last.
        return listed.sort((a, b) => a.idleMs - b.idleMs)
      }),

    async idle(turn) {
      const id = pack(turn)
      const row = transaction(() => current(id))
      return row && idleMs(id, row)
    },

    watch: (turn, changed) => watchers.add(turn, changed),
  }
}
