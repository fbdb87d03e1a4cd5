/** Secrets that only their context tells: `api_key = "…"`, `password: …`, `the token is …`. */
import {
  back,
  chars,
  DIGIT,
  entropy,
  LETTER_OR_DIGIT,
  NO,
  runEnd,
  unknown,
  WAIT,
  within,
  WORD,
  type View,
} from './view.js'

/** Words near which a random text is a secret (gitleaks: generic-api-key). */
export const WORDS = [
  ...['access', 'auth', 'api', 'credential', 'creds', 'key', 'passwd', 'password'],
  ...['secret', 'token'],
]

/** Names whose value is a secret, random or not. */
export const NAMES = [
  ...['password', 'passwd', 'passphrase', 'passwort', 'pass', 'pwd', 'pw', 'pswd'],
  ...['secret', 'apikey', 'api_key', 'api-key', 'api key', 'identified by', 'authorization'],
  ...['access_key', 'accesskey', 'private_key', 'privatekey'],
  ...['auth_token', 'authtoken', 'access_token', 'accesstoken', 'refresh_token', 'refreshtoken'],
]

const NAME_REST = chars('\t\t  09AZaz__..--')
const CLOSES = chars('\t\r  \'\'""\\\\[[]]')
const OPENS = chars('\t\r  \'\'""\\\\``==')
const QUOTES = chars('\'\'""``')
/** What a key of any kind may consist of. */
export const KEYS = chars('09AZaz__--++//==')
const RANDOM = chars('09AZaz__..==--++//')
/** What may stand between quotes, without spaces. */
const QUOTED = chars('!!#&([]_a~')
/** What a value without quotes may consist of. */
export const UNQUOTED = chars('!!#%*+-:==?Z^_az~~//')
const SPECIAL = chars('!!#%**@@^^~~??')

/** Where the value of a context begins. */
export interface Context {
  /** The end of its word. */
  at: number
  from: number
  /** Nothing but an operator stands between the word and the value. */
  near: boolean
  /** The quote before the value, `<` in an element of XML, or `''`. */
  quote: string
  /** No operator stands before the value. */
  loose: boolean
}

