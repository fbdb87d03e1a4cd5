/**
 * A store in Cloudflare D1, for workers that have a database and no Durable Object.
 *
 * @example
 * export default { fetch: (request, env) => serve(request, d1Store(env.DB)) }
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import { D1_STORE_OPTIONS } from '../generated/rows.js'
import type { D1StoreOptions } from '../generated/stores.js'
import { readOptions } from '../options.js'
import { decodeGroups, encodeGroup, TAIL } from './groups.js'
import { polling } from './poll.js'
import {
  judge,
  namesOf,
  readable,
  recordExists,
  refusal,
  repeatedName,
  ROW_GATHER_MS,
} from './store.js'
import type { Commit, EventGroup, ListedTurn, Store } from './store.js'
import { pack, pieces, unpack } from './text.js'

export type { D1StoreOptions }

interface D1StatementLike {
  bind(...values: unknown[]): D1StatementLike
}

/** The part of `D1Database` (and of its sessions) that is used. */
export interface D1DatabaseLike {
  prepare(query: string): D1StatementLike
  batch(statements: never[]): Promise<{ results: unknown[] }[]>
}

type Row = Record<string, unknown>
type Bound = [query: string, ...values: unknown[]]

// The database's own clock, which stands still within a statement.
const NOW = `(unixepoch('subsec') * 1000)`
const TABLES = `
CREATE TABLE IF NOT EXISTS @turns (turn TEXT PRIMARY KEY, owner TEXT, revision INTEGER,
  open INTEGER, at REAL, expires REAL, sweep REAL, forgot INTEGER, last INTEGER, tail TEXT)
  WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS @turns_sweep ON @turns (sweep);
CREATE TABLE IF NOT EXISTS @states (turn TEXT, piece INTEGER, text TEXT,
  PRIMARY KEY (turn, piece)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS @records (turn TEXT, n INTEGER, piece INTEGER, name TEXT, text TEXT,
  PRIMARY KEY (turn, n, piece)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS @records_name ON @records (turn, name, piece);
CREATE TABLE IF NOT EXISTS @events (turn TEXT, last INTEGER, piece INTEGER, text TEXT,
  PRIMARY KEY (turn, last, piece)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS @reusable (key TEXT, piece INTEGER, text TEXT, at REAL, expires REAL,
  PRIMARY KEY (key, piece)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS @reusable_expires ON @reusable (expires);`
const PARTS = ['events', 'records', 'states']
const TURN = `SELECT owner, revision, open, ${NOW} - at AS idleMs FROM @turns
WHERE turn = ? AND expires > ${NOW}`
/**
 * Where the database's clock was set back, a turn counts as idle from the first look: an owner that lives
 * commits soon, and one that is gone must not seem alive for as long.
 */
const SET_BACK = `UPDATE @turns SET at = ${NOW} WHERE turn = ? AND at > ${NOW}`
const STATE = 'SELECT text FROM @states WHERE turn = ? ORDER BY piece'
/** Number of expired turns, and of expired outcomes, that a new turn deletes. */
const SWEPT = 8

const message = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause))

function failure(cause: unknown): TurnlockError {
  const text = message(cause)
  const full = /SQLITE_FULL|SQLITE_TOOBIG|maximum DB size|storage limit|too big/i.test(text)
  const code = full ? 'store.quota' : 'store.unavailable'
  return new TurnlockError(code, `D1 failed: ${text}`, undefined, cause)
}

/**
 * The statements of a commit. Those that write do so only where the rule of store.ts applies it;
 * the row that the rule reads changes last.
 */
