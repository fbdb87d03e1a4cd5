/**
 * Passes values across the wasm boundary without JSON text: as a tape of numbers and one text of
 * all short strings. Long texts and plain objects of arguments and results stay on this side and
 * cross as numbers, so the cost depends only on the structure of a history.
 * `crates/wasm/src/tape.rs` is the other side and has the table of tags. Values have the same meaning
 * as in `JSON.stringify`.
 *
 * @module
 */
import { TurnlockError } from '../errors.js'
import { describe } from '../shared/describe.js'
import { isWellFormed } from '../shared/text.js'

const TAG_BITS = 4
const TAG = 1 << TAG_BITS
/** Of arguments and results, and of the messages around them. */
const MAX_DEPTH = 128 + 32
/** Texts up to this length cross the boundary, which costs less than storing them here. */
const SHORT = 64
/** Texts under these keys are shown to the model; the core does not read their contents. It does
 * read signatures: whose they are. */
const SHOWN = new Set(['text', 'content', 'output', 'result', 'value', 'thinking'])
/** Objects under these keys are arguments or results, which are passed as a whole. */
const WHOLE = new Set(['args', 'arguments', 'input', 'output', 'parameters', 'result'])
/** Members that may have the arguments of one call, or hold them. */
const ARGUMENTS = new Set([
  'args',
  'arguments',
  'input',
  'parameters',
  'function',
  'argsText',
  'rawInput',
  'partial_json',
])
/** Members of a message that may list the same calls. */
const CALLS = new Set([
  'content',
  'parts',
  'content_blocks',
  'contentBlocks',
  'tool_calls',
  'toolCalls',
  'toolInvocations',
  'invalid_tool_calls',
  'tool_call_chunks',
  'additional_kwargs',
  'function_call',
])

/** The values that stay on this side, by number. */
export type Kept = unknown[]

/** A tape of elements, for the core. */
export interface Tape {
  numbers: Uint32Array
  text: string
}

/**
 * Writes elements. Values that stay on this side are added to `kept`.
 *
 * @param whole whether texts that the core may trim at their end must cross
 */
export function writeTape(elements: readonly unknown[], kept: Kept, whole: boolean): Tape {
  const before = kept.length
  const crosses = whole ? ENDS_IN_SPACE : BLANK
  const tape = new Writer(kept, crosses, false).write(elements)
  if (isWellFormed(tape.text)) return tape
  // Lone surrogates are rare, so the elements that contain them are searched for only now.
  kept.length = before
  return new Writer(kept, crosses, true).write(elements)
}

/** Adds the element's index to an error, also to one thrown by a host's `toJSON` or getter. */
function located(error: unknown, index: number): TurnlockError {
  if (error instanceof TurnlockError) {
    return new TurnlockError(error.code, error.message, { ...error.details, index })
  }
  const message = `the value has no JSON: ${describe(error)}`
  return new TurnlockError('json.not_serializable', message, { index }, error)
}

class Writer {
  #tape = new Uint32Array(128)
  #at = 0
  #texts: string[] = []
  #keys = new Map<string, number>()
  #replaced = false
  #kept: Kept
  #crosses: RegExp
  #careful: boolean
  /** Whether the arguments of a call may be here more than once. */
  #compares = false

  constructor(kept: Kept, crosses: RegExp, careful: boolean) {
    this.#kept = kept
    this.#crosses = crosses
    this.#careful = careful
  }

