/** What a chat needs of turns: those of `remoteTurns`, or functions around `runTurn`. */
import type { PausedTurn } from '../remote/turns.js'
import type { TurnOf } from '../turn/turn.js'

/** A turn, whatever its end says: a chat reads its events alone. */
export type ShownTurn = TurnOf<unknown>

/** How a chat runs turns. What `remoteTurns` returns is one. */
export interface ChatTurns {
  /** Runs a turn, such as `(own) => runTurn({ model, tools, ...own })`. */
  run(options: { messages: unknown[]; requestId: string; conversationId?: string }): ShownTurn
  /** Continues a turn that paused, such as `(own) => resumeTurn({ model, tools, store, ...own })`. */
  resume?(options: {
    requestId: string
    toolBatchId: number
    approvals?: { signature: string; approved: boolean }[]
  }): ShownTurn
  /** Runs the calls that wait for this page; `undefined` where another one runs them. */
  answer?(paused: PausedTurn): Promise<ShownTurn | undefined>
  /** The events of a turn that runs elsewhere, from its first one. */
  follow?(options: { requestId: string }): ShownTurn
  /** Cancels a turn that paused. */
  cancel?(options: { requestId: string; reason?: string }): Promise<unknown>
}
