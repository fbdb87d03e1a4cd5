/** Anthropic Messages, streamed or not. */
import {
  argumentPieces,
  argumentsOf,
  finishOf,
  isCut,
  usageOf,
  type Place,
  type RequestView,
  type ScriptEntry,
} from './entry.js'

type Block = {
  type?: string
  text?: string
  id?: string
  tool_use_id?: string
  content?: Content
}
type Content = string | readonly Block[] | undefined

export interface AnthropicMessage {
  role: string
  content?: Content
}

export interface AnthropicBody {
  model?: string
  messages?: AnthropicMessage[]
  system?: Content
  tools?: { name?: string; input_schema?: unknown; function?: { name: string } }[]
  tool_choice?: { type?: string } | null
}

const STOP_REASONS: Record<string, string> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
}

const event = (type: string, members: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

/** Returns the events of a streamed response. */
export function stream(
  entry: ScriptEntry,
  { n = 1, body = {} }: Place<AnthropicBody> = {},
): string[] {
  const { usage, ...ended } = responseBody(entry, { n, body })
  const { stop_reason, stop_sequence } = ended
  const begun = { content: [], stop_reason: null, stop_sequence: null }
  const message = { ...ended, ...begun, usage: { ...usage, output_tokens: 1 } }
  const events = [event('message_start', { message }), event('ping', {})]
  streamedBlocks(entry).forEach(({ start, deltas, isOpen }, index) => {
    events.push(event('content_block_start', { index, content_block: start }))
    for (const delta of deltas) events.push(event('content_block_delta', { index, delta }))
    if (!isOpen) events.push(event('content_block_stop', { index }))
  })
  if (entry.then === 'error') {
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    return [...events, event('error', { error })]
  }
  if (entry.then === 'malformed') {
    return [...events, 'event: content_block_delta\ndata: {"type":"content_block_del\n\n']
  }
  if (entry.then) return events
  const { output_tokens } = usage
  const delta = { stop_reason, stop_sequence }
  events.push(event('message_delta', { delta, usage: { output_tokens } }))
  return [...events, event('message_stop', {})]
}

/** Returns the body of a response that is not streamed. */
export function responseBody(entry: ScriptEntry, { n = 1, body = {} }: Place<AnthropicBody> = {}) {
  const { input: input_tokens, output: output_tokens } = usageOf(entry)
  return {
    id: `msg_${n}`,
    type: 'message',
    role: 'assistant',
    model: body.model ?? 'scripted',
    content: contentOf(entry),
    stop_reason: STOP_REASONS[finishOf(entry)] ?? finishOf(entry),
    stop_sequence: null,
    usage: { input_tokens, output_tokens },
  }
}

function contentOf({
  reasoning = [],
  blocks = [],
  text = [],
  calls = [],
  textAfter = [],
}: ScriptEntry) {
  const textBlocks = (pieces: readonly string[]) =>
    pieces.length ? [{ type: 'text', text: pieces.join('') }] : []
  const thinking = { type: 'thinking', thinking: reasoning.join(''), signature: 'sig' }
  const toolUses = calls.map((call) => ({
    type: 'tool_use',
    id: call.id,
    name: call.name,
    input: argumentsOf(call),
  }))
  return [
    ...(reasoning.length ? [thinking] : []),
    ...blocks,
    ...textBlocks(text),
    ...toolUses,
    ...textBlocks(textAfter),
  ]
}

interface StreamedBlock {
  start: object
  deltas: object[]
  /** The connection breaks inside this block. */
  isOpen?: boolean
}

function streamedBlocks(entry: ScriptEntry): StreamedBlock[] {
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  const textBlock = (pieces: readonly string[]) => ({
    start: { type: 'text', text: '' },
    deltas: pieces.map((piece) => ({ type: 'text_delta', text: piece })),
  })
  const thinking = {
    start: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...reasoning.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: 'sig' },
    ],
  }
  const providerBlocks = blocks.map(({ input, ...block }) => ({
    start: { ...block, ...(input ? { input: {} } : {}) },
    deltas: input ? [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }] : [],
  }))
  const toolUses = calls.map((call, at) => ({
    start: { type: 'tool_use', id: call.id, name: call.name, input: {} },
    deltas: ['', ...argumentPieces(call, isCut(entry, at))].map((partial_json) => ({
      type: 'input_json_delta',
      partial_json,
    })),
    isOpen: isCut(entry, at),
  }))
  return [
    ...(reasoning.length ? [thinking] : []),
    ...providerBlocks,
    ...(text.length ? [textBlock(text)] : []),
    ...toolUses,
    ...(textAfter.length ? [textBlock(textAfter)] : []),
  ]
}

const ERROR_TYPES: Record<number, string> = {
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

/** Returns the body of a failed request. */
export function failure(status: number, message: string) {
  const type = ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return { type: 'error', error: { type, message } }
}

const blocksOf = (message: AnthropicMessage | undefined): readonly Block[] =>
  Array.isArray(message?.content) ? message.content : []

const idsOf = (
  message: AnthropicMessage | undefined,
  type: string,
  key: 'id' | 'tool_use_id',
): unknown[] =>
  blocksOf(message)
    .filter((block) => block.type === type)
    .map((block) => block[key])

const repeated = (ids: unknown[]) => ids.find((id, at) => ids.indexOf(id) !== at)

/**
 * Returns the API's error message for a history that breaks its rules; undefined if it is valid. The
 * messages are those of the API, word for word.
 */
export function violation({ messages = [] }: AnthropicBody): string | undefined {
  const [first] = messages
  if (!first) return 'messages: at least one message is required'
  if (messages.some((message) => message.role === 'system')) {
    return 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.'
  }
  if (first.role !== 'user') return 'messages: first message must use the "user" role'
  for (const [at, message] of messages.entries()) {
    const calls = idsOf(message, 'tool_use', 'id')
    if (repeated(calls)) return `messages.${at}: \`tool_use\` ids must be unique`
    const answers = idsOf(messages[at + 1], 'tool_result', 'tool_use_id')
    const open = calls.filter((id) => !answers.includes(id))
    if (open.length) {
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`
    }
    const results = idsOf(message, 'tool_result', 'tool_use_id')
    const before = idsOf(messages[at - 1], 'tool_use', 'id')
    const orphan = results.findIndex((id) => !before.includes(id))
    if (orphan >= 0) {
      return `messages.${at}.content.${orphan}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${results[orphan]}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    }
    if (repeated(results)) {
      return `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${repeated(results)}`
    }
  }
  return undefined
}

export function view({
  messages = [],
  system = '',
  tools = [],
  tool_choice: choice = null,
}: AnthropicBody): RequestView {
  return {
    tools: tools.flatMap(({ function: declared, name = declared?.name, input_schema: schema }) =>
      name ? { name, schema } : [],
    ),
    choice: choice?.type ?? null,
    system: textOf(system),
    list: messages,
    messages: messages.map((message) => ({
      role: message.role,
      text: textOf(message.content),
      results: blocksOf(message)
        .filter((block) => block.type === 'tool_result')
        .map((block) => textOf(block.content)),
    })),
  }
}

function textOf(content: Content): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((block) => block.text ?? '').join('\n')
}
