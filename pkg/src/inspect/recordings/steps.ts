/**
 * Steps of `generateText` and `streamText` of the AI SDK: a result with `steps`, the list alone, or
 * a line for each `onStepFinish`.
 *
 * Source: `StepResult` in github.com/vercel/ai, packages/ai/src/generate-text/step-result.ts
 * (versions 4 to 7, read 2026-11-30). Version 4 has `args` and `result`, later ones `input` and
 * `output`. The messages of a response are those of all steps so far (version 5), or its own.
 */
import { isObject } from '../../checks.js'
import { listOf, tryJson, type JsonObject, type Reader } from './recording.js'

const isStep = (value: unknown): value is JsonObject =>
  isObject(value) &&
  typeof value['finishReason'] === 'string' &&
  (Array.isArray(value['content']) || Array.isArray(value['toolCalls']))

export const readSteps: Reader = (records) => {
  const [first] = records
  const whole = records.length === 1 && Array.isArray(first?.['steps']) ? first : undefined
  const steps = whole ? (whole['steps'] as unknown[]) : records
  if (!steps.length || !steps.every(isStep)) return undefined
  const responses = steps.map(({ response }) => listOf(response?.messages).filter(isObject))
  return {
    format: 'AI SDK steps',
    history: [
      ...promptOf(steps[0] as JsonObject),
      ...(responses.every(({ length }) => length > 0)
        ? joinLists(responses)
        : steps.flatMap(messagesOf)),
    ],
  }
}

/** The messages of the first request, if the step has them. */
function promptOf({ request }: JsonObject): JsonObject[] {
  const { messages, body } = isObject(request) ? request : ({} as JsonObject)
  const requestBody = typeof body === 'string' ? tryJson(body) : body
  const {
    messages: bodyMessages,
    input,
    contents,
  } = isObject(requestBody) ? requestBody : ({} as JsonObject)
  const lists = [messages, bodyMessages, input, contents].filter(Array.isArray)
  return (lists[0] ?? []).filter(isObject)
}

function joinLists(lists: readonly JsonObject[][]): JsonObject[] {
  const starts = (list: readonly JsonObject[], start: readonly JsonObject[]) =>
    list.length >= start.length &&
    JSON.stringify(list.slice(0, start.length)) === JSON.stringify(start)
  const isGrowing = lists.every((list, at) => at === 0 || starts(list, lists[at - 1] ?? []))
  return isGrowing ? (lists.at(-1) ?? []) : lists.flat()
}

/** The messages of a step without them, from its content. */
function messagesOf(step: JsonObject): JsonObject[] {
  const { text, toolCalls, toolResults } = step
  const parts: JsonObject[] = (
    Array.isArray(step['content'])
      ? step['content']
      : [
          ...(text ? [{ type: 'text', text }] : []),
          ...listOf(toolCalls).map((call) => ({ ...call, type: 'tool-call' })),
          ...listOf(toolResults).map((result) => ({ ...result, type: 'tool-result' })),
        ]
  ).filter(isObject)
  const answerParts = parts.filter(({ type }) => ['text', 'reasoning', 'tool-call'].includes(type))
  const results = parts.filter(({ type }) => ['tool-result', 'tool-error'].includes(type))
  const content = answerParts.map(({ type, text, toolCallId, toolName, input, args }) =>
    type === 'tool-call'
      ? { type, toolCallId, toolName, input: input ?? args ?? {} }
      : { type, text },
  )
  return [
    ...(content.length ? [{ role: 'assistant', content }] : []),
    ...(results.length ? [{ role: 'tool', content: results.map(resultOf) }] : []),
  ]
}

function resultOf({ type, toolCallId, toolName, output, result, error }: JsonObject): JsonObject {
  const value = output ?? result ?? null
  const failed = {
    type: 'error-text',
    value: typeof error === 'string' ? error : String(error?.message ?? JSON.stringify(error)),
  }
  return {
    type: 'tool-result',
    toolCallId,
    toolName,
    output: type === 'tool-error' ? failed : { type: 'json', value },
  }
}
