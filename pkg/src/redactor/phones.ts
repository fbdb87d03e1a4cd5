/** Phone numbers, as they are written in many countries. */
import { groupsAt, inIban, isV4, numberBefore, wordAt, wordBefore } from './personal.js'
import { back, DIGIT, NO, unknown, WAIT, within, type View } from './view.js'

const ofPhone = (text: string) => /^(?:[ ./-]|\)?[ -]?\(|\)[ -]?| -|\u00a0)$/.test(text)

/** Words before a number that say what it is, and what may stand between them. */
const CALLS = new RegExp(
  '(?:phone|whatsapp|mobil|telef|celular|m[oó]vil|(?:[^a-z]|\\\\[nrt])(?:tel|cell|fax|sms|gsm|dial|handy|cep)|' +
    'тел|电话|手机)[^0-9\\n]{0,16}$|' +
    '(?:[^a-z]|\\\\[nrt])(?:call|contact)(?:ing)?(?: (?:me|us|him|her|them|at|on|now|back|number|no|is))*[.: ]{0,2}$',
  'i',
)
const CALLED = 36
/** Before a number of a Chinese mobile phone any number will do. */
const NUMBER = /number(?: is)?:? $/i

/** A phone number: international, of North America, or with a word before it. */
export function phoneEnd(view: View, at: number): number {
  const { text } = view
  const round = text[at] === '('
  const behind = /b/i.test(text.charAt(at - 1)) && /(?:%|\\u00)2b$/i.test(back(text, at, 6))
  const plus = behind || text[round ? at + 1 : at] === '+'
  if (!plus && !round && !within(DIGIT, text.charCodeAt(at))) return NO
  if (wordBefore(text, at) || text[at - 1] === '+') return NO
  if (!plus && numberBefore(text, at)) return NO
  let from = at + Number(plus && !behind) + Number(round)
  if (unknown(view, from)) return WAIT
  if (plus && text[from] === '(') from++
  if (unknown(view, from)) return WAIT
  const groups = groupsAt(view, from, ofPhone, 15)
  if (groups.open) return WAIT
  // What the bracket holds is more than a part of a number, which begins behind it.
  if (round && text[groups.ends[0] ?? from] !== ')') return NO
  const last = groups.ends.at(-1) ?? from
  if (/[.,:/-]/.test(text.charAt(last)) && unknown(view, last + 1)) return WAIT
  let words: string | undefined
  const before = (expression: RegExp) =>
    expression.test((words ??= (at > CALLED ? '' : ' ') + back(text, at, CALLED)))
  let [count, found] = [0, NO]
  groups.ends.forEach((end, index) => {
    count += groups.sizes[index] as number
    if (wordAt(text, end) || count > 15) return
    const sizes = groups.sizes.slice(0, index + 1)
    // Dates, sections, addresses of cards and amounts go on.
    const next = text.slice(end, end + 2)
    if (/^[.:/-]\w/.test(next) || (/^,\d/.test(next) && /^\d(?:,3)+$/.test(sizes.join()))) return
    const digits = groups.digits.slice(0, count)
    const gaps = groups.gaps.slice(0, index)
    const is = plus
      ? count > 7 && digits[0] !== '0' && (gaps.join() !== '.' || count > 10 || before(CALLS))
      : national(sizes, digits, gaps, round, text, at) ||
        (count >= 7 && before(CALLS)) ||
        (/^1[3-9]\d{9}$/.test(digits) && before(NUMBER))
    if (is) found = end
  })
  return found
}

/** Whether groups of digits are a number without the code of its country. */
function national(
  sizes: readonly number[],
  digits: string,
  gaps: readonly string[],
  round: boolean,
  text: string,
  at: number,
): boolean {
  const shape = sizes.join()
  const size = digits.length
  // 192.168.10.20 is none.
  if (gaps.length > 2 && gaps.every((gap) => gap === '.') && isV4(text.slice(at, at + size + 3)))
    return false
  // The area, or a mobile network, behind what stands for the country.
  if (/^[08]\d/.test(digits) && sizes[0] === 1 && gaps[0] === ' (') return size > 9 && size < 12
  if (/^(?:[12],)?3,3,4$/.test(shape)) {
    const area = size - 10
    const one = area === 0 || digits[0] === '1' || area > 1
    return one && /[2-9]/.test(digits[area] ?? '') && /[2-9]/.test(digits[area + 3] ?? '')
  }
  if (shape === '3,3,2,2' && digits[0] !== '0') return digits[0] !== '1'
  if (shape === '1,3,3,2,2') return digits[0] === '8' || digits[0] === '0'
  if (round) return sizes.length > 1 && size >= 9 && sizes[0]! < 6
  if (digits[0] !== '0') return false
  // A group of digits before it is a part of it: accounts are written in groups.
  if (/\w\d[ -]$/.test(back(text, at, 3)) || inIban(text, at, size)) return false
  // A social security number, a code of a place, a card.
  if (/^(?:3,2,4|5,4)$/.test(shape) || (shape === '4,4,4' && digits[1] !== '8')) return false
  if (digits[1] === '0')
    return digits[2] !== '0' && size > 9 && sizes[0]! > 1 && (sizes.length > 2 || sizes[0]! < 6)
  if (sizes.length === 1)
    return (size === 11 && !/^0123/.test(digits)) || (size === 10 && !isbn(digits))
  const even = gaps.every((gap, n) => n < 2 || gap === gaps[1])
  return size > 8 && size < 13 && sizes[0]! > 1 && even && sizes.every((one) => one > 1)
}

/** Whether ten digits are the number of a book. */
const isbn = (digits: string) =>
  [...digits].reduce((sum, one, at) => sum + Number(one) * (10 - at), 0) % 11 === 0
