/** What points to a person: e-mail addresses, phone numbers, cards, accounts, addresses of hosts. */
import {
  chars,
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

/** Letters of the Latin alphabet beyond ASCII. */
const latin = (code: number) => code >= 0xc0 && code <= 0x24f
const LOCAL = chars('09AZaz..__%%++--~~')
/** What may stand before the `@` of an address. */
export const local = (code: number) => within(LOCAL, code) || latin(code)
/** Characters before the `@` that are masked. */
export const LONGEST_LOCAL = 64
const LONGEST_HOST = 253

const wordBefore = (text: string, at: number) =>
  within(WORD, text.charCodeAt(at - 1)) || latin(text.charCodeAt(at - 1))
const wordAt = (text: string, at: number) =>
  within(WORD, text.charCodeAt(at)) || latin(text.charCodeAt(at))

/** Where the name before an `@` begins; the `@` itself, if there is none. */
export function localStart(view: View, at: number): number {
  let from = at
  while (from > 0 && at - from < LONGEST_LOCAL && local(view.text.charCodeAt(from - 1))) from--
  view.steps += at - from + 1
  return from
}

/** Reads the host of an address behind its `@`: labels, the last one of letters. */
export function emailEnd(view: View, at: number): number {
  const { text } = view
  const last = Math.min(text.length, at + LONGEST_HOST + 1)
  let [to, from, end] = [at, at, NO]
  for (; to <= last; to++) {
    const code = to < text.length ? text.charCodeAt(to) : NaN
    view.steps++
    // An ASCII label ends where other letters begin: Chinese has no spaces.
    const foreign = code > 0xbf && !punctuation(code) && (latin(code) || label(text, from, to))
    if (within(LETTER_OR_DIGIT, code) || code === 45 || foreign) continue
    const name = text.slice(from, to).replace(/-+$/, '')
    if (from > at && isTop(name)) end = from + name.length
    if (code !== 46 || to === from) break
    from = to + 1
  }
  if (to > last && last === at + LONGEST_HOST + 1) return end
  return unknown(view, to) ? WAIT : end
}

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
  /** Where each group ends. */
  ends: number[]
  digits: string
  open: boolean
}

const SEPARATORS = /[ ./-]/
const MOST_GROUPS = 7

/** Reads groups of digits with a separator between two of them. */
function groupsAt(view: View, at: number, between: (text: string) => boolean, most: number) {
  const { text } = view
  const groups: Groups = { sizes: [], ends: [], digits: '', open: false }
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
    // At most two characters, such as `) `.
    let next = p
    while (next < p + 2 && !within(DIGIT, text.charCodeAt(next))) {
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
    p = next
  }
  return groups
}

const one = (text: string) => SEPARATORS.test(text) && text.length === 1
const ofCard = (text: string) => text === ' ' || text === '-'
const ofPhone = (text: string) => one(text) || text === ') ' || text === ')' || text === ' ('
const ofPhoneDash = (text: string) => ofPhone(text) || text === ')-' || text === ' -'

/** A number of a payment card: its beginning, its length, and Luhn's check digit. */
export function cardEnd(view: View, at: number): number {
  const { text } = view
  if (!within(DIGIT, text.charCodeAt(at)) || numberBefore(text, at)) return NO
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
    (first === '6' && size >= 16) ||
    (/^(?:5[0678]|6)/.test(digits) && size >= 13 && size !== 14 && size !== 15)
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

/** Lengths of IBANs by country (registry of SWIFT, release 99). */
const IBAN =
  'AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24' +
  'FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32' +
  'LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24' +
  'RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30'
const LENGTHS = new Map([...IBAN.matchAll(/(..)(\d\d)/g)].map(([, name, size]) => [name, +size!]))

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
      const gap = code === 32 || code === 45
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

/** An IPv4 or IPv6 address. */
export function ipEnd(view: View, at: number): number {
  const { text } = view
  const code = text.charCodeAt(at)
  const before = text.charCodeAt(at - 1)
  if (!within(HEX, code) && code !== 58) return NO
  // §3.2.1.1 is a section.
  if (wordBefore(text, at) || before === 46 || before === 58 || before === 0xa7) return NO
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
    if (isV4(one) || isV6(one)) return at + one.length
  }
  return NO
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
const isV4 = (text: string) => {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && +part < 256)
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
  const size = sixteen.length + (four ? 2 : 0)
  return halves.length === 2 ? size < 8 : size === 8
}

/** Words before a number that say what it is. */
const CALLS =
  /(?:phone|tel|mobile|cell|fax|call|whatsapp|sms|dial|handy|number is|contact)[^0-9\n]{0,12}$/i
const CALLED = 24

/** A phone number: international, of North America, or with a word before it. */
export function phoneEnd(view: View, at: number): number {
  const { text } = view
  const first = text.charAt(at)
  const plus = first === '+'
  const round = first === '('
  if (!plus && !round && !within(DIGIT, text.charCodeAt(at))) return NO
  if (wordBefore(text, at) || text[at - 1] === '+') return NO
  if (!plus && numberBefore(text, at)) return NO
  let from = plus || round ? at + 1 : at
  if (plus && text[from] === '(') from++
  if (unknown(view, from)) return WAIT
  const groups = groupsAt(view, from, ofPhoneDash, 15)
  if (groups.open) return WAIT
  // What the bracket holds is more than a part of a number, which begins behind it.
  if (round && text[groups.ends[0] ?? from] !== ')') return NO
  const last = groups.ends.at(-1) ?? from
  if (/[.,:/-]/.test(text.charAt(last)) && unknown(view, last + 1)) return WAIT
  const called = () => CALLS.test(text.slice(Math.max(0, at - CALLED), at))
  let [count, found] = [0, NO]
  groups.ends.forEach((end, index) => {
    count += groups.sizes[index] as number
    if (wordAt(text, end) || count > 15) return
    if (/^[.,:/-]\d/.test(text.slice(end, end + 2)) && index === groups.ends.length - 1) return
    const sizes = groups.sizes.slice(0, index + 1)
    const is = plus
      ? count >= 8 && groups.digits[0] !== '0'
      : national(sizes, groups.digits.slice(0, count), round) || (count >= 7 && called())
    if (is) found = end
  })
  return found
}

function national(sizes: readonly number[], digits: string, round: boolean): boolean {
  const shape = sizes.join()
  const area = shape.startsWith('1,') ? 1 : 0
  if (shape === '3,3,4' || shape === '1,3,3,4') {
    const one = area === 0 || digits[0] === '1'
    return one && /[2-9]/.test(digits[area] ?? '') && /[2-9]/.test(digits[area + 3] ?? '')
  }
  if (round) return sizes.length > 1 && digits.length >= 9 && sizes[0]! < 6
  const size = sizes.reduce((sum, one) => sum + one, 0)
  if (digits[0] !== '0' || sizes.length < 2 || size < 9) return false
  if (digits.startsWith('00')) return size >= 10 && sizes.length > 2
  const pairs = shape === '2,2,2,2,2'
  return pairs || (size < 13 && sizes[0]! > 2 && sizes.every((one, n) => n === 0 || one > 2))
}

/** Whether a digit is within or behind another number. */
function numberBefore(text: string, at: number): boolean {
  if (wordBefore(text, at)) return true
  const before = text.charAt(at - 1)
  return /[.,/:+-]/.test(before) && within(WORD, text.charCodeAt(at - 2))
}
