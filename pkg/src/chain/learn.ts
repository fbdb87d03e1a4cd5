/** What each pattern of chains was worth, from what users said of them. */
import { answer, call, core, encode } from '../core.js'
import type { ChainPattern } from './types.js'

/** What is known of one pattern. */
export interface PatternEffectiveness {
  /** Chains. */
  n: number
  successes: number
  /** Mean of Beta(successes + 1, failures + 1). */
  mean: number
  /** The 5 % quantile of the same: with 95 % belief the true rate is above it. */
  lowerBound: number
  /** Null before the first chain. */
  meanCost: number | null
  /** 95th percentile of the last 256 latencies; null before the first chain. */
  p95Ms: number | null
  cost: number
  latencies: number[]
}

/** As it is kept: plain JSON. */
export interface PatternState {
  version: 1
  patterns: Record<ChainPattern, PatternEffectiveness>
}

export interface PatternStatsOptions {
  /** What `export` gave. @defaultValue nothing known */
  state?: PatternState
  /** Whether plans are asked for in the pattern that did best. @defaultValue false */
  use?: boolean
  /** Chains of a pattern from which on it is compared; of two at least. @defaultValue 20 */
  enough?: number
}

export interface PatternStats {
  record(chain: { pattern: ChainPattern; success: boolean; cost: number; ms: number }): void
  /** The pattern with the highest lower bound; null while there is not enough data. */
  choose(patterns?: ChainPattern[]): ChainPattern | null
  export(): PatternState
  /** What `runChain` hands to the core. @internal */
  wire(): { state: PatternState; enough: number } | undefined
}

/** Keeps count of how chains of each pattern fared. Nothing is chosen by it unless `use` is set. */
export function patternStats(options: PatternStatsOptions = {}): PatternStats {
  const { use = false, enough = 20 } = options
  const ask = (request: Record<string, unknown>) => {
    const bytes = encode(JSON.stringify(request))
    const text = answer(call(core(), (glue) => glue.chain_learn(bytes))).slice(1)
    return JSON.parse(text) as { state: PatternState; choice: ChainPattern | null }
  }
  let { state } = ask({ state: options.state })
  const all: ChainPattern[] = ['sequential', 'parallel', 'conditional']
  return {
    record({ pattern, success, cost, ms }) {
      state = ask({ state, record: { pattern, success, cost, ms: Math.round(ms) } }).state
    },
    choose: (patterns = all) => ask({ state, choose: { patterns, enough } }).choice,
    export: () => structuredClone(state),
    wire: () => (use ? { state, enough } : undefined),
  }
}
