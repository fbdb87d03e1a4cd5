/** Recognizes the format of a pasted text, and finds the history in it. Sends nothing anywhere. */
import { isObject as isRecord } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import { isPartial } from '../history/partial.js'
import type { Dialect } from '../types.js'
import { addressed, detectProvider } from './detect-provider.js'
import {
  harRequests,
  readRecording,
  readSpans,
  type JsonObject,
  type RecordedRequest,
} from './recordings/index.js'
import { tryJson } from './recordings/recording.js'
import { canonicalize } from '../signature.js'
import { decodeStream } from '../stream.js'

/** What `recognizeFormat` finds in a text. */
export interface RecognizedText {
  /** Human-readable name, such as `"Anthropic request body"` or `"JSON lines: OpenAI messages"`. */
  format: string
  /**
   * Messages, items or events, as they stand in the text; of the session of an agent, the messages
   * that it sends next. Empty for a provider's error alone.
   */
  history: unknown[]
  /** The provider that the recording is of, such as the one of an agent or of an address. */
  dialect?: Dialect
  /**
   * Whether this is the conversation of an agent and not a request: the next message of the user
   * follows its last one.
   */
  isConversation?: true
  /** The whole request body, if the text is one. */
  body?: Record<string, unknown>
  /** Names of the body's other members. */
  otherFields?: string[]
  /** The message of a provider's error, if the text is one or has one. */
  providerError?: string
  /**
   * Whether the request continues state at the provider, so that nothing in it is an orphan: a
   * message thread of Anthropic, or a response or a conversation of OpenAI.
   */
  partial: boolean
}

type Found = Omit<RecognizedText, 'partial'>

/** Lists of a request body, with the name of the format. */
const BODIES: readonly (readonly [string, string | undefined])[] = [
  ['contents', 'Gemini request body'],
  ['input', 'OpenAI Responses request body'],
  ['messages', undefined],
]

const isObject = (value: unknown): value is JsonObject => isRecord(value)
const isItem = (value: unknown): value is JsonObject =>
  isObject(value) && ['role', 'type', 'lc', 'parts', 'functionCall'].some((key) => key in value)
const isList = (value: unknown): value is JsonObject[] =>
  Array.isArray(value) && value.length > 0 && value.every(isItem)
const blocks = (list: readonly JsonObject[]): JsonObject[] =>
  list.flatMap(({ content }) => (Array.isArray(content) ? content.filter(isObject) : []))
const hasType = (list: readonly JsonObject[], ...types: string[]) =>
  list.some(({ type }) => types.includes(type))

/**
 * Recognizes a request body, a `curl` command, JSON lines, an event stream, a list of messages or
 * events, a response, the session of a coding agent (Claude Code, Codex, gemini-cli, qwen-code,
 * opencode), steps of the AI SDK, a HAR file, spans of OpenTelemetry, or an export of a tracing tool,
 * and returns the history in it. The last of JSON lines may be cut off.
 *
 * @throws TurnlockError `json.syntax` with `details: { offset, line, column }` (UTF-16 units, as a
 *   text field counts) for text in no such format, `options.invalid` for JSON without a history
 */
export function recognizeFormat(text: string): RecognizedText {
  if (typeof text !== 'string') throw wrong('text', 'a string')
  let found: Found | undefined
  try {
    found = findHistory(text)
  } catch (error) {
    throw syntaxError(text, error as Error)
  }
  if (found?.isConversation && !found.history.length) {
    throw new TurnlockError('options.invalid', `there is no message in it: ${found.format}`)
  }
  if (found) return { ...found, partial: isPartial(found.body ?? {}) }
  throw new TurnlockError(
    'options.invalid',
    'there is no history in it: a list of messages or events',
  )
}

/**
 * Parses JSON, with the place in the error, which not every engine reports.
 *
 * @throws TurnlockError `json.syntax` with `details: { offset, line, column }` in UTF-16 units
 */
export function parseJson(text: string): unknown {
  if (typeof text !== 'string') throw wrong('text', 'a string')
  try {
    return JSON.parse(text)
  } catch (error) {
    throw syntaxError(text, error as Error)
  }
}

function syntaxError(text: string, { message }: Error): TurnlockError {
  const [start, broken] = brokenLine(text)
  try {
    canonicalize(broken)
  } catch (error) {
    const { code, details } = error as TurnlockError
    const before = new TextEncoder().encode(text.slice(0, start)).length
    if (code === 'json.syntax') return unexpected(text, before + (details?.offset as number))
  }
  return new TurnlockError('json.syntax', message)
}

