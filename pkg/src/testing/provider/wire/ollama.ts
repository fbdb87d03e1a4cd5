/**
 * Ollama's chat API: a JSON object a line, or one object if the response is not streamed. Calls are not
 * divided in either.
 */
import {
  argumentPieces,
  argumentsOf,
  finishOf,
  isCut,
  unknownMember,
  usageOf,
  type Place,
  type RequestView,
  type ScriptEntry,
} from './entry.js'
import { view as chatView, type ChatBody } from './openai-chat.js'

export const CONTENT_TYPE = 'application/x-ndjson'

/** Returns the lines of a streamed response. */
export function stream(entry: ScriptEntry, { body = {} }: Place<ChatBody> = {}): string[] {
  const line = (members: object) => `${JSON.stringify({ ...headOf(body), ...members })}\n`
  const messageLine = (members: object) =>
    line({ message: { role: 'assistant', content: '', ...members }, done: false })
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  const lines = [
    ...reasoning.map((thinking) => messageLine({ thinking })),
    ...text.map((content) => messageLine({ content })),
  ]
  for (const [index, call] of calls.entries()) {
    const args = argumentPieces(call).join('').replaceAll('\n', ' ') || '{}'
    const json = `{"id":${JSON.stringify(call.id)},"function":{"index":${index},"name":${JSON.stringify(call.name)},"arguments":${args}}}`
    const callLine = messageLine({ tool_calls: ['CALL'] }).replace('"CALL"', () => json)
    lines.push(
      isCut(entry, index) ? callLine.slice(0, callLine.indexOf('"arguments":') + 14) : callLine,
    )
  }
  lines.push(...textAfter.map((content) => messageLine({ content })))
  if (entry.then === 'error') return [...lines, '{"error":"The model is overloaded"}\n']
  if (entry.then === 'malformed') return [...lines, '{"model":"scripted","message":what}\n']
  if (entry.then) return lines
  return [...lines, line({ message: { role: 'assistant', content: '' }, ...endOf(entry) })]
}

/** Returns the body of a response that is not streamed. */
export function responseBody(entry: ScriptEntry, { body = {} }: Place<ChatBody> = {}) {
  const { reasoning = [], text = [], calls = [], textAfter = [] } = entry
  const tool_calls = calls.map((call, index) => ({
    id: call.id,
    function: { index, name: call.name, arguments: argumentsOf(call) },
  }))
  const message = {
    role: 'assistant',
    content: [...text, ...textAfter].join(''),
    ...(reasoning.length && { thinking: reasoning.join('') }),
    ...(calls.length && { tool_calls }),
  }
  return { ...headOf(body), message, ...endOf(entry) }
}

const headOf = ({ model = 'scripted' }: ChatBody) => ({
  model,
  created_at: '2026-01-01T00:00:00Z',
})

function endOf(entry: ScriptEntry) {
  const { input: prompt_eval_count, output: eval_count } = usageOf(entry)
  // The API reports `stop` with calls, too.
  const done_reason = finishOf(entry) === 'tool_calls' ? 'stop' : finishOf(entry)
  return { done: true, done_reason, prompt_eval_count, eval_count }
}

/** Returns the body of a failed request. */
export const failure = (_: number, message: string) => ({ error: message })

const MEMBERS = ['model', 'messages', 'stream', 'tools', 'format', 'options', 'think', 'keep_alive']

/** Returns the API's error message for a request that breaks its rules; undefined if it is valid. */
export function violation(body: ChatBody): string | undefined {
  const unknown = unknownMember(body, MEMBERS)
  // The API itself ignores unknown members.
  if (unknown) return `unknown member: ${unknown}`
  const { messages = [] } = body
  if (!messages.length) return 'messages is required'
  for (const { content = '', tool_calls: calls = [] } of messages) {
    if (typeof content !== 'string') {
      return 'json: cannot unmarshal array into Go struct field ChatRequest.messages of type string'
    }
    if (calls.some((call) => typeof call.function.arguments !== 'object')) {
      return 'json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function.arguments'
    }
  }
  return undefined
}

export const view = (body: ChatBody): RequestView => chatView(body)
