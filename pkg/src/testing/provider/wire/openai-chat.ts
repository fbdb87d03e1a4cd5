/** OpenAI Chat Completions, streamed or not. */
import {
  argumentPieces,
  finishOf,
  isCut,
  usageOf,
  type Place,
  type RequestView,
  type ScriptEntry,
} from './entry.js'

type Content = string | readonly { text?: string }[] | null | undefined

export interface ChatMessage {
  role: string
  content?: Content
  tool_calls?: { id: string; function: { name: string; arguments: unknown } }[]
  tool_call_id?: string
}

export interface ChatBody {
  model?: string
  stream_options?: { include_usage?: boolean }
  messages?: ChatMessage[]
  tools?: { function?: { name: string; parameters?: unknown } }[]
  tool_choice?: string | { type?: string } | null
}

/** Returns the events of a streamed response. */
export function stream(entry: ScriptEntry, { n = 1, body = {} }: Place<ChatBody> = {}): string[] {
  const isCounted = body.stream_options?.include_usage === true
  const head = {
    id: `chatcmpl-${n}`,
    object: 'chat.completion.chunk',
    created: 1700000000 + n,
    model: body.model ?? 'scripted',
    system_fingerprint: 'fp_scripted',
  }
  const event = (members: object) => `data: ${JSON.stringify({ ...head, ...members })}\n\n`
  // If usage is requested, every chunk has the member; only the last one fills it.
  const chunk = (delta: object, finish_reason: string | null = null) =>
    event({
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(isCounted && { usage: null }),
    })
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...reasoning.map((piece) => chunk({ reasoning_content: piece })),
    ...blocks.map((block) => chunk({ executed_tools: [block] })),
    ...text.map((piece) => chunk({ content: piece })),
    ...calls.flatMap((call, index) => [
      chunk({
        tool_calls: [
          { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } },
        ],
      }),
      ...argumentPieces(call, isCut(entry, index)).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]),
    ...textAfter.map((piece) => chunk({ content: piece })),
  ]
  if (entry.then === 'error') {
    const error = { message: 'The model is overloaded', type: 'overloaded_error', code: 529 }
    return [...events, `data: ${JSON.stringify({ error })}\n\n`]
  }
  if (entry.then === 'malformed') return [...events, 'data: {"choices":[{"delta":{"content":"x\n\n']
  if (entry.then) return events
  events.push(chunk({}, finishOf(entry)))
  if (isCounted) events.push(event({ choices: [], usage: tokenCounts(entry) }))
  return [...events, 'data: [DONE]\n\n']
}

/** Returns the body of a response that is not streamed. */
export function responseBody(entry: ScriptEntry, { n = 1, body = {} }: Place<ChatBody> = {}) {
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const content = [...text, ...textAfter].join('')
  const tool_calls = calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: argumentPieces(call).join('') },
  }))
  const message = {
    role: 'assistant',
    content: content || null,
    refusal: null,
    ...(reasoning.length && { reasoning_content: reasoning.join('') }),
    ...(blocks.length && { executed_tools: blocks }),
    ...(calls.length && { tool_calls }),
  }
  return {
    id: `chatcmpl-${n}`,
    object: 'chat.completion',
    created: 1700000000 + n,
    model: body.model ?? 'scripted',
    system_fingerprint: 'fp_scripted',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(entry) }],
    usage: tokenCounts(entry),
  }
}

function tokenCounts(entry: ScriptEntry) {
  const { input, output } = usageOf(entry)
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
}

const ERROR_TYPES: Record<number, string> = { 401: 'authentication_error', 429: 'rate_limit_error' }

/** Returns the body of a failed request. */
export function failure(status: number, message: string) {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { error: { message, type, param: null, code: null } }
}

/**
 * Returns the API's error message for a history that breaks its rules; undefined if it is valid. The
 * messages are those of the API, word for word (including the spelling of `preceeding`).
 */
export function violation({ messages = [] }: ChatBody): string | undefined {
  if (!messages.length) {
    return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
  }
  let requested: unknown[] = []
  let answered = new Map<unknown, number>()
  const unanswered = () => requested.filter((id) => !answered.has(id))
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      const id = message.tool_call_id
      if (!requested.includes(id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      }
      if (answered.has(id)) {
        return `Invalid parameter: Duplicate value for 'tool_call_id' of '${id}', in messages[${answered.get(id)}] and messages[${at}].`
      }
      answered.set(id, at)
      continue
    }
    if (unanswered().length) break
    requested = (message.tool_calls ?? []).map((call) => call.id)
    answered = new Map()
  }
  if (!unanswered().length) return undefined
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${unanswered().join(', ')}`
}

export function view({
  messages = [],
  tools = [],
  tool_choice: choice = null,
}: ChatBody): RequestView {
  return {
    tools: tools.flatMap(({ function: declared }) =>
      declared ? { name: declared.name, schema: declared.parameters } : [],
    ),
    choice: (choice as { type?: string } | null)?.type ?? (choice as string | null),
    system: '',
    list: messages,
    messages: messages.map((message) => ({
      role: message.role,
      text: message.role === 'tool' ? '' : textOf(message),
      results: message.role === 'tool' ? [textOf(message)] : [],
    })),
  }
}

function textOf({ content }: { content?: Content }): string {
  if (typeof content === 'string') return content
  return (Array.isArray(content) ? content : []).map((part) => part.text ?? '').join('\n')
}
