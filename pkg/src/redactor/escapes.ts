/**
 * Finds registered values of which characters are escaped: in addresses, JSON and HTML, each as itself
 * or in any of its forms. It reads bytes in UTF-8, of what the escapes stand for. A `+` is a space, and
 * the ends of lines are none: base64 is wrapped.
 */
import { NO, unknown, WAIT, type View } from './view.js'
import type { Values } from './values.js'

/** An escape: what it stands for, and where it ends. */
type Read = { code: number; isByte: boolean; size: number }

const LONGEST = 10
/** Bytes that may be read ahead in a pause, which then go back: they overwrite none of a value. */
const AHEAD = 4096
const WHOLE =
  /^(?:%([\da-f]{2})|\\u([\da-f]{4})|\\x([\da-f]{2})|&#x([\da-f]{1,6});|&#(\d{1,7});|&(amp|lt|gt|quot|apos|nbsp);|\\([^ux]))/i
/** Behind a `%` the scanner waits. */
const BEGUN = /^(?:\\(?:u[\da-f]{0,3}|x[\da-f]?)?|&(?:#x?[\da-f]*|[a-z]*))$/i
const NAMED: Record<string, number> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39, nbsp: 160 }
const IN_JSON: Record<string, number> = { n: 10, r: 13, t: 9, b: 8, f: 12 }

/** What no escape begins with: one object for all. */
const plain = { code: 0, isByte: false, size: 1 }

/** Reads the character at a position, or the escape that begins there. */
function readAt(view: View, at: number): Read | typeof WAIT {
  const code = view.text.charCodeAt(at)
  if (code !== 37 && code !== 38 && code !== 92) {
    plain.code = code
    return plain
  }
  const text = view.text.slice(at, at + LONGEST)
  view.steps += 4
  const found = WHOLE.exec(text)
  if (!found) {
    const waits = unknown(view, at + text.length) && text.length < LONGEST && BEGUN.test(text)
    return waits ? WAIT : { code, isByte: false, size: 1 }
  }
  const [all, percent, four, two, hex, decimal, name, one] = found
  const digits = percent ?? four ?? two ?? hex
  const stands = digits
    ? parseInt(digits, 16)
    : decimal
      ? Number(decimal)
      : name
        ? NAMED[name.toLowerCase()]
        : (IN_JSON[one as string] ?? (one as string).charCodeAt(0))
  return { code: stands as number, isByte: percent !== undefined, size: all.length }
}

/** Where a finder stands. */
interface Place {
  state: number
  /** Bytes so far. */
  count: number
  /** Where the next character or escape begins, in the whole text. */
  next: number
  /** The last first half of a pair: where it begins, and where the second one would. */
  high: { code: number; from: number; next: number } | undefined
}

export class Escaped {
  readonly #values: Values
  /** Where each of the last bytes began that may be of a value, in the whole text. */
  readonly #starts: number[] = []
  readonly #size: number
  place: Place = { state: 0, count: 0, next: 0, high: undefined }

  constructor(values: Values) {
    this.#values = values
    this.#size = AHEAD + values.longest
  }

  /** Looks whether all is known of what begins at a position. */
  read(view: View, at: number, base: number): Read | typeof NO | typeof WAIT {
    return this.place.next > base + at ? NO : readAt(view, at)
  }

  /** Takes what begins at a position. Returns where a value begins that ends with it, or `NO`. */
  take({ code, isByte, size }: Read, from: number): number {
    const { place } = this
    place.next = from + size
    if (isByte || code < 128) return this.#byte(code, from)
    // The halves of a pair are one character, which begins with the first.
    if (code >= 0xd800 && code <= 0xdbff) {
      place.high = { code, from, next: place.next }
      return NO
    }
    const high = code >= 0xdc00 && code <= 0xdfff && place.high?.next === from && place.high
    const text = high ? String.fromCharCode(high.code, code) : String.fromCodePoint(code % 0x110000)
    let found = NO
    for (const byte of new TextEncoder().encode(text)) {
      const start = this.#byte(byte, high ? high.from : from)
      if (start !== NO) found = start
    }
    return found
  }

  #byte(byte: number, from: number): number {
    if (byte === 10 || byte === 13) return NO
    const { place } = this
    place.state = this.#values.step(place.state, byte === 43 ? 32 : byte)
    const at = place.count++ % this.#size
    // Most bytes are of no value: every text of an event has a finder, which stays small.
    if (place.state !== 0) this.#starts[at] = from
    const length = this.#values.length[place.state] as number
    return length > 0 ? this.#start(length) : NO
  }

  /**
   * Where the value began that is being read, in the whole text; `NO` if none is. Half of a pair may
   * be the beginning of one.
   */
  begun(least: number): number {
    const { state, high, next } = this.place
    const depth = this.#values.depth[state] as number
    if (depth > 0) return depth >= least ? this.#start(depth) : NO
    return least === 1 && high?.next === next ? high.from : NO
  }

  #start(back: number): number {
    return this.#starts[(this.place.count - back) % this.#size] as number
  }
}

/** Values as a finder reads them. */
export const unescaped = (values: Iterable<string>): string[] =>
  Array.from(values, (value) =>
    String.fromCharCode(...new TextEncoder().encode(value))
      .replaceAll('+', ' ')
      .replace(/[\r\n]/g, ''),
  ).filter((text) => text.length >= LEAST)

/** Bytes of the shortest value, without the ends of its lines. */
const LEAST = 6
