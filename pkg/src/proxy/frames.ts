/** Server-sent events as bytes: whole frames, and the JSON in them. */
import { jsonLine, type Members } from './json.js'

const LF = 10
const CR = 13

/** Bytes of a frame from which on a stream is passed unread; `bound` has `heldBytes` in its place. */
const LONGEST = 4 * 1024 * 1024

/**
 * Cuts bytes into whole frames. What is behind the last blank line waits for the next bytes, so that
 * something can be said between frames at any time.
 */
export class Frames {
  #rest = new Uint8Array(0)
  #length = 0
  #raw = false
  readonly #most: number

  constructor(most = LONGEST) {
    this.#most = most
  }

  /** Whole frames, in one piece; empty if there is none yet. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#raw) return bytes
    if (this.#length === 0) {
      const end = lastEnd(bytes, 0)
      if (end < bytes.length) this.#keep(bytes.subarray(end))
      return bytes.subarray(0, end)
    }
    const before = this.#length
    this.#keep(bytes)
    const all = this.#rest.subarray(0, this.#length)
    if (this.#length > this.#most) return this.#give(all)
    const end = lastEnd(all, Math.max(0, before - 3))
    if (end === 0) return NOTHING
    // Copied: the rest is written over.
    const whole = all.slice(0, end)
    this.#rest.copyWithin(0, end, this.#length)
    this.#length -= end
    return whole
  }

  /** Whether the stream is only passed. */
  get isRaw(): boolean {
    return this.#raw
  }

  /** What is behind the last frame. */
  end(): Uint8Array {
    const rest = this.#rest.slice(0, this.#length)
    this.#length = 0
    return rest
  }

  #give(bytes: Uint8Array): Uint8Array {
    this.#raw = true
    this.#length = 0
    return bytes
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length
    if (length > this.#rest.length) {
      const longer = new Uint8Array(Math.max(length, this.#rest.length * 2, 1024))
      longer.set(this.#rest.subarray(0, this.#length))
      this.#rest = longer
    }
    this.#rest.set(bytes, this.#length)
    this.#length = length
  }
}

export const NOTHING = new Uint8Array(0)

/** The end of the last blank line that begins at `from` or later; 0 if there is none. */
function lastEnd(bytes: Uint8Array, from: number): number {
  if (bytes.indexOf(CR, from) >= 0) return lastEndOfAny(bytes, from)
  // Only what is new is searched: a long frame may come byte by byte.
  const own = bytes.subarray(from)
  for (let at = own.lastIndexOf(LF); at > 0; at = own.lastIndexOf(LF, at - 1)) {
    if (own[at - 1] === LF) return from + at + 1
  }
  return 0
}

/** As `lastEnd`, where lines end with CR, LF or both, mixed. */
function lastEndOfAny(bytes: Uint8Array, from: number): number {
  for (let at = bytes.length - 1; at > from; at--) {
    if (bytes[at] !== LF && bytes[at] !== CR) continue
    const before = bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1
    if (before >= from && (bytes[before] === LF || bytes[before] === CR)) return at + 1
  }
  return 0
}

/** A frame, with its bytes. */
export interface Frame {
  bytes: Uint8Array
  data: string
  /** Lines of data: some clients read each by itself. */
  lines: number
  /** The names of the event, of which clients take the last. */
  events: string[]
  /** The other lines, without names of events. */
  others: string
}

/**
 * Whether clients that go by the name of an event read another one than those that go by its type.
 *
 * @param known names that mean something on the wire
 */
export function isMisnamed(events: readonly string[], type: unknown, known: RegExp): boolean {
  const [first, ...others] = new Set(events)
  // `message` is the name of an event without one.
  if (others.length === 0 && (!first || first === 'message' || first === type)) return false
  return [type, ...events].some((name) => typeof name === 'string' && known.test(name))
}

/** Encodings in which ASCII is what it is in UTF-8. */
const ASCII_LIKE = /^(utf-?8|us-ascii|ascii|iso-8859-1|latin-?1|windows-1252)$/i

/** Whether a client that goes by `content-type` reads the ASCII of a body as UTF-8 has it. */
export function isAsciiLike(headers: Headers): boolean {
  const [, charset] =
    /charset\s*=\s*["']?([^\s;"']+)/i.exec(headers.get('content-type') ?? '') ?? []
  return charset === undefined || ASCII_LIKE.test(charset)
}

/** A name of an event that is written. Another one could end its line, and begin another frame. */
const EVENT_NAME = /^[A-Za-z0-9_.]+$/

/** The text of a frame, with its event line if `type` is a name. */
export function eventOf(json: Members): string {
  const { type } = json
  const isName = typeof type === 'string' && EVENT_NAME.test(type)
  return `${isName ? `event: ${type}\n` : ''}${dataOf(json)}`
}

/** The text of a frame without an event line. */
export const dataOf = (json: Members): string => `data: ${jsonLine(json)}\n\n`

/**
 * A line that is not one of server-sent events: some client finds data, or JSON, in it all the same.
 * Empty lines, comments and fields that nobody knows are none.
 */
const ODD_LINE =
  /(?:^|[\r\n])(?![ \t]*(?:[\r\n]|$)|:|(?:data|event|id|retry)(?::|[\r\n]|$)|(?!(?:[Dd][Aa][Tt][Aa]|[Ee][Vv][Ee][Nn][Tt]):)[A-Za-z][\w-]*:)/

/** Whether a text of whole frames is made of lines that every client reads alike. */
export const isPlain = (text: string): boolean => !text.includes('\0') && !ODD_LINE.test(text)

// Not at import: jsdom has none.
let decoder: TextDecoder | undefined

/** The frames of bytes that end with a blank line. */
export function framesOf(bytes: Uint8Array): Frame[] {
  decoder ??= new TextDecoder()
  const frames: Frame[] = []
  const hasCr = bytes.includes(CR)
  let start = 0
  let line = 0
  for (let feed = lineEnd(bytes, 0, hasCr); feed >= 0; feed = lineEnd(bytes, line, hasCr)) {
    const length = feed - line
    line = feed + (bytes[feed] === CR && bytes[feed + 1] === LF ? 2 : 1)
    if (length > 0) continue
    frames.push(frameOf(bytes.subarray(start, line), decoder))
    start = line
  }
  if (start < bytes.length) frames.push(frameOf(bytes.subarray(start), decoder))
  return frames
}

/** Where the line ends that begins at `at`; -1 if it does not. */
function lineEnd(bytes: Uint8Array, at: number, hasCr: boolean): number {
  if (!hasCr) return bytes.indexOf(LF, at)
  for (let end = at; end < bytes.length; end++) {
    if (bytes[end] === LF || bytes[end] === CR) return end
  }
  return -1
}

function frameOf(bytes: Uint8Array, decoder: TextDecoder): Frame {
  const text = decoder.decode(bytes)
  // Most frames have one line of data.
  const data: string[] = []
  const events: string[] = []
  let others = ''
  for (const line of text.split(/\r\n?|\n/)) {
    if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
    else if (!EVENT_LINE.test(line)) others += `${line}\n`
    if (/^event(?::|$)/.test(line)) events.push(line.slice(line[6] === ' ' ? 7 : 6))
  }
  const [first = ''] = data
  const joined = data.length > 1 ? data.join('\n') : first
  return { bytes, data: joined, lines: data.length, events, others: others.trim() }
}

const EVENT_LINE = /^(?:event: ?[A-Za-z0-9_.]*)?$/
