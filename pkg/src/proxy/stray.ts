/** Calls in places where a wire has none, and in what cannot be read. */
import type { Call } from './judge.js'
import { joinedText, type Members } from './json.js'

/** Where the JSON of a wire has calls. */
export interface Places {
  /** The calls of a member or an element (`*`), where it holds any. */
  calls(name: string, value: object): Call[]
  /** Whether they are read there: the path of the value, such as `choices.*.delta.tool_calls`. */
  isKnown(path: string, value: object, root: Members): boolean
  /** Members whose value is other people's data, which is not looked at. */
  data: ReadonlySet<string>
}

/** No client reads calls that are nested deeper. */
const DEEPEST = 32
const LEFT_OUT = Symbol('left out')

/** The JSON without the calls that stand where its wire has none; nothing, if all of it is one. */
export function cleaned(
  root: Members,
  { calls, isKnown, data }: Places,
): { json: Members | undefined; strays: Call[] } {
  const strays: Call[] = []
  const visit = (name: string, value: unknown, path: string, depth: number): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const read = calls(name, value)
    // Some clients read names in any case, of which the wire reads one.
    const found = read.length || isUsual(name, value) ? read : calls(folded(name), lower(value))
    if (found.length) {
      if (read.length && isKnown(path, value, root)) return value
      strays.push(...found)
      return LEFT_OUT
    }
    if (depth > DEEPEST || data.has(name)) return value
    const isList = Array.isArray(value)
    const own = Object.entries(value)
    const within = path === '' ? '' : `${path}.`
    let same = true
    const left = own.flatMap(([member, before]) => {
      const place = isList ? '*' : member
      const now = visit(place, before, within + place, depth + 1)
      same &&= now === before
      return now === LEFT_OUT ? [] : [[member, now] as const]
    })
    if (same) return value
    return isList ? left.map(([, one]) => one) : Object.fromEntries(left)
  }
  const json = visit('', root, '', 0)
  return { json: json === LEFT_OUT ? undefined : (json as Members), strays }
}

/** A name in small letters. There are others than ASCII that stand for one in another case. */
export const folded = (name: string): string =>
  name.toUpperCase().toLowerCase().replaceAll(DOTTED, 'i')

/** The small form of U+0130. */
const DOTTED = 'i\u0307'

/** Members by which clients find calls, in any of the wire formats. */
const NAMES = new Set([
  'type',
  'index',
  'id',
  'name',
  'arguments',
  'input',
  'choices',
  'delta',
  'message',
  'tool_calls',
  'function_call',
  'function',
  'custom',
  'finish_reason',
  'content',
  'content_block',
  'partial_json',
  'stop_reason',
  'response',
  'output',
  'item',
  'call_id',
  'item_id',
  'output_index',
  'action',
  'actions',
  'operation',
  'server_label',
])

/** Members whose value is data of tools. */
const TOOL_DATA = new Set(['arguments', 'input'])

/**
 * Whether a client that reads names in any case finds members that other clients do not: a name of
 * calls in another case, or two names that differ in their case alone.
 */
export function isAmbiguous(root: Members, words: RegExp, data: ReadonlySet<string>): boolean {
  const left: unknown[] = [root]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    if (!isUsual('', value)) {
      const names = Object.keys(value)
      const all = new Set(names.map(folded))
      const isOdd = (name: string) => folded(name) !== name && NAMES.has(folded(name))
      if (all.size < names.length || names.some(isOdd)) return true
    }
    for (const [name, inner] of Object.entries(value)) {
      if (name === 'type' && isOddType(joinedText(inner), words)) return true
      if (!data.has(name) && !TOOL_DATA.has(name)) left.push(inner)
    }
  }
  return false
}

/** Whether a client that reads types in any case takes one for that of a call. */
const isOddType = (type: string, words: RegExp): boolean => {
  const plain = folded(type)
  return plain !== type && words.test(plain)
}

const USUAL = /^[a-z\d_*]*$/
/** Whether a name, and those within the value, are in small letters of ASCII, as nearly all are. */
const isUsual = (name: string, value: object): boolean =>
  USUAL.test(name) &&
  (Array.isArray(value) || Object.keys(value).every((member) => USUAL.test(member)))

/** An object with its names in small letters. */
const lower = (value: object): object =>
  Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(value).map(([name, own]) => [folded(name), own]))

/**
 * Whether letters of ASCII are spelled as escapes, or as letters beyond ASCII that stand for one in
 * another case: only a parser knows the names then.
 */
export const hasEscapes = (json: string): boolean =>
  (json.includes('\\u') && /\\u(?:00[2-7]|013[01]|017f|212a)/i.test(json)) ||
  /[\u0130\u0131\u017f\u212a]/.test(json)

/** Whether a text that is no JSON has one of these words, for a reader that is less strict. */
export const mentions = (text: string, words: RegExp): boolean =>
  words.test(
    folded(
      text
        // UTF-16, as bytes.
        .replaceAll('\0', '')
        .replace(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
    ),
  )
