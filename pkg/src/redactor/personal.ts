/** What points to a person: e-mail addresses, cards, accounts, addresses of hosts; phones: `phones.ts`. */
import {
  back,
  chars,
  CUT,
  DIGIT,
  LETTER_OR_DIGIT,
  NO,
  runEnd,
  unknown,
  WAIT,
  within,
  WORD,
  type View,
} from './view.js'

const HEX = chars('09afAF')
const HOST = chars('09azAZ::..')
const UPPER = chars('AZ')
const LOWER = chars('az')

/** Letters beyond ASCII of alphabets whose words have spaces between them. */
const letter = (code: number) => code >= 0xc0 && code < 0x2000 && code !== 0xd7 && code !== 0xf7
const LOCAL = chars('09AZaz..__%%++--~~')
/** What may stand before the `@` of an address, also in quotes or with an apostrophe. */
export const local = (code: number) => named(code) || code === 34 || code === 39
const named = (code: number) => within(LOCAL, code) || letter(code)
/** Characters before the `@` that are masked. */
export const LONGEST_LOCAL = 64
const LONGEST_HOST = 253

export const wordBefore = (text: string, at: number) =>
  within(WORD, text.charCodeAt(at - 1)) || letter(text.charCodeAt(at - 1))
export const wordAt = (text: string, at: number) =>
  within(WORD, text.charCodeAt(at)) || letter(text.charCodeAt(at))

/** Where the name before an `@` begins; the `@` itself, if there is none. */
export function localStart(view: View, at: number): number {
  const { text } = view
  const least = Math.max(0, at - LONGEST_LOCAL)
  const quoted = text.charCodeAt(at - 1) === 34
  let from = quoted ? at - 1 : at
  for (; from > least; from--) {
    const code = text.charCodeAt(from - 1)
    if (named(code)) continue
    // O'Brien has one within; what begins with one is quoted.
    if (code !== 39 || quoted || from === at || from - 1 === least) break
    if (!wordBefore(text, from - 1)) break
  }
  view.steps += at - from + 1
  if (!quoted) return from
  return from < at - 1 && text.charCodeAt(from - 1) === 34 ? from - 1 : at
}

/** Reads the host of an address behind its `@`: labels, the last one of letters. */
export function emailEnd(view: View, at: number): number {
  const { text } = view
  if (text.charCodeAt(at) === 91) return literalEnd(view, at + 1)
  const last = Math.min(text.length, at + LONGEST_HOST + 1)
  let [to, from, end] = [at, at, NO]
  for (; to <= last; to++) {
    const code = to < text.length ? text.charCodeAt(to) : NaN
    view.steps++
    // An ASCII label ends where other letters begin: Chinese has no spaces.
    const foreign = code > 0xbf && !punctuation(code) && (letter(code) || label(text, from, to))
    if (within(LETTER_OR_DIGIT, code) || code === 45 || foreign) continue
    const name = text.slice(from, to).replace(/-+$/, '')
    if (from > at && isTop(name)) end = from + name.length
    if (code === CUT && end === NO && (to === at || /[a-z]/i.test(text.slice(at, to)))) end = to
    if (code !== 46 || to === from) break
    from = to + 1
  }
  if (to > last && last === at + LONGEST_HOST + 1) return end
  return unknown(view, to) ? WAIT : end
}

/** The end of `[192.0.2.1]` or `[IPv6:2001:db8::1]`. */
function literalEnd(view: View, at: number): number {
  const to = runEnd(view, LITERAL, at, 48)
  if (unknown(view, to)) return WAIT
  const host = view.text.slice(at, to).replace(/^IPv6:/i, '')
  return view.text[to] === ']' && (isV4(host) || isV6(host)) ? to + 1 : NO
}
const LITERAL = chars('09AFafIIPPVVipvv::..')

const label = (text: string, from: number, to: number) =>
  to === from || text.charCodeAt(to - 1) > 0xbf