function writes(id: string, commit: Commit): Bound[] {
  const { owner, revision, takeOver, replaces, open, state, records, events, forget, ttlMs } =
    commit
  const alive = `SELECT 1 FROM @turns WHERE turn = ? AND expires > ${NOW}`
  const [fence, ...fenced]: Bound =
    revision === 1
      ? [`NOT EXISTS (${alive})`, id]
      : [
          `EXISTS (${alive} AND open = 1 AND revision = ? AND (owner = ? OR ? AND owner = coalesce(?, owner)))`,
          id,
          revision - 1,
          owner,
          takeOver ? 1 : 0,
          replaces ?? null,
        ]
  const all: Bound[] = []
  const insert = (table: string, values: string, ...bound: unknown[]) =>
    all.push([`INSERT INTO @${table} SELECT ${values} WHERE ${fence}`, ...bound, ...fenced])
  const remove = (table: string, where: string, ...bound: unknown[]) =>
    all.push([`DELETE FROM @${table} WHERE ${where} AND ${fence}`, ...bound, ...fenced])

  if (revision === 1) {
    // Of an expired turn nothing is left. Later ones clear it away: what belongs to it first, then
    // the turn, and not one that expired in between, of which something may be left.
    const turns = (more = '') =>
      `SELECT turn FROM @turns AS old WHERE sweep <= ${NOW} AND expires <= ${NOW} ${more}
        ORDER BY sweep LIMIT ${SWEPT}`
    for (const part of PARTS) remove(part, `(turn = ? OR turn IN (${turns()}))`, id)
    const bare = PARTS.map(
      (part) => `AND NOT EXISTS (SELECT 1 FROM @${part} WHERE turn = old.turn)`,
    ).join(' ')
    remove('turns', `turn IN (${turns(bare)})`)
    const keys = `SELECT key FROM @reusable WHERE expires <= ${NOW} ORDER BY expires LIMIT ${SWEPT}`
    remove('reusable', `key IN (${keys})`)
  }
  for (const [name, text] of records) {
    for (const [piece, part] of pieces(text).entries()) {
      const n = `(SELECT coalesce(max(n), -1) + ? FROM @records WHERE turn = ?)`
      insert('records', `?, ${n}, ?, ?, ?`, id, piece ? 0 : 1, id, piece, pack(name), part)
    }
  }
  if (state !== null) {
    remove('states', 'turn = ?', id)
    for (const [piece, part] of pieces(state).entries())
      insert('states', '?, ?, ?', id, piece, part)
  }
  const group = events ? encodeGroup(events) : ''
  const tail = group.length > TAIL ? '' : group
  if (events && revision > 1) {
    const most = tail ? TAIL - tail.length : 0
    const full = `INSERT INTO @events SELECT turn, last, 0, tail FROM @turns WHERE turn = ? AND length(tail) > ?`
    all.push([`${full} AND ${fence}`, id, most, ...fenced])
  }
  if (events && !tail) {
    for (const [piece, part] of pieces(group).entries()) {
      insert('events', '?, ?, ?, ?', id, events.last, piece, part)
    }
  }
  if (forget > 0) remove('events', 'turn = ? AND last <= ?', id, forget)
  for (const [key, text, reuseMs] of commit.reusable) {
    remove('reusable', 'key = ?', pack(key))
    for (const [piece, part] of pieces(text).entries()) {
      insert('reusable', `?, ?, ?, ${NOW}, ${NOW} + ?`, pack(key), piece, part, reuseMs)
    }
  }
  const row = [owner, revision, open ? 1 : 0, ttlMs]
  if (revision === 1) {
    const times = `${NOW}, ${NOW} + ?, ${NOW} + ?`
    const replace = `INSERT OR REPLACE INTO @turns SELECT ?, ?, ?, ?, ${times}, ?, ?, ?`
    const last = events?.last ?? 0
    const first = [id, ...row, ttlMs, Math.min(forget, last), last, tail]
    all.push([`${replace} WHERE ${fence}`, ...first, ...fenced])
    return all
  }
  const set = `owner = ?, revision = ?, open = ?, at = ${NOW}, expires = ${NOW} + ?`
  const more: Bound[] = []
  // Groups that come later are not among them.
  if (forget > 0)
    more.push(['forgot = max(forgot, min(?, coalesce(?, last)))', forget, events?.last ?? null])
  if (events) {
    const kept = tail ? `CASE WHEN length(tail) > ? THEN '' ELSE tail END || ?` : `''`
    more.push([
      `last = ?, tail = ${kept}`,
      events.last,
      ...(tail ? [TAIL - tail.length, tail] : []),
    ])
  }
  const update = `UPDATE @turns SET ${[set, ...more.map(([text]) => text)].join(', ')}`
  const bound = [...row, ...more.flatMap(([, ...values]) => values)]
  all.push([`${update} WHERE turn = ? AND ${fence}`, ...bound, id, ...fenced])
  // An index row more, so only now and then.
  const stale = '(sweep > expires OR sweep < expires - ?)'
  const sweep = `UPDATE @turns SET sweep = expires WHERE turn = ? AND owner = ? AND revision = ?`
  all.push([`${sweep} AND ${stale}`, id, owner, revision, ttlMs / 8])
  return all
}

