/** Mends the history of a request, and leaves every other byte of the request as it was. */
import type { HistoryCode, Repair } from '../generated/common.js'
import type { Violation } from '../generated/history.js'
import { diagnose, normalize } from '../history/history.js'
import { elementsOf, list, membersOf, object, type Members, type Range } from './json.js'
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

/** The request with a history that the provider accepts; `undefined` if nothing is to be mended. */
export function mend(json: string, body: Members, wire: Wire): Mended | undefined {
  const first = mendOnce(json, body, wire)
  // What a repair brought about, such as a call with a new id that has no result, is mended too: a
  // client that sends what was repaired is sent on unchanged.
  let last = first
  while (last && last.left > 0) {
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
  const faults = faultsOf(before, wire)
  const orphans = wire.orphans(before)
  if (faults.length + orphans.length === 0) return undefined
  const at = membersOf(json).get(wire.history)
  if (!at) return undefined
  const { messages, repairs } = normalize(before, { dialect: wire.dialect })
  const mended = repairs.filter(({ code }) => MENDED.has(code))
  mended.push(...orphans.filter(({ index }) => !mended.some((one) => one.index === index)))
  const elements = new Elements(json, at)
  if (mended.every(isSimple)) {
    for (const repair of mended) wire.mend(elements, before, repair)
  } else {
    replace(elements, before, messages, faults)
  }
  const made = json.slice(0, at.start) + elements.join() + json.slice(at.end)
  const now = object(JSON.parse(made))
  // Whatever was not understood is left to the provider.
  const left = list(now[wire.history])
  const count = faultsOf(left, wire).length + wire.orphans(left).length
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

const faultsOf = (history: readonly unknown[], { dialect }: Wire) =>
  diagnose(history, { dialect }).filter(({ code }) => MENDED.has(code as HistoryCode))

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
  const ids = faults.flatMap(({ toolCallId }) => (toolCallId ? [JSON.stringify(toolCallId)] : []))
  for (const { from, to, now } of differences(before, after)) {
    const old = before.slice(from, to)
    const text = JSON.stringify([old, now])
    const isMeant =
      faults.some(({ index }) => index >= from && index < to) || ids.some((id) => text.includes(id))
    if (!isMeant) continue
    const texts = now.map((element) => JSON.stringify(completed(element, old)))
    for (let index = from; index < to; index++) elements.set(index, [])
    if (to > from) elements.set(from, texts)
    else for (const one of texts) elements.add(from - 1, one)
  }
}

/** A changed element, with the members of its original that the change is not about. */
function completed(element: unknown, old: unknown[]): unknown {
  const now = object(element)
  const original = old.find((one) => isSameMessage(object(one), now))
  return original === undefined ? element : { ...object(original), ...now }
}

const isSameMessage = (old: Members, now: Members): boolean =>
  old.role === now.role &&
  old.type === now.type &&
  (old.role === 'tool'
    ? old.tool_call_id === now.tool_call_id
    : old.type !== undefined && old.role === undefined
      ? (old.call_id ?? old.id) === (now.call_id ?? now.id)
      : old.role === 'assistant' && meaningOf(old).slice(0, 64) === meaningOf(now).slice(0, 64))

/**
 * What an element says: without the members and the forms that the conversion may change and that
 * mean nothing, such as a text as a string or as the only block of a list.
 */
function meaningOf(element: unknown): string {
  const { role, type, content, ...rest } = object(element)
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content)
  const said = blocks.map(object).filter((block) => block.type !== 'text' || block.text !== '')
  const shown = said.map((block) => {
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
  const made = [role ?? null, shown, calls, rest.tool_call_id ?? null, item, rest.arguments ?? null]
  return JSON.stringify(made)
}

/** Differences longer than this are one. */
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
      for (let left = 0; left <= sum; left++) {
        const [i, j] = [a + left, b + sum - left]
        if (i < old.length && j < now.length && old[i] === now[j]) {
          ;[skipA, skipB] = [left, sum - left]
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
