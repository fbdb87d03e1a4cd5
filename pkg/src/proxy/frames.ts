/** Server-sent events as bytes: whole frames. */

/** A line feed. Not a limit. */
const LF = 10
/** A carriage return. Not a limit. */
const CR = 13

/**
 * Bytes of a frame from which on a stream is passed unread; `bound` has `heldBytes` in its place.
 *
 * Limit | a frame of a stream | bytes | the stream passes unread; in `bound`, `heldBytes` counts
 */
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
    const complete = all.slice(0, end)
    this.#rest.copyWithin(0, end, this.#length)
    this.#length -= end
    return complete
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
  const tail = bytes.subarray(from)
  for (let at = tail.lastIndexOf(LF); at > 0; at = tail.lastIndexOf(LF, at - 1)) {
    if (tail[at - 1] === LF) return from + at + 1
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

/** Encodings in which ASCII is what it is in UTF-8. */
const ASCII_LIKE = /^(utf-?8|us-ascii|ascii|iso-8859-1|latin-?1|windows-1252)$/i

/** Whether a client that goes by `content-type` reads the ASCII of a body as UTF-8 has it. */
export function isAsciiLike(headers: Headers): boolean {
  const [, charset] =
    /charset\s*=\s*["']?([^\s;"']+)/i.exec(headers.get('content-type') ?? '') ?? []
  return charset === undefined || ASCII_LIKE.test(charset)
}