const isTop = (text: string) => /^(?:[a-z]{2,}|xn--[a-z0-9-]+|[^\0-\x7f][^]*)$/i.test(text)
const punctuation = (code: number) =>
  (code >= 0x2000 && code <= 0x206f) ||
  (code >= 0x3000 && code <= 0x303f) ||
  (code >= 0xff00 && code <= 0xff0f) ||
  code === 0xff1a ||
  code === 0xff1b ||
  code === 0xff1f ||
  code === 0xfffd

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
  while (groups.digits.length <= most && groups.sizes.length < MOST_GROUPS) {
    const to = runEnd(view, DIGIT, p, most + 1)
    if (to === p) break
    groups.sizes.push(to - p)
    groups.ends.push(to)
    groups.digits += text.slice(p, to)
    // What has more digits than any number is known already.
    if (groups.digits.length > most) return groups
    if (unknown(view, to)) {
      groups.open = true
      return groups
    }
    p = to
    // At most three characters, such as `) (`.
    let next = p
    while (next < p + 3 && !within(DIGIT, text.charCodeAt(next))) {
      if (unknown(view, next)) {
        groups.open = next === p || between(text.slice(p, next))
        return groups
      }
      next++
    }
    if (next === p || !within(DIGIT, text.charCodeAt(next)) || !between(text.slice(p, next))) {
      groups.open = unknown(view, next) && between(text.slice(p, next))
      return groups
    }
    groups.gaps.push(text.slice(p, next))
    p = next
  }
  return groups
}

const ofCard = (text: string) => /^[ \u00a0\u2009\u202f\u2011-]$/.test(text)

/** A number of a payment card: its beginning, its length, and Luhn's check digit. */
export function cardEnd(view: View, at: number): number {
  const { text } = view
  if (!within(DIGIT, text.charCodeAt(at)) || numberBefore(text, at)) return NO
  if (inIban(text, at)) return NO
  const groups = groupsAt(view, at, ofCard, 19)
  if (groups.open) return WAIT
  let [count, found] = [0, NO]
  groups.ends.forEach((end, index) => {
    count += groups.sizes[index] as number
    const sizes = groups.sizes.slice(0, index + 1)
    const even = index === 0 || sizes.every((size, n) => size > 2 && (n > 0 || size < 7))
    if (count < 13 || count > 19 || !even || wordAt(text, end)) return
    if (issued(groups.digits.slice(0, count))) found = end
  })
  return found
}

/** Whether a card of such a length begins with these digits, and the last one is right. */
function issued(digits: string): boolean {
  const [first, four, size] = [digits[0] ?? '', Number(digits.slice(0, 4)), digits.length]
  const known =
    (first === '4' && [13, 16, 19].includes(size)) ||
    (first === '5' && size === 16) ||
    (four >= 2221 && four <= 2720 && size === 16) ||
    (/^3[47]/.test(digits) && size === 15) ||
    (/^3(?:0|6|8|9)/.test(digits) && size >= 14 && size <= 16) ||
    (four >= 3528 && four <= 3589 && size === 16) ||
    (/^(?:6|8[12])/.test(digits) && size >= 16) ||
    (/^(?:220[0-5]|8600|9792|9860)/.test(digits) && size === 16) ||
    // Of airlines, by their number.
    (/^1(?!000)/.test(digits) && size === 15) ||
    (/^(?:5[0678]|6)/.test(digits) && size === 13)
  return known && luhn(digits) && !/^(\d)\1*$/.test(digits)
}

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
    (names.match(/[A-Z]{2}/g) ?? []).map((name) => [name, Number(size)] as const),
  ),
)

/** An IBAN, by the length of its country and its check digits. */
export function ibanEnd(view: View, at: number): number {
  const { text } = view
  if (wordBefore(text, at)) return NO
  if (unknown(view, at + 3)) {
    const begun = runEnd(view, LETTER_OR_DIGIT, at, 4)
    return begun === text.length && within(LETTER_OR_DIGIT, text.charCodeAt(at)) ? WAIT : NO
  }
  if (!within(DIGIT, text.charCodeAt(at + 2))) return NO
  const upper = within(UPPER, text.charCodeAt(at)) && within(UPPER, text.charCodeAt(at + 1))
  const lower = within(LOWER, text.charCodeAt(at)) && within(LOWER, text.charCodeAt(at + 1))
  const size = upper || lower ? LENGTHS.get(text.slice(at, at + 2).toUpperCase()) : undefined
  if (size === undefined) return NO
  let [remainder, count, p] = [0, 0, at]
  let head = 0
  for (; count < size; p++) {
    if (unknown(view, p)) return WAIT
    view.steps++
    const code = text.charCodeAt(p)
    if (!within(LETTER_OR_DIGIT, code)) {
      const gap = code === 32 || code === 45 || code === 160
      if (gap && count > 3 && within(LETTER_OR_DIGIT, text.charCodeAt(p - 1))) continue
      return NO
    }
    const value = parseInt(text.charAt(p), 36)
    if (count > 1 && count < 4 && value > 9) return NO
    // The first four come last.
    if (count < 4) head = value > 9 ? head * 100 + value : head * 10 + value
    else remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
    count++
  }
  if (unknown(view, p)) return WAIT
  if (wordAt(text, p)) return NO
  return (remainder * 1000000 + head) % 97 === 1 ? p : NO
}

