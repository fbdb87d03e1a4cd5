/** Server-sent events as bytes: whole frames, and the JSON in them. */

const LF = 10
const CR = 13

/** Bytes of one frame from which on a stream is no longer read, but passed as it comes. */
const LONGEST = 4 * 1024 * 1024

/**
 * Cuts bytes into whole frames. What is behind the last blank line waits for the next bytes, so that
 * something can be said between frames at any time.
 */
export class Frames {
  #rest = new Uint8Array(0)
  #length = 0
  #raw = false

  /** Whole frames, in one piece; empty if there is none yet. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.#raw) return bytes
    if (this.#length === 0) {
      const end = lastEnd(bytes, 0)
      // A stream with bare CR, which no provider sends, is not cut.
      if (end === 0 && bytes.includes(CR) && !bytes.includes(LF)) return this.#give(bytes)
      if (end < bytes.length) this.#keep(bytes.subarray(end))
      return bytes.subarray(0, end)
    }
    const before = this.#length
    this.#keep(bytes)
    const all = this.#rest.subarray(0, this.#length)
    if (this.#length > LONGEST) return this.#give(all)
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

const NOTHING = new Uint8Array(0)

/** The end of the last blank line that begins at `from` or later; 0 if there is none. */
function lastEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.lastIndexOf(LF); at > from; at = bytes.lastIndexOf(LF, at - 1)) {
    const before = bytes[at - 1] === CR ? at - 2 : at - 1
    if (before >= from && bytes[before] === LF) return at + 1
  }
  return 0
}

/** A frame, with its bytes. */
export interface Frame {
  bytes: Uint8Array
  data: string
}

// Not at import: jsdom has none.
let decoder: TextDecoder | undefined

/** The frames of bytes that end with a blank line. */
export function framesOf(bytes: Uint8Array): Frame[] {
  decoder ??= new TextDecoder()
  const frames: Frame[] = []
  let start = 0
  let line = 0
  for (let feed = bytes.indexOf(LF); feed >= 0; feed = bytes.indexOf(LF, feed + 1)) {
    const length = feed - line - (bytes[feed - 1] === CR ? 1 : 0)
    line = feed + 1
    if (length > 0) continue
    frames.push(frameOf(bytes.subarray(start, line), decoder))
    start = line
  }
  if (start < bytes.length) frames.push(frameOf(bytes.subarray(start), decoder))
  return frames
}

function frameOf(bytes: Uint8Array, decoder: TextDecoder): Frame {
  const text = decoder.decode(bytes)
  // Most frames have one line of data.
  const lines = text.split('\n').filter((line) => line.startsWith('data:'))
  const data = lines.map((line) => line.slice(line[5] === ' ' ? 6 : 5).replace(/\r$/, ''))
  return { bytes, data: data.length === 1 ? (data[0] as string) : data.join('\n') }
}
