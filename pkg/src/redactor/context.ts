/** Finds where the value of a name begins: `api_key = "…"`, `password: …`, `the token is …`. */
import { back, chars, NO, runEnd, unknown, WAIT, type View } from './view.js'

/** Words near which a random text is a secret (gitleaks: generic-api-key). */
export const WORDS = 'access|auth|api|credential|creds|key|passwd|password|secret|token'.split('|')

/** Names whose value is a secret, random or not. */
export const NAMES = (
  'password|passwd|passphrase|passwort|pass|pwd|pw|pswd|secret|apikey|api_key|api-key|api key|' +
  'identified by|authorization|access_key|accesskey|private_key|privatekey|auth_token|authtoken|' +
  'access_token|accesstoken|refresh_token|refreshtoken'
).split('|')

/** Where the value of a name begins, and how it is introduced. */
export interface Context {
  /** The end of its word. */
  at: number
  from: number
  /** Where a text without spaces ends that begins there, if it was read. */
  to?: number
  /** Nothing but an operator stands between the word and the value. */
  near: boolean
  /** The quote before the value, `<` in an element of XML, or `''`. */
  quote: string
  /** No operator stands before the value. */
  loose?: boolean
  /** The value is one of a list: `[…` or `- …`. */
  list?: boolean | undefined
}
type Found<T> = T | typeof NO | typeof WAIT

/** The rest of a name behind its word; what closes a name; what opens a value. */
const NAME_REST = chars('\t\t  09AZaz__..--')
const CLOSES = chars('\t\r  \'\'""\\\\[[]]``**')
const OPENS = chars('\t\r  \'\'""\\\\``==')
const ESCAPED_QUOTE = chars('""\\\\')
/** Characters of those that are read. */
const [NAME_MOST, CLOSES_MOST, OPENS_MOST] = [20, 5, 16]
/** Backslashes before a quote that are counted: four levels of JSON. */
export const MOST_ESCAPES = 15

