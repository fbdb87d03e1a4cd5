/** OpenAI's Chat Completions. */
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import { list, object, stringify, text, type Members } from './json.js'
import { hasEscapes, type Places } from './stray.js'
import { INTERRUPTED, rowEnds, type Keyed, type Step, type StreamWire, type Wire } from './wire.js'

/** The name and the arguments of a call: of a function, or of a custom tool. */
function callOf(call: Members): Call {
  const [called, custom] = [object(call.function), object(call.custom)]
  const args = called.arguments ?? custom.input ?? ''
  // Some servers send an object.
  const json = typeof args === 'string' ? args : stringify(args)
  const isText = called.arguments == null && typeof custom.input === 'string'
  return { name: text(called.name ?? custom.name), args: json, ...(isText && { isText }) }
}

function turn(history: readonly unknown[]): PastCall[] {
  let calls = new Map<string, PastCall>()
  let earlier: PastCall[] = []
  for (const message of history.map(object)) {
    const { role, content } = message
    if (role === 'user' && saysSomething(content)) [calls, earlier] = [new Map(), []]
    for (const call of list(message.tool_calls).map(object)) {
      const made: PastCall = { ...callOf(call), result: undefined }
      calls.set(text(call.id), made)
      earlier.push(made)
    }
    const called = role === 'tool' ? calls.get(text(message.tool_call_id)) : undefined
    if (called) called.result = resultText(content)
  }
  return earlier
}

/** Pictures and sounds are the user's words too. */
export const saysSomething = (content: unknown): boolean =>
  typeof content === 'string'
    ? isSaid(content)
    : list(content).some((part) => {
        const { type, text: said } = object(part)
        return /text$/.test(text(type)) ? isSaid(said) : true
      })

/** What begins a call. `hasIndex`: it says its index. */
interface Head extends Call {
  id: string
  hasIndex: boolean
}

interface Open extends Keyed, Head {
  /** Whether a call with whole arguments had its place. */
  isAgain?: boolean
  pieces: Pieces
  brackets: Brackets
}

/** Whether a piece with an id or a name goes on with the call of its place. */
const continues = (open: Open, { id, name, args, hasIndex }: Head): boolean => {
  if (id && open.id && id !== open.id) return false
  if (!name || !open.name) return true
  return args ? !open.brackets.isJson(open.pieces.of(BY_INDEX)) : hasIndex || id !== ''
}

/**
 * How clients attribute a piece without an id and a name. By its index; an index that is of no call,
 * or is missing, means the last call that began. Or such a piece is of no call.
 */
const [BY_INDEX, KNOWN_INDEX] = [0, 1]
/** Or a missing index is 0. Or what comes with an id or a name replaces what came before. */
const [ZERO, REPLACED] = [2, 3]
/** Or an index has one call, whose name is the first one, or the last. */
const MERGED = 4
const READERS = 5

/** The arguments of a call as they come, as each kind of client reads them: most read the same. */
class Pieces {
  #texts = ['']

  /** `readers`: those that take the piece for one of this call, by number; all without it. */
  add(piece: string, readers?: readonly number[]): void {
    if (readers && piece !== '') {
      this.#part()
      for (const reader of readers) this.#texts[reader] += piece
    } else this.#texts = this.#texts.map((text) => text + piece)
  }

  /** Replaces what a reader has. */
  set(reader: number, text: string): void {
    this.#part()
    this.#texts[reader] = text
  }

  /** From here on, readers may differ. */
  #part(): void {
    const [first = ''] = this.#texts
    if (this.#texts.length === 1) this.#texts = Array<string>(READERS).fill(first)
  }

  /** What a reader has. */
  of(reader: number): string {
    return this.#texts[reader] ?? this.#texts[0] ?? ''
  }

  get isEmpty(): boolean {
    return this.#texts.every((text) => text === '')
  }