/**
 * Stores turns in a D1 database. A commit is one batch, which D1 applies as one transaction; times
 * are the database's. The tables are made when the store finds none. Expired turns are deleted by
 * later ones.
 *
 * A Durable Object is nearer to a turn and tells its followers of each commit at once; here they
 * ask, each `pollMs`. With read replication, give a session that reads from the primary:
 * `env.DB.withSession('first-primary')`.
 *
 * @param database `env.DB`, a binding of the worker
 * @throws TurnlockError `options.invalid` for anything else
 */
export function d1Store(database: D1DatabaseLike, options: D1StoreOptions = {}): Store {
  options = readOptions(options, D1_STORE_OPTIONS)
  const { prefix = 'turnlock_', pollMs = 500 } = options
  const invalid = (text: string) => new TurnlockError('options.invalid', `d1Store: ${text}`)
  if (!/^[a-z_]\w*$/i.test(prefix)) throw invalid('prefix: give letters, digits and `_`')
  const binding = database as Partial<D1DatabaseLike> | null | undefined
  if (typeof binding?.prepare !== 'function' || typeof binding.batch !== 'function') {
    throw invalid('give a D1 database, a binding of the worker')
  }

  const send = async (statements: Bound[]): Promise<Row[][]> => {
    const bound = statements.map(([query, ...values]) => {
      const statement = database.prepare(query.replaceAll('@', prefix))
      return values.length ? statement.bind(...values) : statement
    })
    return (await database.batch(bound as never[])).map(({ results }) => results as Row[])
  }
  /** The rows of each statement, all of one transaction. */
  const run = async (...statements: Bound[]): Promise<Row[][]> => {
    try {
      return await send(statements)
    } catch (cause) {
      if (!message(cause).includes('no such table')) throw cause
      await send(TABLES.split(';').flatMap((one): Bound[] => (one.trim() ? [[one]] : [])))
      return send(statements)
    }
  }
  const ask = async (...statements: Bound[]): Promise<Row[][]> => {
    try {
      return await run(...statements)
    } catch (cause) {
      throw failure(cause)
    }
  }

  const join = (rows: Row[]) => unpack(rows.map(({ text }) => text as string).join(''))
  const standing = (row: Row) => ({
    owner: row.owner as string,
    revision: row.revision as number,
    open: row.open === 1,
  })
  const idleOf = (row: Row) => Math.max(0, row.idleMs as number)

  /** Pieces of several texts, in order, as one row for each text: its first, with all of `text`. */
  const joined = (rows: Row[]): Row[] => {
    const texts: { first: Row; parts: string[] }[] = []
    for (const row of rows) {
      if (row.piece === 0) texts.push({ first: row, parts: [] })
      const text = texts.at(-1)
      // Of a turn whose first piece is missing, nothing belongs to the turn before it.
      if (text?.first.turn === row.turn) text?.parts.push(row.text as string)
    }
    return texts.map(({ first, parts }) => ({ ...first, text: parts.join('') }))
  }
  const completeRows = (rows: Row[]): Row[] =>
    joined(rows).map((row) => ({ ...row, text: unpack(row.text as string) }))

  /** The name by which a commit failed, if it is that. */
  const takenName = async (id: string, { records }: Commit): Promise<string | undefined> => {
    const twice = repeatedName(records)
    if (twice !== undefined) return twice
    const [rows] = await ask(['SELECT name FROM @records WHERE turn = ? AND piece = 0', id])
    const had = new Set(rows!.map(({ name }) => name))
    return records.find(([name]) => had.has(pack(name)))?.[0]
  }

  return {
    gatherMs: ROW_GATHER_MS,

    async read(turn) {
      const id = pack(turn)
      const query = 'SELECT piece, name, text FROM @records WHERE turn = ? ORDER BY n, piece'
      const found = await ask([SET_BACK, id], [TURN, id], [STATE, id], [query, id])
      const [, rows, state, records] = found
      const [row] = rows!
      if (!row) return undefined
      return {
        ...standing(row),
        idleMs: idleOf(row),
        state: join(state!),
        records: completeRows(records!).map(({ name, text }): [string, string] => [
          ...([unpack(name as string), text as string] as const),
        ]),
      }
    },

    async commit(turn, commit) {
      const id = pack(turn)
      let rows: Row[][]
      try {
        rows = await run([TURN, id], [STATE, id], ...writes(id, commit))
      } catch (cause) {
        if (/UNIQUE constraint failed/i.test(message(cause))) {
          const name = await takenName(id, commit)
          if (name !== undefined) throw recordExists(name)
        }
        throw failure(cause)
      }
      // What stood before the writes, by which they were judged, too.
      const before = rows[0]![0] && standing(rows[0]![0])
      const verdict = judge(before, commit)
      if (verdict !== 'refuse') return { ok: true }
      return refusal(before && { ...before, state: join(rows[1]!) })
    },

    async events(turn, after, most) {
      const id = pack(turn)
      const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
      const lasts = `SELECT last FROM @events WHERE turn = ?1 AND last > ?2 AND piece = 0
        ORDER BY last LIMIT ?3`
      const query = `SELECT last, piece, text FROM @events WHERE turn = ?1 AND last IN (${lasts})
        ORDER BY last, piece`
      const head = `SELECT forgot, tail FROM @turns WHERE turn = ? AND expires > ${NOW}`
      const [heads, rows] = await ask([head, id], [query, id, after, limit])
      const [found] = heads!
      if (!found) return []
      try {
        const texts = [...joined(rows!).map(({ text }) => text), found.tail] as string[]
        const from = Math.max(after, found.forgot as number)
        return texts
          .flatMap(decodeGroups)
          .filter(({ last }) => last > from)
          .slice(0, limit)
      } catch (cause) {
        throw failure(cause)
      }
    },

    async recall(key) {
      const query = `SELECT text, ${NOW} - at AS ageMs FROM @reusable
        WHERE key = ? AND expires > ${NOW} ORDER BY piece`
      const [rows] = await ask([query, pack(key)])
      const [first] = rows!
      return first && { text: join(rows!), ageMs: Math.max(0, first.ageMs as number) }
    },

    async list(tenant, most) {
      const begin = namesOf(tenant)
      const open = `SELECT turn, at, ${NOW} - at AS idleMs FROM @turns WHERE turn >= ?1
        AND turn < ?2 AND open = 1 AND expires > ${NOW} ORDER BY at DESC LIMIT ?3`
      const query = `SELECT turn, idleMs, piece, text FROM (${open}) JOIN @states USING (turn)
        ORDER BY at DESC, turn, piece`
      const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
      const [rows] = await ask([query, begin, `${begin}\u{10ffff}`, limit])
      return readable(joined(rows!), (row): ListedTurn => {
        const [turn, state] = [unpack(row.turn as string), unpack(row.text as string)]
        return { turn, state, idleMs: idleOf(row) }
      })
    },

    async idle(turn) {
      const [, rows] = await ask([SET_BACK, pack(turn)], [TURN, pack(turn)])
      return rows![0] && idleOf(rows![0])
    },

    watch: polling(pollMs, async (turn) => {
      const [rows] = await ask([TURN, pack(turn)])
      return rows![0] ? standing(rows![0]) : {}
    }),
  }
}
