/** OpenAI's Responses. */
import { saysSomething } from './chat.js'
import { resultText, type PastCall } from './judge.js'
import { list, object, text, type Members } from './json.js'
import {
  INTERRUPTED,
  lastInRow,
  OpenCalls,
  type Keyed,
  type Step,
  type StreamWire,
  type Wire,
} from './wire.js'

const isCall = ({ type }: Members): boolean =>
  type === 'function_call' || type === 'custom_tool_call'

const callOf = (item: Members) => ({
  name: text(item.name),
  args: item.type === 'custom_tool_call' ? JSON.stringify(item.input ?? '') : text(item.arguments),
})

function turn(history: readonly unknown[]): PastCall[] {
  let calls = new Map<string, PastCall>()
  let earlier: PastCall[] = []
  for (const item of history.map(object)) {
    if (item.role === 'user' && saysSomething(item.content)) [calls, earlier] = [new Map(), []]
    if (isCall(item)) {
      const made: PastCall = { ...callOf(item), result: undefined }
      calls.set(text(item.call_id), made)
      earlier.push(made)
    }
    const called = /^(function|custom_tool)_call_output$/.test(text(item.type))
      ? calls.get(text(item.call_id))
      : undefined
    if (called) called.result = resultText(item.output)
  }
  return earlier
}

class ResponsesStream implements StreamWire {
  readonly #open = new OpenCalls()
  #places = new Map<number, number>()
  #next = 0
  /** The number of the last event that the client has. */
  #sequence = -1
  #first: Members | undefined
  #head: Members = {}
  #said: Members[] = []
  #second = false

  matters(frames: string): boolean {
    return (
      !this.#open.isEmpty ||
      frames.includes('output_item.added') ||
      frames.includes('"response.c') ||
      frames.includes('"response":')
    )
  }

