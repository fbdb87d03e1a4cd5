/** JSON of other people: careful reading, and replacing a part of a text without the rest. */
import { isObject } from '../checks.js'

export type Members = Record<string, unknown>

/** A value as an object; an empty one if it is none. */
export const object = (value: unknown): Members => (isObject(value) ? (value as Members) : {})

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** A list, or the one object that an API takes in place of it. */
export const listed = (value: unknown): unknown[] => (isObject(value) ? [value] : list(value))

/** A member whose name Google's APIs take in both spellings of protocol buffers; given in camelCase. */
export const either = (holder: Members, name: string): unknown =>
  holder[name] ?? holder[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The text of a value for a client that joins it to one: that of `["a"]` is `a`. */
export const joinedText = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(joinedText).join()
  return value == null || isObject(value) ? '' : String(value)
}

/** The JSON object of a text; `undefined` for everything else. */
export function parse(json: string): Members | undefined {
  if (!/^\s*\{/.test(json)) return undefined
  try {
    return object(JSON.parse(json))
  } catch {
    return undefined
  }
}

/** The JSON of a value; a text that is not JSON for one that is nested too deeply. */
export function stringify(value: unknown, replacer?: (name: string, member: unknown) => unknown) {
  try {
    return JSON.stringify(value, replacer) ?? ''
  } catch {
    return '(nested too deeply)'
  }
}

/** From where to where a value stands in a text. */
export interface Range {
  start: number
  end: number
}

const SPACE = /[\t\n\r ]*/y
const STRING = /"(?:[^"\\]|\\.)*"/sy
const SCALAR = /[^\s,\]}]+/y
const INNER = /["[\]{}]/g

function skip(json: string, at: number, pattern: RegExp): number {
  pattern.lastIndex = at
  return pattern.test(json) ? pattern.lastIndex : at
}

/** The closing quote of a string that begins at `at`; -1 if it has none. */
export function closingQuote(json: string, at: number): number {
  for (let end = json.indexOf('"', at + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    if (slashesBefore(json, end) % 2 === 0) return end
  }
  return -1
}

/** The backslashes right before `at`. */
export function slashesBefore(json: string, at: number): number {
  let slashes = 0
  while (json.charCodeAt(at - 1 - slashes) === 92) slashes++
  return slashes
}

/** Where a string ends that begins at `at`. Long ones would use up the stack of a pattern. */
function stringEnd(json: string, at: number): number {
  const end = closingQuote(json, at)
  return end < 0 ? json.length : end + 1
}

function valueEnd(json: string, at: number): number {
  const first = json[at]
  if (first === '"') return stringEnd(json, at)
  if (first !== '{' && first !== '[') return skip(json, at, SCALAR)
  let depth = 0
  INNER.lastIndex = at
  for (let found = INNER.exec(json); found; found = INNER.exec(json)) {
    if (found[0] === '"') INNER.lastIndex = stringEnd(json, found.index)
    else if (found[0] === '{' || found[0] === '[') depth++
    else if (--depth === 0) return found.index + 1
  }
  return json.length
}

/** The objects that stand in a row at the beginning of a text. */
export function leadingObjects(text: string): string[] {
  const found: string[] = []
  for (let at = skip(text, 0, SPACE); text[at] === '{'; at = skip(text, at, SPACE)) {
    const end = valueEnd(text, at)
    found.push(text.slice(at, end))
    at = end
  }
  return found
}

/** The strings in valid JSON, names included. */
export function stringsOf(json: string): string[] {
  const found: string[] = []
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    const end = stringEnd(json, at)
    found.push(JSON.parse(json.slice(at, end)) as string)
    at = end
  }
  return found
}

/** Where the members of the object stand that begins at `at`, by name; of valid JSON. */
export function membersOf(json: string, at = 0): Map<string, Range> {
  const found = new Map<string, Range>()
  let next = skip(json, skip(json, at, SPACE) + 1, SPACE)
  while (next < json.length && json[next] === '"') {
    const named = skip(json, next, STRING)
    const name = JSON.parse(json.slice(next, named)) as string
    const start = skip(json, skip(json, named, SPACE) + 1, SPACE)
    const end = valueEnd(json, start)
    // As `JSON.parse`: the last of two members of one name counts.
    found.set(name, { start, end })
    next = skip(json, skip(json, end, SPACE) + 1, SPACE)
  }
  return found
}

/** Where the elements of the array stand that begins at `at`; of valid JSON. */
export function elementsOf(json: string, at: number): Range[] {
  const found: Range[] = []
  let next = skip(json, at + 1, SPACE)
  while (next < json.length && json[next] !== ']') {
    const end = valueEnd(json, next)
    found.push({ start: next, end })
    const after = skip(json, end, SPACE)
    next = json[after] === ',' ? skip(json, after + 1, SPACE) : after
  }
  return found
}

/** The text of an object with a member replaced, or added at its end; the rest as it was. */
export function withMember(json: string, name: string, value: string): string {
  const members = membersOf(json)
  const there = members.get(name)
  if (there) return json.slice(0, there.start) + value + json.slice(there.end)
  const end = json.lastIndexOf('}')
  const comma = members.size ? ',' : ''
  return `${json.slice(0, end)}${comma}${JSON.stringify(name)}:${value}${json.slice(end)}`
}
