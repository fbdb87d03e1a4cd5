/** What a chat needs of turns: those of `remoteTurns`, or functions around `runTurn`. */
import type { PausedTurn } from '../remote/turns.js'
import type { Turn } from '../turn/turn.js'

/** How a chat runs turns. What `remoteTurns` returns is one. */
export interface ChatTurns {
  /** Runs a turn, such as `(own) => runTurn({ model, tools, ...own })`. */
  run(options: { messages: unknown[]; requestId: string; conversationId?: string }): Turn
  /** Continues a turn that paused, such as `(own) => resumeTurn({ model, tools, store, ...own })`. */
  resume?(options: {
    requestId: string
    toolBatchId: number
    approvals?: { signature: string; approved: boolean }[]
  }): Turn
  /** Runs the calls that wait for this page; `undefined` where another one runs them. */
  answer?(paused: PausedTurn): Promise<Turn | undefined>
  /** The events of a turn that runs elsewhere, from its first one. */
  follow?(options: { requestId: string }): Turn
  /** Cancels a turn that paused. */
  cancel?(options: { requestId: string; reason?: string }): Promise<unknown>
}
