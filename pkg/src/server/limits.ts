/** The limits of a server. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { ServerLimits } from '../generated/server.js'
import type { Filled } from '../options.js'
import { Refusal } from './refusal.js'

export type { ServerLimits }

const DEFAULTS: Filled<ServerLimits> = {
  bodyBytes: 1_048_576,
  messages: 500,
  resumesPerMinute: 30,
  turnsPerTenant: 32,
  readersPerTurn: 32,
  keepAliveMs: 15_000,
}

/** @throws TurnlockError `options.invalid` */
export function limitsOf(given?: ServerLimits | null): Filled<ServerLimits> {
  if (!isObject((given ?? {}) as unknown)) throw wrong('limits', 'an object')
  const limits = { ...DEFAULTS }
  for (const name of Object.keys(DEFAULTS) as (keyof ServerLimits)[]) {
    const value = given?.[name] ?? DEFAULTS[name]
    if (!Number.isSafeInteger(value) || value < 1) {
      throw wrong(`limits.${name}`, 'a whole number from 1')
    }
    limits[name] = value
  }
  return limits
}

/** Milliseconds. Not a limit. */
const MINUTE = 60_000
/**
 * Maximum number of tenants that are counted. The oldest are dropped first.
 *
 * Limit | tenants whose resumes are counted | tenants | the oldest
 */
const MOST_TENANTS = 10_000
/**
 * Maximum number of turns of one tenant that are counted in a minute.
 *
 * Limit | turns of a tenant counted in a minute | turns | 429
 */
const MOST_TURNS = 1000

/** Uses of a tenant's turns since the first one of the minute. */
interface Minute {
  since: number
  turns: Map<string, number>
}

/** Limits how often each turn of a tenant is used within a minute of the tenant's first use. */
export class Rate {
  readonly #most: number
  readonly #now: () => number
  readonly #tenants = new Map<string, Minute>()

  constructor(most: number, now: () => number = Date.now) {
    this.#most = most
    this.#now = now
  }

  /** @throws Refusal 429 with `retry-after` */
  use(tenant: string, turn: string): void {
    const now = this.#now()
    let minute = this.#tenants.get(tenant)
    // A clock that was set back must not lock out clients.
    if (!minute || now - minute.since >= MINUTE || now < minute.since) {
      minute = { since: now, turns: new Map() }
      this.#tenants.delete(tenant)
      this.#tenants.set(tenant, minute)
      if (this.#tenants.size > MOST_TENANTS) {
        this.#tenants.delete(this.#tenants.keys().next().value as string)
      }
    }
    const { since, turns } = minute
    const times = (turns.get(turn) ?? 0) + 1
    // Not by dropping the oldest: whoever asks for many turns would reset the count of one.
    const counted = turns.has(turn) || turns.size < MOST_TURNS
    if (counted) turns.set(turn, times)
    if (counted && times <= this.#most) return
    const seconds = Math.max(1, Math.ceil((since + MINUTE - now) / 1000))
    throw new Refusal(429, 'limit.resumes', 'too many attempts to resume turns', {
      'retry-after': String(seconds),
    })
  }
}

/** Counts what runs at the same time: the turns of each tenant, the readers of each turn. */
export class Running {
  readonly #most: number
  readonly #code: string
  readonly #message: string
  readonly #running = new Map<string, number>()

  /** `code` and `message` are those of the refusal. */
  constructor(most: number, code: string, message: string) {
    this.#most = most
    this.#code = code
    this.#message = message
  }

  /** @throws Refusal 429 with `retry-after` */
  enter(key: string): void {
    const running = this.#running.get(key) ?? 0
    if (running >= this.#most) {
      throw new Refusal(429, this.#code, this.#message, { 'retry-after': '5' })
    }
    this.#running.set(key, running + 1)
  }

  leave(key: string): void {
    const running = (this.#running.get(key) ?? 1) - 1
    if (running > 0) this.#running.set(key, running)
    else this.#running.delete(key)
  }
}
