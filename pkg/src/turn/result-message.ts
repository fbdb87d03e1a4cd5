/** A result of a tool as a message of a history, as in the results of a turn. */
import type { TurnMessage } from '../generated/turn.js'
import { isObject } from '../checks.js'
import type { ToolContentPart } from '../tools/content.js'
import type { ToolResult } from '../types.js'

export function resultMessage(result: ToolResult): TurnMessage {
  const { toolCallId, name, status, error } = result
  const value = result.result === undefined ? (error?.message ?? '') : result.result
  const parts = partsOf(value)
  const content =
    parts
      ?.map((part) => (part.type === 'text' ? part.text : `[${part.type}: ${part.mediaType}]`))
      .join('\n') ?? (typeof value === 'string' ? value : JSON.stringify(value))
  return {
    role: 'tool',
    content: content.trim() ? content : '(empty)',
    ...(parts && { parts }),
    toolCallId,
    name,
    ...(status !== 'ok' && { isError: true as const }),
  }
}

/** The parts of content with an image or a file. The core reads which of them are valid. */
function partsOf(value: unknown): ToolContentPart[] | undefined {
  if (!isObject(value) || Object.keys(value).length !== 1) return undefined
  const parts = value['content']
  const hasType = (part: unknown) => isObject(part) && typeof part['type'] === 'string'
  const isMedia = (part: unknown) => isObject(part) && typeof part['mediaType'] === 'string'
  if (!Array.isArray(parts) || !parts.every(hasType) || !parts.some(isMedia)) return undefined
  return parts as ToolContentPart[]
}
