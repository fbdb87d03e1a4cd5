/**
 * The calls that a page runs for a turn of a handler. Loaded when there is one, so it imports
 * nothing: what it shares would be loaded apart from the rest by every page.
 */
import type { CallOutcome } from '../turn/resume.js'
import type { Tool } from '../tools/tools.js'
import type { ToolCall } from '../types.js'
import type { RemoteTurn } from './turn.js'
import type { PausedTurn, RemoteTurns } from './turns.js'
import type { Wire } from './wire.js'

export async function answer(
  turns: RemoteTurns,
  wire: Wire,
  { resume, calls = [] }: PausedTurn,
  tools: Record<string, Tool> = {},
  describe: (error: unknown) => string,
  signal?: AbortSignal,
): Promise<RemoteTurn | undefined> {
  // Calls of tools that this page does not have are another one's.
  const clientCalls = calls.filter(({ name }) => Object.hasOwn(tools, name))
  if (!clientCalls.length) return undefined
  const toolCallIds = clientCalls.map(({ id }) => id)
  // The same behind a lost response: then it grants the same once more.
  const body = { ...resume, toolCallIds, claimant: crypto.randomUUID() }
  const { granted } = await claimed(wire, body)
  const mine = clientCalls.filter(({ id }) => granted.includes(id))
  if (!mine.length) return undefined
  const run = (call: ToolCall) =>
    outcomeOf(call, tools[call.name] as Tool, resume, describe, signal)
  return turns.resume({ ...resume, outcomes: await Promise.all(mine.map(run)) })
}

async function claimed(wire: Wire, body: object): Promise<{ granted: string[] }> {
  try {
    return (await wire.ask('/claim', body, wire.maxRetries)) as unknown as { granted: string[] }
  } catch (error) {
    // Another page has answered before this one asked.
    if ((error as { code?: string }).code === 'turn.conflict') return { granted: [] }
    throw error
  }
}

/** Runs a call. What cannot be sent, or was thrown, is its error. */
async function outcomeOf(
  { id: toolCallId, args, signature }: ToolCall,
  tool: Tool,
  { requestId, toolBatchId }: PausedTurn['resume'],
  describe: (error: unknown) => string,
  signal: AbortSignal | undefined,
): Promise<CallOutcome> {
  const controller = new AbortController()
  const stop = () => controller.abort()
  signal?.addEventListener('abort', stop)
  const late = tool.timeoutMs && setTimeout(() => controller.abort(), tool.timeoutMs)
  try {
    if (signal?.aborted) throw new Error('the page has stopped it')
    const checked = await tool.validate(args)
    if (!checked.valid)
      throw new Error(`the page's tool does not take the arguments: ${checked.errors}`)
    const ran = tool.execute(checked.args, {
      requestId,
      toolBatchId,
      toolCallId,
      signal: controller.signal,
      projectId: null,
      idempotencyKey: `${requestId}/${toolCallId}/${signature}`,
      report() {},
      reportUsage() {},
    })
    const timeout = new Promise<never>((_, reject) => {
      const rejectLate = () =>
        reject(new Error(signal?.aborted ? 'the page has stopped it' : 'the tool took too long'))
      controller.signal.addEventListener('abort', rejectLate)
      if (controller.signal.aborted) rejectLate()
    })
    const result = (await Promise.race([ran, timeout])) ?? null
    const text = JSON.stringify(result) as string | undefined
    if (text === undefined) throw new Error('the result has no JSON form')
    return { toolCallId, result: JSON.parse(text) as unknown }
  } catch (error) {
    return { toolCallId, error: { message: describe(error) } }
  } finally {
    clearTimeout(late || undefined)
    signal?.removeEventListener('abort', stop)
  }
}
