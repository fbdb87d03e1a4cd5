/** Effectiveness of each pattern of chains, from user feedback. */
import { isObject } from '../checks.js'
import { answer, encode } from '../core/instance.js'
import { plans as part } from '../core/parts/plans.js'
import { wrong } from '../errors.js'
import type { PatternState, PatternStatsOptions } from '../generated/chain.js'
import { PATTERN_STATS_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { ChainPattern } from './types.js'

export type { PatternEffectiveness, PatternState, PatternStatsOptions } from '../generated/chain.js'

/** What chains of each pattern came to, as `patternStats` counts it. */
export interface PatternStats {
  record(chain: { pattern: ChainPattern; success: boolean; cost: number; ms: number }): void
  /** The pattern with the highest lower bound; null if there is not enough data. */
  choose(patterns?: ChainPattern[]): ChainPattern | null
  export(): PatternState
  /** What `runChain` passes to the core. @internal */
  wire(): { state: PatternState; enough: number; explore: number } | undefined
}

/**
 * Collects statistics of chains per pattern. They affect planning only if `use` is set.
 *
 * @throws TurnlockError `options.invalid`
 */
export function patternStats(options: PatternStatsOptions = {}): PatternStats {
  options = readOptions(options, PATTERN_STATS_OPTIONS)
  const { use = false, enough = 20, explore = 0.1 } = options
  const ask = (request: Record<string, unknown>) => {
    const bytes = encode(JSON.stringify(request))
    const text = answer(part.call((glue) => glue.chain_learn(bytes))).slice(1)
    return JSON.parse(text) as { state: PatternState; choice: ChainPattern | null }
  }
  let { state } = ask({ state: options.state })
  const all: ChainPattern[] = ['sequential', 'parallel', 'conditional']
  return {
    record(chain) {
      if (!isObject(chain as unknown)) throw wrong('chain', '{ pattern, success, cost, ms }')
      const { pattern, success, cost, ms } = chain
      // The core would pass over another one.
      if (!all.includes(pattern)) throw wrong('pattern', `one of ${all.join(', ')}`)
      state = ask({ state, record: { pattern, success, cost, ms: Math.round(ms) } }).state
    },
    choose: (patterns = all) => ask({ state, choose: { patterns, enough } }).choice,
    export: () => structuredClone(state),
    wire: () => (use ? { state, enough, explore } : undefined),
  }
}
