/** The calls of a history with their signatures, the repeats among them, and the cost of these. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import { normalizeHistory } from '../history/history.js'
import { signature } from '../signature.js'

/** A call of a history. */
export interface TracedCall {
  id: string
  name: string
  /** JSON text, as the model wrote it. */
  args: string
  /** Canonical signature; for arguments that are not JSON, name and text. */
  signature: string
  /** Number of the user turn, from 1; 0 before the first user message. */
  turn: number
  /** Index in `inferences`. */
  inference: number
  /** Undefined if the history has no result of the call. */
  result?: unknown
}

/** A response of the model. */
export interface TracedInference {
  /** Number of the user turn. */
  turn: number
  /** UTF-8 bytes of the messages that the request held, as JSON. */
  requestBytes: number
  message: ChatMessage
}

/** A message of OpenAI Chat Completions. */
export interface ChatMessage {
  role: string
  content?: unknown
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

/** The calls of a history in order, and the inferences that requested them. */
export interface CallTrace {
  calls: TracedCall[]
  inferences: TracedInference[]
  /** The whole history as messages of OpenAI Chat Completions. */
  messages: ChatMessage[]
}

/** Calls with one signature within one user turn. */
export interface CallGroup {
  name: string
  /** Arguments of the first call. */
  args: string
  signature: string
  turn: number
  /** Indexes in the trace's `calls`; at least one. */
  places: number[]
  /** The different texts of the arguments. */
  texts: string[]
  /** Number of different results. */
  results: number
}

const byteLength = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length

/**
 * Reads the calls of a history in any format that `normalizeHistory` takes.
 *
 * @throws TurnlockError for a history that cannot be read
 */
export function traceCalls(history: readonly unknown[]): CallTrace {
  const { messages: normalized, repairs } = normalizeHistory(history, { dialect: 'openai-chat' })
  const messages = normalized as unknown as ChatMessage[]
  const results = new Map<string, unknown>()
  for (const { role, tool_call_id: id, content } of messages) {
    if (role === 'tool' && id !== undefined) results.set(id, content)
  }
  // A synthesized result is not in the history.
  for (const { action, toolCallId } of repairs) {
    if (action === 'synthesized' && toolCallId !== undefined) results.delete(toolCallId)
  }
  const calls: TracedCall[] = []
  const inferences: TracedInference[] = []
  let turn = 0
  let requestBytes = 0
  for (const message of messages) {
    if (message.role === 'user') turn++
    if (message.role === 'assistant') {
      const inference = inferences.length
      inferences.push({ turn, requestBytes, message })
      for (const { id, function: call } of message.tool_calls ?? []) {
        const { name, arguments: args } = call
        const result = results.get(id)
        calls.push({ id, name, args, signature: signCall(name, args), turn, inference, result })
      }
    }
    requestBytes += byteLength(message)
  }
  return { calls, inferences, messages }
}

function signCall(name: string, args: string): string {
  try {
    return signature({ tool: name, args: JSON.parse(args || '{}') })
  } catch {
    return `${name} ${args}`
  }
}

/** A trace, the history in `recognizeFormat`'s result, or a history. */
export type Traceable = CallTrace | { history: readonly unknown[] } | readonly unknown[]

/**
 * Returns the trace, or reads it from a history.
 *
 * @throws TurnlockError `options.invalid` for any other value
 */
export function toTrace(source: Traceable): CallTrace {
  if (Array.isArray(source)) return traceCalls(source)
  const { calls, inferences, messages, history } = Object(source) as Partial<
    CallTrace & { history: readonly unknown[] }
  >
  if (Array.isArray(history)) return traceCalls(history)
  const isTrace = [calls, inferences, messages].every(
    (list) => Array.isArray(list) && list.every(isObject),
  )
  if (!isTrace) throw wrong('trace', 'a history, or what `traceCalls` or `recognizeFormat` returns')
  return source as CallTrace
}

interface GroupEntry {
  group: Omit<CallGroup, 'texts' | 'results'>
  texts: Set<string>
  results: Set<unknown>
}

/** Groups calls by signature within a user turn, the most repeated first. */
export function groupCalls(calls: readonly TracedCall[]): CallGroup[] {
  if (!Array.isArray(calls) || calls.some((call) => !isObject(call)))
    throw wrong('calls', 'the calls of a trace')
  const groups = new Map<string, GroupEntry>()
  calls.forEach(({ name, args, signature, turn, result }, place) => {
    const key = `${turn} ${signature}`
    const entry: GroupEntry = groups.get(key) ?? {
      group: { name, args, signature, turn, places: [] },
      texts: new Set(),
      results: new Set(),
    }
    groups.set(key, entry)
    entry.group.places.push(place)
    entry.texts.add(args)
    entry.results.add(result)
  })
  return [...groups.values()]
    .map(({ group, texts, results }) => ({ ...group, texts: [...texts], results: results.size }))
    .sort((a, b) => b.places.length - a.places.length)
}

/**
 * Returns the calls that occur more than once within a user turn, the most repeated first.
 *
 * @param trace of `traceCalls` or `recognizeFormat`, or a history
 */
export function findLoops(trace: Traceable): CallGroup[] {
  const { calls } = toTrace(trace)
  return groupCalls(calls).filter(({ places }) => places.length > 1)
}

/** What a budget would have saved. */
export interface BudgetSavings {
  inferences: number
  /** Runs of tools. */
  runs: number
  /** Bytes of requests. */
  bytes: number
  /** Number of calls before the first cut; undefined if the budget cuts nothing. */
  cut: number | undefined
}

/**
 * Estimates what `maxTools: budget` would have saved: in each user turn, the model answers as soon as
 * that many different calls have run.
 */
export function estimateSavings(trace: Traceable, budget: number): BudgetSavings {
  const { calls, inferences } = toTrace(trace)
  if (!Number.isSafeInteger(budget) || budget < 0) throw wrong('budget', 'a whole number from 0')
  const savings: BudgetSavings = { inferences: 0, runs: 0, bytes: 0, cut: undefined }
  let turn: number | undefined
  let ran = new Set<string>()
  let isSpent = false
  let answers = 0
  let place = 0
  for (const [index, inference] of inferences.entries()) {
    if (inference.turn !== turn) {
      turn = inference.turn
      ran = new Set()
      isSpent = false
      answers = 0
    }
    // One inference after the budget writes the answer.
    if (isSpent && ++answers > 1) {
      savings.inferences++
      savings.bytes += inference.requestBytes
    }
    for (; calls[place]?.inference === index; place++) {
      const { signature } = calls[place] as TracedCall
      if (isSpent || ran.has(signature)) savings.runs++
      else ran.add(signature)
      isSpent ||= ran.size >= budget
      if (isSpent) savings.cut ??= place + 1
    }
  }
  return savings
}
