/** Whether the value of a name is a secret, and where it ends. */
import { MOST_ESCAPES, type Context } from './context.js'
import { back, chars, entropy, NO, runEnd, unknown, WAIT, within, type View } from './view.js'

/** Characters of a value that are read; a longer one goes on as long as `UNQUOTED` does. */
export const [MOST_RANDOM, MOST, MOST_QUOTED] = [100, 128, 500]

/** What a key of any kind may consist of. */
const KEYS = chars('09AZaz__--++//==')
const RANDOM = chars('09AZaz__..==--++//')
/** What may stand between quotes, without spaces. */
const QUOTED = chars('!!#&([]_a~')
/** What a value without quotes may consist of. */
export const UNQUOTED = chars('!!#%*+-:==?Z^_az~~//')

/** Whether a key may not end before this character. */
export const goesOn = (code: number) => within(KEYS, code)

/** What stands in the place of a value. */
const PLACE =
  '(?:your|replace|insert|enter|put)[_ -].*|.*(?:\\.\\.\\.|…)|([x*.•_0-9-])\\1+|\\$\\w+|%\\w+%?|(?:[<[{(]|%\\(|\\$[{(]|#\\{).*'
/** What stands for a value where there is none: types, names of secrets, versions, addresses. */
const NONE =
  '(?:[a-z0-9]+[_-])*(?:my|new|old)?(?:password|passwd|pass|secret|token|api[_-]?key)|str(?:ing)?|text|bytes|' +
  'object|function|boolean|number|null|none|nil|undefined|true|false|required|optional|' +
  'change[_-]?(?:me|it)|example|dummy|placeholder|\\w+:\\/\\/.*|[~^v]?\\d+(?:\\.\\d+)+\\S*'
const IS_PLACE = new RegExp(`^(?:${PLACE})$`, 'i')
const IS_NONE = new RegExp(`^(?:${PLACE}|${NONE})$`, 'i')
const VARIABLE = /^[A-Z]+(?:_[A-Z\d]+)+$/
/** Names and members of code. */
const CODE = /^!?[a-z_$][\w$]*(?:\??\.[a-z_$][\w$]*)*$/i
/** Names things more often than it opens them. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** A sentence: with a capital letter and spaces, or of a script without them. */
const PROSE =
  /^\p{Lu}\D*\s\D*$|^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\p{sc=Arab}\p{sc=Hebr}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Mymr}\p{sc=Khmr}\p{sc=Laoo}\p{sc=Ethi}\p{M}\u200c\u200d\s、。，！？・ー။၊။།]+$/u
/** Letters and symbols of other alphabets; those of scripts without spaces, and what ends a sentence. */
const DENSE = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}ー]/u
const OTHER = /[^\0-\x7f\s\p{P}]|[·]/u
/** A word that is an option of a command, or stands behind a name: `login ada password …`. */
const COMMANDS =
  /(?:^|\s)--?[\w-]{2,40}$|identified by$|(?:login|user(?:name)?)[ \t:=]{1,3}\S{1,40}[\s,/]{1,8}\w{0,8}$/i