/** Returns the line of JSON lines that is not JSON, and its place; of another text, all of it. */
function brokenLine(text: string): [start: number, line: string] {
  let start = 0
  let isFirst = true
  for (const line of text.split('\n')) {
    if (line.trim() && tryJson(line) === undefined) return isFirst ? [0, text] : [start, line]
    if (line.trim()) isFirst = false
    start += line.length + 1
  }
  return [0, text]
}

function unexpected(text: string, bytes: number): TurnlockError {
  const before = new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, bytes))
  const lines = before.split('\n')
  const line = lines.length
  const column = (lines.at(-1) as string).length + 1
  const next = [...text.slice(before.length, before.length + 2)][0]
  const found = next ? `${JSON.stringify(next)} cannot stand there` : 'the text ends too early'
  const message = `not JSON at line ${line}, column ${column}: ${found}`
  return new TurnlockError('json.syntax', message, { offset: before.length, line, column })
}

/** Returns undefined for JSON without a history, and throws the SyntaxError of `JSON.parse`. */
function findHistory(text: string): Found | undefined {
  const trimmed = text.trim()
  const command = /^\$?\s*curl\s/.test(trimmed) ? curlBody(trimmed) : undefined
  if (command !== undefined) {
    const found = fromJson(JSON.parse(command))
    return found && { ...found, format: `curl command, ${found.format}` }
  }
  if (/^(event|data|id|:)/m.test(trimmed) && /^data:/m.test(trimmed)) return fromStream(trimmed)
  try {
    return fromJson(JSON.parse(trimmed))
  } catch (error) {
    const lines = parseLines(trimmed)
    const found = lines && fromLines(lines.values)
    if (lines && !lines.isCut) return found
    if (found) return { ...found, format: `${found.format} (the last line is cut off)` }
    throw error
  }
}

