/** What points to a person: e-mail addresses, cards, accounts, addresses of hosts; phones: `phones.ts`. */
import {
  back,
  BEHIND,
  chars,
  CUT,
  DIGIT,
  LETTER_OR_DIGIT,
  NO,
  opened,
  runEnd,
  unknown,
  WAIT,
  within,
  type View,
} from './view.js'
import { isVersion } from './versions.js'

const HOST = chars('09azAZ::..')

/** Letters beyond ASCII of alphabets whose words have spaces between them. */
const letter = (code: number) => code >= 0xc0 && code < 0x2000
const LOCAL = chars('09AZaz..__%%++--~~')
/** What may stand before the `@` of an address, also in quotes or with an apostrophe. */
export const local = (code: number) => named(code) || code === 34 || code === 39
const named = (code: number) => within(LOCAL, code) || letter(code)
/** Characters before the `@` that are masked. */
export const LONGEST_LOCAL = 64
const LONGEST_HOST = 253

export const wordBefore = (text: string, at: number) => wordAt(text, at - 1) && !opened(text, at)
/** Behind a number `_` is one of Markdown, or of a name that begins with it. */
export const wordAt = (text: string, at: number) =>
  within(LETTER_OR_DIGIT, text.charCodeAt(at)) || letter(text.charCodeAt(at))