  read(json: Members): Step {
    const at = Number(json.output_index)
    const item = object(json.item)
    switch (json.type) {
      case 'response.created':
        // The client knows the first response, whose text another one may continue.
        if (!this.#second) this.#head = object(json.response)
        return {}
      case 'response.output_item.added':
        if (!isCall(item)) {
          this.#places.set(at, this.#next++)
          return { text: item.type === 'message', open: !this.#open.isEmpty }
        }
        return this.#open.begin(at, { key: `${at}`, ...callOf(item) })
      case 'response.output_item.done': {
        const call = this.#open.at(at)
        if (call) Object.assign(call, callOf(item))
        return this.#open.end(at)
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed': {
        const response = object(json.response)
        const usage = response.usage ? { usage: response.usage } : {}
        return { finish: true, complete: this.#open.take(), ...usage }
      }
      default:
        return { open: !this.#open.isEmpty }
    }
  }

  rewrite(json: Members, refused: ReadonlySet<string>): Members[] {
    const { type, output_index: at } = json
    if (this.#second && /^response\.(created|in_progress|queued)$/.test(text(type))) return []
    if (typeof at === 'number') {
      const starts = type === 'response.output_item.added' && isCall(object(json.item))
      if (refused.has(`${at}`) || (starts && refused.has('*'))) return this.#left(json)
      if (starts) this.#places.set(at, this.#next++)
      const place = this.#places.get(at)
      return place === undefined ? [] : [this.#numbered({ ...json, output_index: place })]
    }
    if (json.response === undefined) return [this.#numbered(json)]
    return [this.#numbered({ ...json, response: this.#whole(object(json.response), refused) })]
  }

  /** The number of a left-out event goes to the next one. */
  #left(json: Members): Members[] {
    if (this.#sequence < 0) this.#sequence = Number(json.sequence_number ?? 0) - 1
    return []
  }

  #numbered(json: Members): Members {
    const before = this.#sequence < 0 ? Number(json.sequence_number ?? 0) - 1 : this.#sequence
    this.#sequence = before + 1
    return { ...json, sequence_number: this.#sequence }
  }

  /** A response with the output that the client was shown. */
  #whole(response: Members, refused: ReadonlySet<string>): Members {
    const own = list(response.output).filter(
      (item, at) => !refused.has(`${at}`) && !(refused.has('*') && isCall(object(item))),
    )
    const before = this.#second ? list(this.#first?.output) : []
    const output = [...before, ...own, ...this.#said]
    const { id, created_at } = this.#head
    return { ...response, ...(this.#second && { id, created_at }), output }
  }

  passed(json: Members): void {
    if (json.type !== 'response.output_item.added' || !isCall(object(json.item))) return
    this.#places.set(Number(json.output_index), this.#next++)
  }

  beforeEnd(): Members[] {
    return []
  }

  again(): void {
    this.#second = true
    this.#open.take()
    this.#places.clear()
  }

  say(said: string): Members[] {
    const at = { output_index: this.#next++ }
    const item_id = `msg_turnlock_${at.output_index}`
    const part = { type: 'output_text', text: said, annotations: [] }
    const item = { id: item_id, type: 'message', role: 'assistant' }
    const done = { ...item, status: 'completed', content: [part] }
    const within = { item_id, ...at, content_index: 0 }
    this.#said.push(done)
    return [
      {
        type: 'response.output_item.added',
        ...at,
        item: { ...item, status: 'in_progress', content: [] },
      },
      { type: 'response.content_part.added', ...within, part: { ...part, text: '' } },
      { type: 'response.output_text.delta', ...within, delta: said },
      { type: 'response.output_text.done', ...within, text: said },
      { type: 'response.content_part.done', ...within, part },
      { type: 'response.output_item.done', ...at, item: done },
    ].map((json) => this.#numbered(json))
  }

  finish(json: Members): Members[] {
    return [json]
  }

  /** What the client was shown of the response whose calls are refused. */
  keep(json: Members, refused: ReadonlySet<string>): void {
    this.#first = this.#whole(object(json.response), refused)
  }

  isLast(json: Members): boolean {
    return /^response\.(completed|incomplete|failed)$/.test(text(json.type))
  }
}

export const responses: Wire = {
  name: 'responses',
  dialect: 'openai-responses',
  history: 'input',
  noTools: '"none"',
  isWhole: (body) =>
    body.previous_response_id == null &&
    body.conversation == null &&
    !list(body.input).some((item) => object(item).type === 'item_reference'),
  orphans(history) {
    const calls = new Set(
      history.flatMap((value) => {
        const { type, call_id } = object(value)
        return /call$/.test(text(type)) ? [call_id] : []
      }),
    )
    return history.flatMap((value, index) => {
      const { type, call_id } = object(value)
      if (!/call_output$/.test(text(type)) || calls.has(call_id)) return []
      const about = { index, toolCallId: text(call_id), detail: 'no call has this result' }
      return [{ code: 'TOOL_RESULT_ORPHAN', action: 'dropped', ...about }]
    })
  },
  mend(elements, history, { code, index, toolCallId }) {
    if (code === 'TOOL_RESULT_ORPHAN') return elements.set(index, [])
    // Behind the calls that were made together.
    const last = lastInRow(history, index, (item) =>
      /call(_output)?$/.test(text(object(item).type)),
    )
    const own = object(history[index]).type === 'custom_tool_call' ? 'custom_tool' : 'function'
    const made = { type: `${own}_call_output`, call_id: toolCallId, output: INTERRUPTED }
    elements.add(last, JSON.stringify(made))
  },
  turn,
  stream: () => new ResponsesStream(),
  write: (json) => `event: ${text(json.type)}\ndata: ${JSON.stringify(json)}\n\n`,
  ping: ': keep-alive\n\n',
  calls: (json) =>
    list(json.output).flatMap((value, at) => {
      const item = object(value)
      return isCall(item) ? [{ key: `${at}`, ...callOf(item) } as Keyed] : []
    }),
  without(json, refused, notice) {
    const output = list(json.output).filter((_, at) => !refused.has(`${at}`))
    if (!output.some((item) => isCall(object(item)) || object(item).type === 'message')) {
      const content = [{ type: 'output_text', text: notice, annotations: [] }]
      const message = { type: 'message', role: 'assistant', status: 'completed', content }
      output.push({ id: 'msg_turnlock_0', ...message })
    }
    return { ...json, output }
  },
  failure(code, message) {
    const error = { code, message }
    const response = { object: 'response', status: 'failed', error, output: [] }
    const json = { type: 'response.failed', response }
    return `event: response.failed\ndata: ${JSON.stringify(json)}\n\n`
  },
}
