/** A bounded list of events in memory, by tenant, and the query of a page of such a list. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import { invalid } from './body.js'

/** A part of a list of events. */
export interface Page {
  /** The events with a greater `id`: the first `limit` of them. Without it, the last `limit`. */
  after?: number
  limit: number
}

/** The bounds of a list in memory. */
interface Bounds {
  maxEvents?: number | undefined
  maxCharacters?: number | undefined
}

interface Tenant {
  events: { id: number; keys: readonly string[]; text: string }[]
  /** Characters of all of them. */
  size: number
  last: number
}

/** Events as JSON text. The keys of an event select it in a list. */
export class MemoryLog<Event extends object> {
  readonly #maxEvents: number
  readonly #maxCharacters: number
  readonly #keysOf: (event: Event) => readonly string[]
  readonly #tenants = new Map<string, Tenant>()
  #size = 0
  /** The last id of the tenants that have no events any more: later ids are greater. */
  #dropped = 0

  /** @throws TurnlockError `options.invalid` */
  constructor(
    { maxEvents = 1000, maxCharacters = 4_194_304 }: Bounds,
    keysOf: (event: Event) => readonly string[],
  ) {
    for (const [name, value] of Object.entries({ maxEvents, maxCharacters })) {
      if (Number.isSafeInteger(value) && value > 0) continue
      throw wrong(name, 'a whole number from 1')
    }
    this.#maxEvents = maxEvents
    this.#maxCharacters = maxCharacters
    this.#keysOf = keysOf
  }

  append(name: string, event: Event): void {
    if (!isObject(event)) throw wrong('event', 'a trace event')
    const text = JSON.stringify(event)
    // It would drop all others and still not fit.
    if (text.length > this.#maxCharacters) return
    const tenant = this.#tenants.get(name) ?? { events: [], size: 0, last: this.#dropped }
    this.#tenants.set(name, tenant)
    // By the clock, so that a reader goes on behind a restart.
    tenant.last = Math.max(Date.now(), tenant.last + 1)
    tenant.events.push({ id: tenant.last, keys: this.#keysOf(event), text })
    tenant.size += text.length
    this.#size += text.length
    if (tenant.events.length > this.#maxEvents) this.#drop(name, tenant)
    while (this.#size > this.#maxCharacters) this.#drop(...this.#largest())
  }

  /** Events of a tenant, the oldest first: those with each key that is given, by its place. */
  list(
    name: string,
    keys: readonly (string | undefined)[],
    page: Page,
  ): (Event & { id: number })[] {
    const { after, limit } = page
    const all = (this.#tenants.get(name)?.events ?? []).filter(
      (event) =>
        event.id > (after ?? -1) &&
        keys.every((key, place) => key === undefined || event.keys[place] === key),
    )
    const some = after === undefined ? all.slice(-limit) : all.slice(0, limit)
    return some.map(({ id, text }) => ({ ...(JSON.parse(text) as Event), id }))
  }

  #drop(name: string, tenant: Tenant): void {
    const length = tenant.events.shift()?.text.length ?? 0
    tenant.size -= length
    this.#size -= length
    if (tenant.events.length > 0) return
    this.#tenants.delete(name)
    this.#dropped = Math.max(this.#dropped, tenant.last)
  }

  #largest(): [string, Tenant] {
    let most: [string, Tenant] | undefined
    for (const entry of this.#tenants) if (!most || entry[1].size > most[1].size) most = entry
    return most as [string, Tenant]
  }
}

/**
 * Maximum events of one response.
 *
 * Limit | events of one answer | events | the page asks on
 */
const MOST = 1000

/** The page that a URL asks for: `?after=`, `?limit=`. */
export function pageOf({ searchParams }: URL): Page {
  const number = (name: string, least: number, most: number) => {
    const text = searchParams.get(name)
    if (text === null) return undefined
    const value = /^\d{1,16}$/.test(text) ? Number(text) : -1
    if (value >= least && value <= most) return value
    throw invalid(name, `a whole number from ${least} to ${most}`)
  }
  const after = number('after', 0, Number.MAX_SAFE_INTEGER)
  return { ...(after !== undefined && { after }), limit: number('limit', 1, MOST) ?? MOST }
}