const OPERATOR = /^(?:=>|[!=]==?|\?\?|[?+.:]?=|\|\|?|[:,]|>(?!["'])|\((?=["']))/
const OPERATOR_MOST = 4
/** `"name": "PASSWORD", "value": "…"`, in JSON, YAML and attributes. */
const PAIR = /^[,;]?\s{0,20}["']?value["']?\s?[:=]/i
/** More of the text may make a pair of this. */
const PAIR_BEGUN = /^[,;\s"'value]*$/i
const PAIR_MOST = 32
/** The type of a variable, the end of what is bold, or the beginning of a list. */
const BETWEEN =
  /^(?:[ &]{0,2}(?:'static )?[a-z<>[\]?]{3,16}(?: \| [a-z]{3,9})? ?= ?(?=["'])|[*_]{1,2}(?=\s)|(\s?\[\s{0,14}(?=["'])|\s{1,14}- ))/i
const BETWEEN_MOST = 32
/** More of the text may make of it what stands between, here or in a sentence. */
const BEGUN = /^[\w\s&'<>[\]?|*:=-]*["`]?$/
/** The letter before a text in Python, C# and others: `f"…"`. */
const PREFIXED = /[bruf@]["']/i
/** A constant, and the beginning of a call of which it is the first argument. */
const CONSTANT = /[A-Z]_?\d{0,2}["'],/
const CALLED = /\(\s?["'][A-Z\d_]*$/
const ELEMENT = /<[\w.:-]{0,40}$/
/** Characters before a word in which a call or an element begins. */
const OPENING_MOST = 41
/** Three quotes: a text of documentation. */
const DOCUMENTATION = /(["'])\1\1\s*[\n\r]/
/** An empty text, also in a text of JSON. */
const EMPTY = /(?:^|[^"'])(["'])\1(?!\1)|(?<!\\)(\\+)(["'])\2\3(?!\\*\3)/
/** What ends a name that is still one of a secret. */
const ENDINGS = /^[_-]?(?:\d{1,2}|key|value|text|str(?:ing)?|base|is|was)?$/i

/** What may stand between a word and its value in a sentence. */
const LOOSE =
  /^(\w{0,8})(?:[ \t]{1,4}(?:(?:is|was|-|=)[: ]{1,3})?["'`]?|["'`](?=\w))(?=[^\s"'`:=|>,;])/
const LOOSE_MOST = 24
/** What stands between two texts of a list. */
const NEXT = /^(?:["'`]?(?:\s{0,2}[|,]?\s{0,12}["'`]|\r?\n {0,12}- ["']?)|,)(?=\w)/
const NEXT_BEGUN = /^["'`\s|,-]*$/
const NEXT_MOST = 20

/** What makes of a word another one: after it, before it, and as a part of it. */
const AFTER =
  /^[_.-]?(?:code|error|file|id|name|or|path|sock|type|ur[il]|vault|version)s?(?![a-z])/i
const BEFORE =
  /(?:pub(?:lic)?|primary|foreign|csrf)[_.-]?(?:key|token|keytoken)$|(?:don|mon|tur)key$/i
const WITHIN = /[a-z](?:api|pw|pass)$|[a-np-z]auth$/

/** Reads from behind a word to its value: the rest of the name, an operator, quotes. */
export function contextAt(view: View, at: number): Found<Context> {
  const { text } = view
  const nameEnd = runEnd(view, NAME_REST, at, NAME_MOST)
  const operator = operatorAt(view, nameEnd)
  if (operator === WAIT) return WAIT
  if (operator === NO) return looseAt(view, at)
  const opening = openingAt(view, operator.to)
  if (opening === WAIT) return WAIT
  const { from, list } = opening
  const opened = text.slice(operator.to, from)
  const rest = text.slice(at, nameEnd).trim()
  if (DOCUMENTATION.test(opened) || EMPTY.test(opened)) return NO
  if (isOtherWord(text, at, rest) || isFolder(text, at, from)) return NO
  const near = isAssigned(text, at, from, operator.text) && ENDINGS.test(rest)
  const isElement = operator.text === '>' && near && ELEMENT.test(back(text, at, OPENING_MOST))
  const quote = isElement ? '<' : (opened.match(/["'`]/g)?.at(-1) ?? '')
  return { at, from, near, quote, list }
}

/** Reads what closes a name, and the operator behind it, which may be `"value":` of a pair. */
function operatorAt(view: View, nameEnd: number): Found<{ text: string; to: number }> {
  const { text } = view
  let at = runEnd(view, CLOSES, nameEnd, CLOSES_MOST)
  // A quote in a string of JSON in a string of JSON.
  if (text[at - 1] === '\\') at = runEnd(view, ESCAPED_QUOTE, at, MOST_ESCAPES)
  if (unknown(view, at + OPERATOR_MOST - 1)) return WAIT
  const pair = at > nameEnd ? pairAt(view, at) : ''
  if (pair === WAIT) return WAIT
  const operator = pair || OPERATOR.exec(text.slice(at, at + OPERATOR_MOST))?.[0]
  return operator ? { text: operator, to: at + operator.length } : NO
}

function pairAt(view: View, at: number): string | typeof WAIT {
  view.steps += 8
  const read = view.text.slice(at, at + PAIR_MOST)
  const pair = PAIR.exec(read)?.[0]
  if (pair === undefined && unknown(view, at + PAIR_MOST) && PAIR_BEGUN.test(read)) return WAIT
  return pair ?? ''
}

/** Reads from behind an operator to the value: a type, the beginning of a list, quotes. */
function openingAt(view: View, begin: number): { from: number; list: boolean } | typeof WAIT {
  const { text } = view
  const read = text.slice(begin, begin + BETWEEN_MOST)
  if (unknown(view, begin + BETWEEN_MOST) && BEGUN.test(read)) return WAIT
  const [between = '', listBegins] = BETWEEN.exec(read) ?? []
  let from = runEnd(view, OPENS, begin + between.length, OPENS_MOST)
  if (unknown(view, from + 1)) return WAIT
  const isPrefixed = PREFIXED.test(text.slice(from, from + 2))
  if (isPrefixed && !/["'`]/.test(text.slice(begin, from))) from = runEnd(view, OPENS, from + 1, 3)
  if (unknown(view, from)) return WAIT
  return { from: begin + outerEnd(text.slice(begin, from)), list: !!listBegins }
}

/**
 * Where the value begins behind what opens it. A value that begins with a quote, or with a backslash,
 * has that one escaped once more than the quote before it.
 */
export function outerEnd(opened: string): number {
  const [outer, inner] = opened.matchAll(/(\\*)(["'`]|$)/g)
  if (!outer || !inner || !outer[2]) return opened.length
  const isWithin = inner[2] === outer[2] || (inner[2] === '' && inner[1] !== '')
  const isDeeper = String(inner[1]).length > String(outer[1]).length
  return isWithin && isDeeper ? outer.index + outer[0].length : opened.length
}

/** Whether an operator gives the name its value. A comma does in `define('DB_PASSWORD', '…')`. */
function isAssigned(text: string, at: number, from: number, operator: string): boolean {
  if (operator !== ',') return operator !== '|'
  return CONSTANT.test(text.slice(at - 1, from)) && CALLED.test(back(text, at, OPENING_MOST))
}

/** `PWD=/…` of a shell. */
const isFolder = (text: string, at: number, from: number) =>
  text[from] === '/' && /pwd/i.test(back(text, at, 3))

function isOtherWord(text: string, at: number, rest: string): boolean {
  const before = back(text, at, 16).replace(/\\[nrt]/g, ' ')
  return AFTER.test(rest) || BEFORE.test(before) || WITHIN.test(before)
}

/** `--password …`, `password is …`, `password "…"`. */
function looseAt(view: View, at: number): Found<Context> {
  const { text } = view
  view.steps += 12
  const read = text.slice(at, at + LOOSE_MOST)
  const found = LOOSE.exec(read)
  if (!found) return unknown(view, at + LOOSE_MOST) && BEGUN.test(read) ? WAIT : NO
  const [between, rest = ''] = found
  const from = at + between.length
  // More of the text may be a part of what stands between.
  if (unknown(view, from + 8)) return WAIT
  if (isOtherWord(text, at, rest)) return NO
  const loose = !/ (?:is|was|=)/.test(between)
  return { at, from, near: ENDINGS.test(rest), quote: lastQuote(between), loose }
}

/** Reads from the end of a text of a list to the next one; `near`: whether one was a secret. */
export function listAt(
  view: View,
  at: number,
  { list, near }: Pick<Context, 'list' | 'near'>,
): Found<Context> {
  view.steps += 4
  const read = view.text.slice(at, at + NEXT_MOST)
  const found = NEXT.exec(read)?.[0]
  // What stands in lines of their own is of a list only if one began.
  const isNext = found !== undefined && (list || !/- ["']?$/.test(found))
  if (!isNext) return unknown(view, at + NEXT_MOST) && NEXT_BEGUN.test(read) ? WAIT : NO
  return { at, from: at + found.length, near, quote: lastQuote(found), list }
}

/** The quote with which a text ends, if it does. */
const lastQuote = (text: string) => /["'`]$/.exec(text)?.[0] ?? ''
