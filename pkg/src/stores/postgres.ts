/**
 * A store in Postgres, for servers that share turns.
 *
 * @example
 * import pg from 'pg'
 * const store = postgresStore(new pg.Pool({ connectionString }))
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import { POSTGRES_STORE_OPTIONS } from '../generated/rows.js'
import type { PostgresStoreOptions } from '../generated/stores.js'
import { readOptions } from '../options.js'
import { polling } from './poll.js'
import { queriesFor, type Queries } from './postgres-schema.js'
import { readable, recordExists, tenantOf } from './store.js'
import type { EventGroup, StoredTurn, ListedTurn, StoredOutcome, Store } from './store.js'
import { pack, unpack } from './text.js'

export type { PostgresStoreOptions }

type Rows = readonly unknown[] | { rows: readonly unknown[] }

/** A client of one of the known shapes. */
export type PostgresClientLike =
  /** `pg` (pool, client), PGlite, Neon, Vercel. */
  | { query(text: string, values: string[]): Promise<Rows> }
  /** `postgres`, Bun's `sql`. */
  | { unsafe(text: string, values: string[]): PromiseLike<Rows> }
  /** Any function that sends one statement with its parameters, and gives its rows. */
  | ((text: string, values: string[]) => Promise<Rows>)

type Send = (text: string, values: string[]) => PromiseLike<Rows>

/**
 * How often a commit that lost against another transaction is sent again.
 *
 * Limit | attempts at a transaction that lost | attempts | the error is reported
 */
const TRIES = 10

const CODES: [pattern: RegExp, code: string][] = [
  [/^(53100|53200|54)/, 'store.quota'],
  [/^(28|42501)/, 'store.denied'],
  [
    /^CONNECTION_(ENDED|DESTROYED)|client was closed|client is closed|calling end on the pool/i,
    'store.closed',
  ],
]

const details = (cause: unknown) => {
  const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown }
  return { code: String(code ?? ''), message: String(message || cause) }
}

function failure(cause: unknown): TurnlockError {
  const { code, message } = details(cause)
  const matchedCode = CODES.find(([pattern]) => pattern.test(code) || pattern.test(message))?.[1]
  const text = `Postgres failed: ${message}`
  return new TurnlockError(matchedCode ?? 'store.unavailable', text, undefined, cause)
}

function sender(client: unknown): Send {
  const methods = client as Record<string, unknown> | null | undefined
  // The most specific kind first: the client of `postgres` is a function, too.
  for (const name of ['unsafe', 'query']) {
    if (typeof methods?.[name] === 'function') {
      return (text, values) => (methods as Record<string, Send>)[name]!(text, values)
    }
  }
  if (typeof client === 'function') return (text, values) => (client as Send)(text, values)
  const message =
    'postgresStore: give a pool or client of pg or postgres, or a function that sends one statement'
  throw new TurnlockError('options.invalid', message)
}

function checked(options: PostgresStoreOptions): { queries: Queries; pollMs: number } {
  options = readOptions(options, POSTGRES_STORE_OPTIONS)
  const { prefix = 'turnlock_', pollMs = 200 } = options
  // Names are cut at 63 bytes, which would make two of them one.
  if (!/^([a-z_]\w{0,40}\.)?[a-z_]\w{0,40}$/i.test(prefix)) {
    const message = 'postgresStore: prefix: give letters, digits and `_`, at most one `.`'
    throw new TurnlockError('options.invalid', message)
  }
  return { queries: queriesFor(prefix), pollMs }
}

/**
 * The statement that makes the tables and the function of {@link postgresStore}, for a migration.
 * It may run again. Without it the store makes them when it finds none, which takes the right to
 * create.
 */
export function postgresSchema(options: PostgresStoreOptions = {}): string {
  return checked(options).queries.schema
}

