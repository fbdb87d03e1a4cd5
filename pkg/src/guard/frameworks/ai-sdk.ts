/** Tools of the AI SDK. Tested with `ai` 6 and 7. */
import { approvalOf, objectOf, shownHistory } from '../shown-history.js'
import { isAsyncIterable, type Begun, type ToolCallSite, type ToolGuard } from '../tool-guard.js'
import { valueOf, withMembers, type AnyTool } from './framework.js'

interface Options {
  toolCallId?: string
  messages?: unknown
  abortSignal?: AbortSignal
}

/** Guards a tool. `ask` becomes `needsApproval`. */
export function guardAiSdkTool(guard: ToolGuard, name: string, tool: AnyTool): AnyTool {
  const execute = tool['execute'] as (input: unknown, options: object) => unknown
  const needsApproval: unknown = tool['needsApproval']
  const isTyped = tool['outputSchema'] !== undefined || tool['toModelOutput'] !== undefined
  const siteOf = (input: unknown, options: Options = {}): ToolCallSite => ({
    tool: name,
    args: objectOf(input),
    id: options.toolCallId,
    approved: approvalOf(options.messages, options.toolCallId),
    signal: options.abortSignal,
    ...shownHistory(options.messages),
  })
  const valueOfBegun = (begun: Begun, input: unknown, options: Options | undefined): unknown => {
    if (!begun.starts) {
      return Promise.resolve(begun.outcome).then((outcome) => valueOf(outcome, isTyped))
    }
    const { call } = begun
    const { signal, idempotencyKey } = call.context
    const given = { ...options, abortSignal: signal, idempotencyKey }
    let returned: unknown
    const run = () => returned
    try {
      returned = execute.call(tool, input, given)
      if (isAsyncIterable(returned)) return call.stream(returned)
    } catch (error) {
      returned = Promise.reject(error as Error)
    }
    return call.finish(run).then((outcome) => valueOf(outcome, isTyped))
  }
  const streams = Object.prototype.toString.call(execute) === '[object AsyncGeneratorFunction]'
  return withMembers(tool, {
    execute(input: unknown, options?: Options) {
      const begun = guard.begin(siteOf(input, options))
      // The AI SDK looks at once whether a result is iterable.
      if (!(begun instanceof Promise)) return valueOfBegun(begun, input, options)
      if (streams) return later(begun.then((begun) => valueOfBegun(begun, input, options)))
      return begun.then(async (begun) => last(await valueOfBegun(begun, input, options)))
    },
    ...(guard.mayAsk(name).ever && {
      async needsApproval(input: unknown, options?: Options) {
        const own: unknown =
          typeof needsApproval === 'function'
            ? await (needsApproval as typeof execute).call(tool, input, options ?? {})
            : needsApproval
        return own === true || guard.asks(siteOf(input, options))
      },
    }),
  })
}

/** The values of a result that is not there yet. */
async function* later(result: Promise<unknown>): AsyncGenerator<unknown, void, undefined> {
  const value = await result
  if (isAsyncIterable(value)) yield* value
  else yield value
}

/** The last value of a tool that streams although it is no generator function. */
async function last(value: unknown): Promise<unknown> {
  if (!isAsyncIterable(value)) return value
  let result: unknown
  for await (const each of value) result = each
  return result
}