  /** What the first reader has, and what the others have. */
  get texts(): string[] {
    return [...new Set(this.#texts)]
  }
}

/** A choice, by its index. */
const choiceOf = (choice: Members): string => String(choice.index ?? 0)

class ChatStream implements StreamWire {
  /** Calls that no end was seen of, in their order; and by their places. */
  #calls: Open[] = []
  #places = new Map<string, Open>()
  /** The call of each choice that began last. */
  #last = new Map<string, Open>()
  /** The call of each place that began first. */
  #first = new Map<string, Open>()
  /** Places of calls that are over, and whether their arguments were whole. */
  readonly #used = new Map<string, boolean>()
  /** Pieces that came before the call of their place, and may be of another one. */
  #early = new Map<string, string>()
  #drops = false
  /** The call of a piece, once it was read. */
  readonly #keys = new WeakMap<Members, string>()
  #count = 0
  /** Choices that have ended, and those with calls that have not. */
  readonly #over = new Set<string>()
  readonly #under = new Set<string>()
  #head: Members | undefined
  /** Where the calls of the provider stand for the client. */
  readonly #kept = new Map<string, number>()
  #second = false

  matters(frames: string): boolean {
    return (
      (/_c/i.test(frames) && NAMES_CALL.test(frames)) ||
      frames.includes('"usage":{') ||
      frames.includes('"usage": {') ||
      (this.#calls.length > 0 && frames.includes('finish_reason')) ||
      hasEscapes(frames)
    )
  }

  read(json: Members): Step {
    // Some providers begin with a chunk without an id, about the prompt.
    if (!text(this.#head?.id)) this.#head = json
    const step: Step = {}
    if (typeof json.usage === 'object' && json.usage !== null) step.usage = json.usage
    for (const choice of list(json.choices).map(object)) {
      const delta = object(choice.delta)
      const which = choiceOf(choice)
      if (text(delta.content) || text(delta.refusal)) step.text = true
      for (const piece of list(delta.tool_calls).map(object)) {
        if (!this.#piece(which, piece)) step.stray = true
      }
      const { function_call: called } = delta
      const piece = { index: 'function', function: called }
      if (isFull(called) && !this.#piece(which, called, piece)) step.stray = true
      if (!text(choice.finish_reason)) continue
      this.#over.add(which)
      this.#under.delete(which)
      step.finish = true
    }
    // Choices end one by one; what is held is of all of them.
    if (this.#under.size > 0) step.finish = false
    if (step.finish) step.complete = this.rest()
    step.open = this.#calls.length > 0
    return step
  }

  /** Reads a piece of a call; false if it goes on with a call that is over. */
  #piece(choice: string, own: Members, piece: Members = own): boolean {
    const { name, args, isText = false } = callOf(piece)
    const id = text(piece.id)
    const isHead = id !== '' || name !== ''
    const hasIndex = piece.index != null
    const place = `${choice}:${String(piece.index ?? (id || name))}`
    const placed = isHead || hasIndex ? this.#places.get(place) : undefined
    const last = this.#last.get(choice)
    if (!name && !placed && this.#over.has(choice)) return args === ''
    let call = placed ?? last
    if (!call || (isHead && !(placed && continues(placed, { id, name, args, hasIndex })))) {
      call = this.#begin(choice, place, { id, name, hasIndex, ...(isText && { isText }) })
      this.#add(call, args)
    } else if (isHead) {
      const isFirst = call.pieces.isEmpty
      this.#add(call, args)
      if (args && !isFirst && !this.#drops) call.pieces.set(REPLACED, args)
    } else if (placed) {
      this.#add(call, args)
    } else if (hasIndex) {
      this.#add(call, args, [BY_INDEX, REPLACED])
      if (!this.#drops) this.#early.set(place, (this.#early.get(place) ?? '') + args)
    } else {
      const first = this.#places.get(`${choice}:0`)
      const known = call.hasIndex ? [] : [KNOWN_INDEX]
      const zero = first === call ? [ZERO] : []
      this.#add(call, args, [BY_INDEX, REPLACED, ...known, ...zero])
      if (first && first !== call) this.#add(first, args, [ZERO])
    }
    const first = this.#first.get(place)
    if (first && first !== call) this.#add(first, args, [MERGED])
    call.name ||= name
    call.id ||= id
    if (!this.#drops) call.brackets.feed(args)
    this.#keys.set(own, call.key)
    return true
  }

  #begin(choice: string, place: string, head: Omit<Head, 'args'>): Open {
    const pieces = new Pieces()
    const call: Open = {
      ...head,
      key: `${this.#count++}`,
      args: '',
      pieces,
      brackets: new Brackets(),
    }
    // Some clients add its pieces to the call that was there, which may be over.
    const isWhole = this.#used.get(place)
    if (isWhole === false) call.isUnclear = true
    call.isAgain = isWhole === true
    const early = this.#early.get(place)
    this.#early.delete(place)
    for (const reader of early ? [KNOWN_INDEX, ZERO] : []) pieces.set(reader, early ?? '')
    if (!this.#first.has(place)) this.#first.set(place, call)
    this.#calls.push(call)
    this.#places.set(place, call)
    this.#last.set(choice, call)
    if (!this.#over.has(choice)) this.#under.add(choice)
    return call
  }

  #add(call: Open, args: string, readers?: readonly number[]): void {
    if (!this.#drops) call.pieces.add(args, readers)
  }

  drop(drops: boolean): void {
    this.#drops = drops
    this.#early.clear()
    if (drops) for (const call of this.#calls) call.pieces = new Pieces()
  }

  rest(): Keyed[] {
    const all = this.#calls
    for (const call of all) {
      const [first = '', ...others] = call.pieces.texts
      call.args = first
      if (others.length) call.readings = others
      // Or the call has the arguments that were there.
      if (call.isAgain && call.args.trim() === '') call.isUnclear = true
    }
    for (const [place, last] of this.#places) {
      const first = this.#first.get(place) ?? last
      if (first !== last) last.readings = [...(last.readings ?? []), first.pieces.of(MERGED)]
      this.#used.set(place, last.brackets.isJson(last.args))
    }
    this.#first.clear()
    this.#calls = []
    this.#places.clear()
    this.#last.clear()
    this.#early.clear()
    this.#under.clear()
    return all
  }

  rewrite(json: Members, refused: ReadonlySet<string>): Members[] {
    const choices = list(json.choices).map(object)
    if (!choices.length) return [this.#named(json)]
    const isLeft = (piece: Members) => {
      const key = this.#keys.get(piece)
      return key !== undefined && !refused.has(key) && !refused.has('*')
    }
    const kept = choices.flatMap((choice) => {
      const { tool_calls: pieces, function_call: called, ...rest } = object(choice.delta)
      const left = list(pieces).map(object).filter(isLeft)
      const calls = left.map((piece) => ({ ...piece, index: this.#place(choice, piece) }))
      const delta: Members = {
        ...rest,
        ...(calls.length && { tool_calls: calls }),
        ...(isFull(called) && isLeft(called) && { function_call: called }),
      }
      // A frame that was nothing but pieces of refused calls.
      const empty = Object.values(delta).every((value) => value === null || value === '')
      const hadCalls = list(pieces).length > 0 || isFull(called)
      if (hadCalls && empty && !text(choice.finish_reason)) return []
      return [{ ...choice, delta }]
    })
    return kept.length ? [this.#named({ ...json, choices: kept })] : []
  }

  #place(choice: Members, piece: Members): number {
    const [which, key] = [choiceOf(choice), this.#keys.get(piece)]
    const place = this.#kept.get(`${which}:${key}`) ?? this.#kept.get(which) ?? 0
    if (!this.#kept.has(`${which}:${key}`)) {
      this.#kept.set(`${which}:${key}`, place)
      this.#kept.set(which, place + 1)
    }
    return place
  }

  /** All chunks of a response have one id. */
  #named(json: Members): Members {
    if (!this.#second || !this.#head) return json
    const { id, created } = this.#head
    return { ...json, id, created }
  }

  passed(json: Members): void {
    for (const choice of list(json.choices).map(object)) {
      for (const piece of list(object(choice.delta).tool_calls).map(object)) {
        this.#place(choice, piece)
      }
    }
  }

  beforeEnd(json: Members, refused: ReadonlySet<string>): Members[] {
    const choices = list(json.choices).map((choice) => ({ ...object(choice), finish_reason: null }))
    return this.rewrite({ ...json, choices }, refused).filter(({ choices: left }) =>
      list(left).some((choice) => text(object(object(choice).delta).content)),
    )
  }

  keep(): void {
    // Every chunk stands for itself.
  }

  again(): void {
    this.#second = true
    this.#over.clear()
    this.drop(false)
    this.rest()
    this.#used.clear()
  }

  say(said: string): Members[] {
    return [this.#chunk({ delta: { content: said }, finish_reason: null })]
  }

  #chunk(choice: Members): Members {
    const { usage: _, ...members } = this.#head ?? {}
    const defaults = {
      id: 'chatcmpl-turnlock',
      object: 'chat.completion.chunk',
      created: 0,
      model: '',
    }
    return { ...defaults, ...members, choices: [{ index: 0, ...choice }] }
  }

  finish(json: Members): Members[] {
    const choices = list(json.choices).map(object)
    if (!choices.length) return [this.#named(json)]
    const ended = choices.map((choice) => ({
      ...choice,
      finish_reason: endOf(choice.finish_reason),
    }))
    return [this.#named({ ...json, choices: ended })]
  }

  ended(): Members[] {
    return [this.#chunk({ delta: {}, finish_reason: 'stop' })]
  }

  isLast(): boolean {
    return false
  }
}

/**
 * The name of a member with calls, if `null` or nothing does not follow on its line, as some providers
 * write it in each frame. Some clients read names in any case.
 */
const NAMES_CALL =
  /(?:tool_calls|function_call)(?!["']?[ \t]*:[ \t]*(?:null|\[[ \t]*\]|\{[ \t]*\})[ \t]*[,}])/iu

const isFull = (value: unknown): value is Members => Object.keys(object(value)).length > 0

/** Tells when arguments are whole, and parses them once: they arrive in many pieces. */
class Brackets {
  #depth = 0
  #inString = false
  #escapes = false
  #state: 'open' | 'closed' | 'spoiled' = 'open'
  #isJson: boolean | undefined

  feed(piece: string): void {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (code <= 32 && !this.#inString) continue
      if (this.#state === 'closed') this.#state = 'spoiled'
      if (this.#escapes) this.#escapes = false
      else if (this.#inString) {
        if (code === BACKSLASH) this.#escapes = true
        else if (code === QUOTE) this.#inString = false
      } else if (code === QUOTE) this.#inString = true
      else if (code === 91 || code === 123) this.#depth++
      else if ((code === 93 || code === 125) && --this.#depth === 0) this.#state = 'closed'
    }
  }

  isJson(args: string): boolean {
    if (this.#state !== 'closed') return false
    return (this.#isJson ??= parses(args))
  }
}

const [QUOTE, BACKSLASH] = [34, 92]

function parses(args: string): boolean {
  try {
    return typeof JSON.parse(args) === 'object'
  } catch {
    return false
  }
}

/** A response without calls has not ended with calls. */
const endOf = (reason: unknown) =>
  reason === 'tool_calls' || reason === 'function_call' ? 'stop' : reason

/** Calls of a member, and whether it stands in a delta of a stream, or in a message of a whole response. */
const placesIn = (holder: 'delta' | 'message'): Places => ({
  calls(name, value) {
    if (name === 'function_call') return isFull(value) ? [callOf({ function: value })] : []
    if (name !== 'tool_calls') return []
    return Array.isArray(value)
      ? value.map((one) => callOf(object(one)))
      : isFull(value)
        ? [callOf(value)]
        : []
  },
  isKnown: (path, value) =>
    path === `choices.*.${holder}.tool_calls`
      ? Array.isArray(value)
      : path === `choices.*.${holder}.function_call`,
  data: new Set(),
})

/** The calls of a message of a whole response: a list, and the only one of older models. */
function callsOf(choice: Members, at: number): Keyed[] {
  const { tool_calls: all, function_call: called } = object(choice.message)
  const calls = list(all).map((call, place) => ({ key: `${at}:${place}`, ...callOf(object(call)) }))
  return isFull(called) ? [...calls, { key: `${at}:f`, ...callOf({ function: called }) }] : calls
}

export const chat: Wire = {
  name: 'chat',
  dialect: 'openai-chat',
  history: 'messages',
  noTools: (body) => [list(body.functions).length ? 'function_call' : 'tool_choice', '"none"'],
  isWhole: () => true,
  orphans: () => [],
  mend(elements, history, repairs) {
    const ends = rowEnds(history, (message) => object(message).role === 'tool')
    for (const { code, index, toolCallId } of repairs) {
      if (code === 'TOOL_RESULT_ORPHAN') elements.set(index, [])
      else {
        const made = { role: 'tool', tool_call_id: toolCallId, content: INTERRUPTED }
        elements.add(ends[index] ?? index, JSON.stringify(made))
      }
    }
  },
  turn,
  stream: () => new ChatStream(),
  write: (json) => `data: ${JSON.stringify(json)}\n\n`,
  ping: ': keep-alive\n\n',
  places: { stream: placesIn('delta'), whole: placesIn('message') },
  words: /tool_calls|function_call/iu,
  calls: (json) => list(json.choices).map(object).flatMap(callsOf),
  without: (json, refused, notice) => ({
    ...json,
    choices: list(json.choices)
      .map(object)
      .map((choice, at) => {
        const { tool_calls: all, function_call: called, ...message } = object(choice.message)
        const calls = list(all).filter((_, place) => !refused.has(`${at}:${place}`))
        const isCalled = isFull(called) && !refused.has(`${at}:f`)
        const left = {
          ...(calls.length && { tool_calls: calls }),
          ...(isCalled && { function_call: called }),
        }
        if (calls.length || isCalled) return { ...choice, message: { ...message, ...left } }
        const content = text(message.content) || notice
        const finish_reason = endOf(choice.finish_reason)
        return { ...choice, message: { ...message, content }, finish_reason }
      }),
  }),
  failure(code, message) {
    const error = { message, type: 'api_error', code, param: null }
    return `data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`
  },
}