/**
 * Stores turns in Postgres 11 or later, in a database whose encoding is UTF8. Each operation is one
 * statement and therefore atomic, under any isolation level, and through poolers of transactions
 * (PgBouncer); times are the server's. Expired turns are deleted by later ones.
 *
 * The server determines how durable a commit is: with `synchronous_commit` on (the default) it is
 * on disk before the reply. A failover to a replica that lags can lose the last commits.
 *
 * @param client a pool, or a client that is in no transaction of yours: of `pg`, `postgres`, Neon,
 * PGlite, or a function that sends one statement with its parameters and gives its rows
 * @throws TurnlockError `options.invalid` for anything else
 */
export function postgresStore(
  client: PostgresClientLike,
  options: PostgresStoreOptions = {},
): Store {
  const send = sender(client)
  const { queries, pollMs } = checked(options)

  /** The reply of a statement, read as JSON; `undefined` where there is no row. */
  const run = async (name: keyof Queries, ...values: (string | number)[]): Promise<unknown> => {
    const found = await send(queries[name], values.map(String))
    const rows = 'rows' in found ? found.rows : found
    const reply = (rows[0] as { reply?: unknown } | undefined)?.reply
    return typeof reply === 'string' ? JSON.parse(reply) : undefined
  }
  const ask = async <T>(name: keyof Queries, ...values: (string | number)[]): Promise<T> => {
    for (let made = false, tries = 0; ; tries++) {
      try {
        return (await run(name, ...values)) as T
      } catch (cause) {
        const { code } = details(cause)
        // No such table or function. A transaction that lost against another one wrote nothing.
        const missing = code === '42P01' || code === '42883'
        const again = missing ? !made : tries < TRIES && (code === '40001' || code === '40P01')
        if (!again) throw failure(cause)
        if (!missing) {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** tries))
          continue
        }
        made = true
        await run('schema').catch((cause) => {
          throw failure(cause)
        })
      }
    }
  }
  type Standing = { owner: string; revision: number; idleMs: number } | undefined
  const standing = (turn: string) => ask<Standing>('standing', pack(turn))

  return {
    async read(turn) {
      const stored = await ask<StoredTurn | undefined>('read', pack(turn))
      if (!stored) return undefined
      const records = stored.records.map(([name, text]): [string, string] => [
        ...([unpack(name), unpack(text)] as const),
      ])
      return { ...stored, state: unpack(stored.state), records }
    },

    async commit(turn, commit) {
      const { state, records, events, reusable } = commit
      const request = {
        ...commit,
        turn: pack(turn),
        tenant: pack(tenantOf(turn)),
        state: state === null ? null : pack(state),
        records: records.map(([name, text]) => [pack(name), pack(text)]),
        events: events && { last: events.last, text: pack(events.text) },
        reusable: reusable.map(([key, text, ttlMs]) => [pack(key), pack(text), ttlMs]),
      }
      type Verdict = { is: string; name: string; state: string } & StoredTurn
      const { is, name, ...stands } = await ask<Verdict>('commit', JSON.stringify(request))
      if (is === 'exists') throw recordExists(unpack(name))
      if (is === 'absent') return { ok: false }
      if (is === 'refused') return { ok: false, ...stands, state: unpack(stands.state) }
      return { ok: true }
    },

    async events(turn, after, most) {
      const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
      const groups = await ask<[number, string][]>('events', pack(turn), after, limit)
      return groups.map(([last, text]): EventGroup => ({ last, text: unpack(text) }))
    },

    async recall(key) {
      const found = await ask<StoredOutcome | undefined>('recall', pack(key))
      return found && { ...found, text: unpack(found.text) }
    },

    async list(tenant, most) {
      const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
      const found = await ask<[string, string, number][]>('list', pack(tenant), limit)
      return readable(found, ([turn, state, idleMs]): ListedTurn => ({
        turn: unpack(turn),
        state: unpack(state),
        idleMs,
      }))
    },

    idle: async (turn) => (await standing(turn))?.idleMs,
    watch: polling(pollMs, async (turn) => (await standing(turn)) ?? {}),
  }
}
