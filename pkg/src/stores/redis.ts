/**
 * A store in Redis (or Valkey), for servers and edge functions that share turns.
 *
 * @example
 * import { createClient } from 'redis'
 * const store = redisStore(await createClient({ url }).connect())
 *
 * @module
 */
import { TurnlockError, wrong } from '../errors.js'
import { REDIS_STORE_OPTIONS } from '../generated/rows.js'
import type { RedisStoreOptions } from '../generated/stores.js'
import { readOptions } from '../options.js'
import { polling } from './poll.js'
import { sender, type RedisClientLike } from './redis-client.js'
import { COMMIT, EVENTS, LISTED, NOTE, NOTED, READ, RECALL, STANDING } from './redis-scripts.js'
import { isResting, readable, recordExists, tenantOf } from './store.js'
import type { Commit, EventGroup, ListedTurn, Store } from './store.js'
import { pack, unpack } from './text.js'

export type { RedisClientLike } from './redis-client.js'
export type { RedisStoreOptions }

/** Poll interval for watched turns, in milliseconds. */
const POLL_MS = 200

const CODES: [pattern: RegExp, code: string][] = [
  [/^OOM\b/, 'store.quota'],
  [/^(NOAUTH|NOPERM|WRONGPASS)\b/, 'store.denied'],
  [/client is closed|connection is closed|socket closed|ClientClosed/i, 'store.closed'],
]

function failure(cause: unknown): TurnlockError {
  if (cause instanceof TurnlockError) return cause
  const { name, message } = cause instanceof Error ? cause : { name: '', message: String(cause) }
  const code = CODES.find(([pattern]) => pattern.test(message) || pattern.test(name))?.[1]
  const text = `Redis failed: ${message || name}`
  return new TurnlockError(code ?? 'store.unavailable', text, undefined, cause)
}

/**
 * Stores turns in Redis 5 or later. Each operation is one script and therefore atomic; times are
 * the server's. All keys of a turn share a hash tag, so that a cluster stores them together, and
 * they expire automatically.
 *
 * The server determines how durable a commit is: with `appendonly yes` and `appendfsync always` it
 * is on disk before the reply; with the default (`everysec`, or snapshots only) a crash of the
 * server can lose the last commits, and so can a failover to a replica that lags. A server that
 * evicts keys (`maxmemory-policy` other than `noeviction`) may lose whole turns.
 *
 * Reusable outcomes have their own keys and are written after the commit. If the server fails in
 * between, an outcome is missing, which costs one more call of a read-only tool.
 *
 * @param client a connected client: `redis` (client, pool, cluster), `ioredis` (client, cluster),
 * one with `evalsha(sha, keys, args)` (Deno's `redis`; `@upstash/redis` with
 * `automaticDeserialization: false`), one with `sendCommand(args)` or `send(command, args)` (Bun),
 * or a function that sends one command: `(args: string[]) => Promise<unknown>`
 * @throws TurnlockError `options.invalid` for anything else
 */
