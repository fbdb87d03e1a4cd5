/** OpenAI Responses, streamed or not. */
import {
  argumentPieces,
  finishOf,
  isCut,
  unknownMember,
  usageOf,
  type Place,
  type RequestView,
  type ScriptCall,
  type ScriptEntry,
  type StoredConversation,
} from './entry.js'

interface Item {
  id?: string
  type?: string
  role?: string
  content?: string | { text?: string }[]
  tool_calls?: unknown
  call_id?: string
  arguments?: unknown
  output?: string
  encrypted_content?: string
}

export interface ResponsesBody {
  model?: string
  input?: string | Item[]
  instructions?: string
  tools?: { name?: string; parameters?: unknown }[]
  tool_choice?: string | { type?: string } | null
  include?: string[]
  store?: boolean
  previous_response_id?: string
}

interface ResponseObject {
  id: string
  status: string
  output: object[]
}

const INCOMPLETE_REASONS: Record<string, string> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
}

/** Returns the events of a streamed response. */
export function stream(
  entry: ScriptEntry,
  { n = 1, body = {} }: Place<ResponsesBody> = {},
): string[] {
  const writer = new ResponseWriter(entry, n, body)
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  writer.begin()
  if (reasoning.length) writer.writeReasoning(reasoning)
  for (const block of blocks) writer.writeBlock(block)
  if (text.length) writer.writeMessage(text, `msg_${n}`)
  calls.forEach((call, index) => writer.writeCall(call, index))
  if (textAfter.length) writer.writeMessage(textAfter, `msg_${n}_after`)
  return writer.end()
}

/** The position of an output item in a response. */
interface Position {
  output_index: number
  item_id: unknown
}

/** Writes the events of one response. */
class ResponseWriter {
  readonly #events: string[] = []
  readonly #output: object[] = []
  readonly #response: object
  readonly #entry: ScriptEntry
  readonly #n: number
  readonly #body: ResponsesBody

  constructor(entry: ScriptEntry, n: number, body: ResponsesBody) {
    this.#entry = entry
    this.#n = n
    this.#body = body
    this.#response = {
      id: `resp_${n}`,
      object: 'response',
      created_at: 1700000000 + n,
      status: 'in_progress',
      error: null,
      incomplete_details: null,
      model: body.model ?? 'scripted',
      output: [],
      store: body.store ?? true,
      usage: null,
    }
  }

  #write(type: string, members: object): void {
    const data = JSON.stringify({ type, sequence_number: this.#events.length, ...members })
    this.#events.push(`event: ${type}\ndata: ${data}\n\n`)
  }

  begin(): void {
    const response = this.#response
    this.#write('response.created', { response })
    this.#write('response.in_progress', { response })
  }

  /**
   * Writes an output item. `writeDeltas` returns whether the item is complete: an item in which the
   * connection breaks is not.
   */
  #writeItem(
    started: { id?: unknown },
    writeDeltas: (position: Position) => boolean,
    ended: object,
  ): void {
    const position = { output_index: this.#output.length, item_id: started.id }
    const { output_index } = position
    this.#write('response.output_item.added', { output_index, item: started })
    if (!writeDeltas(position)) return
    this.#output.push(ended)
    this.#write('response.output_item.done', { output_index, item: ended })
  }

  writeReasoning(pieces: readonly string[]): void {
    const text = pieces.join('')
    const item = { id: `rs_${this.#n}`, type: 'reasoning' }
    const summary = { type: 'summary_text', text }
    const isEncrypted = this.#body.include?.includes('reasoning.encrypted_content')
    const writeDeltas = (position: Position) => {
      const part = { type: 'summary_text', text: '' }
      const place = { ...position, summary_index: 0 }
      this.#write('response.reasoning_summary_part.added', { ...place, part })
      for (const delta of pieces) {
        this.#write('response.reasoning_summary_text.delta', { ...place, delta })
      }
      this.#write('response.reasoning_summary_text.done', { ...place, text })
      this.#write('response.reasoning_summary_part.done', { ...place, part: summary })
      return true
    }
    const started = { ...item, summary: [] }
    this.#writeItem(started, writeDeltas, {
      ...item,
      summary: [summary],
      ...(isEncrypted && { encrypted_content: 'sig' }),
    })
  }

  writeBlock(block: Record<string, unknown>): void {
    const started = { id: block.id, type: block.type, status: 'in_progress' }
    this.#writeItem(started, () => true, block)
  }

  writeMessage(pieces: readonly string[], id: string): void {
    const text = pieces.join('')
    const item = { id, type: 'message', role: 'assistant' }
    const part = { type: 'output_text', text, annotations: [] }
    const writeDeltas = (position: Position) => {
      const place = { ...position, content_index: 0 }
      this.#write('response.content_part.added', { ...place, part: { ...part, text: '' } })
      for (const delta of pieces) {
        this.#write('response.output_text.delta', { ...place, delta, logprobs: [] })
      }
      if (this.#entry.then && !this.#entry.calls?.length) return false
      this.#write('response.output_text.done', { ...place, text, logprobs: [] })
      this.#write('response.content_part.done', { ...place, part })
      return true
    }
    const started = { ...item, status: 'in_progress', content: [] }
    this.#writeItem(started, writeDeltas, { ...item, status: 'completed', content: [part] })
  }

  writeCall(call: ScriptCall, index: number): void {
    const isOpen = isCut(this.#entry, index)
    const item = {
      id: `fc_${this.#n}_${index}`,
      type: 'function_call',
      call_id: call.id,
      name: call.name,
    }
    const pieces = argumentPieces(call, isOpen)
    const args = pieces.join('')
    const writeDeltas = (position: Position) => {
      for (const delta of pieces) {
        this.#write('response.function_call_arguments.delta', { ...position, delta })
      }
      if (isOpen) return false
      const done = { ...position, name: call.name, arguments: args }
      this.#write('response.function_call_arguments.done', done)
      return true
    }
    const started = { ...item, status: 'in_progress', arguments: '' }
    this.#writeItem(started, writeDeltas, { ...item, status: 'completed', arguments: args })
  }

  /** Writes the end of the response and returns its events. */
  end(): string[] {
    const entry = this.#entry
    if (entry.then === 'error') {
      const message = 'The model is overloaded'
      this.#write('error', { code: 'server_is_overloaded', message, param: null })
      return this.#events
    }
    if (entry.then === 'malformed') {
      this.#events.push('event: response.output_text.delta\ndata: {"type":"response.output_t\n\n')
    }
    if (entry.then) return this.#events
    const { input, output } = usageOf(entry)
    const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output }
    const reason = INCOMPLETE_REASONS[finishOf(entry)]
    const end = reason
      ? { status: 'incomplete', incomplete_details: { reason } }
      : { status: 'completed' }
    const response = { ...this.#response, ...end, output: this.#output, usage }
    this.#write(`response.${end.status}`, { response })
    return this.#events
  }
}

export { failure } from './openai-chat.js'

/** Returns the body of a response that is not streamed: that of the last event of a stream. */
export function responseBody(entry: ScriptEntry, place?: Place<ResponsesBody>): ResponseObject {
  const last = stream({ ...entry, then: undefined }, place).at(-1) ?? ''
  const data = JSON.parse(last.slice(last.indexOf('data: ') + 6)) as { response: ResponseObject }
  return data.response
}

/** Returns the id of a response, and the conversation up to its end. */
export function storedConversation(
  entry: ScriptEntry,
  place: Place<ResponsesBody>,
  { store = true, input }: ResponsesBody,
): StoredConversation | undefined {
  if (!store || entry.then) return undefined
  const { id, status, output } = responseBody(entry, place)
  return status === 'completed' ? { id, input: [...itemsOf(input), ...output] } : undefined
}

/** A text is a message of the user. */
const itemsOf = (input: string | readonly Item[] = []): readonly Item[] =>
  typeof input === 'string' ? [{ role: 'user', content: input }] : input

/** Returns the request with the conversation that it continues; undefined if that is unknown. */
export function withConversation(
  body: ResponsesBody,
  conversations: readonly StoredConversation[],
): ResponsesBody | undefined {
  const { previous_response_id: id } = body
  if (id === undefined) return body
  const conversation = conversations.find((stored) => stored.id === id)
  return (
    conversation && {
      ...body,
      input: [...(conversation.input as Item[]), ...itemsOf(body.input)],
    }
  )
}

const MEMBERS = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'store',
  'include',
  'previous_response_id',
  'stream',
  'text',
  'reasoning',
  'temperature',
  'max_output_tokens',
  'metadata',
  'background',
  'conversation',
  'max_tool_calls',
  'parallel_tool_calls',
  'prompt',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'stream_options',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
]

