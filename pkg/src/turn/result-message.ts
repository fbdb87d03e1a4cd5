/** Calls and results as a history has them, as in the results of a turn. */
import type { TurnMessage } from '../generated/turn.js'
import type { ToolResult } from '../types.js'

/** Whether a result only says that its call did not run; one that was dropped is another thing. */
export const isRefused = ({ status, revised }: ToolResult): boolean =>
  !revised && (status === 'blocked' || status === 'skipped')

/** A result as a message. */
export function resultMessage(result: ToolResult): TurnMessage {
  const { toolCallId, name, status, error } = result
  const value = result.result === undefined ? (error?.message ?? '') : result.result
  const content = typeof value === 'string' ? value : JSON.stringify(value)
  return {
    ...{ role: 'tool', content: content.trim() ? content : '(empty)', toolCallId, name },
    ...(status !== 'ok' && { isError: true as const }),
  }
}
