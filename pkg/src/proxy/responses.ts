/** OpenAI's Responses. */
import { saysSomething } from './chat.js'
import { eventOf } from './frames.js'
import { resultText, type Call, type PastCall } from './judge.js'
import {
  areNumbers,
  areTexts,
  isArguments,
  joinedText,
  list,
  object,
  stringify,
  text,
  type Members,
} from './json.js'
import { hasEscapes, type Places } from './stray.js'
import {
  INTERRUPTED,
  OpenCalls,
  rowEnds,
  type Keyed,
  type Step,
  type StreamWire,
  type Wire,
} from './wire.js'

/** Calls that the provider runs itself. */
const OWN =
  /^(web_search|file_search|code_interpreter|image_generation|mcp|tool_search)(_preview)?_call$/

/** Whether the client is asked to run something, or to approve it: whatever is no call of the provider. */
function isCall({ type, execution, environment }: Members): boolean {
  const kind = joinedText(type)
  if (kind === 'mcp_approval_request' || execution === 'client') return true
  // A shell in a container of the provider.
  const isShell = /shell_call$/.test(kind)
  if (isShell && /^container/.test(text(object(environment).type))) return false
  return /_call$/.test(kind) && !OWN.test(kind)
}

/** What a call does, where it is no function: the members of any of the other types. */
const DOES = ['action', 'actions', 'operation', 'arguments', 'server_label']

/** Members of a function or a custom tool that some clients take for its arguments. */
const ARGUMENTS = ['arguments', 'input', 'parameters', 'parsed_arguments', 'function', 'custom']

const hasOther = (item: Members, args: unknown): boolean =>
  [...ARGUMENTS, ...DOES].some((member) => {
    const value = item[member]
    return value != null && value !== '' && value !== args
  })

function callOf(item: Members): Call {
  const { type, id, call_id, name, arguments: args, input } = item
  const isFormed = areTexts(type, id, call_id, name) && isArguments(args) && isArguments(input)
  return { ...callIn(item), ...(!isFormed && { isUnclear: true }) }
}

function callIn(item: Members): Call {
  const name = text(item.name)
  const json = (args: unknown) => (typeof args === 'string' ? args : stringify(args))
  const { arguments: args = '', input = '' } = item
  if (item.type === 'function_call') {
    return { name, args: json(args), ...(hasOther(item, args) && { isUnclear: true }) }
  }
  if (item.type === 'custom_tool_call') {
    const isUnclear = hasOther(item, input) && { isUnclear: true }
    return { name, args: json(input), isText: true, ...isUnclear }
  }
  // Some clients take whatever has arguments for a function.
  const readings = typeof args === 'string' && args !== '' ? [{ name, args }] : []
  const does = DOES.flatMap((member) => (item[member] == null ? [] : [[member, item[member]]]))
  return { name: name || text(item.type), args: stringify(Object.fromEntries(does)), readings }
}

/** Whether an item refers to one that only the provider has. Its `type` is optional. */
const isReference = (item: Members): boolean =>
  item.type === 'item_reference' ||
  (item.type === undefined && item.role === undefined && typeof item.id === 'string')

const idOf = ({ call_id, id }: Members): string => text(call_id) || text(id)

function turn(history: readonly unknown[]): PastCall[] {
  let calls = new Map<string, PastCall>()
  let earlier: PastCall[] = []
  for (const item of history.map(object)) {
    if (item.role === 'user' && saysSomething(item.content)) [calls, earlier] = [new Map(), []]
    if (isCall(item)) {
      const made: PastCall = { ...callOf(item), result: undefined }
      // The result of a call of a shell has the id of the item.
      calls.set(text(item.id), made).set(idOf(item), made)
      earlier.push(made)
    }
    const { type, approval_request_id: asked } = item
    const called = /_call_output$/.test(text(type))
      ? calls.get(idOf(item))
      : type === 'mcp_approval_response' && calls.get(text(asked))
    if (called) called.result = resultText(item.output ?? item.approve)
  }
  return earlier
}