/** Returns the API's error message for a request that breaks its rules; undefined if it is valid. */
export function violation(body: ResponsesBody): string | undefined {
  const unknown = unknownMember(body, MEMBERS)
  if (unknown) return `Unknown parameter: '${unknown}'.`
  const input = itemsOf(body.input ?? [])
  if (!input.length) return "Missing required parameter: 'input'."
  const requested: unknown[] = []
  const answered: unknown[] = []
  for (const [at, item] of input.entries()) {
    if (!item.type && !item.role) return `Invalid value: 'input[${at}]'.`
    if (item.role === 'tool' || item.tool_calls) return `Invalid value: 'input[${at}]'.`
    if (item.type === 'function_call') {
      if (typeof item.arguments !== 'string') return `Invalid type for 'input[${at}].arguments'.`
      requested.push(item.call_id)
    }
    if (item.type === 'function_call_output') {
      if (!requested.includes(item.call_id)) {
        return `No tool call found for function call output with call_id ${item.call_id}.`
      }
      answered.push(item.call_id)
    }
    if (item.type === 'reasoning' && !item.encrypted_content && !body.store) {
      return `Item '${item.id}' of type 'reasoning' was not persisted.`
    }
  }
  if (new Set(answered).size < answered.length) return 'Duplicate call_ids submitted'
  const open = requested.find((id) => !answered.includes(id))
  return open ? `No tool output found for function call ${open}.` : undefined
}

export function view({
  input,
  instructions = '',
  tools = [],
  tool_choice: choice = null,
}: ResponsesBody): RequestView {
  const items = itemsOf(input ?? [])
  return {
    tools: tools.flatMap(({ name, parameters }) => (name ? { name, schema: parameters } : [])),
    choice: (choice as { type?: string } | null)?.type ?? (choice as string | null),
    system: instructions,
    list: items,
    messages: items.map((item) => ({
      role: item.type === 'function_call_output' ? 'tool' : (item.role ?? 'assistant'),
      text: textOf(item),
      results: item.type === 'function_call_output' ? [item.output as string] : [],
    })),
  }
}

function textOf({ content }: Item): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => part.text ?? '').join('\n')
}
