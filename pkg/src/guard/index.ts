/**
 * Guards for agents that run without Turnlock's own loop: a call runs once, repeats are replayed or
 * blocked with a notice, and budgets hold.
 *
 * @module
 */
export {
  createCallGuard,
  type CallGuard,
  type CallVerdict,
  type GuardedCall,
  type GuardedTool,
  type GuardPolicy,
  type GuardState,
} from './call-guard.js'
export type { AfterUntrusted, GuardEntry, GuardWindow } from '../generated/guard.js'
export type { Dedupe } from '../generated/common.js'
export type { RefusalReason } from '../generated/turn.js'
