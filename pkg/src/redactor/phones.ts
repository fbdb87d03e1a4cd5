/** Phone numbers, as they are written in many countries. */
import { groupsAt, inIban, isV4, numberBefore, wordAt, wordBefore } from './personal.js'
import { back, NO, unknown, WAIT, type View } from './view.js'

const ofPhone = (text: string) => /^(?:[ ./-]|\)?[ -]?\(|\)[ -]?| [/-] ?|\u00a0)$/.test(text)

/** What stands before a word: in JSON `n` of `\n`, too. */
const BORDER = '(?:[^a-z]|\\\\[nrt])'
/** Words before a number that say what it is, and what may stand between them: also other numbers. */
const CALLS = new RegExp(
  '(?:(?:phone|whatsapp|mobil|telef|celular|m[oó]vil|' +
    `${BORDER}(?:tel|cell|fax|sms|gsm|dial|handy|cep|(?:mob|ph)(?![a-z]))|тел|电话|手机)` +
    '[^0-9\\n]{0,16}(?:\\d{7,15}[^\\w\\n]{1,6}(?:(?:and|or) )?)*|' +
    `${BORDER}(?:call|contact|text me|reach me|my number)(?:ing)?` +
    '(?: (?:me|us|him|her|them|at|on|now|back|number|no|is))*[.: ]{0,2})$',
  'i',
)
const CALLED = 64

/** A phone number: international, of North America, or with a word before it. */
export function phoneEnd(view: View, at: number): number {
  const { text } = view
  const round = text[at] === '('
  // In an address and in JSON `%2B` and `\u002B` stand for `+`.
  const escaped = /(?:%|\\u00)2b$/i.test(back(text, at, 6))
  const plus = escaped || text[round ? at + 1 : at] === '+'
  if (wordBefore(text, at) || (!plus && numberBefore(text, at))) return NO
  let from = at + Number(plus && !escaped) + Number(round)
  if (plus && text[from] === '(') from++
  if (unknown(view, from)) return WAIT
  const groups = groupsAt(view, from, ofPhone, 15)
  if (groups.open) return WAIT
  if (groups.digits.length < 7) return NO
  // What the bracket holds is more than a part of a number, which begins behind it.
  if (round && text[groups.ends[0]!] !== ')') return NO
  const last = groups.ends.at(-1)!
  if (/[.,:/x-]/.test(text.charAt(last)) && unknown(view, last + 1)) return WAIT
  const before = (expression: RegExp) => expression.test(' ' + back(text, at, CALLED))
  let [count, found] = [0, NO]
  for (const [index, end] of groups.ends.entries()) {
    const gaps = groups.gaps.slice(0, index)
    // Behind ` / ` the area's number goes on, or another one begins.
    if (count > 7 && gaps[index - 1]![2]) break
    count += groups.sizes[index] as number
    const sizes = groups.sizes.slice(0, index + 1)
    const next = text.slice(end, end + 2)
    // Dates, sections, addresses of cards and amounts go on; an extension may follow: `x22`.
    if (
      count > 15 ||
      /^[.:/-]\w/.test(next) ||
      (wordAt(text, end) && !/^x\d/.test(next)) ||
      /^\d(?:,3)+,,\d/.test(sizes.join() + ',' + next)
    )
      continue
    const digits = groups.digits.slice(0, count)
    const is = plus
      ? count > 7 && digits[0] !== '0' && (gaps.join() !== '.' || count > 10 || before(CALLS))
      : national(sizes, digits, gaps, round, text, at) ||
        (count >= 7 && before(CALLS)) ||
        // Before a number of a Chinese mobile phone any number will do.
        (/^1[3-9]\d{9}$/.test(digits) && before(/number(?: is)?:? $/i))
    if (is) found = end
  }
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
  // Sizes of groups, what stands before the last one, digits.
  const form = sizes.join() + gaps.at(-1) + digits
  const size = digits.length
  const first = sizes[0]!
  // 192.168.10.20 is none.
  if (gaps[2] === '.' && isV4(text.slice(at, at + size + 3))) return false
  // Points stand in all gaps from the first one on; one alone behind a comma is of an amount.
  const point = gaps.indexOf('.')
  if (point >= 0 && gaps.slice(point).some((gap) => gap !== '.')) return false
  if (gaps.join() === '.' && /\d,$/.test(back(text, at, 2))) return false
  // The area, or a mobile network, behind what stands for the country.
  const inRound = gaps[0]?.endsWith('(') && gaps[1]?.startsWith(')')
  if (first === 1 && inRound && /^[0178].{9}/.test(digits)) return true
  // Of North America and of others with three, three and four; of Turkey and Russia; from North
  // America abroad; mobile phones of China.
  if (
    /^(?:(?:[12],)?3,3,4(?:-(?!00|1(?!23)\d{9}$)|[^\d,]+\d{0,2}[2-9]..[2-9].{6}$)|3,3,2,2[^\d,][2-9]|1,3,3,2,2[^\d,][078]|3(?:,\d)+[^\d,]011.{9})/.test(
      form,
    ) ||
    // Behind a word or at the beginning of a line, three numbers may stand side by side.
    (/^3,4,4[^\d,]1[3-9]/.test(form) && (gaps[0] === '-' || /[^\w\s] ?$/.test(back(text, at, 2))))
  )
    return true
  if (round) return size > 8 && first < 6
  // A group of digits before it is a part of it: accounts are written in groups.
  if (digits[0] !== '0' || /\w\d[ -]/.test(back(text, at, 3)) || inIban(text, at, size))
    return false
  // A social security number, a code of a place, a card; some mobile phones have groups as cards.
  if (/^(?:3,2,4|5,4|4,4,4[^\d,]0(?!1[5-7]|8))[^,]/.test(form)) return false
  const divided = sizes.length > 2 || (sizes.length > 1 && first < 6 && gaps[0] !== '/')
  if (digits[1] === '0') return digits[2] !== '0' && size > 9 && first > 1 && divided
  if (sizes.length === 1) {
    const long = (size === 11 && !/^0123/.test(digits)) || (size === 10 && !isbn(digits))
    // Behind a short number and a comma, decimals, but for the second column of a table.
    const isWholePart = /(?:^0|[ \t:=]\d{1,3}),$/.test(back(text, at, 5))
    return long && (!isWholePart || /^,\S/.test(text.slice(at + size, at + size + 2)))
  }
  const even = gaps.every((gap, n) => n < 2 || gap === gaps[1])
  // A group of one may be an extension at the end: `089 123456-0`.
  const isOne = sizes.at(-1) === 1 && gaps[0] === '-'
  return size > 8 && size < 13 && even && !isOne && !/(?:^|,)1[^\d-]/.test(form)
}

/** Whether ten digits are the number of a book. */
const isbn = (digits: string) =>
  [...digits].reduce((sum, one, at) => sum + Number(one) * (10 - at), 0) % 11 === 0
