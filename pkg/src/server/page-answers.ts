/** What clients of other formats say of the calls that their page has run. */
import type { CallOutcome, ResumeTurnOptions } from '../turn/resume.js'
import type { TurnEvent } from '../types.js'
import { refusalOf } from './refusal.js'

export type Resuming = Pick<
  ResumeTurnOptions,
  'requestId' | 'toolBatchId' | 'approvals' | 'results' | 'outcomes'
>

/**
 * How a turn goes on behind a client's message: with its approvals, and with the outcomes of the
 * calls that wait for its page. The message also holds the results of the host's own tools, which
 * are none. `undefined` if nothing in it is an answer.
 *
 * Outcomes need a claim, and such a client may know of none: `claim` makes it now, which does
 * nothing where the page has made its own.
 *
 * @param events the turn's, as stored
 * @throws Refusal 409 `turn.conflict` for calls that another page has answered
 */
export async function resumingOf(
  { outcomes = [], ...given }: Resuming,
  events: readonly TurnEvent[],
  claim: (toolBatchId: number, toolCallIds: string[]) => Promise<unknown>,
): Promise<Resuming | undefined> {
  const idsOf = (event: TurnEvent | undefined) =>
    event?.type === 'paused' ? (event.calls ?? []).map(({ id }) => id) : []
  const those = (ids: string[]) => outcomes.filter(({ toolCallId }) => ids.includes(toolCallId))
  const last = events.at(-1)
  const waiting: CallOutcome[] = those(idsOf(last))
  if (last?.type === 'paused' && waiting.length) {
    const { toolBatchId } = last.resume
    const ids = waiting.map(({ toolCallId }) => toolCallId)
    await claim(toolBatchId, ids)
    return { ...given, toolBatchId, outcomes: waiting }
  }
  if (given.approvals?.length) return given
  if (!those(events.flatMap(idsOf)).length) return undefined
  // The turn had the outcomes when it failed, and goes on from there.
  if (last?.type === 'error') return given
  throw refusalOf('turn.conflict')!
}
