/** Server and client tools of `@tanstack/ai`. Tested with 0.58. */
import { objectOf } from '../shown-history.js'
import type { ToolGuard } from '../tool-guard.js'
import { valueOf, withMembers, type AnyTool } from './framework.js'

interface Context {
  toolCallId?: string
  abortSignal?: AbortSignal
}

/** Guards a tool. A tool that always needs an approval gets `needsApproval`. */
export function guardTanStackTool(guard: ToolGuard, name: string, tool: AnyTool): AnyTool {
  const execute = tool['execute'] as (args: unknown, context: object) => unknown
  const { always } = guard.mayAsk(name)
  return withMembers(tool, {
    async execute(args: unknown, context: Context = {}) {
      const site = {
        tool: name,
        args: objectOf(args),
        id: context.toolCallId,
        run: undefined,
        turn: undefined,
        // Without an approval, TanStack AI does not execute it.
        approved: always || undefined,
        signal: context.abortSignal,
      }
      const outcome = await guard.perform(site, ({ signal, idempotencyKey }) =>
        execute.call(tool, args, { ...context, abortSignal: signal, idempotencyKey }),
      )
      return valueOf(outcome, tool['outputSchema'] !== undefined)
    },
    ...(always && { needsApproval: true }),
  })
}
