/** OpenAI's Chat Completions. */
import { dataOf } from './frames.js'
import { isSaid, resultText, type Call, type PastCall } from './judge.js'
import {
  areNumbers,
  areObjects,
  areTexts,
  isArguments,
  list,
  object,
  stringify,
  text,
  type Members,
} from './json.js'
import { Pieces } from './pieces.js'
import { hasEscapes, type Places } from './stray.js'
import { INTERRUPTED, rowEnds, type Keyed, type Step, type StreamWire, type Wire } from './wire.js'

/** The name and the arguments of a call: of a function, or of a custom tool. */
function callOf(value: unknown): Call {
  const call = object(value)
  const [called, custom] = [object(call.function), object(call.custom)]
  const name = called.name ?? custom.name
  const args = called.arguments ?? custom.input ?? ''
  // Some servers send an object.
  const isOther = (value: unknown) => value != null && value !== '' && value !== args
  const json = typeof args === 'string' ? args : stringify(args)
  const isText = kindOf(call) === 'custom' && typeof args === 'string'
  const others = [call.arguments, call.input, called.input, called.parameters, custom.arguments]
  // Some clients take what stands beside the function, or in the other kind of call.
  const isBeside = (call.name || name) !== name || others.some(isOther)
  const isFormed =
    areObjects(value, call.function, call.custom) &&
    areTexts(call.id, call.type, called.name, custom.name) &&
    areNumbers(call.index) &&
    isArguments(args)
  const isUnclear = !isFormed || isBeside || (isFull(called) && isFull(custom))
  return {
    name: text(name),
    args: json,
    ...(isText && { isText }),
    ...(isUnclear && { isUnclear }),
  }
}

const kindOf = (call: Members): 'function' | 'custom' | undefined =>
  isFull(call.function) ? 'function' : isFull(call.custom) ? 'custom' : undefined

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

interface Open extends Keyed {
  id: string
  /** All names that came: some clients put them together. */
  names: string
  choice: string
  pieces: Pieces
  /** Of its first piece that has one. */
  kind?: 'function' | 'custom' | undefined
  /** Whether a call with whole arguments had its place, and is over. */
  isAgain: boolean
}

/** What is known of the calls of a choice that have not ended. */
interface Calls {
  /** The call that began last. */
  last: Open | undefined
  /** By their indexes: the call that began first, and the one that began last. */
  places: Map<string, { first: Open; last: Open }>
  count: number
  hasIndex: boolean
  /** Indexes of pieces that are of no call. */
  drifted: Set<string>
  /** In which ways pieces are odd: clients differ in them, and in two of them in too many ways. */
  oddities: Set<'drift' | 'reuse' | 'repeat'>
  /** Whether no call can be judged. */
  isUnclear: boolean
}

/** Whether a piece with an id or a name goes on with the call of its place. */
const continues = (open: Open, { id, name, args, hasIndex }: Head): boolean => {
  if (id && open.id && id !== open.id) return false
  if (!name || !open.name) return true
  if (name !== open.name) return false
  return args ? !open.pieces.isWhole : hasIndex || id !== ''
}

/** Whether a piece is the whole of a call again. */
const isRepeat = (open: Open, { id, name, args }: Omit<Head, 'hasIndex'>): boolean =>
  id !== '' &&
  id === open.id &&
  name === open.name &&
  args === open.pieces.args &&
  open.pieces.isWhole

/** What may begin a call. */
interface Head extends Call {
  id: string
  hasIndex: boolean
}

/** A choice, by its index. */
const choiceOf = (choice: Members): string => String(choice.index ?? 0)

