/** Secrets that only their context tells: `api_key = "…"`, `password: …`, `the token is …`. */
import { back, chars, entropy, NO, runEnd, unknown, WAIT, within, type View } from './view.js'

/** Words near which a random text is a secret (gitleaks: generic-api-key). */
export const WORDS = 'access|auth|api|credential|creds|key|passwd|password|secret|token'.split('|')

/** Names whose value is a secret, random or not. */
export const NAMES = (
  'password|passwd|passphrase|passwort|pass|pwd|pw|pswd|secret|apikey|api_key|api-key|api key|' +
  'identified by|authorization|access_key|accesskey|private_key|privatekey|auth_token|authtoken|' +
  'access_token|accesstoken|refresh_token|refreshtoken'
).split('|')

const NAME_REST = chars('\t\t  09AZaz__..--')
const CLOSES = chars('\t\r  \'\'""\\\\[[]]``**')
const ESCAPED_QUOTE = chars('""\\\\')
const OPENS = chars('\t\r  \'\'""\\\\``==')
/** What a key of any kind may consist of. */
export const KEYS = chars('09AZaz__--++//==')
const RANDOM = chars('09AZaz__..==--++//')
/** What may stand between quotes, without spaces. */
const QUOTED = chars('!!#&([]_a~')
/** What a value without quotes may consist of. */
export const UNQUOTED = chars('!!#%*+-:==?Z^_az~~//')

/** Where the value of a context begins. */
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

