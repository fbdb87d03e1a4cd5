/** Secrets that only their context tells: `api_key = "…"`, `password: …`. */
import {
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
  ...['password', 'passwd', 'passphrase', 'pwd', 'secret', 'apikey', 'api_key', 'api-key'],
  ...['access_key', 'accesskey', 'secret_key', 'secretkey', 'private_key', 'privatekey'],
  ...['auth_token', 'authtoken', 'access_token', 'accesstoken', 'refresh_token', 'refreshtoken'],
  ...['client_secret', 'clientsecret', 'signing_key', 'encryption_key', 'db_pass', 'dbpass'],
]

const NAME_REST = chars('\t\t  09AZaz__..--')
const CLOSES = chars('\t\r  \'\'""\\\\')
const OPENS = chars('\t\r  \'\'""\\\\``==')
const QUOTES = chars('\'\'""``')
/** What a key of any kind may consist of. */
export const KEYS = chars('09AZaz__--++//==')
const RANDOM = chars('09AZaz__..==--++//')
/** What a value without quotes may consist of. */
export const UNQUOTED = chars('!!#%*+-:==?Z^_az~~//')
const SPECIAL = chars('!!#%**@@^^~~??')

/** Where the value of a context begins. */
export interface Context {
  from: number
  /** Nothing but an operator stands between the word and the value. */
  near: boolean
  /** The quote before the value, or `''`. */
  quote: string
}

/** Reads from behind a word to its value: the rest of the name, an operator, quotes. */
export function contextAt(view: View, at: number): Context | typeof NO | typeof WAIT {
  const { text } = view
  let p = runEnd(view, NAME_REST, at, 20)
  const rest = text.slice(at, p).trim()
  p = runEnd(view, CLOSES, p, 5)
  if (unknown(view, p + 3)) return unknown(view, p) || operatorMay(text, p) ? WAIT : NO
  const operator = /^(?:=>|=|>|:{1,3}=|\|\||:|\?=|,)/.exec(text.slice(p, p + 4))?.[0]
  if (!operator) return NO
  p += operator.length
  const from = runEnd(view, OPENS, p, 7)
  if (unknown(view, from)) return WAIT
  let quote = ''
  for (let q = p; q < from; q++) {
    if (within(QUOTES, text.charCodeAt(q))) quote = text.charAt(q)
  }
  return { from, near: rest === '' && operator !== ',', quote }
}

const operatorMay = (text: string, at: number) => '=>:|?,'.includes(text.charAt(at))

/** A random text: not a word, a name or a number. */
export function randomAt(view: View, { from }: Context): number {
  const to = runEnd(view, RANDOM, from, 151)
  if (unknown(view, to)) return to - from > 150 ? NO : WAIT
  const value = view.text.slice(from, to).replace(/[.=]{1,3}$/, '')
  if (value.length < 10 || to - from > 150) return NO
  view.steps += value.length
  if (UUID.test(value)) return NO
  const bits = entropy(value)
  const enough = alternations(value) >= 3 && bits >= 3.5
  return enough || (bits >= 4.3 && alternations(value) >= 2) ? from + value.length : NO
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

/** What stands for a value where there is none. */
const NONE =
  /^(?:string|str|text|bytes|password|passwd|secret|token|null|none|nil|undefined|true|false|required|optional|hidden|empty|todo|change_?me|example|[x*.•_-]+|(?:[<[{(%]|\$[{(]).*)$/i

/** Characters of a value that are read; a longer one goes on as long as `UNQUOTED` does. */
export const [MOST, MOST_QUOTED] = [200, 500]

/** The value of a name that says what it is. */
export function valueAt(view: View, context: Context): number {
  const { from, near, quote } = context
  if (!near) return NO
  const { text } = view
  if (quote) {
    const to = quotedEnd(view, context)
    if (to < 0) return to
    const value = text.slice(from, to)
    // What a form says, such as «Enter your password».
    const prose = /^[A-Z\s][^\d]*\s/.test(value) && !/\d/.test(value)
    return value.length < 4 || prose || NONE.test(value) ? NO : to
  }
  const to = runEnd(view, UNQUOTED, from, MOST)
  if (to - from < MOST && unknown(view, to)) return WAIT
  const read = text.slice(from, to)
  const value = to - from < MOST ? read.replace(/[.:,!?]+$/, '') : read
  view.steps += value.length
  const called = '([{'.includes(text.charAt(to) || ' ')
  const letters = /[a-z]/i.test(value)
  const odd = /\d/.test(value) || [...value].some((one) => within(SPECIAL, one.charCodeAt(0)))
  return value.length < 6 || (called && to - from < MOST) || !letters || !odd || NONE.test(value)
    ? NO
    : from + value.length
}

/** Where a quoted value ends: at its quote, which may be escaped as the first one was. */
function quotedEnd(view: View, { from, quote }: Context): number {
  const { text } = view
  const inText = text.charAt(from - 2) === '\\'
  let to = from
  for (; to - from < MOST_QUOTED; to++) {
    if (unknown(view, to)) return WAIT
    const one = text.charAt(to)
    if (one === '' || one === quote || one === '\n' || one === '\r') break
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