/** Whether a value stands for one; `password` may be one. */
export const isPlace = (value: string) => IS_PLACE.test(value)
/** Whether a value is none: what stands for one, and names of variables. */
export const isNone = (value: string) => IS_NONE.test(value) || VARIABLE.test(value)
const isOdd = (value: string) => /[\d!#-%*@^~?]/.test(value)

/** Returns the end of a random text: not a word, a name or a number. Notes in `context` what it read. */
export function randomAt(view: View, context: Context, service: boolean): number {
  const { at, from, near, quote } = context
  const set = quote && quote !== '<' ? QUOTED : service ? UNQUOTED : RANDOM
  const to = runEnd(view, set, from, MOST_RANDOM)
  if (to - from < MOST_RANDOM && unknown(view, to)) return WAIT
  context.to = to
  const value = view.text.slice(from, to).replace(/[.=:]{1,3}$/, '')
  if (!mayBeRandom(value, context)) return NO
  view.steps += value.length
  const end = from + value.length
  if (UUID.test(value)) return service || (near && /token/i.test(back(view.text, at, 5))) ? end : NO
  if (service && /^\d{15,}$/.test(value)) return end
  return isRandom(value, context, service) ? end : NO
}

function mayBeRandom(value: string, { near, quote, loose }: Context): boolean {
  if (quote && /:\/\/|^[./]/.test(value)) return false
  if (loose) return value.length >= 16 && !/[/.]/.test(value)
  return value.length >= (near && quote ? 8 : 10)
}

function isRandom(value: string, { near, quote }: Context, service: boolean): boolean {
  const bits = entropy(value)
  const count = (set: RegExp) => value.match(set)?.length ?? 0
  // How often letters follow digits or digits letters, within words.
  const changes = count(/[a-z](?=\d)|\d(?=[a-z])/gi)
  if (bits >= 4.3 && changes >= 2) return true
  const isHex = /^[0-9a-f:-]{16,}$/i.test(value)
  if (bits < (isHex ? 3 : Math.min(3.5, 0.8 * Math.log2(value.length)))) return false
  // Letters of both cases, more than words in camel case have.
  const fewer = Math.min(count(/[A-Z]/g), count(/[a-z]/g))
  if (near && quote && fewer > 0.3 * value.length) return true
  // Other signs are those of a password, or of code.
  if (/[^\w.=+/-]/.test(value)) return changes >= 4
  const isLikely = service || (near && (quote !== '' || value.length > 13))
  return changes >= (isLikely ? 2 : 3)
}

/** Returns the end of the value of a name that says what it is. */
export function valueAt(view: View, context: Context): number {
  const { at, near, quote } = context
  const { text } = view
  // Words in marks of code are prose: "identified by `name`".
  const loose = !!context.loose && (quote === '`' || !COMMANDS.test(back(text, at, 64)))
  if (!near || (loose && !quote)) return NO
  const isHeader = /authorization/i.test(back(text, at, 13))
  return quote ? quotedAt(view, context, loose || isHeader) : unquotedAt(view, context, isHeader)
}

/** @param isLoose whether the value must be odd: its name says less */
function quotedAt(view: View, context: Context, isLoose: boolean): number {
  const { from, quote, list } = context
  const { text } = view
  const to = quotedEnd(view, context)
  if (to < 0) return to
  // The end of a text that was cut stands for nothing.
  const read = text.slice(from, to).trimEnd()
  const value = text[to] === quote ? read : read.replace(/…$/, '')
  const isPlain = isLoose || list || /[(,] ?.$/.test(text.slice(from - 3, from))
  if (value.length < 4 || isText(value, quote)) return NO
  if (isPlain && (!isOdd(value) || /\s/.test(value))) return NO
  if (quote !== '<') return to
  if (unknown(view, to + 2)) return WAIT
  // Or the text is cut within it.
  const isCut = value !== read && !/\s/.test(value)
  return isCut || /^<\\?[/…]/.test(text.slice(to, to + 3)) ? from + value.length : NO
}

/** Whether a value is what a form says, such as «Enter your password», code, or none. */
function isText(value: string, quote: string): boolean {
  if (PROSE.test(value)) return true
  if (quote === '`' && /\$\{[\w.]+[()}]/.test(value)) return true
  return isNone(value) && !(quote === '<' && /^\{[^{]*\d/.test(value))
}

function unquotedAt(view: View, context: Context, isHeader: boolean): number {
  const { at, from } = context
  const { text } = view
  const found = unquoted(view, from, isHeader)
  if (found === WAIT) return WAIT
  const [begin, to] = found
  const isWhole = to - begin < MOST
  const read = text.slice(begin, to)
  const value = isWhole ? read.replace(/[.:!?]+$/, '') : read
  view.steps += value.length
  // A number is one where JSON names it.
  const isNamed = /["']\s?:\s*$/.test(text.slice(at, from)) && !/pass/i.test(back(text, at, 4))
  if (isNamed && /^\d{4,}$/.test(value)) return begin + value.length
  const isCalled = isWhole && /[([{]/.test(text.charAt(to))
  const isName = !isOdd(value) || (CODE.test(value) && !/^\w*\d\w*$/.test(value))
  if (value.length < 6 || isCalled || !/\p{L}/u.test(value) || isNone(value)) return NO
  if (isName && !isSetting(text, at, from)) return NO
  context.from = begin
  return begin + value.length
}

/** Where a value without quotes stands: in a header behind its scheme, `Authorization: Token …`. */
function unquoted(view: View, from: number, isHeader: boolean): [number, number] | typeof WAIT {
  const to = unquotedEnd(view, from)
  if (to - from < MOST && unknown(view, to)) return WAIT
  if (!isHeader || view.text[to] !== ' ') return [from, to]
  const next = runEnd(view, UNQUOTED, to + 1, MOST)
  if (next - (to + 1) < MOST && unknown(view, next)) return WAIT
  return next > to + 8 ? [to + 1, next] : [from, to]
}

/**
 * Where a value without quotes ends. After a letter of ASCII, scripts without spaces go on the sentence;
 * a value that begins with one has them.
 */
function unquotedEnd(view: View, from: number): number {
  const { text } = view
  const isDense = DENSE.test(text.charAt(from))
  let to = from
  for (;;) {
    to = runEnd(view, UNQUOTED, to, MOST - (to - from))
    if (to - from >= MOST || !(text.charCodeAt(to) > 127)) return to
    // Halves of a pair are a letter, or a symbol.
    const char = text.charAt(to)
    const isHalf = char >= '\ud800' && char <= '\udfff'
    if (!isHalf && (!OTHER.test(char) || (!isDense && DENSE.test(char)))) return to
    to++
  }
}

/** Whether a value that is a word may be a password: `DB_PASSWORD=…`, `;Password=…`. */
const isSetting = (text: string, at: number, from: number) =>
  from === at + 1 &&
  text[at] === '=' &&
  (/(?:^|[\s"'`])[A-Z][A-Z\d_]*$/.test(back(text, at, 40)) || /;\s?\w+$/.test(back(text, at, 20)))

/**
 * Where a quoted value ends: at its quote, which is escaped as the first one was. In JSON within JSON
 * that has 1, 3, 7 … backslashes before it; one that is escaped within the value has more.
 */
function quotedEnd(view: View, { from, quote }: Context): number {
  const { text } = view
  const outer = /\\*$/.exec(back(text, from - 1, MOST_ESCAPES))?.[0].length ?? 0
  const period = 2 * (outer + 1)
  const end = (to: number) => {
    view.steps += to - from + 1
    return Math.min(to, text.length)
  }
  for (let to = from; ; to++) {
    if (to - from >= MOST_QUOTED) return end(to)
    if (unknown(view, to)) return WAIT
    const char = text.charAt(to)
    // Or a quote of a level above: the text is cut within the value.
    if (char === quote || to >= text.length || (quote !== '<' && /[\n\r]/.test(char)))
      return end(to)
    if (char !== '\\') continue
    const begin = to
    while (text.charAt(to) === '\\' && to - from < MOST_QUOTED) to++
    if (unknown(view, to)) return WAIT
    const count = to - begin
    if (text.charAt(to) === quote) {
      if (count < outer || count % period === outer) return end(Math.max(begin, to - outer))
    } else if (outer === 0 && count % 2 === 0) to--
  }
}
