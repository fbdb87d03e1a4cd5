// A pasted text → what it is, and the history in it. Knows no page; nothing of it is sent anywhere.
import { decodeStream } from 'turnlock'

/** Lists of a request body, with what each is called. */
const BODIES = [
  ['contents', 'Gemini request body'],
  ['input', 'OpenAI Responses request body'],
  ['messages', undefined],
]

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isItem = (value) =>
  isObject(value) && ['role', 'type', 'lc', 'parts', 'functionCall'].some((key) => key in value)
const isList = (value) => Array.isArray(value) && value.length > 0 && value.every(isItem)
const blocks = (list) => list.flatMap(({ content }) => (Array.isArray(content) ? content : []))
const has = (list, ...types) => list.some(({ type }) => types.includes(type))

/**
 * What a text is.
 * @returns {{ what: string, history: unknown[], beside?: string[], body?: object, refusal?: string } | undefined}
 *   `body`: the whole request; undefined for JSON without a history in it
 * @throws SyntaxError of `JSON.parse` for what is no form of JSON either
 */
export function recognise(text) {
  const trimmed = text.trim()
  const command = /^\$?\s*curl\s/.test(trimmed) ? bodyOf(trimmed) : undefined
  if (command !== undefined) {
    const found = ofJson(JSON.parse(command))
    return found && { ...found, what: `curl command, ${found.what}` }
  }
  if (/^(event|data|id|:)/m.test(trimmed) && /^data:/m.test(trimmed)) return ofStream(trimmed)
  try {
    return ofJson(JSON.parse(trimmed))
  } catch (error) {
    const lines = parsedLines(trimmed)
    if (lines) return ofLines(lines)
    throw error
  }
}

