/** The limits of a server. */
import { TurnlockError } from '../errors.js'
import type { ServerLimits } from '../generated/server.js'
import type { Filled } from '../options.js'
import { Refusal } from './refusal.js'

export type { ServerLimits }

const DEFAULTS: Filled<ServerLimits> = {
  ...{ bodyBytes: 1_048_576, messages: 500, resumesPerMinute: 30 },
  ...{ turnsPerTenant: 32, keepAliveMs: 15_000 },
}

/** @throws TurnlockError `options.invalid` */
export function limitsOf(given: ServerLimits = {}): Filled<ServerLimits> {
  const limits = { ...DEFAULTS }
  for (const name of Object.keys(DEFAULTS) as (keyof ServerLimits)[]) {
    const value = given[name]
    if (value === undefined) continue
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new TurnlockError(
        'options.invalid',
        `\`limits.${name}\`: expected a whole number from 1`,
      )
    }
    limits[name] = value
  }
  return limits
}

const MINUTE = 60_000
/** Maximum number of stored keys. The oldest are dropped first, so that memory stays bounded. */
const MOST_KEYS = 10_000

/** Limits the uses of a key within a minute of its first use. */
export class Rate {
  readonly #most: number
  readonly #now: () => number
  readonly #used = new Map<string, { since: number; times: number }>()

  constructor(most: number, now: () => number = Date.now) {
    this.#most = most
    this.#now = now
  }

  /** @throws Refusal 429 with `retry-after` */
  use(key: string): void {
    const now = this.#now()
    let used = this.#used.get(key)
    // A clock that was set back must not lock out clients.
    if (!used || now - used.since >= MINUTE || now < used.since) {
      used = { since: now, times: 0 }
      this.#used.delete(key)
      this.#used.set(key, used)
      if (this.#used.size > MOST_KEYS) this.#used.delete(this.#used.keys().next().value as string)
    }
    used.times += 1
    if (used.times <= this.#most) return
    const seconds = Math.max(1, Math.ceil((used.since + MINUTE - now) / 1000))
    throw new Refusal(429, 'limit.resumes', 'too many attempts to resume this turn', {
      'retry-after': String(seconds),
    })
  }
}

/** Counts the running turns of each tenant. */
export class Running {
  readonly #most: number
  readonly #turns = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** @throws Refusal 429 with `retry-after` */
  enter(tenant: string): void {
    const running = this.#turns.get(tenant) ?? 0
    if (running >= this.#most) {
      throw new Refusal(429, 'limit.turns', 'too many turns at the same time', {
        'retry-after': '5',
      })
    }
    this.#turns.set(tenant, running + 1)
  }

  leave(tenant: string): void {
    const running = (this.#turns.get(tenant) ?? 1) - 1
    if (running > 0) this.#turns.set(tenant, running)
    else this.#turns.delete(tenant)
  }
}