/** Whether an event brings the whole response, at its end. */
const isFinal = ({ type }: Members): boolean =>
  /^response\.(completed|incomplete|failed)$/.test(text(type))

/** A call that was told in events, as the whole response has it. */
interface Told {
  id: string
  call: Keyed
  isDone: boolean
}

/** Calls by a name, in their order. A response has each of them once. */
class Rows {
  readonly #all = new Map<string, Set<Told>>()

  add(name: string, told: Told): void {
    this.#all.set(name, (this.#all.get(name) ?? new Set()).add(told))
  }

  delete(name: string, told: Told): void {
    this.#all.get(name)?.delete(told)
  }

  /** The next of a name; `taken` is what a response has had. */
  next(name: string, taken: Map<string, IterableIterator<Told>>): Told | undefined {
    const left = taken.get(name) ?? (this.#all.get(name) ?? new Set<Told>()).values()
    taken.set(name, left)
    return (left.next() as IteratorResult<Told, undefined>).value
  }

  clear(): void {
    this.#all.clear()
  }

  takeAll(): Told[] {
    const all = [...this.#all.values()].flatMap((told) => [...told])
    this.clear()
    return all
  }
}

const sameAs = (id: string, { name, args }: Call): string => JSON.stringify([id, name, args])

class ResponsesStream implements StreamWire {
  readonly #open = new OpenCalls()
  /** The call of an event, once it was read. */
  readonly #keys = new WeakMap<Members, string>()
  /** Calls of events; the whole response has them again. */
  #told = new Map<Keyed, Told>()
  /** Those calls by their ids, and those that have ended by what they are. */
  readonly #begun = new Rows()
  readonly #done = new Rows()
  /** Calls by the id of their item. */
  readonly #items = new Map<string, Keyed>()
  #drops = false
  #count = 0
  /** The client was shown the whole response. */
  #isOver = false
  /** Where the other items of the provider stand for the client, and where its calls. */
  #places = new Map<number, number>()
  readonly #called = new Map<string, number>()
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
      /output_item\.|"response(?:"|\.c)/iu.test(frames) ||
      responses.words.test(frames) ||
      hasEscapes(frames)
    )
  }

  read(json: Members): Step {
    const at = Number(json.output_index)
    const item = object(json.item)
    const call = this.#open.at(at)
    // The response itself has no place, as a call may have none.
    if (call && json.response === undefined) this.#keys.set(json, call.key)
    if (call && !areNumbers(json.output_index)) call.isUnclear = true
    switch (json.type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        // The client knows the first response, whose text another one may continue.
        if (!this.#second) this.#head = object(json.response)
        return { open: !this.#open.isEmpty }
      case 'response.output_item.added':
        if (isCall(item)) return this.#begin(json, at, item)
        this.#open.close(at)
        this.#places.set(at, this.#next++)
        return { text: item.type === 'message', open: !this.#open.isEmpty }
      case 'response.output_item.done': {
        if (!isCall(item)) return { open: !this.#open.isEmpty }
        // Some servers say only this of a call; and another call's end begins one.
        if (!call || this.#told.get(call)?.id !== idOf(item)) this.#begin(json, at, item)
        return this.#end(at, item)
      }
      case 'response.function_call_arguments.delta':
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.delta':
      case 'response.custom_tool_call_input.done': {
        // Arguments that follow the end of a call would be others than those that were judged.
        if (!call || (text(json.name) && json.name !== call.name)) return { stray: true }
        // Some clients look for the item. Ids that are of no item differ in each event of some servers.
        const named = this.#items.get(text(json.item_id))
        if (named && named !== call) return { stray: true }
        const { delta, arguments: args, input, name, item_id } = json
        if (!areTexts(delta, args, input, name, item_id)) call.isUnclear = true
        this.#open.add(at, text(json.delta))
        const wholes = [text(json.arguments), text(json.input)].filter(Boolean)
        if (!this.#drops) (call.copies ??= []).push(...wholes)
        return { open: true }
      }
      default:
        if (!isFinal(json)) return { open: !this.#open.isEmpty }
    }
    const response = object(json.response)
    const outputs = this.#outputs(response)
    const more = outputs.flatMap(({ told, key, item }) => (told ? [] : [{ key, ...callOf(item) }]))
    const usage = response.usage ? { usage: response.usage } : {}
    const complete = [...this.rest(), ...more]
    this.#finish(outputs)
    return { finish: true, complete, ...usage }
  }

  /** The calls that have begun are over: another response may not bring others in their places. */
  #finish(outputs: readonly { item: Members; told: Told | undefined }[]): void {
    for (const { item, told } of outputs) {
      if (told && !told.isDone) this.#done.add(sameAs(told.id, callOf(item)), told)
    }
    for (const told of this.#begun.takeAll()) told.isDone = true
  }

  #begin(json: Members, at: number, item: Members): Step {
    const { args, ...head } = callOf(item)
    const call = this.#open.begin(at, { ...head, args: this.#drops ? '' : args })
    if (!areNumbers(json.output_index)) call.isUnclear = true
    this.#places.delete(at)
    const told = { id: idOf(item), call, isDone: false }
    this.#told.set(call, told)
    this.#begun.add(told.id, told)
    if (text(item.id)) this.#items.set(text(item.id), call)
    this.#keys.set(json, call.key)
    return { open: true }
  }

  #end(at: number, item: Members): Step {
    const call = this.#open.at(at)
    const told = call && this.#told.get(call)
    if (told) {
      told.isDone = true
      this.#begun.delete(told.id, told)
      this.#becomes(call, item)
      this.#done.add(sameAs(told.id, call), told)
    }
    return this.#open.end(at)
  }

  /** What a call is at its end. Clients that read the events before are to have read the same. */
  #becomes(call: Keyed, item: Members): void {
    if (this.#drops) return
    const end = callOf(item)
    if (call.name && call.name !== end.name) call.isUnclear = true
    // What the other kinds do is known at their end.
    const isStreamed = /^(function|custom_tool)_call$/.test(text(item.type))
    if (isStreamed) (call.copies ??= []).push(end.args, ...(call.args ? [call.args] : []))
    Object.assign(call, end)
  }

  rest(): Keyed[] {
    return this.#open.take()
  }

  drop(drops: boolean): void {
    this.#drops = drops
    this.#open.drop(drops)
  }

  /** The calls of a whole response: each that was told once, and those that were not. */
  #outputs(
    response: Members,
  ): { at: number; item: Members; told: Told | undefined; key: string }[] {
    const [begun, done] = [new Map(), new Map()]
    return list(response.output).flatMap((value, at) => {
      const item = object(value)
      if (!isCall(item)) return []
      const call = callOf(item)
      const id = idOf(item)
      // What says more than the events is another call.
      const same = call.isUnclear ? undefined : this.#done.next(sameAs(id, call), done)
      const told = same ?? this.#begun.next(id, begun)
      if (told && !told.isDone) this.#becomes(told.call, item)
      return [{ at, item, told, key: told?.call.key ?? this.#keyOf(item) }]
    })
  }

  /** The key of a call that the whole response alone has. */
  #keyOf(item: Members): string {
    const key = this.#keys.get(item) ?? `output:${this.#count++}`
    this.#keys.set(item, key)
    return key
  }

  rewrite(json: Members, refused: ReadonlySet<string>): Members[] {
    const { type, output_index: at } = json
    if (this.#second && /^response\.(created|in_progress|queued)$/.test(text(type))) return []
    const key = this.#keys.get(json)
    if (key !== undefined) {
      if (refused.has(key) || refused.has('*')) return this.#left(json)
      return [this.#numbered({ ...json, output_index: this.#place(key) })]
    }
    if (typeof at === 'number') {
      const place = this.#places.get(at)
      return place === undefined ? [] : [this.#numbered({ ...json, output_index: place })]
    }
    if (json.response === undefined) return [this.#numbered(json)]
    // Each copy of the whole response would have all that was shown.
    if (isFinal(json) && this.#isOver) return []
    this.#isOver ||= isFinal(json)
    return [this.#numbered({ ...json, response: this.#whole(object(json.response), refused) })]
  }

  #place(key: string): number {
    const place = this.#called.get(key) ?? this.#next++
    this.#called.set(key, place)
    return place
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
    const left = new Set(
      this.#outputs(response).flatMap(({ at, key }) =>
        refused.has(key) || refused.has('*') ? [at] : [],
      ),
    )
    const own = list(response.output).filter((_, at) => !left.has(at))
    const before = this.#second ? list(this.#first?.output) : []
    const output = [...before, ...own, ...this.#said]
    const { id, created_at } = this.#head
    return { ...response, ...(this.#second && { id, created_at }), output }
  }

  passed(json: Members): void {
    const key = this.#keys.get(json)
    if (key !== undefined) this.#place(key)
  }

  beforeEnd(): Members[] {
    return []
  }

  again(): void {
    this.#second = true
    this.#isOver = false
    this.drop(false)
    this.#open.take()
    this.#told.clear()
    this.#begun.clear()
    this.#done.clear()
    this.#items.clear()
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

  ended(): Members[] {
    const response = { object: 'response', ...this.#head, status: 'completed', output: [] }
    return [{ type: 'response.completed', response }]
  }

  isLast(json: Members): boolean {
    return isFinal(json)
  }
}

const placesIn = (isKnown: Places['isKnown']): Places => ({
  calls: (_, value) => (isCall(object(value)) ? [callOf(object(value))] : []),
  isKnown,
  data: new Set([
    'tools',
    'tool_choice',
    'instructions',
    'input',
    'prompt',
    'metadata',
    'text',
    'action',
    'actions',
    'operation',
    'arguments',
    'results',
    'outputs',
  ]),
})

export const responses: Wire = {
  name: 'responses',
  dialect: 'openai-responses',
  history: 'input',
  noTools: () => ['tool_choice', '"none"'],
  isWhole: (body) => !list(body.input).some((item) => isReference(object(item))),
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
  mend(elements, history, repairs) {
    // Behind the calls that were made together.
    const ends = rowEnds(history, (item) => /call(_output)?$/.test(text(object(item).type)))
    for (const { code, index, toolCallId } of repairs) {
      if (code === 'TOOL_RESULT_ORPHAN') elements.set(index, [])
      else {
        const own = object(history[index]).type === 'custom_tool_call' ? 'custom_tool' : 'function'
        const made = { type: `${own}_call_output`, call_id: toolCallId, output: INTERRUPTED }
        elements.add(ends[index] ?? index, JSON.stringify(made))
      }
    }
  },
  turn,
  stream: () => new ResponsesStream(),
  write: eventOf,
  ping: ': keep-alive\n\n',
  places: {
    stream: placesIn((path, _, root) =>
      path === 'item'
        ? /^response\.output_item\.(added|done)$/.test(text(root.type))
        : path === 'response.output.*' && isFinal(root),
    ),
    whole: placesIn((path) => path === 'output.*'),
  },
  events: /response\.|^error$/,
  hasTypes: true,
  isEvent: ({ type }) => /^(?:response\.|error$)/.test(text(type)),
  isResponse: ({ object: kind, output, error }) =>
    Array.isArray(output) || kind === 'response' || error != null,
  words: /_call(?!s)|custom_tool|mcp_approval_request/iu,
  calls: (json) =>
    list(json.output).flatMap((value, at) => {
      const item = object(value)
      return isCall(item) ? [{ key: `${at}`, ...callOf(item) }] : []
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
