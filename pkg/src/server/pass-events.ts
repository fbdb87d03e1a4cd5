/** The trace events of passes, for whoever audits them: by tenant, with their times and plans. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { MemoryPassEventsOptions } from '../generated/server.js'
import { MEMORY_PASS_EVENTS_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { PassTraceEvent } from '../planning/types.js'
import { invalid } from './body.js'

export type { MemoryPassEventsOptions }

/** Which events are listed. */
export interface PassEventQuery {
  /** Those of this plan alone. */
  planId?: string
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

interface Tenant {
  events: { id: number; planId: string; text: string }[]
  /** Characters of all of them. */
  size: number
  last: number
}

/**
 * Keeps trace events in the memory of this process or isolate: another one does not know them, and
 * they end with it. At `maxEvents` a tenant's oldest event is dropped, at `maxCharacters` the
 * oldest one of the tenant that has the most.
 *
 * @throws TurnlockError `options.invalid`
 */
export function memoryPassEvents(options: MemoryPassEventsOptions = {}): PassEvents {
  options = readOptions(options, MEMORY_PASS_EVENTS_OPTIONS)
  const { maxEvents = 1000, maxCharacters = 4_194_304 } = options
  for (const [name, value] of Object.entries({ maxEvents, maxCharacters })) {
    if (Number.isSafeInteger(value) && value > 0) continue
    throw wrong(name, 'a whole number from 1')
  }
  const tenants = new Map<string, Tenant>()
  let size = 0
  // Of the tenants that have no events any more: theirs go on behind it.
  let dropped = 0

  const drop = (name: string, tenant: Tenant) => {
    const length = tenant.events.shift()?.text.length ?? 0
    tenant.size -= length
    size -= length
    if (tenant.events.length > 0) return
    tenants.delete(name)
    dropped = Math.max(dropped, tenant.last)
  }
  const largest = () => {
    let most: [string, Tenant] | undefined
    for (const entry of tenants) if (!most || entry[1].size > most[1].size) most = entry
    return most
  }

  return {
    append(name, event) {
      if (!isObject(event)) throw wrong('event', 'a trace event')
      const text = JSON.stringify(event)
      // It would drop all others and still not fit.
      if (text.length > maxCharacters) return
      const tenant = tenants.get(name) ?? { events: [], size: 0, last: dropped }
      tenants.set(name, tenant)
      // By the clock, so that a reader goes on behind a restart.
      tenant.last = Math.max(Date.now(), tenant.last + 1)
      tenant.events.push({ id: tenant.last, planId: event.plan_id, text })
      tenant.size += text.length
      size += text.length
      if (tenant.events.length > maxEvents) drop(name, tenant)
      while (size > maxCharacters) drop(...(largest() as [string, Tenant]))
    },

    list(name, query) {
      if (!isObject(query)) throw wrong('query', 'an object')
      const { planId, after, limit } = query
      const all = (tenants.get(name)?.events ?? []).filter(
        (event) => event.id > (after ?? -1) && (planId === undefined || event.planId === planId),
      )
      const some = after === undefined ? all.slice(-limit) : all.slice(0, limit)
      return some.map(({ id, text }) => ({ ...(JSON.parse(text) as PassTraceEvent), id }))
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

/**
 * Maximum events of one response.
 *
 * Limit | events of one answer | events | the page asks on
 */
const MOST = 1000

/** The query of a URL: `?plan_id=`, `?after=`, `?limit=`. */
export function queryOf(url: URL): PassEventQuery {
  const { searchParams } = url
  const number = (name: string, least: number, most: number) => {
    const text = searchParams.get(name)
    if (text === null) return undefined
    const value = /^\d{1,16}$/.test(text) ? Number(text) : -1
    if (value >= least && value <= most) return value
    throw invalid(name, `a whole number from ${least} to ${most}`)
  }
  const planId = searchParams.get('plan_id') || undefined
  if (planId !== undefined && planId.length > 256)
    throw invalid('plan_id', 'at most 256 characters')
  const after = number('after', 0, Number.MAX_SAFE_INTEGER)
  return {
    ...(planId !== undefined && { planId }),
    ...(after !== undefined && { after }),
    limit: number('limit', 1, MOST) ?? MOST,
  }
}
