/** A result of a tool as a message of a history, as in the results of a turn. */
import type { TurnMessage } from '../generated/turn.js'
import type { ToolResult } from '../types.js'

export function resultMessage(result: ToolResult): TurnMessage {
  const { toolCallId, name, status, error } = result
  const value = result.result === undefined ? (error?.message ?? '') : result.result
  const content = typeof value === 'string' ? value : JSON.stringify(value)
  return {
    role: 'tool',
    content: content.trim() ? content : '(empty)',
    toolCallId,
    name,
    ...(status !== 'ok' && { isError: true as const }),
  }
}
