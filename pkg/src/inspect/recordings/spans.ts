/**
 * Spans and events of OpenTelemetry about models: OTLP as JSON, and what exporters of the console
 * print. The longest conversation in them is the recording.
 *
 * Sources, read 2026-11-30: `gen_ai.input.messages`, `gen_ai.output.messages` and
 * `gen_ai.system_instructions` of the GenAI semantic conventions
 * (github.com/open-telemetry/semantic-conventions-genai, v0.1.0); the events `gen_ai.*.message` and
 * `gen_ai.choice` before version 1.37; `gen_ai.prompt.N.*` of OpenLLMetry;
 * `llm.input_messages.N.message.*` of OpenInference; `ai.prompt.messages` of the AI SDK.
 */
import { isObject } from '../../checks.js'
import { listOf, tryJson, type JsonObject, type Reader } from './recording.js'

/** Nesting up to which spans are looked for. */
const DEPTH = 40

export const readSpans: Reader = (records) => {
  let longest: JsonObject[] = []
  const events: JsonObject[] = []
  const visit = (value: unknown, depth: number): void => {
    if (depth > DEPTH || typeof value !== 'object' || value === null) return
    if (isObject(value)) {
      const { attributes, tags, events: spanEvents } = value
      const conversation = conversationOf(attributesOf(attributes ?? tags))
      const legacy = listOf(spanEvents).flatMap(eventOf)
      for (const list of [conversation, legacy]) {
        if (list.length > longest.length) longest = list
      }
      if (!Array.isArray(spanEvents)) events.push(...eventOf(value))
    }
    for (const inner of Object.values(value)) visit(inner, depth + 1)
  }
  visit(records, 0)
  const history = longest.length ? longest : events
  if (!history.length) return undefined
  return { format: 'OpenTelemetry GenAI spans', history: withIds(history) }
}

/** A value of OTLP: `{ stringValue }`, `{ arrayValue: { values } }` and the like. */
function plain(value: unknown): unknown {
  if (!isObject(value)) return value
  const { arrayValue: list, kvlistValue: map } = value as JsonObject
  if (isObject(list)) return listOf(list['values']).map(plain)
  if (isObject(map)) return attributesOf(map['values'])
  const kinds = ['stringValue', 'intValue', 'doubleValue', 'boolValue']
  const kind = kinds.find((name) => name in value)
  return kind ? value[kind] : value
}

function attributesOf(value: unknown): JsonObject {
  if (!Array.isArray(value)) return isObject(value) ? value : {}
  const rows = value.filter((row) => isObject(row) && typeof row['key'] === 'string')
  return Object.fromEntries(rows.map(({ key, value }) => [key, plain(value)]))
}

/** Spans have lists as JSON texts, events as values. */
const listAt = (attributes: JsonObject, name: string): JsonObject[] => {
  const value = attributes[name]
  return listOf(tryJson(value) ?? value).filter(isObject)
}

function conversationOf(attributes: JsonObject): JsonObject[] {
  const input = listAt(attributes, 'gen_ai.input.messages')
  if (input.length) {
    const system = listAt(attributes, 'gen_ai.system_instructions')
    const messages = [...input, ...listAt(attributes, 'gen_ai.output.messages')]
    return [...(system.length ? [{ role: 'system', parts: system }] : []), ...messages].flatMap(
      messagesOf,
    )
  }
  const prompt = listAt(attributes, 'ai.prompt.messages')
  if (prompt.length) return [...prompt, ...answerOf(attributes)]
  const indexed = [
    ...indexedAt(attributes, 'gen_ai.prompt.'),
    ...indexedAt(attributes, 'gen_ai.completion.'),
    ...indexedAt(attributes, 'llm.input_messages.'),
    ...indexedAt(attributes, 'llm.output_messages.'),
  ]
  return indexed.flatMap(chatMessage)
}

/** The AI SDK's answer. */
function answerOf(attributes: JsonObject): JsonObject[] {
  const text = attributes['ai.response.text']
  const calls = listAt(attributes, 'ai.response.toolCalls')
  const content = [
    ...(text ? [{ type: 'text', text }] : []),
    ...calls.map(({ toolCallId, toolName, input, args }) =>
      callPart(toolCallId, toolName, input ?? args),
    ),
  ]
  return content.length ? [{ role: 'assistant', content }] : []
}

/** `prefix.0.role`, `prefix.0.tool_calls.1.name` … as objects and lists. */
function indexedAt(attributes: JsonObject, prefix: string): JsonObject[] {
  const root: JsonObject = Object.create(null)
  for (const [name, value] of Object.entries(attributes)) {
    if (!name.startsWith(prefix)) continue
    const steps = name.slice(prefix.length).split('.')
    let at = root
    for (const step of steps.slice(0, -1)) {
      at[step] = isObject(at[step]) ? at[step] : Object.create(null)
      at = at[step]
    }
    at[steps.at(-1) as string] = value
  }
  return inOrder(root).map(({ message, ...own }) => (isObject(message) ? message : own))
}

/** Members whose names are numbers, in their order. */
const inOrder = (value: unknown): JsonObject[] =>
  isObject(value)
    ? Object.keys(value)
        .filter((name) => /^\d+$/.test(name))
        .sort((a, b) => Number(a) - Number(b))
        .map((name) => value[name])
        .filter(isObject)
    : []

