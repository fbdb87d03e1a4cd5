/** Anthropic's Messages. */
import { isSaid, resultText, type PastCall } from './judge.js'
import { elementsOf, list, membersOf, object, text, type Members } from './json.js'
import type { Elements } from './history.js'
import { hasEscapes, type Places } from './stray.js'
import {
  INTERRUPTED,
  OpenCalls,
  type Keyed,
  type Step,
  type StreamWire,
  type Wire,
} from './wire.js'

function turn(history: readonly unknown[]): PastCall[] {
  let calls = new Map<string, PastCall>()
  let earlier: PastCall[] = []
  for (const { role, content } of history.map(object)) {
    const blocks = list(content).map(object)
    // The results of the turn before a message of the user stand in that message.
    if (role === 'user' && saysSomething(content, blocks)) [calls, earlier] = [new Map(), []]
    for (const block of blocks) {
      if (isCall(block)) {
        const args = JSON.stringify(block.input ?? {})
        const made: PastCall = { name: text(block.name), args, result: undefined }
        calls.set(text(block.id), made)
        earlier.push(made)
      }
      const called = block.type === 'tool_result' ? calls.get(text(block.tool_use_id)) : undefined
      if (called) called.result = `${block.is_error === true}:${resultText(block.content)}`
    }
  }
  return earlier
}

const saysSomething = (content: unknown, blocks: readonly Members[]): boolean =>
  isSaid(content) ||
  blocks.some(({ type, text: said }) =>
    type === 'text' ? isSaid(said) : type !== 'tool_result' && type !== undefined,
  )

class MessagesStream implements StreamWire {
  readonly #open = new OpenCalls()
  /** What a block begins with is its arguments, if nothing follows; by the key of its call. */
  readonly #inputs = new Map<string, string>()
  /** The call of a frame, once it was read. */
  readonly #keys = new WeakMap<Members, string>()
  /** Where the other blocks of the provider stand for the client, and where its calls. */
  #places = new Map<number, number>()
  readonly #called = new Map<string, number>()
  #next = 0
  #second = false
  #usage: Members = {}

  matters(frames: string): boolean {
    return (
      !this.#open.isEmpty ||
      // Where blocks begin is counted, in case that one is left out.
      frames.includes('content_block_start') ||
      frames.includes('tool_use') ||
      frames.includes('partial_json') ||
      frames.includes('"usage"') ||
      hasEscapes(frames)
    )
  }