class ChatStream implements StreamWire {
  /** Calls that no end was seen of, in their order; and by their choices. */
  #calls: Open[] = []
  #choices = new Map<string, Calls>()
  /** Places of calls that are over, and whether their arguments were whole. */
  readonly #used = new Map<string, boolean>()
  /** Ids of calls, by their choices: some clients find the call of a piece by its id. */
  readonly #ids = new Set<string>()
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
      for (const value of list(delta.tool_calls)) {
        const piece = object(value)
        if (!areObjects(value) || !this.#piece(which, piece)) step.stray = true
      }
      const { function_call: called } = delta
      const piece = { function: called }
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
    const { name, args, isText = false, isUnclear = false } = callOf(piece)
    const kind = kindOf(piece)
    // The call of older models has no place.
    const isOnly = piece !== own
    const id = text(piece.id)
    const isHead = id !== '' || name !== ''
    const hasIndex = isOnly || piece.index != null
    const calls = this.#callsOf(choice)
    // Without an index, calls are told apart by their ids; a client that takes it for 0 merges them.
    const index = isOnly
      ? 'function'
      : hasIndex
        ? String(piece.index)
        : isHead
          ? `#${id || name}`
          : ''
    const placed = calls.places.get(index)
    const { last } = calls
    if (!name && !placed && this.#over.has(choice)) return args === '' && !isUnclear
    let call = placed?.last ?? last
    // The whole call again adds nothing.
    if (call && isHead && !isUnclear && isRepeat(call, { id, name, args })) {
      this.#keys.set(own, call.key)
      return true
    }
    if (!call || (isHead && !(placed && continues(placed.last, { id, name, args, hasIndex })))) {
      // Pieces before their call, and calls with an index beside others: each client has its own rule.
      const isOdd = calls.count > 0 && hasIndex !== calls.hasIndex
      const isNameless = id === '' && calls.places.has(hasIndex ? index : '0')
      const isKnown = id !== '' && this.#ids.has(`${choice}:${id}`)
      calls.isUnclear ||= isOdd || isNameless || isKnown || calls.drifted.has(index)
      this.#ids.add(`${choice}:${id}`)
      calls.hasIndex = hasIndex
      call = this.#begin(choice, calls, index, { id, name, ...(isText && { isText }) })
      this.#add(call, args)
    } else if (isHead) {
      if (args !== '' && call.pieces.args !== '') calls.oddities.add('repeat')
      this.#add(call, args)
      if (!this.#drops) call.pieces.repeat(args)
    } else if (placed) {
      this.#add(call, args)
    } else {
      // It is of the last call, or of none; with several calls and no index, perhaps of the first.
      calls.isUnclear ||= !hasIndex && calls.count > 1
      if (hasIndex || calls.hasIndex) calls.drifted.add(hasIndex ? index : '0')
      if (args !== '' && (hasIndex || calls.hasIndex)) calls.oddities.add('drift')
      this.#add(call, args, hasIndex || calls.hasIndex)
    }
    const first = calls.places.get(hasIndex ? index : '0')?.first
    if (first && first !== call) calls.oddities.add('reuse')
    if (first && first !== call && !this.#drops) {
      first.pieces.merge(args)
      first.names += name
    }
    // Of no call that is known, or with an index that its call does not have.
    const isOwn = (call.id !== '' || call.name !== '') && (calls.hasIndex || !hasIndex)
    if (!isHead && !isOwn && args !== '') calls.isUnclear = true
    // Clients take the pieces of one kind alone.
    if (isUnclear || (kind && (call.kind ??= kind) !== kind)) call.isUnclear = true
    if (!this.#drops) call.names += name
    call.name ||= name
    call.id ||= id
    this.#keys.set(own, call.key)
    return true
  }

  #callsOf(choice: string): Calls {
    const none = { last: undefined, count: 0, hasIndex: false, isUnclear: false }
    const calls = this.#choices.get(choice) ?? {
      ...none,
      places: new Map(),
      drifted: new Set(),
      oddities: new Set(),
    }
    this.#choices.set(choice, calls)
    return calls
  }

  #begin(choice: string, calls: Calls, index: string, head: Omit<Call, 'args'> & { id: string }) {
    const key = `${this.#count++}`
    // Some clients add its pieces to the call that was there, which may be over.
    const merged = index.startsWith('#') ? '0' : index
    const places = [...new Set([index, merged])]
    const used = places.map((place) => this.#used.get(`${choice}:${place}`))
    const isAgain = used.includes(true)
    const call: Open = { ...head, choice, key, args: '', names: '', pieces: new Pieces(), isAgain }
    if (used.includes(false)) call.isUnclear = true
    this.#calls.push(call)
    calls.count++
    calls.last = call
    for (const place of places) {
      calls.places.set(place, { first: calls.places.get(place)?.first ?? call, last: call })
    }
    if (!this.#over.has(choice)) this.#under.add(choice)
    return call
  }

  #add(call: Open, args: string, isDrifting = false): void {
    if (!this.#drops) call.pieces.add(args, isDrifting)
  }

  drop(drops: boolean): void {
    this.#drops = drops
    if (drops) for (const call of this.#calls) call.pieces = new Pieces()
  }

  rest(): Keyed[] {
    const all = this.#calls
    for (const call of all) {
      const { args, others } = call.pieces
      const readings = others.map((text) => ({ name: call.name, args: text }))
      if (call.names !== call.name) readings.push({ name: call.names, args: call.pieces.merged })
      Object.assign(call, { args, readings })
      // Or the call has the arguments of the one that is over.
      if (call.isAgain && args.trim() === '') call.isUnclear = true
      const { isUnclear = false, oddities } = this.#choices.get(call.choice) ?? {}
      if (isUnclear || (oddities && oddities.size > 1)) call.isUnclear = true
    }
    for (const [choice, { places, drifted }] of this.#choices) {
      for (const index of drifted) this.#used.set(`${choice}:${index}`, false)
      for (const [index, { first, last }] of places) {
        const merged = { name: last.name, args: first.pieces.merged }
        if (first !== last) last.readings = [...(last.readings ?? []), merged]
        this.#used.set(`${choice}:${index}`, last.pieces.isWhole)
      }
    }
    this.#calls = []
    this.#choices.clear()
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

  /** Where the call of a piece stands for the client; `index` is that of a piece that passed as it was. */
  #place(choice: Members, piece: Members, index?: unknown): number {
    const which = choiceOf(choice)
    const call = `${which}:${this.#keys.get(piece)}`
    const next = this.#kept.get(which) ?? 0
    const place = this.#kept.get(call) ?? (Number.isSafeInteger(index) ? Number(index) : next)
    this.#kept.set(call, place).set(which, Math.max(next, place + 1))
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
        this.#place(choice, piece, piece.index)
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
    this.#ids.clear()
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

/** A response without calls has not ended with calls. */
const endOf = (reason: unknown) =>
  reason === 'tool_calls' || reason === 'function_call' ? 'stop' : reason

/** Calls of a member, and whether it stands in a delta of a stream, or in a message of a whole response. */
const placesIn = (holder: 'delta' | 'message'): Places => ({
  calls(name, value) {
    if (name === 'function_call') {
      return Object.keys(value).length ? [callOf({ function: value })] : []
    }
    if (name !== 'tool_calls') return []
    return Array.isArray(value) ? value.map(callOf) : isFull(value) ? [callOf(value)] : []
  },
  isKnown: (path, value) =>
    path === `choices.*.${holder}.tool_calls`
      ? Array.isArray(value)
      : path === `choices.*.${holder}.function_call` && !Array.isArray(value),
  data: new Set(),
})

/** The calls of a message of a whole response: a list, and the only one of older models. */
function callsOf(choice: Members, at: number): Keyed[] {
  const { tool_calls: all, function_call: called } = object(choice.message)
  const calls = list(all).map((call, place) => ({ key: `${at}:${place}`, ...callOf(call) }))
  return isFull(called) ? [...calls, { key: `${at}:f`, ...callOf({ function: called }) }] : calls
}

/** Members of chunks; some servers send usage, what a filter says, or padding by themselves. */
const CHUNK = ['choices', 'error', 'usage', 'prompt_filter_results', 'obfuscation', 'x_groq']

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
  write: dataOf,
  ping: ': keep-alive\n\n',
  places: { stream: placesIn('delta'), whole: placesIn('message') },
  // Official clients leave out events of other APIs.
  events: /^\s*(?:thread\.|error\s*$)/,
  hasTypes: false,
  isEvent: (json) =>
    json.object === 'chat.completion.chunk' || CHUNK.some((name) => json[name] != null),
  isResponse: (json) => Array.isArray(json.choices) || json.error != null,
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
