/**
 * Turns inside Cloudflare's Durable Objects, and inside agents of the package `agents`.
 *
 * @module
 */
export {
  withTurnlock,
  type DurableObjectClass,
  type TurnlockObject,
  type WithTurnlockOptions,
} from './with-turnlock.js'
export type {
  ObjectTurns,
  ObjectRunOptions,
  ObjectResumeOptions,
  ObjectTurnOptions,
  TurnRef,
} from './object-turns.js'
export type { DurableObjectStateLike } from '../stores/durable-object.js'