/** Whether what stands here goes on an account, also one with wrong check digits. */
export const inIban = (text: string, at: number) =>
  /[a-z]{2}\d\d(?:[ -]\w{4})*[ -]$/i.test(back(text, at, 25))

/** An IPv4 or IPv6 address. */
export function ipEnd(view: View, at: number): number {
  const { text } = view
  const code = text.charCodeAt(at)
  const before = text.charCodeAt(at - 1)
  if (!within(HEX, code) && code !== 58) return NO
  // §3.2.1.1 is a section.
  if (wordBefore(text, at) || before === 46 || before === 0xa7) return NO
  const to = runEnd(view, HOST, at, 46)
  if (unknown(view, to)) {
    // Words end here, unless they may go on as an address.
    return to - at < 46 && host(text.slice(at, to)) ? WAIT : NO
  }
  if (to - at < 3 || isPlain(text, at, to)) return NO
  if (to - at > 45 || within(WORD, text.charCodeAt(to))) return NO
  const whole = text.slice(at, to)
  const shown = whole.replace(/[.]+$/, '')
  for (const one of [shown, shown.replace(/:+$/, ''), shown.replace(/:\d{1,5}$/, '')]) {
    if (isV4(one) || (before !== 58 && isV6(one))) return restOfIp(view, at + one.length)
  }
  return NO
}

/** The end of an address with its zone and the length of its network: `%eth0`, `/24`. */
function restOfIp(view: View, at: number): number {
  const rest = view.text.slice(at, at + 22)
  view.steps += 4
  if (unknown(view, at + 22) && /^(?:%\w*)?(?:\/\d{0,3})?$/.test(rest)) return WAIT
  return at + (/^(?:%\w{1,16})?(?:\/\d{1,3}(?!\w))?/.exec(rest)?.[0].length ?? 0)
}

/** Whether there is neither a point nor a colon: almost every word. */
function isPlain(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const code = text.charCodeAt(at)
    if (code === 46 || code === 58) return false
  }
  return true
}

const host = (text: string) => /^[0-9a-f:.]*$/i.test(text)
export const isV4 = (text: string) => {
  const parts = text.split('.')
  return (
    parts.length === 4 &&
    parts.every((part) => /^\d{1,3}$/.test(part) && +part < 256) &&
    (!/\b0\d/.test(text) || text.length === 15)
  )
}

function isV6(text: string): boolean {
  if (!/\d/.test(text) || !text.includes(':')) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const parts = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = parts.at(-1) ?? ''
  const four = last.includes('.')
  if (four && !isV4(last)) return false
  const sixteen = four ? parts.slice(0, -1) : parts
  if (!sixteen.every((part) => /^[0-9a-f]{1,4}$/i.test(part))) return false
  // Numbers of network cards have such groups only.
  if (sixteen.length === 8 && sixteen.every((part) => part.length === 2)) return false
  const size = sixteen.length + (four ? 2 : 0)
  return halves.length === 2 ? size < 8 : size === 8
}

/** Whether a digit is within or behind another number; a comma parts columns. */
export function numberBefore(text: string, at: number): boolean {
  if (wordBefore(text, at)) return true
  const before = text.charAt(at - 1)
  const letters = /[.:]/.test(before) ? DIGIT : WORD
  return /[./:+-]/.test(before) && within(letters, text.charCodeAt(at - 2))
}
