/**
 * Sessions of opencode: what `opencode export` writes, and lists of its messages with their parts.
 *
 * Source: `WithParts` and `toModelMessages` in github.com/anomalyco/opencode,
 * packages/opencode/src/session/message-v2.ts and cli/cmd/export.ts (2026-11, read 2026-11-30).
 * opencode sends its messages through the AI SDK; so the history has that form.
 */
import { isObject } from '../../checks.js'
import { listOf, type JsonObject, type Reader } from './recording.js'

const isMessage = (value: unknown): value is JsonObject =>
  isObject(value) &&
  isObject(value['info']) &&
  typeof value['info']['role'] === 'string' &&
  Array.isArray(value['parts'])

export const readOpencode: Reader = (records) => {
  const [first] = records
  const list = records.length === 1 && Array.isArray(first?.['messages']) ? first : undefined
  const messages = list ? (list['messages'] as unknown[]) : records
  if (!messages.length || !messages.every(isMessage)) return undefined
  return { format: 'opencode session', history: sinceCompaction(messages).flatMap(messageOf) }
}

/** A finished summary replaces what stands before its request, but for a tail that it names. */
function sinceCompaction(messages: readonly JsonObject[]): readonly JsonObject[] {
  const parents = messages.flatMap(({ info }) =>
    info.role === 'assistant' && info.summary && info.finish && !info.error ? [info.parentID] : [],
  )
  const at = messages.findLastIndex(
    ({ info, parts }) =>
      parents.includes(info.id) &&
      parts.some((part: JsonObject) => part?.['type'] === 'compaction'),
  )
  if (at < 0) return messages
  const part = messages[at]?.['parts'].find((one: JsonObject) => one?.['type'] === 'compaction')
  const tail = messages.findIndex(({ info }) => info.id === part.tail_start_id)
  return messages.slice(tail < 0 ? at : Math.min(tail, at))
}

function messageOf({ info, parts }: JsonObject): JsonObject[] {
  const { id, role } = info
  const made = listOf(parts).filter(isObject).flatMap(partOf)
  const isEmpty = made.every(({ type }) => type === 'step-start')
  // A response that failed is not sent again, unless it was stopped after it had said something.
  const isLost = info.error && info.error.name !== 'MessageAbortedError'
  return isEmpty || isLost ? [] : [{ id, role, parts: made }]
}

/** A part as the AI SDK has it; parts that are not sent are left out. */
function partOf(part: JsonObject): JsonObject[] {
  const { type, text, mime, url, filename } = part
  switch (type) {
    case 'text':
      return part['ignored'] ? [] : [{ type, text }]
    case 'reasoning':
      return [{ type, text }]
    case 'step-start':
      return [{ type }]
    case 'file':
      return /^text\/plain$|directory$/.test(mime)
        ? []
        : [{ type, mediaType: mime, url, ...(filename && { filename }) }]
    case 'tool':
      return [toolOf(part)]
    default:
      return []
  }
}

function toolOf({ tool, callID, state }: JsonObject): JsonObject {
  const { status, input, output, error, time } = isObject(state) ? state : ({} as JsonObject)
  const call = { type: 'dynamic-tool', toolName: tool, toolCallId: callID, input: input ?? {} }
  if (status === 'completed') {
    const cleared = time?.compacted ? '[Old tool result content cleared]' : output
    return { ...call, state: 'output-available', output: cleared }
  }
  if (status === 'error') return { ...call, state: 'output-error', errorText: String(error) }
  return { ...call, state: 'input-available' }
}
