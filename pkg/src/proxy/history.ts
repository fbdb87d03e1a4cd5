/** Mends the history of a request, and leaves every other byte of the request as it was. */
import type { HistoryCode, Repair } from '../generated/common.js'
import type { Violation } from '../generated/history.js'
import { diagnoseHistory, normalizeHistory } from '../history/history.js'
import { isPartial } from '../history/partial.js'
import { elementsOf, list, membersOf, object, stringsOf, type Members, type Range } from './json.js'
import type { Wire } from './wire.js'

/**
 * What is mended: faults for which providers refuse a history. Forms that only some providers
 * refuse (names, ids, prefills, reasoning) are the client's business.
 */
const MENDED = new Set<HistoryCode>([
  ...(['TOOL_RESULT_ORPHAN', 'TOOL_RESULT_DUPLICATE', 'TOOL_RESULT_BEFORE_CALL'] as const),
  ...(['TOOL_RESULT_NOT_ADJACENT', 'TOOL_RESULT_TEXT_FIRST', 'TOOL_CALL_UNANSWERED'] as const),
  ...(['TOOL_CALL_PENDING', 'TOOL_CALL_ID_DUPLICATE', 'TOOL_CALL_ID_MISSING'] as const),
  ...(['TOOL_ARGS_TYPE', 'TOOL_ARGS_NOT_OBJECT', 'TOOL_ARGS_INVALID_JSON'] as const),
  ...(['TOOL_ARGS_EMPTY', 'CONTENT_EMPTY', 'CONTENT_NULL'] as const),
])

export interface Mended {
  /** The text of the body, with the changes. */
  json: string
  body: Members
  repairs: Repair[]
}

/**
 * What a repair of a repair brings about is mended in one or two rounds.
 *
 * Limit | repairs of what a repair brought about | rounds | left as it is
 */
const ROUNDS = 8

/** The request with a history that the provider accepts; `undefined` if nothing is to be mended. */
export function mend(json: string, body: Members, wire: Wire): Mended | undefined {
  const first = mendOnce(json, body, wire)
  // What a repair brought about, such as a call with a new id that has no result, is mended too: a
  // client that sends what was repaired is sent on unchanged.
  let last = first
  // Each round reads the history again.
  for (let round = 1; last && last.left > 0 && round < ROUNDS; round++) {
    const next = mendOnce(last.json, last.body, wire)
    if (!next) break
    last = next
  }
  return first && last && { json: last.json, body: last.body, repairs: first.repairs }
}

function mendOnce(
  json: string,
  body: Members,
  wire: Wire,
): (Mended & { left: number }) | undefined {
  const before = body[wire.history]
  if (!Array.isArray(before) || !wire.isWhole(body)) return undefined
  const partial = isPartial(body)
  const orphansOf = (history: readonly unknown[]) => (partial ? [] : wire.orphans(history))
  const faults = faultsOf(before, wire, partial)
  const orphans = orphansOf(before)
  if (faults.length + orphans.length === 0) return undefined
  const at = membersOf(json).get(wire.history)
  if (!at) return undefined
  const { messages, repairs } = normalizeHistory(before, { dialect: wire.dialect, partial })
  const mended = repairs.filter(({ code }) => MENDED.has(code))
  const places = new Set(mended.map(({ index }) => index))
  mended.push(...orphans.filter(({ index }) => !places.has(index)))
  const elements = new Elements(json, at)
  if (!wire.mend) {
    // The request of a user message at its end is the client's business.
    const isAdded = repairs.some(({ code }) => code === 'LAST_MESSAGE_ROLE')
    const own = isAdded ? messages.slice(0, -1) : messages
    before.forEach((_, index) => elements.set(index, []))
    elements.set(
      0,
      own.map((message) => JSON.stringify(message)),
    )
  } else if (mended.every(isSimple)) {
    wire.mend(elements, before, mended)
  } else {
    replace(elements, before, messages, faults)
  }
  const made = json.slice(0, at.start) + elements.join() + json.slice(at.end)
  const now = object(JSON.parse(made))
  // Whatever was not understood is left to the provider.
  const remaining = list(now[wire.history])
  const count = faultsOf(remaining, wire, partial).length + orphansOf(remaining).length
  if (count >= faults.length + orphans.length) return undefined
  return { json: made, body: now, repairs: mended, left: count }
}

/**
 * Whether a result is left out or added, and nothing is moved. That needs no conversion, which would
 * also merge what stands around it.
 */
const isSimple = ({ code, action, toolCallId }: Repair): boolean =>
  toolCallId !== undefined &&
  (code === 'TOOL_RESULT_ORPHAN'
    ? action === 'dropped'
    : code === 'TOOL_CALL_UNANSWERED' || code === 'TOOL_CALL_PENDING') &&
  action !== 'moved'

const faultsOf = (history: readonly unknown[], { dialect }: Wire, partial: boolean) =>
  diagnoseHistory(history, { dialect, partial }).filter(({ code }) =>
    MENDED.has(code as HistoryCode),
  )

/** The elements of a list in a text: those that do not change keep their bytes, and what is between. */
export class Elements {
  readonly #json: string
  readonly #at: Range
  readonly #ranges: Range[]
  readonly #first: string[] = []
  readonly #texts: string[][]

  constructor(json: string, at: Range) {
    this.#json = json
    this.#at = at
    this.#ranges = elementsOf(json, at.start)
    this.#texts = this.#ranges.map(({ start, end }) => [json.slice(start, end)])
  }

