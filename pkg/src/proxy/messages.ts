/** Anthropic's Messages. */
import { isSaid, resultText, type PastCall } from './judge.js'
import { elementsOf, list, membersOf, object, text, type Members } from './json.js'
import type { Elements } from './history.js'
import { INTERRUPTED, OpenCalls, type Step, type StreamWire, type Wire } from './wire.js'

function turn(history: readonly unknown[]): PastCall[] {
  let calls = new Map<string, PastCall>()
  let earlier: PastCall[] = []
  for (const { role, content } of history.map(object)) {
    const blocks = list(content).map(object)
    // The results of the turn before a message of the user stand in that message.
    if (role === 'user' && saysSomething(content, blocks)) [calls, earlier] = [new Map(), []]
    for (const block of blocks) {
      if (block.type === 'tool_use') {
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
  /** What a block begins with is its arguments, if nothing follows. */
  readonly #inputs = new Map<number, string>()
  /** Where the blocks of the provider stand for the client. */
  #places = new Map<number, number>()
  #next = 0
  #second = false
  #usage: Members = {}

  matters(frames: string): boolean {
    return (
      !this.#open.isEmpty ||
      // Where blocks begin is counted, in case that one is left out.
      frames.includes('content_block_start') ||
      frames.includes('"usage"')
    )
  }

  read(json: Members): Step {
    const at = Number(json.index)
    switch (json.type) {
      case 'message_start':
        return { usage: (this.#usage = object(object(json.message).usage)) }
      case 'content_block_start': {
        const block = object(json.content_block)
        if (block.type !== 'tool_use') {
          this.#places.set(at, this.#next++)
          return { text: block.type === 'text' }
        }
        const input = JSON.stringify(block.input ?? {})
        this.#inputs.set(at, input)
        return this.#open.begin(at, { key: `${at}`, name: text(block.name), args: '' })
      }
      case 'content_block_delta': {
        const call = this.#open.at(at)
        if (call) call.args += text(object(json.delta).partial_json)
        return { open: !this.#open.isEmpty }
      }
      case 'content_block_stop': {
        const call = this.#open.at(at)
        if (call) call.args ||= this.#inputs.get(at) ?? ''
        return this.#open.end(at)
      }
      case 'message_delta': {
        this.#usage = { ...this.#usage, ...object(json.usage) }
        const finish = text(object(json.delta).stop_reason) !== ''
        const more = finish ? { complete: this.#open.take() } : { open: !this.#open.isEmpty }
        return { usage: this.#usage, finish, ...more }
      }
      default:
        return { open: !this.#open.isEmpty }
    }
  }

  rewrite(json: Members, refused: ReadonlySet<string>): Members[] {
    if (this.#second && json.type === 'message_start') return []
    if (typeof json.index !== 'number') return [json]
    const isCall = object(json.content_block).type === 'tool_use'
    if (refused.has(`${json.index}`) || (isCall && refused.has('*'))) {
      return []
    }
    if (isCall) this.#places.set(json.index, this.#next++)
    const index = this.#places.get(json.index)
    return index === undefined ? [] : [{ ...json, index }]
  }

  passed(json: Members): void {
    if (object(json.content_block).type === 'tool_use') {
      this.#places.set(Number(json.index), this.#next++)
    }
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

export const messages: Wire = {
  name: 'messages',
  dialect: 'anthropic',
  history: 'messages',
  noTools: '{"type":"none"}',
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
  calls: (json) =>
    list(json.content).flatMap((value, at) => {
      const block = object(value)
      if (block.type !== 'tool_use') return []
      return [{ key: `${at}`, name: text(block.name), args: JSON.stringify(block.input ?? {}) }]
    }),
  without(json, refused, notice) {
    const content = list(json.content).filter((_, at) => !refused.has(`${at}`))
    if (content.some((block) => object(block).type === 'tool_use')) return { ...json, content }
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