/** An event about one message, of conventions before 1.37. */
function eventOf(event: unknown): JsonObject[] {
  if (!isObject(event)) return []
  const { name, eventName, event_name: snake, body, attributes } = event as JsonObject
  const members = attributesOf(attributes)
  const label = String(name ?? eventName ?? snake ?? members['event.name'])
  const role = /^gen_ai\.(system|user|assistant|tool)\.message$/.exec(label)?.[1]
  if (!role && label !== 'gen_ai.choice') return []
  const json = tryJson(members['gen_ai.event.content'])
  const payload = [plain(body), json, members].find(isObject) ?? {}
  const { message } = payload
  const inner = isObject(message) ? message : (tryJson(message) ?? payload)
  return chatMessage({ role: role ?? 'assistant', ...(inner as JsonObject) })
}

/** A message like those of Chat Completions, whose calls may be flat. */
function chatMessage(message: JsonObject): JsonObject[] {
  const { role, tool_call_id: toolCallId, id, tool_calls: calls, contents } = message
  const text =
    message['content'] ?? inOrder(contents).map(({ message_content: part }) => part?.text)
  const content = listOf(tryJson(text) ?? text)
    .map((part) => (isObject(part) ? (part['text'] ?? part['content']) : part))
    .filter((part) => part !== undefined && part !== null && part !== '')
    .map((part) => ({ type: 'text', text: typeof part === 'string' ? part : JSON.stringify(part) }))
  if (role === 'tool') {
    const value = content.map(({ text }) => text).join('\n')
    return [{ role, content: [resultPart(toolCallId ?? id, message['name'], value)] }]
  }
  const listed = Array.isArray(calls) ? calls.filter(isObject) : inOrder(calls)
  const callParts = listed.map((call) => {
    const details = isObject(call['tool_call']) ? call['tool_call'] : call
    const { name, arguments: args } = isObject(details['function']) ? details['function'] : details
    return callPart(details['id'], name, tryJson(args) ?? args)
  })
  if (typeof role !== 'string' || !(content.length || callParts.length)) return []
  return [chat(role, [...content, ...callParts])]
}

/** A message of the AI SDK; a system message has a text. */
const chat = (role: string, content: JsonObject[]): JsonObject =>
  role === 'system'
    ? { role, content: content.map(({ text }) => text).join('\n') }
    : { role, content }

const callPart = (toolCallId: unknown, toolName: unknown, input: unknown) => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: input ?? {},
})

const resultPart = (toolCallId: unknown, toolName: unknown, value: unknown) => ({
  type: 'tool-result',
  toolCallId,
  toolName,
  output:
    typeof value === 'string' ? { type: 'text', value } : { type: 'json', value: value ?? null },
})

/** A message of the conventions, whose parts may be calls and results at once. */
function messagesOf({ role, parts, content }: JsonObject): JsonObject[] {
  if (!Array.isArray(parts)) return chatMessage({ role, content })
  const answer: JsonObject[] = []
  const results: JsonObject[] = []
  for (const part of parts.filter(isObject)) {
    const { type, id, name, content, arguments: args, response, result } = part
    if (type === 'text') answer.push({ type, text: String(content ?? '') })
    if (type === 'reasoning' || type === 'thinking') {
      answer.push({ type: 'reasoning', text: String(content ?? '') })
    }
    if (type === 'tool_call') answer.push(callPart(id, name, tryJson(args) ?? args))
    if (type === 'tool_call_response') results.push(resultPart(id, name, response ?? result))
    if (type === 'uri' || type === 'blob') answer.push(mediaOf(part))
  }
  return [
    ...(results.length ? [{ role: 'tool', content: results }] : []),
    ...(answer.length && role !== 'tool' ? [chat(String(role), answer)] : []),
  ]
}

function mediaOf({ modality, mime_type: mime, uri, content }: JsonObject): JsonObject {
  const mediaType = mime ?? `${modality ?? 'application'}/*`
  return { type: 'file', mediaType, data: uri ?? content }
}

/** Gives calls without ids one each, and results the id and name of their call. */
function withIds(history: JsonObject[]): JsonObject[] {
  const open: JsonObject[] = []
  const names = new Map<unknown, unknown>()
  let count = 0
  for (const { content } of history) {
    for (const part of listOf(content).filter(isObject)) {
      if (part['type'] === 'tool-call') {
        part['toolCallId'] ??= `call_${++count}`
        names.set(part['toolCallId'], part['toolName'])
        open.push(part)
      }
      if (part['type'] !== 'tool-result') continue
      const isOwn = ({ toolCallId, toolName }: JsonObject) =>
        part['toolCallId']
          ? toolCallId === part['toolCallId']
          : (part['toolName'] ?? toolName) === toolName
      const at = open.findIndex(isOwn)
      const [call] = at < 0 ? [] : open.splice(at, 1)
      part['toolCallId'] ??= call?.['toolCallId'] ?? `call_${++count}`
      part['toolName'] ??= call?.['toolName'] ?? names.get(part['toolCallId']) ?? 'unknown_tool'
    }
  }
  return history
}