/** Reads an e-mail address around its `@`, for which `%40` stands in an address of the web. */
export function emailAt(
  view: View,
  at: number,
  code: number,
): { from: number; to: number } | typeof NO | typeof WAIT {
  const { text } = view
  const size = code === 64 ? 1 : code === 37 && text.startsWith('40', at + 1) ? 3 : 0
  if (size === 0) return NO
  const from = localStart(view, at)
  const to = from < at ? emailEnd(view, at + size) : NO
  if (to === WAIT || to === NO) return to
  return IS_PASSWORD.test(back(text, from, BEHIND - (at - from))) ||
    IS_FILE.test(text.slice(from, to))
    ? NO
    : { from, to }
}
/** What stands before the `@` of an address with a scheme is a password. */
const IS_PASSWORD = /:\/\/[^\s/?#"'<>,]*:[^\s/?#"'<>,]*$/
/** Addresses of repositories, and of pictures in two sizes. */
const IS_FILE = /^git@|@\dx\.[a-z]+$/

/** Where the name before an `@` begins; the `@` itself, if there is none. */
function localStart(view: View, at: number): number {
  const { text } = view
  const least = Math.max(0, at - LONGEST_LOCAL)
  const quoted = text.charCodeAt(at - 1) === 34
  let from = quoted ? at - 1 : at
  for (; from > least; from--) {
    const code = text.charCodeAt(from - 1)
    if (named(code)) continue
    // O'Brien has one within; what begins with one is quoted.
    if (code !== 39 || quoted || !wordBefore(text, from - 1)) break
  }
  view.steps += at - from + 1
  // What JSON escapes before it is none of it: `\nada@…`, `\u003cada@…`.
  const escape = /^\\(?:u[\dA-Fa-f]{4}|[bfnrt])/.exec(text.slice(from - 1, at))
  if (!quoted) return escape ? from - 1 + escape[0].length : from
  return text.charCodeAt(from - 1) === 34 ? from - 1 : at
}

/** Reads the host of an address behind its `@`: labels, the last one of letters. */
function emailEnd(view: View, at: number): number {
  const { text } = view
  if (text.charCodeAt(at) === 91) return literalEnd(view, at + 1)
  let [to, from, end] = [at, at, NO]
  for (; to <= at + LONGEST_HOST + 1; to++) {
    const code = text.charCodeAt(to)
    view.steps++
    // An ASCII label ends where other letters begin: Chinese has no spaces.
    const foreign = letter(code) || to === from || text.charCodeAt(to - 1) > 0xbf
    if (within(LETTER_OR_DIGIT, code) || code === 45) continue
    if (foreign && /[\p{L}\p{M}\p{N}]/u.test(text.charAt(to))) continue
    const top = TOP.exec(text.slice(from, to))
    if (from > at && top) end = from + top[0].length
    if (code === CUT && end === NO && (to === at || /[a-z]/i.test(text.slice(at, to)))) end = to
    if (code !== 46 || to === from) break
    from = to + 1
  }
  return unknown(view, to) ? WAIT : end
}
/** The last label of a host: what stands behind a hyphen is none of it, but in `xn--`. */
const TOP = /^(?:xn--[a-z0-9-]*[a-z0-9]|[a-z]{2,}(?=-|$)|[^\0-\x7f][^-]*)/i

/** The end of `[192.0.2.1]` or `[IPv6:2001:db8::1]`. */
function literalEnd(view: View, at: number): number {
  const to = runEnd(view, HOST, at, 48)
  if (unknown(view, to)) return WAIT
  const host = view.text.slice(at, to).replace(/IPv6:/i, '')
  return view.text[to] === ']' && (isV4(host) || isV6(host)) ? to + 1 : NO
}

/** Groups of digits, with what stands between them. */
interface Groups {
  sizes: number[]
  /** Where each group ends, and what stands before each but the first. */
  ends: number[]
  gaps: string[]
  digits: string
  open: boolean
}

const MOST_GROUPS = 7

/** Reads groups of digits with a separator between two of them. */
export function groupsAt(view: View, at: number, between: (text: string) => boolean, most: number) {
  const { text } = view
  const groups: Groups = { sizes: [], ends: [], gaps: [], digits: '', open: false }
  let p = at
  while (groups.sizes.length < MOST_GROUPS) {
    const to = runEnd(view, DIGIT, p, most + 1)
    if (to === p) break
    groups.sizes.push(to - p)
    groups.ends.push(to)
    groups.digits += text.slice(p, to)
    // What has more digits than any number is known already.
    if (groups.digits.length > most) break
    // At most three characters, such as `) (`.
    let next = to
    while (next < to + 3 && !unknown(view, next) && !within(DIGIT, text.charCodeAt(next))) next++
    const gap = text.slice(to, next)
    groups.open = unknown(view, next) && (next === to || between(gap))
    if (!within(DIGIT, text.charCodeAt(next)) || !between(gap)) break
    groups.gaps.push(gap)
    p = next
  }
  return groups
}

const ofCard = (text: string) => /^[ +.\u00a0\u2009\u202f\u2010-\u2014-]+$/.test(text)

/** A number of a payment card: its beginning, its length, and Luhn's check digit. */
export function cardEnd(view: View, at: number): number {
  const { text } = view
  if (numberBefore(text, at)) return NO
  const groups = groupsAt(view, at, ofCard, 19)
  if (groups.open) return WAIT
  const { sizes, gaps } = groups
  let [count, found] = [0, NO]
  if (groups.digits.length < 13) return NO
  groups.ends.forEach((end, index) => {
    count += sizes[index] as number
    // Groups as cards have them: others are numbers side by side.
    const even = sizes
      .slice(0, index + 1)
      .every((size, n) => size > (n < 3 ? 2 : 1) && (n > 0 ? gaps[n - 1] === gaps[0] : size < 7))
    const digits = groups.digits.slice(0, count)
    // One point is that of a decimal.
    const isDecimal =
      gaps[index] === '.' ? index === 0 || gaps[0] !== '.' : index === 1 && gaps[0] === '.'
    if ((index > 0 && !even) || isDecimal || wordAt(text, end)) return
    if (!ISSUED.test(digits) || !luhn(digits)) return
    if (sizes[0]! > 4 || !inIban(text, at, count)) found = end
  })
  return found
}

/** The beginnings of cards, and how long those are. */
const ISSUED = new RegExp(
  '^(?:4\\d{12}(?:\\d{3}){0,2}|5\\d{15}|5[0678]\\d{11}(?:\\d{6})?|6\\d{12}|(?:6\\d|8[12])\\d{14,17}|' +
    '3[47]\\d{13}|3[0689]\\d{12,14}|35(?:2[89]|[3-8]\\d)\\d{12}|' +
    '2(?:2(?:0[0-5]|2[1-9]|[3-9]\\d)|[3-6]\\d\\d|7[01]\\d|720)\\d{12}|' +
    '(?:8600|9(?:704|792|860))\\d{12}(?:\\d{3})?|' +
    // Of airlines, by their number.
    '(?:2131|1(?!000)\\d{3})\\d{11})$',
)

function luhn(digits: string): boolean {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48
    const twice = digit * 2
    sum += at % 2 === 0 ? digit : twice > 9 ? twice - 9 : twice
  }
  return sum % 10 === 0
}

/** Countries by the length of their IBANs (registry of SWIFT, release 99; and some that use them). */
const IBAN =
  '15NO16BE18DKFIFKFOGLNLSD19MKSI20ATBAEEKZLTLUMNXK21CHHRLILV22BGBHCRDEGBGEIEMERSVA23AEGIILIQOMSO' +
  'TL24ADCZESMDPKROSASESKTNVG25AOCVGWLYMZPTST26DZIRISTR27BICFCGCMDJFRGAGQGRITKMMCMGMRSMTD28ALAZBF' +
  'BJBYCICYDOGTHNHULBMAMLNENIPLSNSVTG29BREGPSQAUA30JOKWMUYE31MTSC32LC33RU'
const LENGTHS = new Map(
  [...IBAN.matchAll(/(\d\d)(\D+)/g)].flatMap(([, size, names = '']) =>
    names.match(/../g)!.map((name) => [name, Number(size)] as const),
  ),
)

