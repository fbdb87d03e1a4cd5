/**
 * What stands around an anchor: keys with a beginning of their own, passwords of addresses, and the
 * beginnings of private keys.
 */
import { goesOn, isNone, isPlace } from './secret-value.js'
import type { Atom, Rule } from './tables.js'
import {
  back,
  chars,
  CUT,
  entropy,
  NO,
  opened,
  runEnd,
  unknown,
  WAIT,
  within,
  WORD,
  type View,
} from './view.js'

/** A secret in the view, and the set by which it goes on; -1: none. */
interface Span {
  from: number
  to: number
  open?: number
}
type Read<T> = T | typeof NO | typeof WAIT

/** What may stand within a private key and between its lines: escapes, quotes, numbers, marks. */
const KEY_BODY = chars('\t\r  ">AZ\\\\az||')
/** What may stand in the name of a private key. */
const KEY_NAME = chars('09AZaz  __--%%++')
/** Characters of a header, and of what follows in which the key begins: comments may come first. */
const KEY_HEADER = 140
const KEY_START = 256

/** Characters of a key behind its beginning, and of that, by which a cut one is known. */
const LEAST_OF_KEY = 4
const LEAST_OF_ANCHOR = 3
/** Characters before an option in which its command stands. */
const NEAR = 80

/** What no password of an address has. */
const PASSWORD_ENDS = '/?#"\'<>\\)]},;'
const isMixed = (text: string) =>
  /[a-z]\d|\d[a-z]/i.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text))
const bothWords = (text: string, at: number) =>
  within(WORD, text.charCodeAt(at - 1)) && within(WORD, text.charCodeAt(at)) && !opened(text, at)

/** Reads a rule around its anchor, which stands from `from` to `at`. */
export function ruleAt(view: View, rule: Rule, from: number, at: number): Read<Span> {
  const { text } = view
  if (rule.anchor !== undefined && !text.startsWith(rule.anchor, from)) return NO
  let begin = from
  for (const { set, min, max } of rule.before) {
    const last = begin
    while (last - begin < max && within(set, text.charCodeAt(begin - 1))) begin--
    view.steps += last - begin + 1
    if (last - begin < min) return NO
  }
  if (rule.bounded && bothWords(text, begin)) return NO
  const read = follow(view, rule.follows, at)
  if (typeof read === 'number') return read
  const end = read.end
  if (read.cut && rule.url) {
    // Behind the name a password has begun; digits may be a port.
    const begun = read.opened ?? end
    const address = text.slice(begun, end)
    return /[a-z]/i.test(address) && !isPlace(address) ? { from: begun, to: end } : NO
  }
  if (read.cut) {
    const anchor = rule.anchor ?? text.slice(from, at).toLowerCase()
    const isTelling = /[^a-z\d]/.test(anchor) && at - from >= LEAST_OF_ANCHOR
    return isTelling && isMixed(text.slice(at, end)) ? { from: begin, to: end } : NO
  }
  if (rule.ends) {
    if (unknown(view, end)) return WAIT
    if (goesOn(text.charCodeAt(end))) return NO
  }
  const [start, stop] = [read.opened ?? begin, read.closed ?? end]
  // Of a key of its own beginning, what follows that.
  const secret = text.slice(rule.mixed ? Math.max(start, at) : start, stop)
  view.steps += secret.length
  const bits = entropy(secret)
  // What only repeats is a made-up key, and no word.
  const isKey = (!rule.mixed || isMixed(secret)) && bits >= rule.entropy
  if (!isKey && !(rule.mixed && bits < 2.6 && !/x{4}/i.test(secret))) return NO
  if (rule.url) return password(view, start, stop)
  if (rule.command && !isCurl(text, from, secret)) return NO
  return { from: start, to: stop, open: rule.open }
}

/** Whether what curl is given as `name:password`, or `key:`, is a secret. */
function isCurl(text: string, from: number, given: string): boolean {
  const [name = '', password] = given.split(':', 2)
  return /\bcurl\b/.test(back(text, from, NEAR)) && !isNone(password || name)
}

/** The password of an address; one with an `@` ends at the last of them. */
function password(view: View, from: number, to: number): Read<Span> {
  const { text } = view
  let end = to
  for (let next = to + 1; next - to < 64; next++) {
    if (unknown(view, next)) return WAIT
    view.steps++
    const code = text.charCodeAt(next)
    if (code === 64) end = next
    else if (!(code > 32) || PASSWORD_ENDS.includes(text.charAt(next))) break
  }
  return isPlace(text.slice(from, end)) ? NO : { from: from, to: end }
}

/** Where what follows an anchor ends, and the part of it that is the secret. */
function follow(view: View, atoms: readonly Atom[], at: number) {
  const { text } = view
  let end = at
  let opened: number | undefined
  let closed: number | undefined
  for (const atom of atoms) {
    if (atom === '(') opened = end
    else if (atom === ')') closed = end
    else {
      const from = end
      end = runEnd(view, atom.set, from, atom.max)
      if (end - from < atom.max && unknown(view, end)) return WAIT
      if (end - from < atom.min) {
        const cut = text.charCodeAt(end) === CUT && end - at >= LEAST_OF_KEY
        return cut ? { end, opened, closed, cut } : NO
      }
    }
  }
  return { end, opened, closed, cut: false }
}

/** A run of a key, what is left of a cut one, or two lines of a narrow one. */
const KEY_RUN =
  /(?=[A-Z+/=]*\d)[A-Z\d+/=]{30}|^\W*[A-Z\d+/=]+(?=…)|^(?:\\[nr]|\s)+(?:[A-Z\d+/=]{16,}(?:\\[nr]|\s)+){2}/i

/** Where the key has begun whose `-----BEGIN` ends at `at`. Words and paths have no such run. */
export function privateKeyAt(view: View, at: number): number {
  const { text } = view
  const end = runEnd(view, KEY_NAME, at, KEY_HEADER)
  if (unknown(view, end)) return WAIT
  const header = /PRIVATE[ +%20]+KEY(?:[ +%20]+BLOCK)?-----/i.exec(text.slice(at, end))
  if (!header) return NO
  const begin = at + header.index + header[0].length
  const [body = '', rest] = text.slice(begin, begin + KEY_START).split('-----', 2)
  view.steps += body.length
  const found = KEY_RUN.exec(body)
  if (found) return begin + found.index + found[0].length
  return rest === undefined && unknown(view, begin + KEY_START) ? WAIT : NO
}

/** What is read of a private key: its lines, the name behind `-----END`, or the dashes behind that. */
export type KeyPart = 'body' | 'end' | 'dashes'

/**
 * The part of a private key that a character is in; `undefined`: the key ends before it.
 *
 * @param isEnd whether `-----END` ends with the character
 */
export function keyPartAfter(part: KeyPart, code: number, isEnd: boolean): KeyPart | undefined {
  switch (part) {
    case 'body':
      if (isEnd) return 'end'
      return within(KEY_BODY, code) || isLine(code) ? 'body' : undefined
    case 'end':
      if (code === DASH) return 'dashes'
      return within(KEY_NAME, code) ? 'end' : undefined
    case 'dashes':
      return code === DASH ? 'dashes' : undefined
  }
}
const DASH = 45
/** `→` and `│`, before which numbers of lines stand. */
const isLine = (code: number) => code === 0x2192 || code === 0x2502
