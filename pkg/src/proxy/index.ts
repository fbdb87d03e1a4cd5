/**
 * A proxy in front of a provider, as one function of a `Request`: Node, Deno, Bun, workerd, Hono.
 *
 * It needs no store: what it judges by is the history that each request brings.
 *
 * @module
 */
export { isTurnlockError, TurnlockError } from '../errors.js'
export { toNodeListener, type NodeListenerOptions } from '../server/node.js'
export type { Refused } from './judge.js'
export type {
  DecodeBody,
  ProxyLimits,
  ProxyOptions,
  ProxyPolicy,
  ProxySession,
  Upstream,
  UpstreamFor,
} from './options.js'
export { createProxy } from './proxy.js'
export type { Repeat } from './repeats.js'
export type { ProxyReport } from './report.js'
