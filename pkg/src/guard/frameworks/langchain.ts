/** Structured tools of LangChain, for LangGraph too. Tested with `@langchain/core` 1 and `langchain` 1. */
import { isObject } from '../../checks.js'
import { objectOf, shownHistory } from '../shown-history.js'
import { isAsyncIterable, type ToolGuard } from '../tool-guard.js'
import { valueOf, withMembers, type AnyTool } from './framework.js'

interface Config {
  toolCall?: { id?: string }
  toolCallId?: string
  /** The state of the graph, which `ToolNode` shows to its tools. */
  state?: unknown
  signal?: AbortSignal
}

type Call = (args: unknown, runManager: unknown, config?: Config) => unknown

export const isLangChainTool = (tool: AnyTool): boolean =>
  typeof tool['_call'] === 'function' && typeof tool['invoke'] === 'function'

/** Guards a tool. LangChain's tools have no approval of their own, so `ask` blocks a call. */
export function guardLangChainTool(guard: ToolGuard, tool: AnyTool): AnyTool {
  const call = tool['_call'] as Call
  const hasArtifact = tool['responseFormat'] === 'content_and_artifact'
  return withMembers(tool, {
    async _call(args: unknown, runManager: unknown, config: Config = {}) {
      const state = config.state
      const begun = await guard.begin({
        tool: String(tool['name']),
        args: objectOf(args),
        id: config.toolCall?.id ?? (config.toolCallId || undefined),
        signal: config.signal,
        ...shownHistory(isObject(state) ? state['messages'] : state),
      })
      if (!begun.starts) {
        const outcome = await begun.outcome
        const value = valueOf(outcome)
        return hasArtifact && outcome.status !== 'ok' ? [value, undefined] : value
      }
      const running = begun.call
      const given = { ...config, ...running.context }
      let returned: unknown
      try {
        returned = await call.call(tool, args, runManager, given)
        // LangChain consumes generators itself.
        if (isAsyncIterable(returned)) return running.stream(returned)
      } catch (error) {
        returned = Promise.reject(error as Error)
      }
      return valueOf(await running.finish(() => returned))
    },
  })
}
