/** Redaction of texts, streams of text and JSON values. */
import { isObject } from '../checks.js'
import { REDACT_OPTIONS } from '../generated/rows.js'
import type { RedactOptions } from '../generated/redactor.js'
import { wrong } from '../errors.js'
import { reading, readOptions } from '../options.js'
import { unescaped } from './escapes.js'
import { shownEvents, type AnyEvent } from './events.js'
import { hidden, hiddenAt, shownPointer, type About } from './json.js'
import { pathOf, type Path } from './paths.js'
import { KINDS, type Plan, type RedactKind } from './scanner.js'
import { deep, mapMembers } from '../shared/redact.js'
import { Stream } from './stream.js'
import { encodings, SHORTEST, valuesOf } from './values.js'

export type { RedactKind, RedactOptions }

/** Redacts texts. */
export interface Redactor {
  /** Redacts a whole text. Independent of a stream that `feed` has begun. */
  redact(text: string): string
  /**
   * Takes the next part of a stream, which may be cut anywhere, and returns what can be shown of it.
   * What may still become a match is held back: a word, and rarely more than some 500 characters.
   */
  feed(chunk: string): string
  /** Ends the stream and returns its rest. The next `feed` begins another one. */
  end(): string
  /**
   * A copy of a JSON value: fields of `fields` and with names of secrets are replaced, texts, numbers
   * and names of members redacted.
   */
  value<T>(value: T): T
  /**
   * A trace event of a turn: names of tools, ids of calls and the provider's word for why a model
   * stopped are redacted, since a model or a server may have written them.
   */
  trace<Event extends AnyEvent>(event: Event): Event
  /**
   * The events of a turn, or of a pass, bundle or chain, as they may be shown, each with its own
   * number; `redact` of `runTurn` and of `createHandler` calls it for each reader. A text of which
   * something is held back waits for the next one of its kind, for an event that is no text, or for
   * eight events.
   *
   * @param before what the reader has of the same turn: a text goes on from there
   */
  events<Event extends AnyEvent>(
    events: AsyncIterable<Event> | AsyncIterator<Event, void, undefined>,
    before?: readonly Event[] | Promise<readonly Event[]>,
  ): AsyncGenerator<Event, void, undefined>
}

/**
 * Makes a redactor: it replaces values that the host registered, keys and tokens of some 200
 * services, and what points to a person. The parts that `feed` and `end` return are together what
 * `redact` returns for the whole text, however the text is cut. Its work grows linearly with the
 * text.
 *
 * @example
 * const redactor = createRedactor({ values: [env.API_KEY] })
 * redactor.redact('mail ada@example.com') // 'mail [redacted:email]'
 *
 * @throws TurnlockError `options.invalid`
 */
