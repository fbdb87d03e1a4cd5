/**
 * Turns that a handler of `turnlock/server` runs, from a page or from another server: the same
 * `Turn` as `runTurn` gives, over HTTP. Holds no part of the core.
 *
 * @module
 */
export type {
  RemoteFollowOptions,
  RemotePolicy,
  RemoteResumeOptions,
  RemoteRunOptions,
  RemoteTurnsOptions,
} from '../generated/remote.js'
export { isTurnlockError, TurnlockError } from '../errors.js'
export type { OpenTurn } from '../turn/beside.js'
export type { Turn } from '../turn/turn.js'
export type { RemoteEnd, RemoteTurn } from './turn.js'
export { remoteTurns, type PausedTurn, type RemoteState, type RemoteTurns } from './turns.js'
