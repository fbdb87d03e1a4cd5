/** Tools of `@openai/agents`. Tested with 0.20. */
import { objectOf } from '../shown-history.js'
import type { ToolCallSite, ToolGuard } from '../tool-guard.js'
import { valueOf, withMembers, type AnyTool } from './framework.js'

interface RunContext {
  isToolApproved?(call: { toolName: string; callId: string }): boolean | undefined
}

interface Details {
  toolCall?: { callId?: string }
  signal?: AbortSignal
}

type Invoke = (context: RunContext, input: string, details?: Details) => Promise<unknown>

/** Whether a tool is that of `tool()`. Hosted tools have no `invoke`. */
export const isAgentsTool = (tool: AnyTool): boolean =>
  tool['type'] === 'function' &&
  typeof tool['name'] === 'string' &&
  typeof tool['invoke'] === 'function'

/** Guards a tool. `ask` becomes `needsApproval`. */
export function guardAgentsTool(guard: ToolGuard, tool: AnyTool): AnyTool {
  const { name, invoke, needsApproval } = tool as {
    name: string
    invoke: Invoke
    needsApproval?: (context: RunContext, input: unknown, callId?: string) => Promise<boolean>
  }
  const siteOf = (
    context: RunContext,
    input: unknown,
    callId: string | undefined,
    signal?: AbortSignal,
  ): ToolCallSite => ({
    tool: name,
    args: objectOf(input),
    id: callId,
    run: context,
    turn: undefined,
    approved:
      callId === undefined ? undefined : context.isToolApproved?.({ toolName: name, callId }),
    signal,
  })
  return withMembers(tool, {
    async invoke(context: RunContext, input: string, details?: Details) {
      const site = siteOf(context, input, details?.toolCall?.callId, details?.signal)
      const outcome = await guard.perform(site, (guarded) =>
        // A copy with the symbols of the SDK.
        invoke.call(tool, context, input, withMembers(details ?? {}, guarded)),
      )
      return valueOf(outcome, tool['outputSchema'] !== undefined)
    },
    ...(guard.mayAsk(name).ever && {
      async needsApproval(context: RunContext, input: unknown, callId?: string) {
        const own = await needsApproval?.call(tool, context, input, callId)
        return own === true || guard.asks(siteOf(context, input, callId))
      },
    }),
  })
}