  write(elements: readonly unknown[]): Tape {
    this.#push(elements.length)
    for (let index = 0; index < elements.length; index++) {
      this.#replaced = false
      const flag = this.#at
      this.#push(0)
      try {
        this.#value(resolve(elements[index], ''), '', '', 0)
      } catch (error) {
        throw located(error, index)
      }
      if (this.#replaced) this.#tape[flag] = 1
    }
    const keys = [...this.#keys.keys()]
    const numbers = new Uint32Array(1 + keys.length + this.#at)
    numbers[0] = keys.length
    keys.forEach((key, at) => (numbers[at + 1] = key.length))
    numbers.set(this.#tape.subarray(0, this.#at), keys.length + 1)
    // Separated, so that lone surrogates of two adjacent texts do not form a pair.
    return { numbers, text: keys.concat(this.#texts, '').join('\0') }
  }

  #push(number: number): void {
    if (this.#at === this.#tape.length) {
      const longer = new Uint32Array(this.#at * 2)
      longer.set(this.#tape)
      this.#tape = longer
    }
    this.#tape[this.#at++] = number
  }

  #value(value: unknown, key: string, under: string, depth: number): void {
    switch (typeof value) {
      case 'string':
        this.#string(value, under)
        return
      case 'number':
        if (Number.isFinite(value)) this.#cut(3, String(value))
        else this.#push(0)
        return
      case 'boolean':
        this.#push(value ? 1 : 2)
        return
      case 'object':
        if (value !== null) {
          this.#object(value, key, under, depth)
          return
        }
        break
      case 'bigint':
        throw new TurnlockError('json.not_serializable', 'the value has no JSON: a BigInt')
    }
    this.#push(0)
  }

  #object(value: object, key: string, under: string, depth: number): void {
    if (depth >= MAX_DEPTH) {
      throw new TurnlockError('json.too_deep', `nested deeper than ${String(MAX_DEPTH)}`)
    }
    if (Array.isArray(value)) {
      this.#push(value.length * TAG + 7)
      for (let at = 0; at < value.length; at++) {
        this.#value(resolve(value[at], at), '', under, depth + 1)
      }
    } else if (this.#stays(value, key) && isPlain(value, depth) && !('type' in value)) {
      this.#push(this.#keep(value) * TAG + 6)
    } else {
      this.#members(value as Record<string, unknown>, depth)
    }
  }

  /**
   * Whether an object may stay on this side. One that the core compares with others may not, nor one
   * that may be MCP's result of a call that failed.
   */
  #stays(value: object, key: string): boolean {
    const compares = this.#compares && ARGUMENTS.has(key)
    return WHOLE.has(key) && !compares && !isEmpty(value) && !('isError' in value)
  }

  #members(value: Record<string, unknown>, depth: number): void {
    const at = this.#at
    this.#push(0)
    let count = 0
    const keys = Object.keys(value)
    const before = this.#compares
    this.#compares ||= isDescribedTwice(value, keys)
    for (const key of keys) {
      const member = resolve(value[key], key)
      if (member === undefined || typeof member === 'function' || typeof member === 'symbol') {
        continue
      }
      count++
      this.#push(this.#key(key))
      this.#value(member, key, key, depth + 1)
    }
    this.#compares = before
    this.#tape[at] = count * TAG + 8
  }

  #string(text: string, under: string): void {
    if (text.length > SHORT && SHOWN.has(under)) {
      if (isWellFormed(text) && !this.#crosses.test(text) && !tellsOutcome(text)) {
        this.#push(this.#keep(text) * TAG + 5)
        return
      }
    }
    if (this.#careful && !isWellFormed(text)) this.#replaced = true
    this.#cut(4, text)
  }

  #cut(tag: number, text: string): void {
    this.#push(text.length * TAG + tag)
    this.#texts.push(text)
  }

  #key(key: string): number {
    if (this.#careful && !isWellFormed(key)) this.#replaced = true
    let number = this.#keys.get(key)
    if (number === undefined) {
      number = this.#keys.size
      this.#keys.set(key, number)
    }
    return number
  }

  #keep(value: unknown): number {
    return this.#kept.push(value) - 1
  }
}

/** Whether an object may have the arguments of one call in two of its members, or twice in one. */
function isDescribedTwice(value: Readonly<Record<string, unknown>>, keys: readonly string[]) {
  let [args, lists] = [0, 0]
  for (const key of keys) {
    const member = value[key]
    if (ARGUMENTS.has(key) && member != null) args++
    else if (CALLS.has(key) && !isEmpty(member)) lists += Array.isArray(member) ? forms(member) : 1
  }
  return args > 1 || lists > 1
}

/** How many forms the calls of a list have, and at least 1: two may describe one call. */
function forms(list: readonly unknown[]): number {
  const found = new Set<string>()
  for (const item of list) {
    if (typeof item !== 'object' || item === null) continue
    const { type, function: nested } = item as { type?: unknown; function?: unknown }
    if (typeof type === 'string' && !/tool|function/.test(type)) continue
    found.add(`${typeof type === 'string' ? type : ''} ${typeof nested}`)
  }
  return Math.max(1, found.size)
}

/** Whether the core must see a text: it says that the outcome is unknown, or may be MCP's result. */
const tellsOutcome = (text: string) =>
  text.endsWith('is not known') || (/^\s*\{/.test(text) && text.includes('"isError"'))

/** Whether a value is no object or list, or one without members. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return (Array.isArray(value) ? value : Object.keys(value)).length === 0
}

/** Prepares a value like `JSON.stringify`: calls `toJSON` once and unwraps boxed primitives. */
function resolve(given: unknown, key: string | number): unknown {
  if (typeof given !== 'object' && typeof given !== 'bigint') return given
  if (given === null) return null
  // The most common case: a plain object or array without its own `toJSON`.
  const kind: unknown = Object.getPrototypeOf(given)
  if ((kind === PLAIN || kind === LIST) && !Object.hasOwn(given as object, 'toJSON')) return given
  const { toJSON } = given as { toJSON?: unknown }
  const value = typeof toJSON === 'function' ? (toJSON.call(given, String(key)) as unknown) : given
  const boxed =
    value instanceof String ||
    value instanceof Number ||
    value instanceof Boolean ||
    value instanceof BigInt
  return boxed ? value.valueOf() : value
}

const PLAIN = Object.prototype
const LIST = Array.prototype
/** Texts that the core looks at: blank ones, and the results that say that they are failures. */
const BLANK = /^(?:\s*$|Error: |the tool was started)/
/** Those, and texts that it may trim. */
const ENDS_IN_SPACE = /^(?:Error: |the tool was started)|\s$/

/** Whether `JSON.stringify` would write the value unchanged and all texts are well-formed. */
function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
      return isWellFormed(value)
    case 'number':
      return Number.isFinite(value)
    case 'boolean':
      return true
    case 'object': {
      if (value === null) return true
      if (depth > MAX_DEPTH || 'toJSON' in value) return false
      if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1))
      const prototype: unknown = Object.getPrototypeOf(value)
      if (prototype !== Object.prototype && prototype !== null) return false
      const members = value as Record<string, unknown>
      for (const key in members) {
        if (!isWellFormed(key) || !isPlain(members[key], depth + 1)) return false
      }
      return true
    }
    default:
      return false
  }
}