/** Returns the JSON body of a curl command, as a shell would pass it. */
function curlBody(command: string): string | undefined {
  const flag = String.raw`(?:--data(?:-raw|-binary|-ascii)?|--json|-d)[=\s]+`
  const single = new RegExp(`${flag}\\$?'((?:[^'\\\\]|\\\\.|\\\\|'\\\\'')*)'`, 's').exec(command)
  if (single) {
    const isAnsi = command.slice(0, single.index + single[0].indexOf("'")).endsWith('$')
    const plain = (single[1] as string).replaceAll(String.raw`'\''`, "'")
    return isAnsi ? plain.replaceAll(String.raw`\'`, "'").replaceAll('\\\\', '\\') : plain
  }
  const double = new RegExp(`${flag}"((?:[^"\\\\]|\\\\.)*)"`, 's').exec(command)
  return double?.[1]?.replaceAll(/\\(["\\$`])/g, '$1')
}

/** Returns the values of JSON lines; undefined for any other text. A crash may cut the last line. */
function parseLines(text: string): { values: unknown[]; isCut: boolean } | undefined {
  const lines = text.split('\n').filter((line) => line.trim())
  if (lines.length < 2) return undefined
  const values = lines.map(tryJson)
  const isCut = values.at(-1) === undefined && /^\s*[{[]/.test(lines.at(-1) as string)
  const whole = isCut ? values.slice(0, -1) : values
  return whole.includes(undefined) ? undefined : { values: whole, isCut }
}

function fromLines(values: unknown[]): Found | undefined {
  const records = values.filter(isObject)
  const recording = readRecording(records) ?? readSpans(records)
  if (recording) return { ...recording, isConversation: true }
  const streamed = fromChunks(values)
  if (streamed) return streamed
  if (values.every(isItem) && !values.some(bodyList)) {
    return { format: `JSON lines: ${listFormat(values)}`, history: values }
  }
  // A log of requests: the longest holds what earlier ones held.
  const found = values.map(fromJson).filter((each) => each !== undefined)
  const longest = found.toSorted((a, b) => b.history.length - a.history.length)[0]
  const count = `JSON lines, ${found.length} of them with a history; the longest`
  return longest && { ...longest, format: `${count}: ${longest.format}` }
}

type StreamFormat = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini'
const CHUNKS: Readonly<Record<StreamFormat, (value: JsonObject) => unknown>> = {
  'openai-chat': ({ choices }) => Array.isArray(choices),
  'openai-responses': ({ type }) => /^response\./.test(type),
  anthropic: ({ type }) => type === 'message_start',
  gemini: ({ candidates }) => candidates,
}

/** Reads server-sent events: the response of a model, or events of a UI. */
function fromStream(text: string): Found {
  const data = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => (line as string).trim())
  const values = data
    .filter((line) => /^\{|^\[[{\]]/.test(line))
    .map((line) => JSON.parse(line) as unknown)
  return fromChunks(values) ?? { format: `event stream: ${listFormat(values)}`, history: values }
}

/** Returns the chunks of a response as one message; undefined for any other values. */
function fromChunks(values: unknown[]): Found | undefined {
  const chunks = values.map((value) => (isObject(value) ? value : {}))
  const formats = Object.keys(CHUNKS) as StreamFormat[]
  const format = formats.find((name) => chunks.some((chunk) => CHUNKS[name](chunk)))
  if (!format || chunks.some((chunk) => chunk.choices?.[0]?.message)) return undefined
  const decoder = decodeStream(format)
  const lines = values.map((value) => `data: ${JSON.stringify(value)}\n\n`)
  const bytes = new TextEncoder().encode(lines.join(''))
  const calls = new Map<number, JsonObject>()
  const message: JsonObject = { role: 'assistant', content: '' }
  for (const delta of [...decoder.feed(bytes), ...decoder.end()]) {
    if (delta.type === 'text') message.content += delta.text
    if (delta.type === 'tool_call_start') {
      const { id, name } = delta
      calls.set(delta.index, { id, type: 'function', function: { name, arguments: '' } })
    }
    if (delta.type === 'tool_call_arguments') {
      const call = calls.get(delta.index)
      if (call) call.function.arguments += delta.text
    }
  }
  if (calls.size) message.tool_calls = [...calls.values()]
  return { format: `response stream of ${format}`, history: [message] }
}

/** Returns the row of `BODIES` whose list the request body has. */
const bodyList = (value: unknown) => BODIES.find(([key]) => isObject(value) && isList(value[key]))

function fromJson(value: unknown): Found | undefined {
  const records = (Array.isArray(value) ? value : [value]).filter(isObject)
  const recording = readRecording(records)
  if (recording) return { ...recording, isConversation: true }
  if (Array.isArray(value)) {
    const spans = longestList(value) === value ? undefined : readSpans(records)
    if (spans) return { ...spans, isConversation: true }
    const isHistory = value.every(isItem) || !longestList(value)
    return isHistory ? { format: listFormat(value), history: value } : fromExport({ list: value })
  }
  if (!isObject(value)) return undefined
  const body = bodyList(value)
  if (body && !value.inputs && !value.observations) {
    const [key, name] = body
    const otherFields = Object.keys(value).filter((other) => other !== key)
    return { format: name ?? bodyFormat(value), history: value[key], otherFields, body: value }
  }
  const response = fromResponse(value)
  if (response) return response
  const { message } = isObject(value.error) ? value.error : value
  if (value.error || value.type === 'error') {
    const text = typeof message === 'string' ? message : JSON.stringify(value.error ?? value)
    return { format: 'error of a provider', history: [], providerError: text }
  }
  const requests = harRequests(value)
  if (requests) return fromHar(requests)
  const spans = exportSource(value) ? undefined : readSpans(records)
  return spans ? { ...spans, isConversation: true } : fromExport(value)
}

/** Statuses with which providers refuse a request for what is in it. */
const REFUSED = [400, 422]

/** Returns the last request of a HAR file that was refused; otherwise the longest one. */
function fromHar(requests: readonly RecordedRequest[]): Found | undefined {
  const found = requests.flatMap(({ url, body, status, response }) => {
    const request = fromJson(body)
    if (!request?.body) return []
    const dialect = addressed(url) ?? detectProvider('', request)
    const failure = REFUSED.includes(status) ? response : ''
    const providerError = fromJson(tryJson(failure))?.providerError ?? failure
    return [{ ...request, ...(dialect && { dialect }), ...(providerError && { providerError }) }]
  })
  const refused = found.findLast((request) => request.providerError !== undefined)
  const longest = found.toSorted((a, b) => b.history.length - a.history.length)[0]
  const chosen = refused ?? longest
  if (!chosen) return undefined
  const which = refused ? 'the last refused one' : 'the longest'
  return { ...chosen, format: `HAR file, requests: ${found.length}; ${which}: ${chosen.format}` }
}

/** Reads the response of a model. */
function fromResponse({ choices, output, candidates, message, ...value }: JsonObject) {
  const responses: [string, unknown][] = [
    ['Chat Completions', [choices?.[0]?.message]],
    ['Responses', Array.isArray(output) ? output : []],
    ['Gemini', [candidates?.[0]?.content]],
    ['Anthropic', [value.role === 'assistant' && Array.isArray(value.content) && value]],
    ['Cohere', [message?.role && message]],
  ]
  for (const [provider, history] of responses) {
    if (isList(history)) return { format: `response of ${provider}`, history }
  }
  return undefined
}

/** Whether the part has no type, and a member names its kind. */
const isBedrock = (part: JsonObject) =>
  part.type === undefined &&
  ['text', 'toolUse', 'toolResult', 'image', 'document'].some((key) => key in part)

/** Whether the message names a tool, or has calls without a type whose arguments are an object. */
const isOllama = ({ tool_name, tool_calls }: JsonObject) =>
  tool_name !== undefined ||
  (Array.isArray(tool_calls) &&
    tool_calls.some((call) => isObject(call?.function?.arguments) && call.type === undefined))

function bodyFormat(body: JsonObject): string {
  const { system, inferenceConfig, toolConfig, anthropic_version: version } = body
  const messages = body.messages as JsonObject[]
  const parts = blocks(messages)
  if (inferenceConfig || toolConfig || parts.some(isBedrock)) return 'Bedrock Converse request body'
  if (messages.some(isOllama)) return 'Ollama request body'
  if (hasType(messages, 'human', 'ai')) return 'LangChain request body'
  const isAnthropic = system !== undefined || version || hasType(parts, 'tool_use', 'tool_result')
  return isAnthropic ? 'Anthropic request body' : 'OpenAI request body'
}

/** Names the format of a list without a request around it. */
function listFormat(list: readonly unknown[]): string {
  const items = list.filter(isObject)
  const inner = blocks(items)
  const parts = items.flatMap(({ parts }) => (Array.isArray(parts) ? parts : []))
  const formats: [string, boolean][] = [
    ['Turnlock events', items.some(({ seq, requestId }) => seq !== undefined && requestId)],
    ['AI SDK messages', parts.some((part) => part?.type)],
    ['Gemini contents', parts.length > 0],
    ['LangChain messages', items.some(({ lc, kwargs }) => lc || kwargs)],
    ['Responses items', hasType(items, 'function_call', 'function_call_output')],
    ['AI SDK messages', hasType(inner, 'tool-call', 'tool-result')],
    ['Anthropic messages', hasType(inner, 'tool_use', 'tool_result', 'thinking')],
    ['OpenAI messages', items.some((item) => item.tool_calls || item.tool_call_id)],
    ['messages', items.length > 0 && items.every(({ role }) => role)],
    ['events', items.length > 0],
  ]
  return formats.find(([, fits]) => fits)?.[0] ?? 'list'
}

/** Reads the export of a tracing tool: its longest list of messages, then the answer to it. */
function fromExport(value: JsonObject): Found | undefined {
  const history = longestList(value)
  if (!history) return undefined
  const answer = firstMessage(value.outputs ?? value.output)
  const source = exportSource(value) ?? 'the longest list in this JSON'
  const isNew = answer && !history.some((item) => JSON.stringify(item) === JSON.stringify(answer))
  return {
    format: `${source}: ${listFormat(history)}`,
    history: isNew ? [...history, answer] : history,
  }
}

function exportSource({ run_type, observations, htmlPath, ...value }: JsonObject) {
  if (run_type) return 'LangSmith run'
  const isSpan = isObject(value['attributes'])
  return observations || htmlPath || (value['traceId'] && !isSpan) ? 'Langfuse trace' : undefined
}

/** Nesting up to which lists of messages are looked for. */
const LIST_DEPTH = 40
/** Nesting up to which the answer is looked for. */
const ANSWER_DEPTH = 10

function longestList(value: unknown): JsonObject[] | undefined {
  let longest: JsonObject[] | undefined
  const visit = (each: unknown, depth: number): void => {
    if (depth > LIST_DEPTH || typeof each !== 'object' || each === null) return
    const isLonger = isList(each) && each.length > (longest?.length ?? 0)
    if (isLonger && each.some(({ role, lc }) => role || lc)) longest = each
    for (const inner of Object.values(each)) visit(inner, depth + 1)
  }
  visit(value, 0)
  return longest
}

function firstMessage(value: unknown, depth = 0): JsonObject | undefined {
  if (depth > ANSWER_DEPTH || typeof value !== 'object' || value === null) return undefined
  if (isObject(value) && (value.role || value.lc)) return value
  for (const inner of Object.values(value)) {
    const found = firstMessage(inner, depth + 1)
    if (found) return found
  }
  return undefined
}
