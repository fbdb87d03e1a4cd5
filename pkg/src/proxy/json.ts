/** JSON of other people: careful reading, and replacing a part of a text without the rest. */
import { isObject } from '../checks.js'

export type Members = Record<string, unknown>

/** A value as an object; an empty one if it is none. */
export const object = (value: unknown): Members => (isObject(value) ? (value as Members) : {})

export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The text of a value for a client that joins it to one: that of `["a"]` is `a`. */
export const joinedText = (value: unknown): string => {
  if (Array.isArray(value)) return value.map(joinedText).join()
  return value == null || isObject(value) ? '' : String(value)
}

/** Whether each value is a text, or not there: of others, each client makes a text of its own. */
export const areTexts = (...values: unknown[]): boolean =>
  values.every((value) => value == null || typeof value === 'string')

/** Whether each value is a number, or not there. */
export const areNumbers = (...values: unknown[]): boolean =>
  values.every((value) => value == null || typeof value === 'number')

/** Whether each value is an object, or not there. */
export const areObjects = (...values: unknown[]): boolean =>
  values.every((value) => value == null || isObject(value))

/** Whether arguments are an object or a text, or not there. */
export const isArguments = (value: unknown): boolean => areTexts(value) || isObject(value)

/** The JSON object of a text; `undefined` for everything else. */
export function parse(json: string): Members | undefined {
  if (!/^\s*\{/.test(json)) return undefined
  try {
    return object(JSON.parse(json))
  } catch {
    return undefined
  }
}

/**
 * The levels of JSON that are read in a response: 128 of arguments, as the core reads them, and those
 * of the wire around them. Deeper values overflow the stack of some functions.
 */
const LEVELS = 160

/** As `parse`, of a text of the provider; `undefined` also for one that is nested too deeply. */
export const parseResponse = (json: string): Members | undefined =>
  isDeeper(json, LEVELS) ? undefined : parse(json)

/** The JSON of a value; a text that is not JSON for one that is nested too deeply. */
export function stringify(value: unknown, replacer?: (name: string, member: unknown) => unknown) {
  try {
    return JSON.stringify(value, replacer) ?? ''
  } catch {
    return '(nested too deeply)'
  }
}

/** Line ends of some clients, which `JSON.stringify` does not escape. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g

/** The JSON of a value in one line, however a client splits lines. */
export const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(
    LINE_ENDS,
    (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

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

function isDeeper(json: string, levels: number): boolean {
  // Each level has two brackets.
  if (json.length <= 2 * levels) return false
  let depth = 0
  INNER.lastIndex = 0
  for (let found = INNER.exec(json); found; found = INNER.exec(json)) {
    if (found[0] === '"') INNER.lastIndex = stringEnd(json, found.index)
    else if (found[0] === '}' || found[0] === ']') depth--
    else if (++depth > levels) return true
  }
  return false
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

/** Whether one of the strings in valid JSON, names included, is one of these words; long texts are not. */
export function namesWord(json: string, words: RegExp): boolean {
  return stringsOf(json, LONGEST_NAME).some((value) => words.test(value) && !/\s/.test(value))
}

/** The strings in valid JSON, names included, of which the text has at most `longest` characters. */
export function stringsOf(json: string, longest = Infinity): string[] {
  const found: string[] = []
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    const end = stringEnd(json, at)
    if (end - at <= longest) found.push(JSON.parse(json.slice(at, end)) as string)
    at = end
  }
  return found
}

/** Characters of a name, of which each may be an escape of six. */
const LONGEST_NAME = 6 * 64

/** Whether an object in a text has two members of one name, of which `JSON.parse` reads the last. */
export function repeatsMembers(json: string, parsed: unknown): boolean {
  let written = 0
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    at = stringEnd(json, at)
    if (json[skip(json, at, SPACE)] === ':') written++
  }
  let read = 0
  const left = [parsed]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    const inner = Object.values(value)
    if (!Array.isArray(value)) read += inner.length
    for (const one of inner) left.push(one)
  }
  return written !== read
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
