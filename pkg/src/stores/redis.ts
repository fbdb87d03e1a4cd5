/**
 * A store in Redis (or Valkey), for servers and edge functions that share turns.
 *
 * @example
 * import { createClient } from 'redis'
 * const store = redisStore(await createClient({ url }).connect())
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import { REDIS_STORE_OPTIONS } from '../generated/rows.js'
import type { RedisStoreOptions } from '../generated/stores.js'
import { checkOptions } from '../options.js'
import { sender, type RedisClientLike } from './redis-client.js'
import { COMMIT, EVENTS, READ, RECALL, STANDING } from './redis-scripts.js'
import { recordExists } from './store.js'
import type { Commit, EventGroup, Store } from './store.js'
import { pack, unpack } from './text.js'
import { Watchers } from './watchers.js'

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
  checkOptions(options, REDIS_STORE_OPTIONS)
  const { prefix = 'turnlock:' } = options
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

  const watchers = new Watchers()
  /** One for each turn that is watched, however many watch it. */
  const polls = new Map<string, ReturnType<typeof setInterval>>()

  const startPoll = (turn: string) => {
    let seen: string | null | undefined
    let asking = false
    const look = async () => {
      if (asking) return
      asking = true
      try {
        const keys = keysOf(turn).slice(0, 1)
        const [owner, revision] = (await run(STANDING, keys)) as [string | null, string | null]
        // At the first look a change cannot be excluded, and an extra call is harmless.
        if (revision !== seen) watchers.tell(turn, owner ?? undefined)
        seen = revision
      } catch {
        // The next poll tries again.
      } finally {
        asking = false
      }
    }
    void look()
    return setInterval(look, POLL_MS)
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
        ...{ owner: owner!, revision: Number(revision), open: open === '1' },
        ...{ idleMs: Math.max(0, Number(idleMs)), state: unpack(state!), records },
      }
    },

    async commit(turn, commit) {
      const { owner, revision, takeOver, open, state, records, events, forget, ttlMs } = commit
      const [status, ...rest] = (
        (await run(COMMIT, keysOf(turn), [
          ...[owner, revision, takeOver ? 1 : 0, open ? 1 : 0, Math.max(1, Math.ceil(ttlMs))],
          ...[state === null ? 0 : 1, pack(state ?? ''), forget],
          ...[events ? events.last : '', events ? pack(events.text) : ''],
          ...records.flatMap(([name, text]) => [pack(name), pack(text)]),
        ])) as unknown[]
      ).map(String)
      if (status === 'exists') throw recordExists(unpack(rest[0]!))
      if (status === 'absent') return { ok: false }
      if (status === 'refused') {
        const [owner, revision, open, state] = rest as [string, string, string, string]
        const stands = { owner, revision: Number(revision), open: open === '1' }
        return { ok: false, ...stands, state: unpack(state) }
      }
      if (status === 'applied') await Promise.all(commit.reusable.map(keepReusable))
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

    async idle(turn) {
      const [, , idleMs] = (await run(STANDING, keysOf(turn).slice(0, 1))) as (string | null)[]
      return idleMs == null ? undefined : Math.max(0, Number(idleMs))
    },

    watch(turn, changed) {
      let poll = polls.get(turn)
      if (!poll) polls.set(turn, (poll = startPoll(turn)))
      const stop = watchers.add(turn, changed)
      // What a new watcher has not seen cannot be known.
      watchers.tell(turn, undefined)
      return () => {
        stop()
        if (watchers.has(turn)) return
        clearInterval(poll)
        polls.delete(turn)
      }
    },
  }
}