/** The JSON body of a curl command, as a shell would hand it over. */
function bodyOf(command) {
  const flag = String.raw`(?:--data(?:-raw|-binary|-ascii)?|--json|-d)[=\s]+`
  const single = new RegExp(`${flag}\\$?'((?:[^'\\\\]|\\\\.|\\\\|'\\\\'')*)'`, 's').exec(command)
  if (single) {
    const isAnsi = command.slice(0, single.index + single[0].indexOf("'")).endsWith('$')
    const plain = single[1].replaceAll(String.raw`'\''`, "'")
    return isAnsi ? plain.replaceAll(String.raw`\'`, "'").replaceAll('\\\\', '\\') : plain
  }
  const double = new RegExp(`${flag}"((?:[^"\\\\]|\\\\.)*)"`, 's').exec(command)
  return double?.[1].replaceAll(/\\(["\\$`])/g, '$1')
}

/** The values of JSON lines; undefined if it is something else. */
function parsedLines(text) {
  const lines = text.split('\n').filter((line) => line.trim())
  if (lines.length < 2) return undefined
  try {
    return lines.map((line) => JSON.parse(line))
  } catch {
    return undefined
  }
}

function ofLines(values) {
  const streamed = ofChunks(values)
  if (streamed) return streamed
  if (values.every(isItem) && !values.some(bodyList)) {
    const { what, history } = ofList(values)
    return { what: `JSON lines: ${what}`, history }
  }
  // A log of requests: the longest holds what earlier ones held.
  const found = values.map(ofJson).filter(Boolean)
  const longest = found.toSorted((a, b) => b.history.length - a.history.length)[0]
  const count = `JSON lines, ${found.length} of them with a history; the longest`
  return longest && { ...longest, what: `${count}: ${longest.what}` }
}

const WIRES = {
  'openai-chat': ({ choices }) => Array.isArray(choices),
  'openai-responses': ({ type }) => /^response\./.test(type),
  anthropic: ({ type }) => type === 'message_start',
  gemini: ({ candidates }) => candidates,
}

/** Server-sent events: the response of a model, or events of a UI. */
function ofStream(text) {
  const data = [...text.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line.trim())
  const values = data.filter((line) => /^\{|^\[[{\]]/.test(line)).map((line) => JSON.parse(line))
  const { what, history } = ofList(values)
  return ofChunks(values) ?? { what: `event stream: ${what}`, history }
}

/** The chunks of a response as one message; undefined if they are none. */
function ofChunks(values) {
  const wire = Object.keys(WIRES).find((name) => values.some((value) => WIRES[name](value)))
  if (!wire || values.some((value) => value.choices?.[0]?.message)) return undefined
  const stream = decodeStream(wire)
  const lines = values.map((value) => `data: ${JSON.stringify(value)}\n\n`)
  const bytes = new TextEncoder().encode(lines.join(''))
  const [calls, message] = [new Map(), { role: 'assistant', content: '' }]
  for (const delta of [...stream.feed(bytes), ...stream.end()]) {
    if (delta.type === 'text') message.content += delta.text
    if (delta.type === 'tool_call_start') {
      const own = { name: delta.name, arguments: '' }
      calls.set(delta.index, { id: delta.id, type: 'function', function: own })
    }
    const call = calls.get(delta.index)
    if (delta.type === 'tool_call_arguments' && call) call.function.arguments += delta.text
  }
  if (calls.size) message.tool_calls = [...calls.values()]
  return { what: `response stream of ${wire}`, history: [message] }
}

/** The list of a request body. */
const bodyList = (value) => BODIES.find(([key]) => isObject(value) && isList(value[key]))

function ofJson(value) {
  if (Array.isArray(value))
    return value.every(isItem) || !deepest(value) ? ofList(value) : inside(value)
  if (!isObject(value)) return undefined
  const body = bodyList(value)
  if (body && !value.inputs && !value.observations) {
    const [key, name] = body
    const beside = Object.keys(value).filter((other) => other !== key)
    return { what: name ?? bodyName(value), history: value[key], beside, body: value }
  }
  const answered = answerOf(value)
  if (answered) return answered
  const { message } = isObject(value.error) ? value.error : value
  if (value.error || value.type === 'error') {
    const refusal = typeof message === 'string' ? message : JSON.stringify(value.error ?? value)
    return { what: 'error of a provider', history: [], refusal }
  }
  return inside(value)
}

/** The response of a model. */
function answerOf({ choices, output, candidates, message, ...value }) {
  const [what, history] =
    [
      ['Chat Completions', [choices?.[0]?.message]],
      ['Responses', Array.isArray(output) ? output : []],
      ['Gemini', [candidates?.[0]?.content]],
      ['Anthropic', [value.role === 'assistant' && Array.isArray(value.content) && value]],
      ['Cohere', [message?.role && message]],
    ].find(([, list]) => isList(list)) ?? []
  return history && { what: `response of ${what}`, history }
}

/** A part without a type, named by its member. */
const isBedrock = (part) =>
  isObject(part) &&
  part.type === undefined &&
  ['text', 'toolUse', 'toolResult', 'image', 'document'].some((key) => key in part)

/** Names of results, or calls without a type whose arguments are an object. */
const isOllama = ({ tool_name, tool_calls }) =>
  tool_name !== undefined ||
  (Array.isArray(tool_calls) &&
    tool_calls.some((call) => isObject(call?.function?.arguments) && call.type === undefined))

function bodyName({ messages, system, inferenceConfig, toolConfig, anthropic_version: version }) {
  const parts = blocks(messages)
  if (inferenceConfig || toolConfig || parts.some(isBedrock)) return 'Bedrock Converse request body'
  if (messages.some(isOllama)) return 'Ollama request body'
  if (messages.some(({ type }) => type === 'human' || type === 'ai'))
    return 'LangChain request body'
  const isAnthropic = system !== undefined || version || has(parts, 'tool_use', 'tool_result')
  return isAnthropic ? 'Anthropic request body' : 'OpenAI request body'
}

/** A list by itself: whose. */
function ofList(list) {
  const items = list.filter(isObject)
  const inner = blocks(items)
  const parts = items.flatMap(({ parts }) => (Array.isArray(parts) ? parts : []))
  const kinds = [
    ['Turnlock events', items.some(({ seq, requestId }) => seq !== undefined && requestId)],
    ['AI SDK messages', parts.some((part) => part?.type)],
    ['Gemini contents', parts.length > 0],
    ['LangChain messages', items.some(({ lc, kwargs }) => lc || kwargs)],
    ['Responses items', has(items, 'function_call', 'function_call_output')],
    ['AI SDK messages', has(inner, 'tool-call', 'tool-result')],
    ['Anthropic messages', has(inner, 'tool_use', 'tool_result', 'thinking')],
    ['OpenAI messages', items.some((item) => item.tool_calls || item.tool_call_id)],
    ['messages', items.length > 0 && items.every(({ role }) => role)],
    ['events', items.length > 0],
  ]
  const [what] = kinds.find(([, fits]) => fits) ?? ['list']
  return { what, history: list }
}

/** Exports of tracing tools: the longest list of messages in them, and the answer behind it. */
function inside(value) {
  const history = deepest(value)
  if (!history) return undefined
  const answer = messageIn(value.outputs ?? value.output)
  const whose = value.run_type
    ? 'LangSmith run'
    : value.observations || value.traceId || value.htmlPath
      ? 'Langfuse trace'
      : 'the longest list in this JSON'
  const isNew = answer && !history.some((item) => JSON.stringify(item) === JSON.stringify(answer))
  return {
    what: `${whose}: ${ofList(history).what}`,
    history: isNew ? [...history, answer] : history,
  }
}

/** The longest list of messages within a value. */
function deepest(value) {
  let best
  const seek = (each, depth) => {
    if (depth > 40 || typeof each !== 'object' || each === null) return
    if (
      isList(each) &&
      each.length > (best?.length ?? 0) &&
      each.some(({ role, lc }) => role || lc)
    ) {
      best = each
    }
    for (const inner of Object.values(each)) seek(inner, depth + 1)
  }
  seek(value, 0)
  return best
}

/** The first message within a value. */
function messageIn(value, depth = 0) {
  if (depth > 10 || typeof value !== 'object' || value === null) return undefined
  if (isObject(value) && (value.role || value.lc)) return value
  for (const inner of Object.values(value)) {
    const found = messageIn(inner, depth + 1)
    if (found) return found
  }
  return undefined
}