/** An IBAN, by the length of its country and its check digits. */
export function ibanEnd(view: View, at: number): number {
  const { text } = view
  if (unknown(view, at + 3)) {
    return runEnd(view, LETTER_OR_DIGIT, at, 4) === text.length ? WAIT : NO
  }
  if (!within(DIGIT, text.charCodeAt(at + 2)) || !within(DIGIT, text.charCodeAt(at + 3))) return NO
  const size = LENGTHS.get(text.slice(at, at + 2).toUpperCase()) ?? 0
  let [remainder, count, p] = [0, 0, at]
  let head = 0
  for (; count < size; p++) {
    if (unknown(view, p)) return WAIT
    view.steps++
    const code = text.charCodeAt(p)
    if (!within(LETTER_OR_DIGIT, code)) {
      // Two at most, as in a text of two columns.
      const gap = /[\s+.\u2010-\u2014-]/.test(text.charAt(p))
      if (gap && /\w/.test(back(text, p, 2))) continue
      return NO
    }
    const value = parseInt(text.charAt(p), 36)
    // The first four come last.
    if (count < 4) head = value > 9 ? head * 100 + value : head * 10 + value
    else remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
    count++
  }
  if (unknown(view, p)) return WAIT
  return !wordAt(text, p) && (remainder * 1000000 + head) % 97 === 1 ? p : NO
}

/** Whether so many digits go on an account and are within its length, right check digits or not. */
export function inIban(text: string, at: number, size: number): boolean {
  const [begun, name] = /\b([a-z]{2})\d\d(?:[ -]\w{4})*[ -]$/i.exec(back(text, at, 26)) ?? []
  const most = LENGTHS.get(String(name).toUpperCase()) ?? 0
  return String(begun).replace(/[ -]/g, '').length + size <= most
}

/** An IPv4 or IPv6 address. */
export function ipEnd(view: View, at: number): number {
  const { text } = view
  const before = text.charCodeAt(at - 1)
  // §3.2.1.1 is a section.
  if (wordBefore(text, at) || before === 46 || before === 0xa7) return NO
  const to = runEnd(view, HOST, at, 46)
  // Words end here, unless they may go on as an address.
  const candidate = text.slice(at, to)
  if (unknown(view, to)) return /^(?:[0-9a-f:.]*|\d+(?:\.\d+){3}:.*)$/i.test(candidate) ? WAIT : NO
  // Almost every word.
  if (!/[.:].*[.:]/.test(candidate)) return NO
  // A group of an address, or a name: `src:2001:db8::1`.
  const within6 = before === 58 && !/[g-z]\w*:$/i.test(back(text, at, 16))
  const address = candidate.replace(/[.]+$/, '')
  // A port may follow, the name of a service, or the path of a copy.
  const [, v4 = ''] = /^(\d+(?:\.\d+){3})(?:\.*$|:)/.exec(candidate) ?? []
  if (isV4(v4)) {
    const version = !/^:\d/.test(candidate.slice(v4.length)) && isVersion(view, at, at + v4.length)
    if (version) return version === WAIT ? WAIT : NO
    return restOfIp(view, at + v4.length)
  }
  for (const spelling of [address, address.replace(/:\d{0,5}$/, '')]) {
    if (isV4(spelling) || (!within6 && isV6(spelling))) return restOfIp(view, at + spelling.length)
  }
  return NO
}

/** The end of an address with its zone and the length of its network: `%eth0`, `/24`. */
function restOfIp(view: View, at: number): number {
  const rest = view.text.slice(at, at + 22)
  view.steps += 4
  if (unknown(view, at + 22) && /^(?:%\w*)?(?:\/\d{0,3})?$/.test(rest)) return WAIT
  return at + /^(?:%\w{1,16})?(?:\/\d{1,3}(?!\w))?/.exec(rest)![0].length
}

export const isV4 = (text: string) =>
  /^\d{1,3}(?:[.]\d{1,3}){3}$/.test(text) &&
  text.split('.').every((part) => +part < 256) &&
  (!/\b0\d/.test(text) || text.length === 15)

function isV6(text: string): boolean {
  if (!/\d/.test(text)) return false
  const halves = text.split('::')
  const parts = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const four = isV4(parts.at(-1) ?? '')
  const sixteen = four ? parts.slice(0, -1) : parts
  if (!sixteen.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return false
  // Numbers of network cards have such groups only.
  if (sixteen.every((part) => part.length === 2)) return false
  // Of a list each second item is `[::2]`.
  if (parts.length < 3 && !/[\da-f]{4}|^::1$|[.]/i.test(text)) return false
  return halves.length === 2 || sixteen.length + (four ? 2 : 0) === 8
}

/** Whether a digit goes on another number; behind a comma another one may begin, in a column. */
export const numberBefore = (text: string, at: number) => /\w[/+-]|\d[.:]/.test(back(text, at, 2))
