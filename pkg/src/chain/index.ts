/**
 * Chains: answers a question with a plan of steps, each with the results of those before it.
 *
 * @module
 */
export { chainBreaker, type ChainBreaker, type ChainBreakerOptions } from './breaker.js'
export { runChain, type Chain, type RunChainOptions } from './chain.js'
export {
  patternStats,
  type PatternEffectiveness,
  type PatternState,
  type PatternStats,
  type PatternStatsOptions,
} from './learn.js'
export { classifyQuery, parsePlan } from './pure.js'
export type * from './types.js'

// Parts of what is above, so that a host can name them.
export type {
  AcceptedRefinement,
  NoResults,
  PatternTable,
  QueryLanguage,
  RefusedRefinement,
} from '../generated/chain.js'