export function createRedactor(options: RedactOptions = {}): Redactor {
  const { mask, ...given } = readOptions(options, REDACT_OPTIONS)
  const values = list('values', given.values) ?? []
  const kinds = list('kinds', given.kinds) ?? KINDS
  const fields = list('fields', given.fields) ?? []
  // A forgotten first `/` would name a member that there is not, and hide nothing.
  if (fields.some((path) => /^[^/]+\//.test(path))) throw wrong('fields', 'as `/a/b` or `a.b`')
  if (mask !== undefined && typeof mask !== 'function') throw wrong('mask', 'a function')
  if (!kinds.every((kind) => KINDS.includes(kind))) throw wrong('kinds', `of ${KINDS.join(', ')}`)
  values.forEach((value, index) => {
    if (value.trim().length < SHORTEST) {
      throw wrong(`values[${index}]`, `a text of at least ${SHORTEST} characters`)
    }
  })
  if (values.reduce((sum, value) => sum + value.length, 0) > MOST_OF_VALUES) {
    throw wrong('values', `at most ${MOST_OF_VALUES} characters together`)
  }
  const looked = new Set(values.flatMap((value) => [...encodings(value)]))
  const hasValues = looked.size > 0 && kinds.includes('value')
  const plan: Plan = {
    kinds: new Set(kinds),
    values: hasValues ? valuesOf(looked) : undefined,
    bytes: hasValues ? valuesOf(unescaped(looked)) : undefined,
    mask: (kind) => masked(kind, mask),
  }
  const paths = fields.map(pathOf)
  const fresh = ({ context = 0, open = NONE }: About = {}) =>
    new Stream(plan, [...paths, ...open], context)
  let stream: Stream | undefined
  const checkedText = (text: string) => {
    if (typeof text !== 'string') throw wrong('text', 'a text; `value` redacts JSON')
    return text
  }
  const redact = (text: string, about?: About) => {
    const stream = fresh(about)
    return stream.feed(checkedText(text)) + stream.end()
  }
  /** A text whose end may be a mark of the core: what stands before that may be half of a match. */
  const text = (text: string, about?: About) => {
    const mark = MARK.exec(text)
    if (!mark) return redact(text, about)
    return fresh(about).feed(text.slice(0, mark.index)) + mark[0]
  }
  const ended = (one: string) => {
    if (MARK.test(one)) return text(one)
    const stream = fresh()
    return stream.feed(one) + stream.pause()
  }
  const composed = (text: string) =>
    redact(text)
      .split(/(\s+|, |\))/)
      .map((word, at) => (at % 2 ? word : ended(word)))
      .join('')
  const names = kinds.includes('secret')
  const hide = { text, mask: plan.mask, paths, names }
  const value = <T>(value: T) => hidden(value, hide) as T
  const at = (pointer: string, value: unknown) => hiddenAt(pointer, value, hide)
  const pointer = (pointer: string) => text(shownPointer(pointer, hide))
  return {
    redact: (text) => redact(text),
    feed: (chunk) => (stream ??= fresh()).feed(checkedText(chunk)),
    end: () => {
      const rest = stream?.end() ?? ''
      stream = undefined
      return rest
    },
    value,
    trace: (event) => {
      if (!isObject(event)) throw wrong('event', 'an object')
      return mapMembers(event, (name, own) => [
        name,
        TRACED.has(name) ? deep(own, text) : own,
      ]) as typeof event
    },
    events: (given, before) => {
      if (!isObject(given)) throw wrong('events', 'the events of a turn')
      const events = Symbol.asyncIterator in given ? given[Symbol.asyncIterator]() : given
      if (typeof events.next !== 'function') throw wrong('events', 'the events of a turn')
      return shownEvents(
        events,
        fresh,
        { text, ended, composed, value, at, pointer, mask: plan.mask },
        before,
      )
    },
  }
}

/** What the core writes where it has cut a text; a quote may stand behind it. */
const MARK = /… (?:\[cut: [^\]…]{1,80}\]|\(\d{1,12} (?:bytes|characters)\))"?$/

/** Members of trace events with words of a model or of a server. */
const TRACED = new Set(['tool_name', 'tool_call_id', 'tools', 'raw_finish_reason'])

const NONE: readonly Path[] = []

/**
 * Characters of all registered values: each takes some 20 states of the automaton.
 *
 * Limit | registered values together | characters | `options.invalid`
 */
const MOST_OF_VALUES = 65_536

/** A list of texts, read once. */
function list<T extends string>(name: string, given: readonly T[] | undefined) {
  if (given === undefined) return undefined
  const items = Array.isArray(given) ? reading(name, () => [...given]) : [undefined]
  if (items.every((item): item is T => typeof item === 'string')) return items
  throw wrong(name, 'a list of texts')
}

/** What stands in place of a match. A host's mask that fails is the default. */
function masked(kind: RedactKind | 'field', mask: RedactOptions['mask']): string {
  try {
    const label = mask?.(kind)
    if (typeof label === 'string') return label
  } catch {
    // As without one.
  }
  return `[redacted:${kind}]`
}
