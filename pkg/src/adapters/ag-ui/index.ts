/**
 * Turns for clients of AG-UI: `createHandler({ format: 'ag-ui' })` for an `HttpAgent`, and
 * {@link toAgUiEvents} for a turn that the host runs itself.
 *
 * @module
 */
import { wrong } from '../../errors.js'
import type { Turn } from '../../turn/turn.js'
import { AgUiStream, type AgUiEvent } from './stream.js'

export type { AgUiEvent, Interrupt } from './stream.js'

/**
 * The events of a turn, as the run of a thread. The ids are those of `RunAgentInput`; without them,
 * that of the turn. Leaving the iteration cancels the turn.
 *
 * @throws TurnlockError `options.invalid` for what is no turn
 */
export function toAgUiEvents(
  turn: Turn,
  ids: { threadId?: string; runId?: string } = {},
): AsyncGenerator<AgUiEvent, void, undefined> {
  if (typeof turn?.toReadableStream !== 'function') throw wrong('turn', 'a turn of `runTurn`')
  return eventsOf(turn, ids)
}

async function* eventsOf(
  turn: Turn,
  { threadId = turn.requestId, runId = turn.requestId }: { threadId?: string; runId?: string },
): AsyncGenerator<AgUiEvent, void, undefined> {
  const stream = new AgUiStream({ requestId: turn.requestId, threadId, runId })
  for await (const event of turn) yield* stream.take(event)
  yield* stream.finish()
}
