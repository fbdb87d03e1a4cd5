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
export { guardFetch, type GuardFetchOptions, type HostFetch } from './guard-fetch.js'
export {
  guardToolCall,
  guardTools,
  type GuardToolsOptions,
  type PageToolCall,
} from './guard-tools.js'
export type { GuardOutcome } from './outcome.js'
export type { GuardTraceEvent } from './trace.js'
export type { GuardedToolOptions, GuardToolsPolicy } from '../generated/tools.js'
export type { AfterUntrusted, GuardEntry, GuardWindow } from '../generated/guard.js'
export type { ProxyLimits, ProxyPolicy } from '../generated/proxy.js'
export type { ProxyReport } from '../proxy/report.js'
export type { Dedupe } from '../generated/common.js'
export type { RefusalReason } from '../generated/turn.js'
