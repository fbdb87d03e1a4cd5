/** What a chat needs of turns: those of `remoteTurns`, or functions around `runTurn`. */
import type { PausedTurn } from '../remote/turns.js'
import type { Approval } from '../turn/resume.js'
import type { TurnOf } from '../turn/turn.js'

/** A turn, whatever its end says: a chat reads its events alone. */
export type ShownTurn = TurnOf<unknown>

/** How a chat runs turns. What `remoteTurns` and `localTurns` return is one. */
export interface ChatTurns {
  /** Runs a turn, such as `(own) => runTurn({ model, tools, ...own })`. */
  run(options: { messages: unknown[]; requestId: string; conversationId?: string }): ShownTurn
  /** Continues a turn that paused, such as `(own) => resumeTurn({ model, tools, store, ...own })`. */
  resume?(options: { requestId: string; toolBatchId: number; approvals?: Approval[] }): ShownTurn
  /**
   * Runs the calls that wait for this page; `undefined` where another one runs them. `signal` aborts
   * their tools: the turn was stopped, or nobody shows it any more.
   */
  answer?(paused: PausedTurn, options: { signal: AbortSignal }): Promise<ShownTurn | undefined>
  /** The events of a turn that runs elsewhere, from its first one. `signal` ends the reading alone. */
  follow?(options: { requestId: string; signal: AbortSignal }): ShownTurn
  /** Cancels a turn that paused. */
  cancel?(options: { requestId: string; reason?: string }): Promise<unknown>
}