export function redisStore(client: RedisClientLike, options: RedisStoreOptions = {}): Store {
  options = readOptions(options, REDIS_STORE_OPTIONS)
  const { prefix = 'turnlock:' } = options
  // Redis hashes the whole key if its first braces are empty: the keys of a turn would be apart.
  if (typeof prefix !== 'string' || /^[^{]*\{\}/.test(prefix)) {
    throw wrong('prefix', 'a text whose first braces are not empty, because of Redis Cluster')
  }
  const send = sender(client)
  const run = async (script: string, keys: string[], args: (string | number)[] = []) => {
    try {
      return await send(script, keys, args.map(String))
    } catch (cause) {
      throw failure(cause)
    }
  }
  // The dot prevents an empty hash tag, which Redis ignores. A cluster reads up to the first `}`,
  // which is the same text in all keys of one turn.
  const keysOf = (turn: string) => {
    const tag = `${prefix}{.${pack(turn)}}`
    return [`${tag}:turn`, `${tag}:records`, `${tag}:names`, `${tag}:events`]
  }
  const reusableKey = (key: string) => `${prefix}{.${pack(key)}}:reusable`

  const listKey = (tenant: string) => `${prefix}{.${pack(tenant)}}:open`

  /**
   * Keeps the list of a tenant's turns, apart from the commit, for it may be on another server of a
   * cluster. A turn is noted, for its `ttlMs`, when it begins, has a new owner, or comes to rest.
   * Ignores failures: a turn that is not in the list is found by its id.
   */
  const note = async (turn: string, { revision, takeOver, open, state, ttlMs }: Commit) => {
    if (open && revision > 1 && !takeOver && !isResting(state ?? '')) return
    const ttl = open ? Math.max(1, Math.ceil(ttlMs)) : 0
    await run(NOTE, [listKey(tenantOf(turn))], [pack(turn), ttl]).catch(() => {})
  }

  /** Ignores failures, because the turn does not need the outcome and the commit has succeeded. */
  const keepReusable = async ([key, text, ttlMs]: Commit['reusable'][number]) => {
    const script = "return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])"
    const ttl = Math.max(1, Math.ceil(ttlMs))
    await run(script, [reusableKey(key)], [`${ttl}:${pack(text)}`, ttl]).catch(() => {})
  }

  return {
    async read(turn) {
      const reply = (await run(READ, keysOf(turn).slice(0, 2))) as unknown[] | null
      if (!reply) return undefined
      const [owner, revision, open, state, idleMs, ...flat] = reply.map(String)
      const records: [string, string][] = []
      for (let at = 0; at < flat.length; at += 2) {
        records.push([unpack(flat[at]!), unpack(flat[at + 1]!)])
      }
      return {
        owner: owner!,
        revision: Number(revision),
        open: open === '1',
        idleMs: Math.max(0, Number(idleMs)),
        state: unpack(state!),
        records,
      }
    },

    async commit(turn, commit) {
      const { owner, revision, takeOver, replaces, open, state, records, events, forget, ttlMs } =
        commit
      const written = run(COMMIT, keysOf(turn), [
        owner,
        revision,
        !takeOver ? '' : typeof replaces === 'string' ? `=${replaces}` : '*',
        open ? 1 : 0,
        Math.max(1, Math.ceil(ttlMs)),
        state === null ? 0 : 1,
        pack(state ?? ''),
        forget,
        events ? events.last : '',
        events ? pack(events.text) : '',
        ...records.flatMap(([name, text]) => [pack(name), pack(text)]),
      ])
      // Beside the commit, to save a way. A turn is taken from the list behind it: an owner that was
      // replaced ends nothing. One that is noted in vain is left out by `list`.
      const [reply] = await Promise.all([written, open && note(turn, commit)])
      const [status, ...rest] = (reply as unknown[]).map(String)
      if (status === 'exists') throw recordExists(unpack(rest[0]!))
      if (status === 'absent') return { ok: false }
      if (status === 'refused') {
        const [owner, revision, open, state] = rest as [string, string, string, string]
        const stands = { owner, revision: Number(revision), open: open === '1' }
        return { ok: false, ...stands, state: unpack(state) }
      }
      const ended = open ? [] : [note(turn, commit)]
      const reusables = status === 'applied' ? commit.reusable.map(keepReusable) : []
      await Promise.all([...ended, ...reusables])
      return { ok: true }
    },

    async events(turn, after, most) {
      const limit = Math.min(most, Number.MAX_SAFE_INTEGER)
      const keys = keysOf(turn)
      const flat = (await run(EVENTS, [keys[0]!, keys[3]!], [after, limit])) as unknown[]
      return flat.map((member): EventGroup => {
        const text = String(member)
        const colon = text.indexOf(':')
        return { last: Number(text.slice(0, colon)), text: unpack(text.slice(colon + 1)) }
      })
    },

    async recall(key) {
      const reply = (await run(RECALL, [reusableKey(key)])) as unknown[] | null
      if (!reply) return undefined
      const [kept, left] = reply.map(String) as [string, string]
      const colon = kept.indexOf(':')
      const ageMs = Math.max(0, Number(kept.slice(0, colon)) - Number(left))
      return { text: unpack(kept.slice(colon + 1)), ageMs }
    },

    async list(tenant, most) {
      const names = (await run(NOTED, [listKey(tenant)], [most - 1])) as unknown[]
      const turns = readable(most < 1 ? [] : names.map(String), unpack)
      const find = async (turn: string) => {
        const found = await run(LISTED, keysOf(turn).slice(0, 1))
        return found ? [[turn, ...(found as unknown[]).map(String)] as const] : []
      }
      const rows = (await Promise.all(turns.map(find))).flat()
      const open = readable(rows, ([turn, state, idleMs]): ListedTurn => ({
        turn,
        state: unpack(state!),
        idleMs: Math.max(0, Number(idleMs)),
      }))
      return open.sort((a, b) => a.idleMs - b.idleMs)
    },

    async idle(turn) {
      const [, , idleMs] = (await run(STANDING, keysOf(turn).slice(0, 1))) as (string | null)[]
      return idleMs == null ? undefined : Math.max(0, Number(idleMs))
    },

    watch: polling(POLL_MS, async (turn) => {
      const [owner, revision] = (await run(STANDING, keysOf(turn).slice(0, 1))) as (string | null)[]
      return { owner: owner ?? undefined, revision }
    }),
  }
}
