/** The trace events of passes, for whoever audits them: by tenant, with their times and plans. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { MemoryPassEventsOptions } from '../generated/server.js'
import { MEMORY_PASS_EVENTS_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { PassTraceEvent } from '../planning/types.js'
import { invalid } from './body.js'
import { MemoryLog, pageOf } from './event-log.js'

export type { MemoryPassEventsOptions }

/** Which events are listed. */
export interface PassEventQuery {
  /** Those of this plan alone. */
  planId?: string
  /** Those of this run alone. */
  runId?: string
  /** Those with a greater `id`: the first `limit` of them. Without it, the last `limit`. */
  after?: number
  /** 1 to 1000. */
  limit: number
}

/** A trace event with its place in the list. */
export type KeptPassEvent = PassTraceEvent & {
  /** Grows from event to event of a tenant. */
  id: number
}

/** Where trace events of passes are kept. */
export interface PassEvents {
  append(tenant: string, event: PassTraceEvent): unknown
  /** Events of this tenant, the oldest first. */
  list(tenant: string, query: PassEventQuery): KeptPassEvent[] | Promise<KeptPassEvent[]>
}

/**
 * Keeps trace events in the memory of this process or isolate: another one does not know them, and
 * they end with it. At `maxEvents` a tenant's oldest event is dropped, at `maxCharacters` the
 * oldest one of the tenant that has the most.
 *
 * @throws TurnlockError `options.invalid`
 */
export function memoryPassEvents(options: MemoryPassEventsOptions = {}): PassEvents {
  const log = new MemoryLog<PassTraceEvent>(
    readOptions(options, MEMORY_PASS_EVENTS_OPTIONS),
    ({ plan_id, run_id }) => [plan_id, run_id],
  )
  return {
    append: (tenant, event) => log.append(tenant, event),
    list(tenant, query) {
      if (!isObject(query)) throw wrong('query', 'an object')
      return log.list(tenant, [query.planId, query.runId], query)
    },
  }
}

/** Throws unless events can be kept in it. */
export function checkPassEvents(given: unknown): void {
  if (given === undefined || typeof given === 'function') return
  const { append, list } = (given ?? {}) as Partial<PassEvents>
  if (typeof append === 'function' && typeof list === 'function') return
  throw wrong('passEvents', 'append and list')
}

/** The query of a URL: `?plan_id=`, `?run_id=`, `?after=`, `?limit=`. */
export function queryOf(url: URL): PassEventQuery {
  const id = (name: string) => {
    const text = url.searchParams.get(name) || undefined
    if (text !== undefined && text.length > 256) throw invalid(name, 'at most 256 characters')
    return text
  }
  const [planId, runId] = [id('plan_id'), id('run_id')]
  return {
    ...(planId !== undefined && { planId }),
    ...(runId !== undefined && { runId }),
    ...pageOf(url),
  }
}