const OPERATOR = /^(?:=>|[!=]==?|\?\?|[?+.:]?=|\|\|?|[:,]|>(?!["'])|\((?=["']))/
/** `"name": "PASSWORD", "value": "…"`, in JSON, YAML and attributes. */
const PAIR = /^[,;]?\s{0,20}["']?value["']?\s?[:=]/i
const PAIR_MOST = 32
/** The type of a variable, the end of what is bold, or the beginning of a list. */
const BETWEEN =
  /^(?:[ &]{0,2}(?:'static )?[a-z<>[\]?]{3,16}(?: \| [a-z]{3,9})? ?= ?(?=["'])|[*_]{1,2}(?=\s)|(\s?\[\s{0,14}(?=["'])|\s{1,14}- ))/i
/** A constant that is the first argument of a call. */
const CALLED = /\(\s?["'][A-Z\d_]*$/
/** More of the text may make of it what stands between, here or in a sentence. */
const BEGUN = /^[\w\s&'<>[\]?|*:=-]*["`]?$/
const BETWEEN_MOST = 32
/** What may stand between a word and its value in a sentence. */
const LOOSE =
  /^(\w{0,8})(?:[ \t]{1,4}(?:(?:is|was|-|=)[: ]{1,3})?["'`]?|["'`](?=\w))(?=[^\s"'`:=|>,;])/
/** What ends a name that is still one of a secret. */
const ENDINGS = /^[_-]?(?:\d{1,2}|key|value|text|str(?:ing)?|base|is|was)?$/i

/** Reads from behind a word to its value: the rest of the name, an operator, quotes. */
export function contextAt(view: View, at: number): Context | typeof NO | typeof WAIT {
  const { text } = view
  let p = runEnd(view, NAME_REST, at, 20)
  const rest = text.slice(at, p).trim()
  const closed = p
  p = runEnd(view, CLOSES, p, 5)
  // A quote in a string of JSON in a string of JSON.
  if (text[p - 1] === '\\') p = runEnd(view, ESCAPED_QUOTE, p, MOST_ESCAPES)
  if (unknown(view, p + 3)) return WAIT
  let operator = OPERATOR.exec(text.slice(p, p + 4))?.[0] ?? ''
  if (p > closed) {
    view.steps += 8
    const pair = PAIR.exec(text.slice(p, p + PAIR_MOST))
    if (!pair && unknown(view, p + PAIR_MOST) && /^[,;\s"'value]*$/i.test(text.slice(p)))
      return WAIT
    if (pair) operator = pair[0]
  }
  if (operator === '') return looseAt(view, at)
  p += operator.length
  const begin = p
  const read = text.slice(p, p + BETWEEN_MOST)
  if (unknown(view, p + BETWEEN_MOST) && BEGUN.test(read)) return WAIT
  const between = BETWEEN.exec(read)
  p += between?.[0].length ?? 0
  let from = runEnd(view, OPENS, p, 16)
  if (unknown(view, from + 1)) return WAIT
  // The letter before a text in Python, C# and others.
  const prefixed = /[bruf@]["']/i.test(text.slice(from, from + 2))
  if (prefixed && !/["'`]/.test(text.slice(begin, from))) from = runEnd(view, OPENS, from + 1, 3)
  if (unknown(view, from)) return WAIT
  from = begin + outerEnd(text.slice(begin, from))
  const opened = text.slice(begin, from)
  // A text of documentation.
  if (/(["'])\1\1\s*[\n\r]/.test(opened)) return NO
  // An empty text, also in a text of JSON.
  if (/(?:^|[^"'])(["'])\1(?!\1)|(?<!\\)(\\+)(["'])\2\3(?!\\*\3)/.test(opened)) return NO
  let quote = opened.match(/["'`]/g)?.at(-1) ?? ''
  // A comma stands before the value of what is set: `define('DB_PASSWORD', '…')`.
  const set =
    operator !== ',' ||
    (/[A-Z]_?\d{0,2}["'],/.test(text.slice(at - 1, from)) && CALLED.test(back(text, at, 41)))
  const near = set && operator !== '|' && ENDINGS.test(rest)
  const isElement = operator === '>' && near && /<[\w.:-]{0,40}$/.test(back(text, at, 41))
  if (isElement) quote = '<'
  if (without(text, at, rest)) return NO
  // The folder of a shell.
  if (text[from] === '/' && /pwd/i.test(back(text, at, 3))) return NO
  return { at, from, near, quote, list: !!between?.[1] }
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

/** `--password …`, `password is …`, `password "…"`. */
function looseAt(view: View, at: number): Context | typeof NO | typeof WAIT {
  const { text } = view
  view.steps += 12
  const read = text.slice(at, at + LOOSE_MOST)
  const found = LOOSE.exec(read)
  if (!found) return unknown(view, at + LOOSE_MOST) && BEGUN.test(read) ? WAIT : NO
  const [between, rest = ''] = found
  const from = at + between.length
  // More of the text may be a part of what stands between.
  if (unknown(view, from + 8)) return WAIT
  const quote = lastQuote(between)
  if (without(text, at, rest)) return NO
  const loose = !/ (?:is|was|=)/.test(between)
  return { at, from, near: ENDINGS.test(rest), quote, loose }
}
const LOOSE_MOST = 24
/** The quote with which a text ends, if it does. */
const lastQuote = (text: string) => /["'`]$/.exec(text)?.[0] ?? ''

/** Reads from the end of a text of a list to the next one; `near`: whether one was a secret. */
export function listAt(
  view: View,
  at: number,
  { list, near }: Pick<Context, 'list' | 'near'>,
): Context | typeof NO | typeof WAIT {
  view.steps += 4
  const read = view.text.slice(at, at + LIST_MOST)
  const found = NEXT.exec(read)?.[0]
  // What stands in lines of their own is of a list only if one began.
  if (!found || (!list && /- ["']?$/.test(found)))
    return unknown(view, at + LIST_MOST) && /^["'`\s|,-]*$/.test(read) ? WAIT : NO
  const quote = lastQuote(found)
  return { at, from: at + found.length, near, quote, list }
}
const LIST_MOST = 20
const NEXT = /^(?:["'`]?(?:\s{0,2}[|,]?\s{0,12}["'`]|\r?\n {0,12}- ["']?)|,)(?=\w)/

/** What makes of a word another one. */
const AFTER =
  /^[_.-]?(?:code|error|file|id|name|or|path|sock|type|ur[il]|vault|version)s?(?![a-z])/i

const BEFORE =
  /(?:pub(?:lic)?|primary|foreign|csrf)[_.-]?(?:key|token|keytoken)$|(?:don|mon|tur)key$/i
const WITHIN = /[a-z](?:api|pw|pass)$|[a-np-z]auth$/

const without = (text: string, at: number, rest: string) => {
  const before = back(text, at, 16).replace(/\\[nrt]/g, ' ')
  return AFTER.test(rest) || BEFORE.test(before) || WITHIN.test(before)
}

/** A random text: not a word, a name or a number. */
export function randomAt(view: View, context: Context, service: boolean): number {
  const { at, from, near, quote, loose } = context
  const set = quote && quote !== '<' ? QUOTED : service ? UNQUOTED : RANDOM
  const to = runEnd(view, set, from, MOST_RANDOM)
  if (to - from < MOST_RANDOM && unknown(view, to)) return WAIT
  context.to = to
  const value = view.text.slice(from, to).replace(/[.=:]{1,3}$/, '')
  if (quote && /:\/\/|^[./]/.test(value)) return NO
  const least = loose ? 16 : near && quote ? 8 : 10
  if (value.length < least || (loose && /[/.]/.test(value))) return NO
  view.steps += value.length
  const end = from + value.length
  const token = near && /token/i.test(back(view.text, at, 5))
  if (UUID.test(value)) return service || token ? end : NO
  if (service && /^\d{15,}$/.test(value)) return end
  const bits = entropy(value)
  const count = (set: RegExp) => value.match(set)?.length ?? 0
  // How often letters follow digits or digits letters, within words.
  const changes = count(/[a-z](?=\d)|\d(?=[a-z])/gi)
  const hex = /^[0-9a-f:-]{16,}$/i.test(value)
  // Other signs are those of a password, or of code.
  const other = /[^\w.=+/-]/.test(value)
  const some = changes >= (other ? 4 : service || (near && (quote || value.length > 13)) ? 2 : 3)
  // Letters of both cases, more than words in camel case have.
  const cased = near && quote && Math.min(count(/[A-Z]/g), count(/[a-z]/g)) > 0.3 * value.length
  const enough = (some || cased) && bits >= (hex ? 3 : Math.min(3.5, 0.8 * Math.log2(value.length)))
  return enough || (bits >= 4.3 && changes >= 2) ? end : NO
}

/** Names things more often than it opens them. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** What stands in the place of a value. */
const PLACE =
  '(?:your|replace|insert|enter|put)[_ -].*|.*(?:\\.\\.\\.|…)|([x*.•_0-9-])\\1+|\\$\\w+|%\\w+%?|(?:[<[{(]|%\\(|\\$[{(]|#\\{).*'
/** What stands for a value where there is none: types, names of secrets, versions, addresses. */
const NONE =
  '(?:[a-z0-9]+[_-])*(?:my|new|old)?(?:password|passwd|pass|secret|token|api[_-]?key)|str(?:ing)?|text|bytes|' +
  'object|function|boolean|number|null|none|nil|undefined|true|false|required|optional|' +
  'change[_-]?(?:me|it)|example|dummy|placeholder|\\w+:\\/\\/.*|[~^v]?\\d+(?:\\.\\d+)+\\S*'
const [IS_PLACE, IS_NONE] = [`^(?:${PLACE})$`, `^(?:${PLACE}|${NONE})$`].map(
  (one) => new RegExp(one, 'i'),
) as [RegExp, RegExp]
/** Whether a value stands for one; `password` may be one. */
export const isPlace = (value: string) => IS_PLACE.test(value)
/** Names of variables are no secrets. */
export const isNone = (value: string) => IS_NONE.test(value) || /^[A-Z]+(?:_[A-Z\d]+)+$/.test(value)
/** Names and members of code. */
const CODE = /^!?[a-z_$][\w$]*(?:\??\.[a-z_$][\w$]*)*$/i

/** Characters of a value that are read; a longer one goes on as long as `UNQUOTED` does. */
export const [MOST_RANDOM, MOST, MOST_QUOTED] = [100, 128, 500]

/** The value of a name that says what it is. */
export function valueAt(view: View, context: Context): number {
  const { at, from, near, quote } = context
  const { text } = view
  // Words in marks of code are prose: "identified by `name`".
  const loose = context.loose && (quote === '`' || !COMMANDS.test(back(text, at, 64)))
  if (!near || (loose && !quote)) return NO
  const header = /authorization/i.test(back(text, at, 13))
  if (quote) {
    const to = quotedEnd(view, context)
    if (to < 0) return to
    // The end of a text that was cut stands for nothing.
    const read = text.slice(from, to).trimEnd()
    const value = text[to] === quote ? read : read.replace(/…$/, '')
    const isElement = quote === '<'
    // What a form says, such as «Enter your password», and code.
    const prose = PROSE.test(value)
    const isCode = quote === '`' && /\$\{[\w.]+[()}]/.test(value)
    const plain = loose || header || context.list || /[(,] ?.$/.test(text.slice(from - 3, from))
    const odd = !plain || (isOdd(value) && !/\s/.test(value))
    const none = isNone(value) && !(isElement && /^\{[^{]*\d/.test(value))
    if (value.length < 4 || prose || isCode || !odd || none) return NO
    if (!isElement) return to
    if (unknown(view, to + 2)) return WAIT
    // Or the text is cut within it.
    const isCut = value !== read && !/\s/.test(value)
    return isCut || /^<\\?[/…]/.test(text.slice(to, to + 3)) ? from + value.length : NO
  }
  let begin = from
  let to = unquotedEnd(view, from)
  if (to - from < MOST && unknown(view, to)) return WAIT
  // `Authorization: Token …`
  if (header && text[to] === ' ') {
    const next = runEnd(view, UNQUOTED, to + 1, MOST)
    if (next - (to + 1) < MOST && unknown(view, next)) return WAIT
    if (next > to + 8) [begin, to] = [to + 1, next]
  }
  const read = text.slice(begin, to)
  const whole = to - begin < MOST
  const value = whole ? read.replace(/[.:!?]+$/, '') : read
  view.steps += value.length
  // A number is one where JSON names it.
  const named = /["']\s?:\s*$/.test(text.slice(at, from)) && !/pass/i.test(back(text, at, 4))
  if (named && /^\d{4,}$/.test(value)) return begin + value.length
  const called = whole && /[([{]/.test(text.charAt(to))
  const code =
    !isSetting(text, at, from) && (!isOdd(value) || (CODE.test(value) && !/^\w*\d\w*$/.test(value)))
  if (value.length < 6 || called || code || !/\p{L}/u.test(value) || isNone(value)) return NO
  context.from = begin
  return begin + value.length
}

/** Letters and symbols of other alphabets; those of scripts without spaces, and what ends a sentence. */
const DENSE = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}ー]/u
const OTHER = /[^\0-\x7f\s\p{P}]|[·]/u

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
    const one = text.charAt(to)
    const isHalf = one >= '\ud800' && one <= '\udfff'
    if (!isHalf && (!OTHER.test(one) || (!isDense && DENSE.test(one)))) return to
    to++
  }
}

/** A sentence: with a capital letter and spaces, or of a script without them. */
const PROSE =
  /^\p{Lu}\D*\s\D*$|^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}\p{sc=Thai}\p{sc=Arab}\p{sc=Hebr}\p{sc=Deva}\p{sc=Beng}\p{sc=Guru}\p{sc=Gujr}\p{sc=Orya}\p{sc=Taml}\p{sc=Telu}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Mymr}\p{sc=Khmr}\p{sc=Laoo}\p{sc=Ethi}\p{M}\u200c\u200d\s、。，！？・ー።၊။।]+$/u

const isOdd = (value: string) => /[\d!#-%*@^~?]/.test(value)

/** Whether a value that is a word may be a password: `DB_PASSWORD=…`, `;Password=…`. */
const isSetting = (text: string, at: number, from: number) =>
  from === at + 1 &&
  text[at] === '=' &&
  (/(?:^|[\s"'`])[A-Z][A-Z\d_]*$/.test(back(text, at, 40)) || /;\s?\w+$/.test(back(text, at, 20)))

/** A word that is an option of a command, or stands behind a name: `login ada password …`. */
const COMMANDS =
  /(?:^|\s)--?[\w-]{2,40}$|identified by$|(?:login|user(?:name)?)[ \t:=]{1,3}\S{1,40}[\s,/]{1,8}\w{0,8}$/i

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
    const one = text.charAt(to)
    // Or a quote of a level above: the text is cut within the value.
    if (one === quote || to >= text.length || (quote !== '<' && /[\n\r]/.test(one))) return end(to)
    if (one !== '\\') continue
    const begin = to
    while (text.charAt(to) === '\\' && to - from < MOST_QUOTED) to++
    if (unknown(view, to)) return WAIT
    const count = to - begin
    if (text.charAt(to) === quote) {
      if (count < outer || count % period === outer) return end(Math.max(begin, to - outer))
    } else if (outer === 0 && count % 2 === 0) to--
  }
}
/** Backslashes before a quote that are counted: four levels of JSON. */
const MOST_ESCAPES = 15

/** Whether a key may not end before this character. */
export const goesOn = (code: number) => within(KEYS, code)
