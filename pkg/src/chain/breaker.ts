/** A circuit breaker: after too many failed chains, queries take the simple path for a while. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { ChainBreakerOptions } from '../generated/chain.js'
import { CHAIN_BREAKER_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { ChainResult } from './types.js'

export type { ChainBreakerOptions }

/** Pass one to `runChain` for every chain that it protects. */
export interface ChainBreaker {
  /** Whether complex queries take the simple path now; `fellBack` is then `chain.breaker_open`. */
  readonly open: boolean
  /** Counts a chain that failed, or fell back because something failed. `runChain` calls it. */
  record(result: Pick<ChainResult, 'status' | 'fellBack'>): void
}

const EXPECTED = ['chain.breaker_open', 'chain.over_budget']

/**
 * Counts chains that failed, or fell back to the simple path because something failed.
 *
 * @throws TurnlockError `options.invalid`
 */
export function chainBreaker(options: ChainBreakerOptions = {}): ChainBreaker {
  options = readOptions(options, CHAIN_BREAKER_OPTIONS)
  const { failures = 5, withinMs = 60_000, forMs = 60_000 } = options
  for (const [name, value] of Object.entries({ failures, withinMs, forMs })) {
    if (!(value > 0)) throw wrong(name, 'a number above 0')
  }
  let failed: number[] = []
  let openUntil = -Infinity
  return {
    get open() {
      return performance.now() < openUntil
    },
    record(result) {
      if (!isObject(result as unknown)) throw wrong('result', 'the result of a chain')
      const { status, fellBack } = result
      const isFailure = fellBack ? !EXPECTED.includes(fellBack.code) : status === 'failed'
      if (!isFailure) return
      const now = performance.now()
      failed = [...failed.filter((at) => now - at < withinMs), now]
      if (failed.length < failures) return
      failed = []
      openUntil = now + forMs
    },
  }
}
