/** The result of a turn, from its events. Loaded when a page asks for one. */
import type { TurnMessage } from '../generated/turn.js'
import { resultMessage } from '../turn/result-message.js'
import type { ToolResult, TurnEvent, TurnResult } from '../types.js'
import type { Terminal } from './turn.js'
import type { Wire } from './wire.js'

/**
 * The events of a turn from the first one up to `last`; `undefined` if the handler has not all of
 * them any longer, or cannot be asked.
 */
export async function eventsUpTo(
  wire: Wire,
  requestId: string,
  last: number,
): Promise<TurnEvent[] | undefined> {
  const { signal } = new AbortController()
  for (let failures = 0; ; failures++) {
    const events: TurnEvent[] = []
    try {
      for await (const event of (await wire.follow(requestId, 0, signal)) ?? []) {
        if (event.seq !== events.length + 1) return undefined
        events.push(event)
        if (event.seq === last) return events
      }
      if (last === Infinity) return events
    } catch (error) {
      if ((error as { again?: boolean }).again === false) return undefined
    }
    if (failures >= wire.maxRetries) return undefined
    await new Promise((resolve) => setTimeout(resolve, 250 * 2 ** Math.min(failures, 5)))
  }
}

/** What a terminal event says of the result. */
const TOLD = [
  ...['text', 'object', 'fullContent', 'blockedSignatures', 'repeats', 'usage', 'totalUsage'],
  ...['inferences', 'composed', 'finishReason', 'rawFinishReason', 'model'],
  ...['resume', 'calls', 'approvals'],
]

/** What the events of a turn add to `bare`, which is the result of a turn that did nothing. */
export function resultOf(
  bare: TurnResult,
  events: readonly TurnEvent[],
  last: Terminal,
): TurnResult {
  const standing = withoutVoid(events)
  const texts = standing.filter((event) => event.type === 'text')
  const answering = texts.at(-1)
  // The text of the last inference: of one phase, and behind one batch.
  const answer = texts.filter(
    ({ phase, toolBatchId }) => phase === answering?.phase && toolBatchId === answering.toolBatchId,
  )
  const refusals = standing.filter((event) => event.type === 'refused')
  const made: TurnResult = {
    ...bare,
    text: joined(answer),
    fullContent: joined(texts),
    messages: messagesOf(standing),
    toolResults: settled(standing),
    blockedSignatures: refusals.at(-1)?.blockedSignatures ?? [],
  }
  if (last.conversationId !== undefined) made.conversationId ??= last.conversationId
  const told = Object.entries(last).filter(([name]) => TOLD.includes(name))
  Object.assign(made, Object.fromEntries(told))
  if (last.type === 'error') {
    const { code, message, details } = last
    made.error = { code, message, ...(details && { details }) }
  }
  return made
}

/** Without the text of inferences that a resume made again. */
function withoutVoid(events: readonly TurnEvent[]): TurnEvent[] {
  let standing: TurnEvent[] = []
  for (const event of events) {
    const from = event.type === 'phase_start' ? event.voidFrom : undefined
    if (from !== undefined) {
      standing = standing.filter(
        ({ type, seq }) => seq < from || (type !== 'text' && type !== 'reasoning'),
      )
    }
    standing.push(event)
  }
  return standing
}

/** The results, each as it was revised last. */
function settled(events: readonly TurnEvent[]): ToolResult[] {
  const results: ToolResult[] = []
  for (const event of events) {
    if (event.type !== 'tool_results') continue
    for (const result of event.toolResults) {
      const same = (one: ToolResult) =>
        one.toolCallId === result.toolCallId && one.signature === result.signature
      const known = result.revised ? results.findLastIndex(same) : -1
      if (known < 0) results.push(result)
      else results[known] = result
    }
  }
  return results
}

/** What the turn adds to the history: calls, their results, the answer. */
function messagesOf(events: readonly TurnEvent[]): TurnMessage[] {
  const messages: TurnMessage[] = []
  const revised = settled(events)
  let said = ''
  let batch: { id: number; place: number } | undefined
  for (const event of events) {
    if (event.type === 'text') said += event.chunk
    if (event.type !== 'tool_results') continue
    for (const { toolCallId: id, name, args, signature, revised: again } of event.toolResults) {
      if (again) continue
      const result = revised.find((one) => one.toolCallId === id && one.signature === signature)
      if (batch?.id !== event.toolBatchId) {
        batch = { id: event.toolBatchId, place: messages.length }
        messages.push({ role: 'assistant', content: said, toolCalls: [] })
        said = ''
      }
      messages[batch.place]?.toolCalls?.push({ id, name, args })
      if (result) messages.push(resultMessage(result))
    }
  }
  if (said.trim()) messages.push({ role: 'assistant', content: said })
  return messages
}

const joined = (texts: readonly { chunk: string }[]): string =>
  texts.map(({ chunk }) => chunk).join('')
