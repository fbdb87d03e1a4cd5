/** Anthropic's Messages. */
import { eventOf } from './frames.js'
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import {
  elementsOf,
  list,
  areNumbers,
  areTexts,
  isArguments,
  joinedText,
  membersOf,
  object,
  stringify,
  text,
  type Members,
  type Range,
} from './json.js'
import type { Repair } from '../generated/common.js'
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
        const made: PastCall = { ...callOf(block), result: undefined }
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
  /** The call of a frame, once it was read. */
  readonly #keys = new WeakMap<Members, string>()
  /** Where the other blocks of the provider stand for the client, and where its calls. */
  #places = new Map<number, number>()
  /** The places of calls of the provider, whose arguments come in the same events. */
  readonly #others = new Set<number>()
  /** The calls among the blocks, in their order: some clients take the index of an event for it. */
  #blocks: (Keyed | undefined)[] = []
  readonly #called = new Map<string, number>()
  #next = 0
  #second = false
  #usage: Members = {}

  matters(frames: string): boolean {
    return (
      !this.#open.isEmpty ||
      // Where blocks begin is counted, in case that one is left out.
      frames.includes('content_block_start') ||
      messages.words.test(frames) ||
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
          this.#blocks.push(undefined)
          this.#places.set(at, this.#next++)
          if (/tool_use$/.test(text(block.type))) this.#others.add(at)
          else this.#others.delete(at)
          return { text: block.type === 'text', open: !this.#open.isEmpty }
        }
        // What a block begins with are its arguments, if nothing follows.
        const { args, ...head } = callOf(block)
        const begun = this.#open.begin(at, { ...head, args: args === '{}' ? '' : args })
        if (!areNumbers(json.index)) begun.isUnclear = true
        this.#blocks.push(begun)
        this.#places.delete(at)
        this.#others.delete(at)
        this.#keys.set(json, begun.key)
        return { open: true }
      }
      case 'content_block_delta': {
        const piece = object(json.delta).partial_json
        // Arguments that follow the end of a call would be others than those that were judged.
        if (!call && piece !== undefined && !this.#others.has(at)) return { stray: true }
        if (piece !== undefined && this.#blocks[at] !== call) {
          if (this.#blocks[at] || !call) return { stray: true }
          call.isUnclear = true
        }
        if (call && !(isPiece(json) && areNumbers(json.index))) call.isUnclear = true
        this.#open.add(at, text(piece))
        return { open: !this.#open.isEmpty }
      }
      case 'content_block_stop':
        return call ? this.#open.end(at) : { open: !this.#open.isEmpty }
      case 'message_delta': {
        this.#add(json.usage)
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
    this.#blocks = list(content).map(() => undefined)
    for (const block of blocks) {
      this.#keys.set(block, this.#open.begin(NaN, callOf(block)).key)
    }
    this.#usage = {}
    this.#add(usage)
    return { usage: this.#usage, complete: blocks.length ? this.rest() : [] }
  }

  /** Adds to the usage in place: a copy for each event would cost the square. */
  #add(usage: unknown): void {
    for (const [name, value] of Object.entries(object(usage))) {
      if (name !== '__proto__') this.#usage[name] = value
    }
  }

  rest(): Keyed[] {
    return this.#open.take()
  }

  drop(drops: boolean): void {
    this.#open.drop(drops)
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
    this.#open.drop(false)
    this.#open.take()
    this.#places.clear()
    this.#others.clear()
    this.#blocks = []
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

/** What is left out of a message, and added to it. */
interface Edit {
  /** How many results of each call are left out. */
  drops: Map<string, number>
  adds: string[]
}

/** Edits each message once, however many repairs it needs. */
function mend(elements: Elements, history: readonly unknown[], repairs: readonly Repair[]): void {
  const edits = new Map<number, Edit>()
  /** Results of a message behind which no message of the user stands. */
  const behind = new Map<number, string[]>()
  const editOf = (index: number): Edit => {
    const edit = edits.get(index) ?? { drops: new Map<string, number>(), adds: [] }
    edits.set(index, edit)
    return edit
  }
  for (const { code, index, toolCallId = '' } of repairs) {
    if (code === 'TOOL_RESULT_ORPHAN') {
      const { drops } = editOf(index)
      drops.set(toolCallId, (drops.get(toolCallId) ?? 0) + 1)
      continue
    }
    const block = { type: 'tool_result', tool_use_id: toolCallId, content: INTERRUPTED }
    const made = JSON.stringify({ ...block, is_error: true })
    if (object(history[index + 1]).role === 'user') editOf(index + 1).adds.push(made)
    else
      behind
        .set(index, behind.get(index) ?? [])
        .get(index)
        ?.push(made)
  }
  for (const [index, edit] of edits) {
    const message = edited(elements.text(index), edit)
    elements.set(index, message === undefined ? [] : [message])
  }
  for (const [index, made] of behind) {
    elements.add(index, `{"role":"user","content":[${made.join(',')}]}`)
  }
}

/** The text of a message with an edit; `undefined` if nothing of it is left. */
function edited(message: string, { drops, adds }: Edit): string | undefined {
  const content = membersOf(message).get('content')
  if (!content) return message
  const { start, end } = content
  const own = message.slice(start, end)
  const isText = own.startsWith('"')
  const ranges = isText ? [] : elementsOf(message, start)
  /** The places of blocks that stay. */
  const kept: number[] = []
  // Added results stand behind those that are there, in the order of their calls, and before the rest.
  let results = 0
  ranges.forEach((range, at) => {
    const { type, tool_use_id: id } = object(JSON.parse(message.slice(range.start, range.end)))
    const left = type === 'tool_result' ? (drops.get(text(id)) ?? 0) : 0
    if (left > 0) drops.set(text(id), left - 1)
    else kept.push(at)
    if (left === 0 && type === 'tool_result') results = kept.length
  })
  const added = adds.join(',')
  const [before, after] = [message.slice(0, start), message.slice(end)]
  if (isText) {
    return adds.length ? `${before}[${added},{"type":"text","text":${own}}]${after}` : message
  }
  if (kept.length === 0) return adds.length ? `${before}[${added}]${after}` : undefined
  // What stood between two blocks stays behind the first of them.
  let made = `${before}[${adds.length && results === 0 ? `${added},` : ''}`
  made += message.slice(start + 1, ranges[0]?.start)
  kept.forEach((at, place) => {
    const range = ranges[at] as Range
    made += message.slice(range.start, range.end)
    if (adds.length && place + 1 === results) made += `,${added}`
    if (place + 1 < kept.length) made += message.slice(range.end, ranges[at + 1]?.start)
  })
  return made + message.slice(ranges.at(-1)?.end)
}

/** Whether a delta of a call has a piece of its arguments, and nothing that a client takes in its place. */
function isPiece({ delta, partial_json, text: said, input, arguments: args }: Members): boolean {
  const { type, partial_json: piece = '', ...others } = object(delta)
  const beside = [...Object.values(others), partial_json, said, input, args]
  const isAlone = beside.every((value) => value == null || value === '')
  return type === 'input_json_delta' && typeof piece === 'string' && isAlone
}

const isCall = ({ type }: Members): boolean => joinedText(type) === 'tool_use'

const callOf = ({ type, id, name, input }: Members): Call => ({
  name: text(name),
  args: stringify(input ?? {}),
  ...(!(areTexts(type, id, name) && isArguments(input)) && { isUnclear: true }),
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
  mend,
  turn,
  stream: () => new MessagesStream(),
  write: eventOf,
  ping: 'event: ping\ndata: {"type":"ping"}\n\n',
  places: {
    stream: placesIn(
      (path, _, { type }) =>
        (path === 'content_block' && type === 'content_block_start') ||
        (path === 'message.content.*' && type === 'message_start'),
    ),
    whole: placesIn((path) => path === 'content.*'),
  },
  events: /message_|content_block_|^error$/,
  hasTypes: true,
  isEvent: ({ type }) => /^(?:message_|content_block_|error$)/.test(text(type)),
  isResponse: ({ type, content }) =>
    Array.isArray(content) || type === 'message' || type === 'error',
  words: /tool_use|partial_json/iu,
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
