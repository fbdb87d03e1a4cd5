/** Tools of Mastra's `createTool`. Tested with `@mastra/core` 1. */
import { isObject } from '../../checks.js'
import { objectOf, shownHistory } from '../shown-history.js'
import type { ToolGuard } from '../tool-guard.js'
import { valueOf, withMembers, type AnyTool } from './framework.js'

interface Context {
  runId?: string
  abortSignal?: AbortSignal
  suspend?: Suspend
  agent?: { toolCallId?: string; messages?: unknown; suspend?: Suspend }
}

type Suspend = (...given: unknown[]) => unknown

export const isMastraTool = (tool: AnyTool): boolean =>
  typeof tool['id'] === 'string' && typeof tool['execute'] === 'function'

/** Guards a tool. A tool that always needs an approval gets `requireApproval`. */
export function guardMastraTool(guard: ToolGuard, name: string, tool: AnyTool): AnyTool {
  const execute = tool['execute'] as (input: unknown, context: object) => unknown
  const { always } = guard.mayAsk(name)
  return withMembers(tool, {
    async execute(input: unknown, context: Context = {}) {
      const { agent, abortSignal, runId } = context
      // The messages are those that the run began with: they lack its calls.
      const { turn, returned } = shownHistory(agent?.messages)
      const begun = await guard.begin({
        tool: name,
        args: objectOf(input),
        id: agent?.toolCallId,
        signal: abortSignal,
        // Without an approval, Mastra does not execute it.
        approved: always || undefined,
        run: runId,
        turn,
        returned,
      })
      if (!begun.starts) return valueOf(await begun.outcome)
      let isPaused = false
      const pausing = (suspend: Suspend | undefined) =>
        suspend && {
          suspend: (...given: unknown[]) => {
            isPaused = true
            return suspend(...given)
          },
        }
      const { signal, idempotencyKey } = begun.call.context
      const given = {
        ...context,
        abortSignal: signal,
        idempotencyKey,
        ...pausing(context.suspend),
        ...(isObject(agent) && { agent: { ...agent, ...pausing(agent.suspend as Suspend) } }),
      }
      const run = () => execute.call(tool, input, given)
      return valueOf(await begun.call.finish(run, () => isPaused))
    },
    ...(always && { requireApproval: true }),
  })
}
