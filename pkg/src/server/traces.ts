/** Where trace events of turns are stored. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import { MEMORY_TRACES_OPTIONS } from '../generated/rows.js'
import type { MemoryTracesOptions, TracesOptions } from '../generated/server.js'
import { readOptions } from '../options.js'
import type { TraceEvent } from '../types.js'
import { MemoryLog } from './event-log.js'
import type { PerRequest, Session } from './options.js'

export type { MemoryTracesOptions, TracesOptions }

/** Which trace events are listed. */
export interface TraceQuery {
  /** Those of this turn alone. */
  requestId?: string
  /** Those with a greater `id`: the first `limit` of them. Without it, the last `limit`. */
  after?: number
  /** 1 to 1000. */
  limit: number
}

/** A trace event with its place in the list. */
export type StoredTraceEvent = TraceEvent & {
  /** Grows from event to event of a tenant. */
  id: number
}

/** Where trace events of turns are stored. */
export interface TraceStore {
  append(tenant: string, event: TraceEvent): unknown
  /** Events of this tenant, the oldest first. */
  list(tenant: string, query: TraceQuery): StoredTraceEvent[] | Promise<StoredTraceEvent[]>
}

/** The trace of a turn, as the handler sends it. */
export interface TurnTrace {
  requestId: string
  projectId: string | null
  conversationId?: string
  /**
   * The oldest first. With the option `content` or `redact`, events of calls have the arguments of
   * the call in `args`.
   */
  events: (StoredTraceEvent & { args?: unknown })[]
}

/**
 * Stores trace events in the memory of this process or isolate: another one does not have them, and
 * they end with it. At `maxEvents` a tenant's oldest event is dropped, at `maxCharacters` the oldest
 * one of the tenant that has the most.
 *
 * @throws TurnlockError `options.invalid`
 */
export function memoryTraces(options: MemoryTracesOptions = {}): TraceStore {
  const log = new MemoryLog<TraceEvent>(
    readOptions(options, MEMORY_TRACES_OPTIONS),
    ({ requestId }) => [requestId],
  )
  return {
    append: (tenant, event) => log.append(tenant, event),
    list(tenant, query) {
      if (!isObject(query)) throw wrong('query', 'an object')
      return log.list(tenant, [query.requestId], query)
    },
  }
}

/** The option `traces` with its defaults. */
export interface TraceSettings<S extends Session> {
  content: boolean
  store: PerRequest<TraceStore, S>
}

/** The option `traces` with its defaults; `undefined` if there are no traces. */
export function tracesOf<S extends Session>(
  given: boolean | TracesOptions<S> | undefined,
): TraceSettings<S> | undefined {
  if (given === undefined || given === false) return undefined
  if (given !== true && !isObject(given)) throw wrong('traces', 'true, false or { content, store }')
  const { content = false, store = memoryTraces() }: TracesOptions<S> = given === true ? {} : given
  if (typeof content !== 'boolean') throw wrong('traces.content', 'true or false')
  const { append, list } = Object(store) as Partial<TraceStore>
  const isStore = typeof append === 'function' && typeof list === 'function'
  if (typeof store !== 'function' && !isStore) throw wrong('traces.store', 'append and list')
  return { content, store }
}
