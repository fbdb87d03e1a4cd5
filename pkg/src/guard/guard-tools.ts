/** Guards the tools of other frameworks, and calls that a page runs itself. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { GuardToolsOptions } from '../generated/tools.js'
import type { GuardOutcome } from './outcome.js'
import { guardAiSdkTool } from './frameworks/ai-sdk.js'
import { guardAgentsTool, isAgentsTool } from './frameworks/openai-agents.js'
import { guardLangChainTool, isLangChainTool } from './frameworks/langchain.js'
import { guardMastraTool, isMastraTool } from './frameworks/mastra.js'
import { guardMcpClient, isMcpClient } from './frameworks/mcp.js'
import { guardTanStackTool } from './frameworks/tanstack.js'
import type { AnyTool } from './frameworks/framework.js'
import { objectOf } from './shown-history.js'
import { ToolGuard } from './tool-guard.js'

export type { GuardToolsOptions }

/**
 * Guards existing tools: each call is judged, starts at most once and has one recorded outcome. Takes
 * an object or a list of tools of the AI SDK, OpenAI Agents, LangChain or LangGraph, Mastra or
 * TanStack AI, or a connected MCP client, and returns the same: names, schemas and types do not
 * change. Tools without `execute` are returned as they are.
 *
 * A tool that `policy.tools` does not call `readOnly` runs once for each signature in the user's turn.
 * A repeat gets a notice in place of a result, or the recorded outcome if the model has not read it.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * const guarded = guardTools({ search, sendMail }, { policy: { tools: { search: { readOnly: true } } } })
 * await generateText({ model, tools: guarded, prompt })
 */
export function guardTools<Tools extends object>(
  tools: Tools,
  options: GuardToolsOptions = {},
): Tools {
  const guard = new ToolGuard(options)
  if (isMcpClient(tools)) return guardMcpClient(guard, tools)
  if (Array.isArray(tools)) {
    return tools.map((tool: unknown, at) => {
      const name = isObject(tool) ? tool['name'] : undefined
      return guardTool(guard, tool, typeof name === 'string' ? name : undefined, `tools[${at}]`)
    }) as unknown as Tools
  }
  if (!isObject(tools) || typeof tools['execute'] === 'function' || '_call' in tools) {
    throw wrong('tools', 'a list or an object of tools, or an MCP client')
  }
  const entries = Object.entries(tools)
  return Object.fromEntries(
    entries.map(([name, tool]) => [name, guardTool(guard, tool, name, `tools.${name}`)]),
  ) as Tools
}

function guardTool(guard: ToolGuard, tool: unknown, name: string | undefined, at: string): unknown {
  if (!isObject(tool)) throw wrong(at, 'a tool')
  const { name: ownName } = tool
  const given: AnyTool = tool
  if (isAgentsTool(given)) return guardAgentsTool(guard, given)
  if (isLangChainTool(given)) return guardLangChainTool(guard, given)
  if (typeof given.execute !== 'function' || name === undefined) return tool
  if (isMastraTool(given)) return guardMastraTool(guard, name, given)
  if (typeof ownName === 'string') return guardTanStackTool(guard, ownName, given)
  return guardAiSdkTool(guard, name, given)
}

/** A call that a page runs: what `onToolCall` of the AI SDK's `useChat` gets. */
export interface PageToolCall {
  toolCallId: string
  toolName: string
  input: unknown
}

/** Guards of pages, so that calls of one conversation are judged together. */
const pageGuards: {
  key: string
  store: unknown
  onTrace: unknown
  redact: unknown
  guard: ToolGuard
}[] = []
const MAX_GUARDS = 32

/**
 * Runs a call of a page once, however often its event fires: `onToolCall` of `useChat` fires again
 * when a stream is replayed. With a `store`, also after a reload and in another tab. `run` is called
 * with the arguments; it gets a signal and an idempotency key.
 *
 * Calls with different ids are compared if `turnId` names the user's message, or with
 * `policy.window: 'session'`. Otherwise each id is a call of its own.
 *
 * @returns the outcome: it never rejects for an error of `run`
 * @throws TurnlockError `options.invalid`
 * @example
 * onToolCall: async ({ toolCall }) => {
 *   const outcome = await guardToolCall(toolCall, (input) => locate(input), { store })
 *   if (outcome.status === 'ok') addToolOutput({ tool, toolCallId, output: outcome.result })
 * }
 */
export async function guardToolCall(
  call: PageToolCall,
  run: (input: any, context: { signal: AbortSignal; idempotencyKey: string }) => unknown,
  options: GuardToolsOptions = {},
): Promise<GuardOutcome> {
  const { toolCallId, toolName, input } = Object(call) as PageToolCall
  for (const [name, value] of Object.entries({ toolCallId, toolName })) {
    if (typeof value !== 'string') throw wrong(`call.${name}`, 'a string')
  }
  if (typeof run !== 'function') throw wrong('run', 'a function')
  const guard = pageGuard(options)
  const site = { tool: toolName, args: objectOf(input), id: toolCallId, run: undefined }
  return guard.perform({ ...site, turn: undefined }, (context) => run(input, context))
}

function pageGuard(options: GuardToolsOptions): ToolGuard {
  const { store, onTrace, redact, ...others } = Object(options) as GuardToolsOptions
  // Functions of the policy count by their text.
  const key = JSON.stringify(others, (_, value: unknown) =>
    typeof value === 'function' ? String(value) : value,
  )
  const found = pageGuards.find(
    (one) =>
      one.key === key && one.store === store && one.onTrace === onTrace && one.redact === redact,
  )
  if (found) return found.guard
  const guard = new ToolGuard(options, true)
  pageGuards.push({ key, store, onTrace, redact, guard })
  if (pageGuards.length > MAX_GUARDS) pageGuards.shift()
  return guard
}
