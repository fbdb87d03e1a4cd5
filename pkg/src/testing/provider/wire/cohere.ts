/** Cohere's chat API, version 2, streamed or not. */
import {
  argumentPieces,
  finishOf,
  isCut,
  unknownMember,
  usageOf,
  type Place,
  type RequestView,
  type ScriptEntry,
} from './entry.js'
import { view as chatView, violation as chatViolation, type ChatBody } from './openai-chat.js'

const FINISH_REASONS: Record<string, string> = {
  stop: 'COMPLETE',
  tool_calls: 'TOOL_CALL',
  length: 'MAX_TOKENS',
  content_filter: 'ERROR_TOXIC',
}

const event = (type: string, members: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`

/** Returns the events of a streamed response. */
export function stream(entry: ScriptEntry, { n = 1 }: Place = {}): string[] {
  const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
  const events = [event('message-start', { id: `msg_${n}`, delta: { message } })]
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  let blockCount = 0
  const pushBlock = (type: string, pieces: readonly string[]) => {
    if (!pieces.length) return
    const position = { index: blockCount++ }
    const withContent = (content: object) => ({ ...position, delta: { message: { content } } })
    events.push(event('content-start', withContent({ type, [type]: '' })))
    for (const piece of pieces) events.push(event('content-delta', withContent({ [type]: piece })))
    events.push(event('content-end', position))
  }
  pushBlock('thinking', reasoning)
  pushBlock('text', text)
  calls.forEach((call, index) => {
    const isOpen = isCut(entry, index)
    const withCall = (tool_calls: object) => ({ index, delta: { message: { tool_calls } } })
    const start = {
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: '' },
    }
    events.push(event('tool-call-start', withCall(start)))
    for (const piece of argumentPieces(call, isOpen)) {
      events.push(event('tool-call-delta', withCall({ function: { arguments: piece } })))
    }
    if (!isOpen) events.push(event('tool-call-end', { index }))
  })
  pushBlock('text', textAfter)
  if (entry.then === 'error') {
    const delta = { finish_reason: 'ERROR', error: 'The model is overloaded' }
    return [...events, event('message-end', { delta })]
  }
  if (entry.then === 'malformed') {
    return [...events, 'event: content-delta\ndata: {"type":"content-del\n\n']
  }
  if (entry.then) return events
  const { finish_reason, usage } = responseBody(entry)
  events.push(event('message-end', { delta: { finish_reason, usage } }))
  return [...events, 'data: [DONE]\n\n']
}

/** Returns the body of a response that is not streamed. */
export function responseBody(entry: ScriptEntry, { n = 1 }: Place = {}) {
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  const blocks = (type: string, pieces: readonly string[]) =>
    pieces.length ? [{ type, [type]: pieces.join('') }] : []
  const content = [
    ...blocks('thinking', reasoning),
    ...blocks('text', text),
    ...blocks('text', textAfter),
  ]
  const tool_calls = calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: argumentPieces(call).join('') },
  }))
  const { input: input_tokens, output: output_tokens } = usageOf(entry)
  const tokens = { input_tokens, output_tokens }
  return {
    id: `msg_${n}`,
    finish_reason: FINISH_REASONS[finishOf(entry)] ?? finishOf(entry),
    message: { role: 'assistant', content, ...(calls.length && { tool_calls }) },
    usage: { billed_units: tokens, tokens },
  }
}

/** Returns the body of a failed request. */
export const failure = (_: number, message: string) => ({ id: 'x', message })

const MEMBERS = [
  'model',
  'messages',
  'stream',
  'tools',
  'tool_choice',
  'response_format',
  'seed',
  'temperature',
  'max_tokens',
  'thinking',
  'documents',
  'stop_sequences',
  'k',
  'p',
  'citation_options',
  'frequency_penalty',
  'logprobs',
  'presence_penalty',
  'priority',
  'safety_mode',
  'strict_tools',
]

/** Returns the API's error message for a request that breaks its rules; undefined if it is valid. */
export function violation(body: ChatBody): string | undefined {
  const unknown = unknownMember(body, MEMBERS)
  if (unknown) return `unknown field: parameter '${unknown}' is not a valid field`
  if (body.tools && !body.tools.length) return 'invalid request: tools must not be empty'
  return chatViolation(body)
}

export function view(body: ChatBody): RequestView {
  const { choice, ...content } = chatView(body)
  return { ...content, choice: choice?.toLowerCase() ?? null }
}
