// @ts-nocheck
// One scripted response as OpenAI Responses streams it, or whole.
import { argumentPieces, finishOf, isCut, unknown, usageOf } from './entry.js'

const INCOMPLETE = { length: 'max_output_tokens', content_filter: 'content_filter' }

/**
 * SSE events, one string each.
 * @param {import('./entry.js').Entry} entry
 * @param {import('./entry.js').Place} place
 */
export function stream(entry, { n = 1, body = {} } = {}) {
  const events = []
  const event = (type, own) => {
    const data = JSON.stringify({ type, sequence_number: events.length, ...own })
    events.push(`event: ${type}\ndata: ${data}\n\n`)
  }
  const response = {
    ...{ id: `resp_${n}`, object: 'response', created_at: 1700000000 + n, status: 'in_progress' },
    ...{ error: null, incomplete_details: null, model: body.model ?? 'scripted', output: [] },
    ...{ store: body.store ?? true, usage: null },
  }
  event('response.created', { response })
  event('response.in_progress', { response })
  const output = []
  const item = (started, play, ended = started) => {
    const at = { output_index: output.length, item_id: started.id }
    event('response.output_item.added', { output_index: at.output_index, item: started })
    if (play(at) === 'open') return
    output.push(ended)
    event('response.output_item.done', { output_index: at.output_index, item: ended })
  }
  const { reasoning = [], blocks = [], text = [], calls = [], textAfter = [] } = entry
  if (reasoning.length) {
    const id = `rs_${n}`
    const summary = [{ type: 'summary_text', text: reasoning.join('') }]
    const play = (at) => {
      const part = { type: 'summary_text', text: '' }
      event('response.reasoning_summary_part.added', { ...at, summary_index: 0, part })
      for (const delta of reasoning) {
        event('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta })
      }
      const whole = { text: reasoning.join('') }
      event('response.reasoning_summary_text.done', { ...at, summary_index: 0, ...whole })
      event('response.reasoning_summary_part.done', { ...at, summary_index: 0, part: summary[0] })
    }
    const asked = body.include?.includes('reasoning.encrypted_content')
    const own = { id, type: 'reasoning' }
    item({ ...own, summary: [] }, play, {
      ...{ ...own, summary },
      ...(asked && { encrypted_content: 'sig' }),
    })
  }
  const say = (pieces, id) => {
    const own = { id, type: 'message', role: 'assistant' }
    const play = (at) => {
      const part = (said) => ({ type: 'output_text', text: said, annotations: [] })
      event('response.content_part.added', { ...at, content_index: 0, part: part('') })
      for (const delta of pieces) {
        event('response.output_text.delta', { ...at, content_index: 0, delta, logprobs: [] })
      }
      if (entry.then && !calls.length) return 'open'
      const whole = pieces.join('')
      event('response.output_text.done', { ...at, content_index: 0, text: whole, logprobs: [] })
      event('response.content_part.done', { ...at, content_index: 0, part: part(whole) })
    }
    const content = [{ type: 'output_text', text: pieces.join(''), annotations: [] }]
    item({ ...own, status: 'in_progress', content: [] }, play, {
      ...{ ...own, status: 'completed', content },
    })
  }
  for (const block of blocks) {
    item({ id: block.id, type: block.type, status: 'in_progress' }, () => undefined, block)
  }
  if (text.length) say(text, `msg_${n}`)
  calls.forEach((call, index) => {
    const cut = isCut(entry, index)
    const own = { id: `fc_${n}_${index}`, type: 'function_call', call_id: call.id, name: call.name }
    const pieces = argumentPieces(call, cut)
    const whole = pieces.join('')
    const play = (at) => {
      for (const delta of pieces) event('response.function_call_arguments.delta', { ...at, delta })
      if (cut) return 'open'
      event('response.function_call_arguments.done', { ...at, name: call.name, arguments: whole })
    }
    item({ ...own, status: 'in_progress', arguments: '' }, play, {
      ...{ ...own, status: 'completed', arguments: whole },
    })
  })
  if (textAfter.length) say(textAfter, `msg_${n}_after`)
  if (entry.then === 'error') {
    const error = { code: 'server_is_overloaded', message: 'The model is overloaded', param: null }
    event('error', error)
    return events
  }
  if (entry.then === 'malformed') {
    return [...events, 'event: response.output_text.delta\ndata: {"type":"response.output_t\n\n']
  }
  if (entry.then) return events
  const { input, output: out } = usageOf(entry)
  const usage = { input_tokens: input, output_tokens: out, total_tokens: input + out }
  const reason = INCOMPLETE[finishOf(entry)]
  const ended = reason
    ? { status: 'incomplete', incomplete_details: { reason } }
    : { status: 'completed' }
  event(`response.${ended.status}`, { response: { ...response, ...ended, output, usage } })
  return events
}

export { failure } from './openai-chat.js'

/** The body of a response that is not streamed: what the last event of a stream has. */
export function whole(entry, place) {
  const last = stream({ ...entry, then: undefined }, place).at(-1)
  return JSON.parse(last.slice(last.indexOf('data: ') + 6)).response
}

/** What the provider keeps of a response: its id, and the conversation up to its end. */
export function keep(entry, place, { store = true, input }) {
  if (!store || entry.then) return undefined
  const { id, status, output } = whole(entry, place)
  return status === 'completed' ? { id, input: [...itemsOf(input), ...output] } : undefined
}

/** A text is a message of the user. */
const itemsOf = (input) => (typeof input === 'string' ? [{ role: 'user', content: input }] : input)

/** A request with the conversation that it continues; undefined where the provider has none. */
export function continued(body, conversations) {
  const { previous_response_id: id } = body
  if (id === undefined) return body
  const known = conversations.find((one) => one.id === id)
  return known && { ...body, input: [...known.input, ...itemsOf(body.input)] }
}

const KNOWN = ['model', 'input', 'instructions', 'tools', 'tool_choice', 'store', 'include']
KNOWN.push(
  'previous_response_id',
  'stream',
  'text',
  'reasoning',
  'temperature',
  'max_output_tokens',
  'metadata',
  ...['background', 'conversation', 'max_tool_calls', 'parallel_tool_calls', 'prompt'],
  ...['prompt_cache_key', 'safety_identifier', 'service_tier', 'stream_options', 'top_logprobs'],
  ...['top_p', 'truncation', 'user'],
)

/** What the API says to a request that breaks its rules; undefined for a good one. */
export function violation(body) {
  const strange = unknown(body, KNOWN)
  if (strange) return `Unknown parameter: '${strange}'.`
  const input = itemsOf(body.input ?? [])
  if (!input.length) return "Missing required parameter: 'input'."
  const asked = []
  const answered = []
  for (const [at, item] of input.entries()) {
    if (!item.type && !item.role) return `Invalid value: 'input[${at}]'.`
    if (item.role === 'tool' || item.tool_calls) return `Invalid value: 'input[${at}]'.`
    if (item.type === 'function_call') {
      if (typeof item.arguments !== 'string') return `Invalid type for 'input[${at}].arguments'.`
      asked.push(item.call_id)
    }
    if (item.type === 'function_call_output') {
      if (!asked.includes(item.call_id)) {
        return `No tool call found for function call output with call_id ${item.call_id}.`
      }
      answered.push(item.call_id)
    }
    if (item.type === 'reasoning' && !item.encrypted_content && !body.store) {
      return `Item '${item.id}' of type 'reasoning' was not persisted.`
    }
  }
  if (new Set(answered).size < answered.length) return 'Duplicate call_ids submitted'
  const open = asked.find((id) => !answered.includes(id))
  return open && `No tool output found for function call ${open}.`
}

/** @returns {import('./entry.js').View} */
export function view({ input, instructions = '', tools = [], tool_choice: choice = null }) {
  const items = itemsOf(input ?? [])
  const text = ({ content }) =>
    typeof content === 'string' ? content : (content ?? []).map((one) => one.text ?? '').join('\n')
  return {
    tools: tools.flatMap(({ name, parameters }) => (name ? { name, schema: parameters } : [])),
    choice: choice?.type ?? choice,
    system: instructions,
    list: items,
    messages: items.map((item) => ({
      role: item.type === 'function_call_output' ? 'tool' : (item.role ?? 'assistant'),
      text: text(item),
      results: item.type === 'function_call_output' ? [item.output] : [],
    })),
  }
}