  /** The text of an element. */
  text(index: number): string {
    return this.#texts[index]?.[0] ?? ''
  }

  /** The text of an element, and what was added behind it. */
  all(index: number): readonly string[] {
    return this.#texts[index] ?? []
  }

  set(index: number, texts: string[]): void {
    if (index < this.#texts.length) this.#texts[index] = texts
  }

  /** Adds behind an element; behind -1, at the beginning. */
  add(index: number, text: string): void {
    ;(this.#texts[index] ?? this.#first).push(text)
  }

  join(): string {
    const [first, last] = [this.#ranges[0], this.#ranges.at(-1)]
    if (!first || !last) return this.#json.slice(this.#at.start, this.#at.end)
    let made = this.#json.slice(this.#at.start, first.start) + this.#first.join()
    let isFirst = this.#first.length === 0
    this.#texts.forEach((texts, index) => {
      const [before, own] = [this.#ranges[index - 1], this.#ranges[index]]
      const between = before && own ? this.#json.slice(before.end, own.start) : ','
      texts.forEach((text, place) => {
        if (!isFirst) made += place === 0 ? between : ','
        made += text
        isFirst = false
      })
    })
    return made + this.#json.slice(last.end, this.#at.end)
  }
}

/** Elements from `from` to before `to` become `now`. */
interface Hunk {
  from: number
  to: number
  now: unknown[]
}

/** Replaces what the conversion changed around the faults, and nothing else that it changed. */
function replace(
  elements: Elements,
  before: unknown[],
  after: unknown[],
  faults: readonly Violation[],
): void {
  const ids = new Set(faults.flatMap(({ toolCallId }) => toolCallId ?? []))
  const places = new Set(faults.map(({ index }) => index))
  for (const { from, to, now } of differences(before, after)) {
    const old = before.slice(from, to)
    const isFaulty = old.some((_, place) => places.has(from + place))
    if (!isFaulty && !stringsOf(JSON.stringify([old, now])).some((text) => ids.has(text))) continue
    const originals = new Map<string, unknown>()
    for (const element of [...old].reverse()) originals.set(identityOf(element), element)
    const texts = now.map((element) => JSON.stringify(completed(element, originals)))
    for (let index = from; index < to; index++) elements.set(index, [])
    if (to > from) elements.set(from, texts)
    else for (const text of texts) elements.add(from - 1, text)
  }
}

/** A changed element, with the members of its original that the change is not about. */
function completed(element: unknown, originals: ReadonlyMap<string, unknown>): unknown {
  const identity = identityOf(element)
  const original = identity === '' ? undefined : originals.get(identity)
  return original === undefined ? element : { ...object(original), ...object(element) }
}

/** What an element has in common with its original; empty for one that has none. */
function identityOf(element: unknown): string {
  const { role, type, tool_call_id: answers, call_id, id } = object(element)
  const named = (own: unknown) => JSON.stringify([role ?? null, type ?? null, own ?? null])
  if (role === 'tool') return named(answers)
  if (type !== undefined && role === undefined) return named(call_id ?? id)
  return role === 'assistant' ? named(meaningOf(element).slice(0, 64)) : ''
}

/**
 * What an element says: without the members and the forms that the conversion may change and that
 * mean nothing, such as a text as a string or as the only block of a list.
 */
function meaningOf(element: unknown): string {
  const { role, type, content, ...rest } = object(element)
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)
  const meaningful = blocks
    .map(object)
    .filter((block) => block.type !== 'text' || block.text !== '')
  const meanings = meaningful.map((block) => {
    if (/text$/.test(String(block.type))) return block.text
    if (block.type === 'tool_use') return [block.id, block.name, block.input]
    if (block.type === 'tool_result') return [block.tool_use_id, block.content, !!block.is_error]
    return [block.type]
  })
  const calls = list(rest.tool_calls).map((value) => {
    const { id, function: called, custom } = object(value)
    return [id, called ?? custom]
  })
  const item = type === undefined || type === 'message' ? null : [type, rest.call_id, rest.output]
  const made = [
    role ?? null,
    meanings,
    calls,
    rest.tool_call_id ?? null,
    item,
    rest.arguments ?? null,
  ]
  return JSON.stringify(made)
}

/**
 * Differences longer than this are one.
 *
 * Limit | a difference of two histories | elements | one difference
 */
const WINDOW = 64

/** Where two lists differ in meaning. */
function differences(before: readonly unknown[], after: readonly unknown[]): Hunk[] {
  const [old, now] = [before.map(meaningOf), after.map(meaningOf)]
  const hunks: Hunk[] = []
  let [a, b] = [0, 0]
  while (a < old.length || b < now.length) {
    if (a < old.length && b < now.length && old[a] === now[b]) {
      a++
      b++
      continue
    }
    // The nearest element at which both go on alike.
    let [skipA, skipB] = [old.length - a, now.length - b]
    search: for (let sum = 1; sum < WINDOW; sum++) {
      for (let removed = 0; removed <= sum; removed++) {
        const [i, j] = [a + removed, b + sum - removed]
        if (i < old.length && j < now.length && old[i] === now[j]) {
          ;[skipA, skipB] = [removed, sum - removed]
          break search
        }
      }
    }
    hunks.push({ from: a, to: a + skipA, now: after.slice(b, b + skipB) })
    a += skipA
    b += skipB
  }
  return hunks
}