  read(json: Members): Step {
    const at = Number(json.index)
    const call = this.#open.at(at)
    if (call && /^content_block_(delta|stop)$/.test(text(json.type))) {
      this.#keys.set(json, call.key)
    }
    switch (json.type) {
      case 'message_start':
        return this.#start(object(json.message))
      case 'content_block_start': {
        const block = object(json.content_block)
        if (!isCall(block)) {
          this.#open.close(at)
          this.#places.set(at, this.#next++)
          return { text: block.type === 'text', open: !this.#open.isEmpty }
        }
        const { key } = this.#open.begin(at, { name: text(block.name), args: '' })
        this.#places.delete(at)
        this.#inputs.set(key, JSON.stringify(block.input ?? {}))
        this.#keys.set(json, key)
        return { open: true }
      }
      case 'content_block_delta': {
        const piece = object(json.delta).partial_json
        // Arguments that follow the end of a call would be others than those that were judged.
        if (!call && piece !== undefined && !this.#places.has(at)) return { stray: true }
        if (call) call.args += text(piece)
        return { open: !this.#open.isEmpty }
      }
      case 'content_block_stop':
        return call ? this.#filled(this.#open.end(at)) : { open: !this.#open.isEmpty }
      case 'message_delta': {
        this.#usage = { ...this.#usage, ...object(json.usage) }
        const finish = text(object(json.delta).stop_reason) !== ''
        const more = finish ? { complete: this.rest() } : { open: !this.#open.isEmpty }
        return { usage: this.#usage, finish, ...more }
      }
      default:
        return { open: !this.#open.isEmpty }
    }
  }

  /** Where code of the provider calls tools, a message begins with its calls. */
  #start({ content, usage }: Members): Step {
    const blocks = list(content).map(object).filter(isCall)
    for (const block of blocks) {
      this.#keys.set(block, this.#open.begin(NaN, callOf(block)).key)
    }
    this.#usage = object(usage)
    return { usage: this.#usage, complete: blocks.length ? this.rest() : [] }
  }

  #filled(step: Step): Step {
    for (const call of step.complete ?? []) call.args ||= this.#inputs.get(call.key) ?? ''
    return step
  }

  rest(): Keyed[] {
    return this.#filled({ complete: this.#open.take() }).complete ?? []
  }

  rewrite(json: Members, refused: ReadonlySet<string>): Members[] {
    if (json.type === 'message_start') return this.#second ? [] : [this.#started(json, refused)]
    const key = this.#keys.get(json)
    if (key !== undefined) {
      if (refused.has(key) || refused.has('*')) return []
      return [{ ...json, index: this.#place(key) }]
    }
    if (typeof json.index !== 'number') return [json]
    const index = this.#places.get(json.index)
    return index === undefined ? [] : [{ ...json, index }]
  }

  #started(json: Members, refused: ReadonlySet<string>): Members {
    const message = object(json.message)
    const content = list(message.content).filter((block) => {
      const key = this.#keys.get(object(block))
      return key === undefined || !(refused.has(key) || refused.has('*'))
    })
    return 'content' in message ? { ...json, message: { ...message, content } } : json
  }

  #place(key: string): number {
    const place = this.#called.get(key) ?? this.#next++
    this.#called.set(key, place)
    return place
  }

  passed(json: Members): void {
    const key = this.#keys.get(json)
    if (key !== undefined) this.#place(key)
  }

  beforeEnd(): Members[] {
    return []
  }

  keep(): void {
    // The second response brings its own end.
  }

  again(): void {
    this.#second = true
    this.#open.take()
    this.#places.clear()
  }

  say(said: string): Members[] {
    const index = this.#next++
    return [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index, delta: { type: 'text_delta', text: said } },
      { type: 'content_block_stop', index },
    ]
  }

  finish(json: Members): Members[] {
    const delta = object(json.delta)
    if (delta.stop_reason !== 'tool_use') return [json]
    return [{ ...json, delta: { ...delta, stop_reason: 'end_turn' } }]
  }

  ended(): Members[] {
    const delta = { stop_reason: 'end_turn', stop_sequence: null }
    const usage = { output_tokens: 0, ...this.#usage }
    return [{ type: 'message_delta', delta, usage }, { type: 'message_stop' }]
  }

  isLast(json: Members): boolean {
    return json.type === 'message_stop'
  }
}

/** Leaves a block out of a message; the message too, if it has no other. */
function dropResult(elements: Elements, index: number, id: string): void {
  const message = elements.text(index)
  const content = membersOf(message).get('content')
  if (!content) return
  const ranges = elementsOf(message, content.start)
  const at = ranges.findIndex(({ start, end }) => {
    const block = object(JSON.parse(message.slice(start, end)))
    return block.type === 'tool_result' && block.tool_use_id === id
  })
  const [own, next, before] = [ranges[at], ranges[at + 1], ranges[at - 1]]
  if (!own) return
  if (!next && !before) return elements.set(index, [])
  const [from, to] = next ? [own.start, next.start] : [before?.end ?? own.start, own.end]
  elements.set(index, [message.slice(0, from) + message.slice(to)])
}

const addResult = (elements: Elements, index: number, block: string): void =>
  elements.set(index, [withBlock(elements.text(index), block)])

/** The text of a message with a result: results stand before other content. */
function withBlock(message: string, block: string): string {
  const content = membersOf(message).get('content')
  if (!content) return message
  const { start, end } = content
  const now = message.slice(start, end)
  const isText = now.startsWith('"')
  // Behind the results that are there, so that they stand in the order of their calls.
  const ranges = isText ? [] : elementsOf(message, start)
  const results = ranges.filter(
    (range) => object(JSON.parse(message.slice(range.start, range.end))).type === 'tool_result',
  )
  const last = results.at(-1)
  if (last) return `${message.slice(0, last.end)},${block}${message.slice(last.end)}`
  const rest = isText
    ? `,{"type":"text","text":${now}}]`
    : (ranges.length ? ',' : '') + now.slice(1)
  return `${message.slice(0, start)}[${block}${rest}${message.slice(end)}`
}

const isCall = ({ type }: Members): boolean => type === 'tool_use'

const callOf = ({ name, input }: Members) => ({
  name: text(name),
  args: JSON.stringify(input ?? {}),
})

const placesIn = (isKnown: Places['isKnown']): Places => ({
  calls: (_, value) => (isCall(object(value)) ? [callOf(object(value))] : []),
  isKnown,
  data: new Set(['input', 'tools', 'metadata']),
})

export const messages: Wire = {
  name: 'messages',
  dialect: 'anthropic',
  history: 'messages',
  noTools: () => ['tool_choice', '{"type":"none"}'],
  isWhole: () => true,
  orphans: () => [],
  mend(elements, history, { code, index, toolCallId = '' }) {
    if (code === 'TOOL_RESULT_ORPHAN') return dropResult(elements, index, toolCallId)
    const block = { type: 'tool_result', tool_use_id: toolCallId, content: INTERRUPTED }
    const made = JSON.stringify({ ...block, is_error: true })
    if (object(history[index + 1]).role === 'user') return addResult(elements, index + 1, made)
    // The message that another repair has added here already.
    const [own, added] = elements.all(index)
    if (added) elements.set(index, [own ?? '', withBlock(added, made)])
    else elements.add(index, `{"role":"user","content":[${made}]}`)
  },
  turn,
  stream: () => new MessagesStream(),
  write: (json) => `event: ${text(json.type)}\ndata: ${JSON.stringify(json)}\n\n`,
  ping: 'event: ping\ndata: {"type":"ping"}\n\n',
  places: {
    stream: placesIn(
      (path, _, { type }) =>
        (path === 'content_block' && type === 'content_block_start') ||
        (path === 'message.content.*' && type === 'message_start'),
    ),
    whole: placesIn((path) => path === 'content.*'),
  },
  words: /tool_use|partial_json/,
  calls: (json) =>
    list(json.content).flatMap((value, at) => {
      const block = object(value)
      return isCall(block) ? [{ key: `${at}`, ...callOf(block) }] : []
    }),
  without(json, refused, notice) {
    const content = list(json.content).filter((_, at) => !refused.has(`${at}`))
    if (content.some((block) => isCall(object(block)))) return { ...json, content }
    if (!content.some((block) => object(block).type === 'text')) {
      content.push({ type: 'text', text: notice })
    }
    const ended = json.stop_reason === 'tool_use' ? 'end_turn' : json.stop_reason
    return { ...json, content, stop_reason: ended }
  },
  failure(code, message) {
    const error = { type: 'api_error', message, code }
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`
  },
}
