/** Replays a trace through Turnlock, with the recorded model output and tool results. */
import { wrong } from '../errors.js'
import { customModel } from '../models/custom.js'
import type { ModelRequest } from '../models/model.js'
import { signature } from '../signature.js'
import { defineTool, type Tool } from '../tools/tools.js'
import { runTurn, type Turn } from '../turn/turn.js'
import type { Delta, Policy } from '../types.js'
import { toTrace, type CallTrace, type ChatMessage, type Traceable } from './loops.js'

/** A replay in progress. */
export interface Replay {
  turn: Turn
  /** The messages before the replayed user turn's first inference. */
  messages: ChatMessage[]
  /** Declarations of the tools, by name. */
  tools: { name: string; description: string; inputSchema: object; readOnly: boolean }[]
  /** The deltas of each inference so far. */
  deltas: Delta[][]
}

const RECORDED = {
  description: 'Returns what it returned in the trace.',
  inputSchema: { type: 'object' },
  readOnly: true,
}

/**
 * Runs the last user turn of the trace that has a call again, in two stages and with this policy.
 * No model is requested and no tool runs: the model writes what it wrote, and tools return what they
 * returned.
 *
 * @param source a trace of `traceCalls` or `recognizeFormat`, or a history, with at least one call
 * @throws TurnlockError `options.invalid` for a trace without calls
 */
export function replay(source: Traceable, policy: Policy = {}): Replay {
  const trace = toTrace(source)
  const last = trace.calls.at(-1)
  if (!last) throw wrong('trace', 'a trace with a call')
  const inferences = trace.inferences.filter(({ turn }) => turn === last.turn)
  const calls = trace.calls.filter(({ turn }) => turn === last.turn)
  const first = inferences[0] as (typeof inferences)[0]
  const messages = trace.messages.slice(0, trace.messages.indexOf(first.message))
  const recorded = inferences.map(({ message }) => message)
  const deltas: Delta[][] = []
  const responses = recordedResponses(recorded)
  const model = customModel(async function* (request: ModelRequest) {
    const response: Delta[] = []
    deltas.push(response)
    for (const delta of responses(request)) {
      response.push(delta)
      yield delta
    }
  })
  const tools = recordedTools(calls)
  const turn = runTurn({ model, tools, messages, policy })
  const declared = Object.keys(tools).map((name) => ({ name, ...RECORDED }))
  return { turn, messages, tools: declared, deltas }
}

/** Returns the recorded responses in order, and the answer once no call may be made. */
function recordedResponses(recorded: readonly ChatMessage[]) {
  const answer = recorded.findLast((message) => !message.tool_calls)?.content
  let next = 0
  return function* (request: ModelRequest): Generator<Delta> {
    const { tools, tool_choice: choice } = request as unknown as Record<string, unknown>
    const message = recorded[next++]
    const mayCall = Array.isArray(tools) && tools.length > 0 && choice !== 'none'
    if (!mayCall || !message?.tool_calls) {
      const text = answer || 'The trace has no answer; here the model would write it.'
      yield { type: 'text', text: String(text) }
      return
    }
    if (message.content) yield { type: 'text', text: String(message.content) }
    for (const [index, { id, function: call }] of message.tool_calls.entries()) {
      yield { type: 'tool_call_start', index, id, name: call.name }
      yield { type: 'tool_call_arguments', index, text: call.arguments }
      yield { type: 'tool_call_end', index }
    }
  }
}

/** Returns tools that return what they returned in the trace. */
function recordedTools(calls: CallTrace['calls']): Record<string, Tool> {
  const results = new Map<string, unknown>()
  for (const { signature: key, result } of calls) results.set(key, result ?? results.get(key))
  const tools: Record<string, Tool> = Object.create(null)
  for (const { name } of calls) {
    tools[name] ??= defineTool({
      ...RECORDED,
      execute(args: unknown) {
        const key = signature({ tool: name, args })
        const result = results.get(key)
        if (result !== undefined || !results.has(key)) return result ?? null
        throw new Error('the trace has no result of this call')
      },
    })
  }
  return tools
}
