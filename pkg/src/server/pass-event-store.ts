/** The trace events of passes in a store of turns, so that they survive a restart. */
import { isObject } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import { STORE_PASS_EVENTS_OPTIONS } from '../generated/rows.js'
import type { StorePassEventsOptions } from '../generated/server.js'
import { readOptions } from '../options.js'
import type { PassTraceEvent } from '../planning/types.js'
import { randomHex } from '../shared/random.js'
import { checkStore, type Commit, type Store } from '../stores/store.js'
import type { KeptPassEvent, PassEvents } from './pass-events.js'

export type { StorePassEventsOptions }

/** What is known of a tenant's log. */
interface Head {
  revision: number
  /** The `id` of the last event. */
  last: number
}

/** Groups that one read of the store returns. */
const PAGE = 500

/** Attempts to append an event while other processes append theirs. */
const ATTEMPTS = 50

/** The name of a tenant's log. No turn of a handler has it, so no list of open turns does. */
const logOf = (tenant: string) => JSON.stringify(['turnlock/pass-events', tenant])

/**
 * Keeps trace events of passes in a store of turns: `passEvents` of `createHandler`. They survive a
 * restart, and all processes with the same store read and append the same events. Each event is one
 * commit.
 *
 * @param store the store of the handler's turns, or another one
 * @throws TurnlockError `options.invalid`; `append` and `list` reject with the errors of the store,
 *   and `append` with `store.unavailable` if other processes append all the time
 */
export function storePassEvents(store: Store, options: StorePassEventsOptions = {}): PassEvents {
  checkStore(store)
  const { maxEvents = 1000, ttlMs = 30 * 24 * 60 * 60 * 1000 } = readOptions(
    options,
    STORE_PASS_EVENTS_OPTIONS,
  )
  for (const [name, value] of Object.entries({ maxEvents, ttlMs })) {
    if (!(Number.isSafeInteger(value) && value > 0)) throw wrong(name, 'a whole number from 1')
  }
  const owner = randomHex(16)
  const heads = new Map<string, Head>()
  /** The last append of each tenant, so that those of this process follow each other. */
  const appends = new Map<string, Promise<void>>()

  async function read(log: string): Promise<Head> {
    const stored = await store.read(log)
    return stored ? { revision: stored.revision, last: lastOf(stored.state) } : NEW
  }

  async function write(log: string, text: string): Promise<void> {
    let head = heads.get(log) ?? (await read(log))
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // By the clock, so that a reader goes on behind a log that has expired.
      const last = head.revision ? head.last + 1 : Date.now()
      const revision = head.revision + 1
      const commit: Commit = {
        owner,
        revision,
        takeOver: true,
        open: true,
        state: JSON.stringify({ last }),
        records: [],
        events: { last, text: `[${text}]` },
        forget: Math.max(0, last - maxEvents),
        reusable: [],
        ttlMs,
      }
      const answer = await store.commit(log, commit)
      if (answer.ok) {
        heads.set(log, { revision, last })
        return
      }
      const { revision: other, state } = answer
      head = other && state !== undefined ? { revision: other, last: lastOf(state) } : NEW
    }
    heads.delete(log)
    throw new TurnlockError('store.unavailable', 'other processes append events all the time')
  }

  return {
    append(tenant, event) {
      if (!isObject(event)) throw wrong('event', 'a trace event')
      const log = logOf(tenant)
      const text = JSON.stringify(event)
      const before = appends.get(log) ?? Promise.resolve()
      const appended = before.then(() => write(log, text))
      const settled = appended.catch(() => void heads.delete(log))
      appends.set(log, settled)
      void settled.then(() => appends.get(log) === settled && appends.delete(log))
      return appended
    },

    async list(tenant, query) {
      if (!isObject(query)) throw wrong('query', 'an object')
      const { planId, runId, after, limit } = query
      const log = logOf(tenant)
      const found: KeptPassEvent[] = []
      for (let from = after ?? 0; ;) {
        const groups = await store.events(log, from, PAGE)
        for (const { last, text } of groups) {
          const events = JSON.parse(text) as PassTraceEvent[]
          for (const [at, event] of events.entries()) {
            const id = last - events.length + 1 + at
            const isWanted =
              id > (after ?? -1) &&
              (planId === undefined || event.plan_id === planId) &&
              (runId === undefined || event.run_id === runId)
            if (isWanted) found.push({ ...event, id })
          }
        }
        from = groups.at(-1)?.last ?? from
        const isEnough = after !== undefined && found.length >= limit
        if (groups.length < PAGE || isEnough) break
      }
      return after === undefined ? found.slice(-limit) : found.slice(0, limit)
    },
  }
}

/** A log without events. */
const NEW: Head = { revision: 0, last: 0 }

function lastOf(state: string): number {
  const { last } = JSON.parse(state) as { last?: unknown }
  return Number.isSafeInteger(last) ? (last as number) : 0
}