const OPERATOR = /^(?:=>|[!=]==?|[?+.]?=|:{1,3}=|\|\|?|:|,|>|\((?=["']))/
/** `"name": "PASSWORD", "value": "…"`, in JSON, YAML and attributes. */
const PAIR = /^[,;]?\s{0,20}["']?value["']?\s?[:=]/i
const PAIR_MOST = 32
/** What may stand between a word and its value in a sentence. */
const LOOSE =
  /^\w{0,8}(?:[ \t]{1,4}(?:(?:is|was|-|=)[: ]{1,3})?(?:["'`](?=\S))?|["'`](?=\w))(?=[^\s"'`:=|>,;])/
/** What ends a name that is still one of a secret. */
const ENDINGS = /^[_-]?(?:\d{1,2}|key|value|text|str(?:ing)?|base)?$/i

/** Reads from behind a word to its value: the rest of the name, an operator, quotes. */
export function contextAt(
  view: View,
  at: number,
  name: boolean,
): Context | typeof NO | typeof WAIT {
  const { text } = view
  let p = runEnd(view, NAME_REST, at, 20)
  const rest = text.slice(at, p).trim()
  const closed = p
  p = runEnd(view, CLOSES, p, 5)
  if (unknown(view, p + 3)) return WAIT
  let operator = OPERATOR.exec(text.slice(p, p + 4))?.[0] ?? ''
  if (name && p > closed && (operator === ',' || operator === '')) {
    view.steps += 8
    const pair = PAIR.exec(text.slice(p, p + PAIR_MOST))
    if (!pair && unknown(view, p + PAIR_MOST) && /^[,;\s"'value]*$/i.test(text.slice(p)))
      return WAIT
    if (pair) operator = pair[0]
  }
  if (operator === '') return looseAt(view, at)
  p += operator.length
  const begin = p
  // The type of a variable stands before its value, or a list begins.
  if (operator === ':' || operator === '=') {
    const type = text.slice(p, p + 16)
    if (unknown(view, p + 16) && /^ ?(?:[a-z]* ?=? ?|\[)$/i.test(type)) return WAIT
    p += /^ ?(?:[a-z]{3,9} ?= ?|\[)(?=["'])/i.exec(type)?.[0].length ?? 0
  }
  let from = runEnd(view, OPENS, p, 16)
  if (unknown(view, from + 1)) return WAIT
  // The letter before a text in Python, C# and others.
  if (/^[bruf@]["']/i.test(text.slice(from, from + 2))) from = runEnd(view, OPENS, from + 1, 3)
  if (unknown(view, from)) return WAIT
  // An empty text.
  if (/(["'])\1(?!\1)/.test(text.slice(begin, from))) return NO
  let quote = ''
  for (let q = begin; q < from; q++) {
    if (within(QUOTES, text.charCodeAt(q))) quote = text.charAt(q)
  }
  const near = operator !== ',' && operator !== '|' && ENDINGS.test(rest)
  if (operator === '>' && p === closed + 1 && rest === '' && element(text, at)) quote = '<'
  if (without(text, at, rest)) return NO
  return { at, from, near, quote, loose: false }
}

/** `--password …`, `password is …`, `password "…"`. */
function looseAt(view: View, at: number): Context | typeof NO | typeof WAIT {
  const { text } = view
  view.steps += 12
  const read = text.slice(at, at + LOOSE_MOST)
  const found = LOOSE.exec(read)?.[0]
  if (found === undefined) {
    return unknown(view, at + LOOSE_MOST) && /^[\w\s:=-]*["'`]?$/.test(read) ? WAIT : NO
  }
  const from = at + found.length
  // More of the text may be a part of what stands between.
  if (unknown(view, from + 8)) return WAIT
  const last = found.at(-1) ?? ''
  const quote = '"\'`'.includes(last) ? last : ''
  const rest = /^\w*/.exec(found)?.[0] ?? ''
  if (without(text, at, rest)) return NO
  return { at, from, near: ENDINGS.test(rest), quote, loose: !/ (?:is|was|=)/.test(found) }
}
const LOOSE_MOST = 24

/** Reads from the end of a secret to the next one of a list. */
export function listAt(view: View, at: number): Context | typeof NO | typeof WAIT {
  view.steps += 4
  const read = view.text.slice(at, at + LIST_MOST)
  const found = /^["'`]?\s{0,2}[|,]?\s{0,12}["'`](?=\w)/.exec(read)?.[0]
  if (found !== undefined && found.length > 1) {
    return { at, from: at + found.length, near: true, quote: found.at(-1) ?? '', loose: false }
  }
  return unknown(view, at + LIST_MOST) && /^["'`]?\s*[|,]?\s*["'`]?$/.test(read) ? WAIT : NO
}
const LIST_MOST = 20

/** Whether a word stands in `<…`. */
const element = (text: string, at: number) => /<[\w.:-]{0,40}$/.test(back(text, at, 41))

/** What makes of a word another one. */
const AFTER = /^[_.-]?(?:code|file|ids?|names?|or|path|type|ur[il]|vault|versions?)(?![a-z])/

const BEFORE = /(?:pub(?:lic)?|primary|foreign|csrf)[_.-]?(?:key|token)$|(?:don|mon|tur)key$/i
const WITHIN = /[a-z](?:api|pw|pass)$|[a-np-z]auth$/

const without = (text: string, at: number, rest: string) => {
  const before = back(text, at, 16).replace(/\\[nrt]/g, ' ')
  return AFTER.test(rest.toLowerCase()) || BEFORE.test(before) || WITHIN.test(before)
}

/** A random text: not a word, a name or a number. */
export function randomAt(view: View, context: Context, service: boolean): number {
  const { at, from, near, quote, loose } = context
  const to = runEnd(view, quote ? QUOTED : service ? UNQUOTED : RANDOM, from, MOST_RANDOM)
  if (to - from < MOST_RANDOM && unknown(view, to)) return WAIT
  const value = view.text.slice(from, to).replace(/[.=:]{1,3}$/, '')
  if (quote && /:\/\/|^[./]/.test(value)) return NO
  const least = loose ? 16 : near && quote ? 8 : 10
  if (value.length < least || (loose && /[/.]/.test(value))) return NO
  view.steps += value.length
  const token = near && /token$/i.test(view.text.slice(at - 5, at))
  if (UUID.test(value)) return service || token ? from + value.length : NO
  if (/^\d{15,}$/.test(value)) return service ? from + value.length : NO
  const bits = entropy(value)
  const changes = alternations(value)
  const hex = value.length > 15 && /^[0-9a-f:-]+$/i.test(value)
  // Other signs are those of a password, or of code.
  const other = /[^\w.=+/-]/.test(value)
  const some = changes >= (other ? 4 : service || (near && (quote || value.length > 13)) ? 2 : 3)
  // Letters of both cases, more than words in camel case have.
  const [upper, lower] = [/[A-Z]/g, /[a-z]/g].map((set) => value.match(set)?.length ?? 0)
  const cased = near && quote !== '' && Math.min(upper!, lower!) > 0.3 * value.length
  const enough = (some || cased) && bits >= (hex ? 3 : Math.min(3.5, 0.8 * Math.log2(value.length)))
  return enough || (bits >= 4.3 && changes >= 2) ? from + value.length : NO
}

/** Names things more often than it opens them. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** How often letters follow digits or digits letters, within words. */
function alternations(value: string): number {
  let count = 0
  for (let at = 1; at < value.length; at++) {
    const [one, other] = [value.charCodeAt(at - 1), value.charCodeAt(at)]
    if (!within(LETTER_OR_DIGIT, one) || !within(LETTER_OR_DIGIT, other)) continue
    if (within(DIGIT, one) !== within(DIGIT, other)) count++
  }
  return count
}

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
const isNone = (value: string) => IS_NONE.test(value) || /^[A-Z]+(?:_[A-Z\d]+)+$/.test(value)
/** Names and members of code. */
const CODE = /^!?[a-z_$][\w$]*(?:\??\.[a-z_$][\w$]*)*$/i

/** Characters of a value that are read; a longer one goes on as long as `UNQUOTED` does. */
export const [MOST_RANDOM, MOST, MOST_QUOTED] = [100, 128, 500]

/** The value of a name that says what it is. */
export function valueAt(view: View, context: Context): number {
  const { at, from, near, quote, loose } = context
  if (!near || (loose && !quote && !commands(view.text, at))) return NO
  const { text } = view
  const header = /authorization$/i.test(back(text, at, 13))
  if (quote) {
    const to = quotedEnd(view, context)
    if (to < 0) return to
    // The end of a text that was cut stands for nothing.
    const read = text.slice(from, to).trimEnd()
    const value = text[to] === quote ? read : read.replace(/…$/, '')
    const isElement = quote === '<'
    // What a form says, such as «Enter your password», and code.
    const prose = /^[A-Z\s][^\d]*\s/.test(value) && !/\d/.test(value)
    const isCode = quote === '`' && /\$\{[\w.]+[()}]/.test(value)
    const plain = loose || header || text[from - 2] === '('
    const odd = !plain || (isOdd(value) && !/\s/.test(value))
    const none = isNone(value) && !(isElement && /^\{[^{]*\d/.test(value))
    if (value.length < 4 || prose || isCode || !odd || none) return NO
    return isElement && text[to] !== '<' ? NO : isElement ? from + value.length : to
  }
  let begin = from
  let to = runEnd(view, UNQUOTED, from, MOST)
  if (to - from < MOST && unknown(view, to)) return WAIT
  // `Authorization: Token …`
  if (header && text[to] === ' ') {
    const next = runEnd(view, UNQUOTED, to + 1, MOST)
    if (next - (to + 1) < MOST && unknown(view, next)) return WAIT
    if (next > to + 8) [begin, to] = [to + 1, next]
  }
  const read = text.slice(begin, to)
  const whole = to - begin < MOST
  const value = whole ? read.replace(/[.:,!?]+$/, '') : read
  view.steps += value.length
  // A number is one where JSON names it.
  const named = /["']\s?:\s?$/.test(text.slice(at, from)) && !/pass$/i.test(back(text, at, 4))
  if (whole && named && /^\d{4,}$/.test(value)) return begin + value.length
  const called = whole && '([{'.includes(text.charAt(to) || ' ')
  const setting = isSetting(text, at, from)
  const code = !setting && (!isOdd(value) || (CODE.test(value) && !/^\w*\d\w*$/.test(value)))
  if (value.length < 6 || called || code || !/[a-z]/i.test(value) || isNone(value)) return NO
  context.from = begin
  return begin + value.length
}

const isOdd = (value: string) =>
  /\d/.test(value) || [...value].some((one) => within(SPECIAL, one.charCodeAt(0)))

/** Whether a value that is a word may be a password: `DB_PASSWORD=…`, `;Password=…`. */
const isSetting = (text: string, at: number, from: number) =>
  from === at + 1 &&
  text[at] === '=' &&
  (/(?:^|[\s"'`])[A-Z][A-Z\d_]*$/.test(back(text, at, 40)) || /;\s?\w+$/.test(back(text, at, 20)))

/** Whether a word is an option of a command, or stands behind a name: `login ada password …`. */
const commands = (text: string, at: number) =>
  /(?:^|\s)--?[\w-]{2,40}$|identified by$|(?:login|user(?:name)?)[ \t:=]{1,3}\S{1,40}[\s,/]{1,8}\w{0,8}$/i.test(
    back(text, at, 64),
  )

/** Where a quoted value ends: at its quote, which may be escaped as the first one was. */
function quotedEnd(view: View, { from, quote }: Context): number {
  const { text } = view
  const inText = text.charAt(from - 2) === '\\'
  let to = from
  for (; to - from < MOST_QUOTED; to++) {
    if (unknown(view, to)) return WAIT
    const one = text.charAt(to)
    if (one === '' || one === quote || (quote !== '<' && /[\n\r]/.test(one))) break
    if (one !== '\\') continue
    if (inText) break
    if (unknown(view, to + 1)) return WAIT
    to++
  }
  view.steps += to - from + 1
  return Math.min(to, text.length)
}

/** Whether a key may not end before this character. */
export const goesOn = (code: number) => within(KEYS, code) || within(WORD, code)
