/** Histories as the AI SDK gives them to a language model: their repair, and what ran in them. */
import { isObject } from '../../checks.js'
import { callSignature } from '../../guard/machine.js'

/** A part of a message, as far as it is looked at. */
export interface Part {
  type: string
  toolCallId?: string
  toolName?: string
  input?: unknown
  providerExecuted?: boolean | undefined
}

/** A message of a prompt. */
export interface Message {
  role: string
  content: unknown
}

/** One change to a history; the codes are those of `normalizeHistory`. */
export interface PromptRepair {
  code:
    'TOOL_RESULT_ORPHAN' | 'TOOL_RESULT_DUPLICATE' | 'TOOL_RESULT_MOVED' | 'TOOL_CALL_UNANSWERED'
  toolCallId: string
}

const INTERRUPTED = 'This call was interrupted; it is not known whether it ran.'

const partsOf = ({ content }: Message): Part[] =>
  Array.isArray(content) ? content.filter((part): part is Part => isObject(part)) : []

/** Calls that the host runs. The provider answers its own ones itself. */
const callsOf = (message: Message): Part[] =>
  message.role === 'assistant'
    ? partsOf(message).filter(
        ({ type, providerExecuted }) => type === 'tool-call' && !providerExecuted,
      )
    : []

/** The result of a call, as a part of a message of the role `tool`. */
export const resultPart = ({ toolCallId, toolName }: Part, value: string) => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output: { type: 'error-text', value },
})

/**
 * The prompt with one result behind each call. Nothing else changes, and a prompt that needs no
 * repair is returned as it is, so that the provider's cache stays valid.
 */
export function repairPrompt<M extends Message>(
  prompt: readonly M[],
): { prompt: M[]; repairs: PromptRepair[] } {
  const repairs: PromptRepair[] = []
  const results = resultsByCall(prompt)
  const used = new Set<Part>()
  const made: M[] = []
  for (const [at, message] of prompt.entries()) {
    if (message.role === 'tool') {
      // Decisions on approvals, and results of calls that the provider ran.
      const others = partsOf(message).filter((part) => !isOwn(part, results))
      if (others.length > 0) made.push({ ...message, content: others })
      continue
    }
    made.push(message)
    const calls = callsOf(message)
    if (calls.length === 0) continue
    const near = new Set<Part>()
    for (let next = at + 1; prompt[next]?.role === 'tool'; next++) {
      for (const part of partsOf(prompt[next] as M)) near.add(part)
    }
    const answers = calls.map((call): unknown => {
      const { toolCallId = '' } = call
      const callResults = results.byCall.get(toolCallId)
      // What stands before this call is of no later one either.
      while (callResults && (callResults.all[callResults.next]?.place ?? Infinity) <= at)
        callResults.next++
      const found = callResults?.all[callResults.next]
      if (!callResults || !found) {
        repairs.push({ code: 'TOOL_CALL_UNANSWERED', toolCallId })
        return resultPart(call, INTERRUPTED)
      }
      callResults.next++
      used.add(found.part)
      if (!near.has(found.part)) repairs.push({ code: 'TOOL_RESULT_MOVED', toolCallId })
      return found.part
    })
    made.push({ role: 'tool', content: answers } as unknown as M)
  }
  for (const [toolCallId, { all }] of results.byCall) {
    const lost = all.filter(({ part }) => !used.has(part))
    const code = lost.length < all.length ? 'TOOL_RESULT_DUPLICATE' : 'TOOL_RESULT_ORPHAN'
    for (const _ of lost) repairs.push({ code, toolCallId })
  }
  return repairs.length > 0 ? { prompt: made, repairs } : { prompt: [...prompt], repairs }
}

/** Results by the id of their call; `next`: the first that may answer a call. */
interface Results {
  byCall: Map<string, { all: { part: Part; place: number }[]; next: number }>
  /** Ids of calls that the provider ran. */
  theirs: Set<string>
}

/** Whether a part is the result of a call of the host. */
const isOwn = ({ type, toolCallId = '' }: Part, { theirs }: Results) =>
  type === 'tool-result' && !theirs.has(toolCallId)

function resultsByCall(prompt: readonly Message[]): Results {
  const provided = prompt.flatMap((message) =>
    message.role === 'assistant'
      ? partsOf(message).filter(
          ({ type, providerExecuted }) => type === 'tool-call' && providerExecuted,
        )
      : [],
  )
  const results: Results = {
    byCall: new Map(),
    theirs: new Set(provided.map(({ toolCallId = '' }) => toolCallId)),
  }
  for (const [place, message] of prompt.entries()) {
    if (message.role !== 'tool') continue
    for (const part of partsOf(message)) {
      if (!isOwn(part, results)) continue
      const { toolCallId = '' } = part
      const callResults = results.byCall.get(toolCallId) ?? { all: [], next: 0 }
      callResults.all.push({ part, place })
      results.byCall.set(toolCallId, callResults)
    }
  }
  return results
}

/** The calls behind the user's last message, in order, and what names that message. */
export function turnOf(prompt: readonly Message[]): { calls: Part[]; asked: string } {
  const last = prompt.findLastIndex(({ role }) => role === 'user')
  const content = prompt[last]?.content
  const texts = (Array.isArray(content) ? content : [{ text: content }]) as { text?: unknown }[]
  const text = texts.map((part) => String(part?.text ?? '')).join('\n')
  return {
    calls: prompt.slice(last + 1).flatMap(callsOf),
    asked: `${last} ${text.length} ${text.slice(0, 256)}`,
  }
}

/** The signature of a call; `undefined` if its arguments are no JSON. */
export function signatureOf({ toolName = '', input }: Part): string | undefined {
  try {
    // The arguments are a text in what a model says, and a value in a history.
    return callSignature({ tool: toolName, args: input === '' ? {} : (input ?? {}) })
  } catch {
    return undefined
  }
}
