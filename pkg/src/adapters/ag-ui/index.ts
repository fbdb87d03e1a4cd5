/**
 * Turns for clients of AG-UI: `createHandler({ format: 'ag-ui' })` for an `HttpAgent`, and
 * {@link toAgUiEvents} for a turn that the host runs itself.
 *
 * @module
 */
import type { Turn } from '../../turn/turn.js'
import { AgUiStream, type AgUiEvent } from './stream.js'

export type { AgUiEvent, Interrupt } from './stream.js'

/**
 * The events of a turn, as the run of a thread. The ids are those of `RunAgentInput`; without them,
 * that of the turn. Leaving the iteration cancels the turn.
 */
export async function* toAgUiEvents(
  turn: Turn,
  { threadId = turn.requestId, runId = turn.requestId } = {},
): AsyncGenerator<AgUiEvent, void, undefined> {
  const stream = new AgUiStream({ requestId: turn.requestId, threadId, runId })
  for await (const event of turn) yield* stream.take(event)
  yield* stream.finish()
}
