/**
 * Escapes of JSON that stand for a character of ASCII, read as JSON without need of them has it:
 * `\u0040` is `@`, `\/` is `/`, `\u0022` is `\"`, and in a string within a string `\\u0022` is `\\\"`.
 * Numbers are read by their value (`numbers.ts`). So what is found does not depend on who wrote the
 * JSON. It keeps the text as it came, since that is what is shown.
 */
import { Numbers, type Piece } from './numbers.js'
import { NO } from './view.js'

/** Where the two texts differ: an escape as it is read and as it came, in the whole texts. */
interface Unit {
  from: number
  to: number
  rawFrom: number
  rawTo: number
}

/** Backslashes, each as itself or as `\u005c`, and what they escape. */
const ESCAPE = /(\\+(?:u005c\\*)*)(u[\da-f]{0,4}|\/)?/gi
/** What may belong to an escape that is longer than one can be. */
const OF_ESCAPE = /[\\/u\da-f]*/iy
/** Characters of an escape: eight levels of JSON have 128 backslashes before it, each in six characters. */
const LONGEST = 1024
const CONTROLS: Record<number, string> = { 8: 'b', 9: 't', 10: 'n', 12: 'f', 13: 'r' }

export class Spelling {
  /** The text as it came, as far as it is known what it stands for. */
  readonly raw = { text: '', final: false, steps: 0 }
  /** Where `raw` begins in the whole text. */
  rawBase = 0
  readonly #numbers = new Numbers()
  /** The beginning of an escape, of which more has to come. */
  #begun = ''
  /** The end of the whole text as it is read. */
  #end = 0
  #isLong = false
  #units: Unit[] = []

  /** What is held back: a number or an escape of which more has to come. */
  get held(): string {
    return this.#numbers.held + this.#begun
  }

  /** Takes the next part. Returns how it is read. */
  take(chunk: string): string {
    const text = this.#begun + chunk
    this.#begun = ''
    let [read, at] = ['', 0]
    const plain = (to: number) => {
      read += this.#put(text.slice(at, to))
      at = to
    }
    const long = (from: number) => {
      OF_ESCAPE.lastIndex = from
      OF_ESCAPE.test(text)
      this.#isLong = OF_ESCAPE.lastIndex === text.length
      plain(OF_ESCAPE.lastIndex)
    }
    if (this.#isLong) long(0)
    for (;;) {
      ESCAPE.lastIndex = at
      const found = text.includes('\\', at) && ESCAPE.exec(text)
      if (!found) break
      const [all, run = '', escaped = ''] = found
      const end = found.index + all.length
      if (all.length > LONGEST) {
        long(found.index)
        continue
      }
      const isWhole = escaped === '/' || escaped.length === 5
      if (!isWhole && end === text.length) {
        plain(found.index)
        this.#begun = all
        return read
      }
      const [rest, stands] = readEscape(run, isWhole ? escaped : '')
      plain(found.index + rest)
      const to = isWhole ? end : found.index + run.length
      if (stands === text.slice(at, to)) plain(to)
      else {
        read += this.#put(text.slice(at, to), stands)
        at = to
      }
    }
    plain(text.length)
    return read
  }

  /** Takes a number that is held as it stands: the text may be cut in it. Returns how it is read. */
  release(): string {
    return this.#add(this.#numbers.release())
  }

  /** Ends the text. Returns how its rest is read. */
  flush(): string {
    const read = this.#put(this.#begun)
    this.#begun = ''
    return read + this.#add(this.#numbers.flush())
  }

  #put(raw: string, read = raw): string {
    return this.#add(this.#numbers.take(raw, read))
  }

  #add(pieces: Piece[]): string {
    for (const { raw, read } of pieces) this.#addPiece(raw, read)
    return pieces.map(({ read }) => read).join('')
  }

  #addPiece(raw: string, read: string): void {
    const rawFrom = this.rawBase + this.raw.text.length
    const [to, rawTo] = [this.#end + read.length, rawFrom + raw.length]
    if (raw !== read) this.#units.push({ from: this.#end, to, rawFrom, rawTo })
    this.raw.text += raw
    this.#end = to
  }

  /** The last unit that begins before a position, or at it. */
  #unit(at: number, key: 'from' | 'rawFrom'): Unit | undefined {
    const units = this.#units
    let [low, high] = [0, units.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((units[middle] as Unit)[key] <= at) low = middle + 1
      else high = middle
    }
    return units[low - 1]
  }

  /** A position as the text is read that is in no escape: the beginning of one, or its end. */
  edge(at: number, isEnd = false): number {
    const unit = this.#unit(at, 'from')
    if (!unit || at >= unit.to) return at
    return isEnd && at > unit.from ? unit.to : unit.from
  }

  /** Where a position of the text as it is read stands in the text as it came. */
  rawAt(at: number): number {
    const unit = this.#unit(at, 'from')
    if (!unit) return at - this.#end0 + this.#raw0
    return at < unit.to ? unit.rawFrom : at - unit.to + unit.rawTo
  }

  /** Where a position of the text as it came is read; within an escape its beginning, or its end. */
  readAt(rawAt: number, isEnd = false): number {
    const unit = this.#unit(rawAt, 'rawFrom')
    if (!unit) return rawAt - this.#raw0 + this.#end0
    if (rawAt >= unit.rawTo) return rawAt - unit.rawTo + unit.to
    return isEnd && rawAt > unit.rawFrom ? unit.to : unit.from
  }

  /** Positions of both texts that belong together, before the first unit. */
  #end0 = 0
  #raw0 = 0

  /** The text as it came, between two positions of the text as it is read. */
  slice(rawFrom: number, to: number): string {
    return this.raw.text.slice(rawFrom - this.rawBase, this.rawAt(to) - this.rawBase)
  }

  /** Forgets what stands before a position of the text as it is read, at an edge. */
  forget(to: number): void {
    const rawTo = this.rawAt(to)
    const first = this.#units.findIndex((unit) => unit.from >= to)
    this.#units = first === NO ? [] : this.#units.slice(first)
    ;[this.#end0, this.#raw0] = [to, rawTo]
    this.raw.text = this.raw.text.slice(rawTo - this.rawBase)
    this.rawBase = rawTo
  }
}

/**
 * What backslashes and an escaped character stand for. An escape of the level `n` has as many
 * backslashes as the highest power of two that divides their number; those before it stand for
 * themselves. Before a slash, each level may have escaped it and the backslash of the level below.
 *
 * @returns how many characters at the beginning are none of the escape, and how the others are read
 */
function readEscape(run: string, escaped: string): [number, string] {
  let count = 0
  for (const [, backslashes = '', coded] of run.matchAll(/(\\*)(u005c)?/gi)) {
    count += backslashes.length
    // One more backslash at its level.
    if (coded) count += count & -count
  }
  const size = escaped === '/' ? count : count & -count
  const isCoded = /u/i.test(run)
  if (escaped === '') return isCoded ? [0, '\\'.repeat(count)] : [run.length, '']
  const rest = isCoded ? 0 : count - size
  const before = '\\'.repeat(isCoded ? count - size : 0)
  return [rest, before + stands(escaped, size)]
}

/** A character as a string has it that is escaped with so many backslashes. */
function stands(escaped: string, size: number): string {
  if (escaped === '/') return '/'
  const code = parseInt(escaped.slice(1), 16)
  const control = CONTROLS[code]
  if (control) return '\\'.repeat(size) + control
  if (code < 32 || code > 126) return '\\'.repeat(size) + escaped
  const character = String.fromCharCode(code)
  return character === '"' ? '\\'.repeat(2 * size - 1) + character : character
}