// Not at import: jsdom has none.
let decoder: TextDecoder | undefined

/**
 * Reads an answer of the core.
 *
 * @returns the value, or the text of an error
 */
export function readTape(bytes: Uint8Array, kept: Kept): { value: unknown } | { error: string } {
  decoder ??= new TextDecoder()
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = view.getUint32(0, true)
  if (count === 0xffffffff) return { error: decoder.decode(bytes.subarray(4)) }
  const numbers = new Uint32Array(
    bytes.buffer.slice(bytes.byteOffset + 4, bytes.byteOffset + 4 + count * 4),
  )
  const text = decoder.decode(bytes.subarray(4 + count * 4))
  let at = 0
  let cut = 0
  const next = () => numbers[at++] ?? 0
  const string = (units: number) => text.slice(cut, (cut += units))
  const lengths = Array.from({ length: next() }, next)
  const keys = lengths.map(string)
  const value = (): unknown => {
    const token = next()
    const length = token >>> TAG_BITS
    switch (token & (TAG - 1)) {
      case 1:
        return true
      case 2:
        return false
      case 3:
        return Number(string(length))
      case 4:
        return string(length)
      case 5:
      case 6:
        return kept[length]
      case 7: {
        if (length === 1) return [value()]
        // Of its length: `push` would reserve room for 17 items.
        const items = new Array<unknown>(length)
        for (let item = 0; item < length; item++) items[item] = value()
        return items
      }
      case 8: {
        const members: Record<string, unknown> = {}
        for (let member = 0; member < length; member++) {
          const key = keys[next()] ?? ''
          if (key === '__proto__') define(members, key, value())
          else members[key] = value()
        }
        return members
      }
      case 9: {
        let made = ''
        for (let piece = 0; piece < length; piece++) {
          const isJson = ((numbers[at] ?? 0) & (TAG - 1)) === 6
          const part = value()
          made += isJson ? JSON.stringify(part) : String(part)
        }
        return made
      }
      default:
        return null
    }
  }
  return { value: value() }
}

/** Defines a member, not a prototype, as `JSON.parse` does. */
function define(members: object, key: string, value: unknown): void {
  Object.defineProperty(members, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
}
