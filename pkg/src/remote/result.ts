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
  'text',
  'object',
  'fullContent',
  'blockedSignatures',
  'repeats',
  'usage',
  'totalUsage',
  'inferences',
  'composed',
  'finishReason',
  'rawFinishReason',
  'model',
  'resume',
  'calls',
  'approvals',
]

/** What the events of a turn add to `bare`, which is the result of a turn that did nothing. */
export function resultOf(
  bare: TurnResult,
  events: readonly TurnEvent[],
  last: Terminal,
): TurnResult {
  const standing = withoutVoid(events)
  const texts = standing.filter((event) => event.type === 'text')
  const results = settled(standing)
  const made: TurnResult = {
    ...bare,
    text: answerOf(standing),
    fullContent: texts.map(({ chunk }) => chunk).join(''),
    messages: messagesOf(standing, results),
    toolResults: results.map(({ result }) => result),
    ...repeated(standing),
  }
  if (last.conversationId !== undefined) made.conversationId ??= last.conversationId
  const members = Object.entries(last).filter(([name]) => TOLD.includes(name))
  Object.assign(made, Object.fromEntries(members))
  if (last.type === 'error') {
    const { code, message, details } = last
    made.error = { code, message, ...(details && { details }) }
  }
  return made
}

/**
 * The calls that were refused or replayed, and how often each one repeated an earlier one of the turn.
 * `complete` says it itself; of a turn that paused, failed or was cancelled, only its calls do.
 */
function repeated(events: readonly TurnEvent[]): Pick<TurnResult, 'blockedSignatures' | 'repeats'> {
  const blocked = new Set<string>()
  const repeats: Record<string, number> = {}
  /** The first call of each signature. What another turn ran has a result that is replayed, too. */
  const first = new Map<string, string>()
  const see = (signature: string, id: string) => {
    if (!first.has(signature)) first.set(signature, id)
    return first.get(signature) === id
  }
  const block = (signature: string, id: string) => {
    blocked.add(signature)
    if (!see(signature, id)) repeats[signature] = (repeats[signature] ?? 0) + 1
  }
  /** Calls of a page: their repeats have the outcome of the first one, and are none. */
  const ofPage = new Set<string>()
  for (const event of events) {
    if (event.type === 'tool_calls')
      for (const { id, signature } of event.toolCalls) see(signature, id)
    if (event.type === 'refused')
      for (const { id, signature } of event.toolCalls) block(signature, id)
    if (event.type === 'paused') for (const { id } of event.calls ?? []) ofPage.add(id)
    if (event.type !== 'tool_results') continue
    for (const { signature, toolCallId: id, replayed, revised } of event.toolResults) {
      if (!replayed || revised || ofPage.has(id) || see(signature, id)) continue
      block(signature, id)
    }
  }
  return { blockedSignatures: [...blocked], repeats }
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

/** The text of the last phase: of the last inference that had any. */
function answerOf(events: readonly TurnEvent[]): string {
  let text = ''
  let again = true
  for (const event of events) {
    if (event.type === 'phase_start' && !event.resumed) text = ''
    if (event.type === 'tool_calls' || event.type === 'refused') again = true
    if (event.type !== 'text') continue
    text = again ? event.chunk : text + event.chunk
    again = false
  }
  return text
}

/** A result, and the batch of its call. */
interface Settled {
  batch: number
  result: ToolResult
}

/** Whether a result says neither that the call went well nor that it failed: it did not run. */
const isRefused = ({ result: { status, error } }: Settled) => status !== 'ok' && !error

/** The results in the order of their calls, each as it was revised last. */
function settled(events: readonly TurnEvent[]): Settled[] {
  const results: Settled[] = []
  const places = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'tool_calls') {
      for (const { id } of event.toolCalls) places.set(id, places.size)
    }
    if (event.type !== 'tool_results') continue
    const batch = event.toolBatchId
    for (const result of event.toolResults) {
      const same = (one: Settled) =>
        one.result.toolCallId === result.toolCallId && one.result.signature === result.signature
      const place = result.revised ? results.findLastIndex(same) : -1
      if (place < 0) results.push({ batch, result })
      else results[place] = { batch, result }
    }
  }
  const place = ({ result }: Settled) => places.get(result.toolCallId) ?? Infinity
  return results.sort((a, b) => a.batch - b.batch || place(a) - place(b) || 0)
}

/** What the turn adds to the history: calls, their results, the answer. */
function messagesOf(events: readonly TurnEvent[], results: readonly Settled[]): TurnMessage[] {
  const messages: TurnMessage[] = []
  const batches = new Set<number>()
  let text = ''
  // Text of another inference follows that with the calls that did not run.
  let between = ''
  for (const event of events) {
    if (event.type === 'refused' && text) between = '\n\n'
    if (event.type === 'text') {
      text += between + event.chunk
      between = ''
    }
    if (event.type !== 'tool_results' || batches.has(event.toolBatchId)) continue
    batches.add(event.toolBatchId)
    const ran = results.filter((one) => one.batch === event.toolBatchId && !isRefused(one))
    if (!ran.length) continue
    const toolCalls = ran.map(({ result: { toolCallId: id, name, args } }) => ({ id, name, args }))
    messages.push({ role: 'assistant', content: text, toolCalls })
    messages.push(...ran.map(({ result }) => resultMessage(result)))
    text = between = ''
  }
  if (text.trim()) messages.push({ role: 'assistant', content: text })
  return messages
}
