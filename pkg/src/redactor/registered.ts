/** Finds registered values: in the text as it came, in its escapes, and as it is read. */
import { Escaped } from './escapes.js'
import type { Reading } from './reading.js'
import type { Values } from './values.js'
import { CUT, NO, WAIT } from './view.js'

/** Bytes of a value by which a cut one is known. */
const LEAST_OF_VALUE = 4

/** Where a value stands in the whole text. */
interface Span {
  from: number
  to: number
}

/** What is read, to go back to after a pause. */
interface Place {
  rawNext: number
  rawState: number
  state: number
  escaped: Escaped['place']
}

export class Registered {
  readonly #reading: Reading
  readonly #values: Values
  readonly #escaped: Escaped
  /** What is read next in the text as it came. */
  #rawNext = 0
  /** States of the automaton: in the text as it came, and as it is read. */
  #rawState = 0
  #state = 0

  /** @param bytes the values in bytes, as `escapes.ts` reads them */
  constructor(reading: Reading, values: Values, bytes: Values) {
    this.#reading = reading
    this.#values = values
    this.#escaped = new Escaped(bytes)
  }

  get place(): Place {
    const escaped = { ...this.#escaped.place }
    return { rawNext: this.#rawNext, rawState: this.#rawState, state: this.#state, escaped }
  }

  set place({ rawNext, rawState, state, escaped }: Place) {
    this.#rawNext = rawNext
    this.#rawState = rawState
    this.#state = state
    this.#escaped.place = escaped
  }

  /** Reads the character at a position. Adds values that end with it. Returns whether all is known. */
  read(at: number, code: number, found: (span: Span) => void): boolean {
    const end = this.#reading.base + at + 1
    if (!this.#readRaw(this.#reading.spelling.rawAt(end), found)) return false
    this.#state = this.#values.step(this.#state, code)
    const length = this.#values.length[this.#state] as number
    if (length > 0) found({ from: end - length, to: end })
    return true
  }

  /** Where a value may begin that is not known yet, if `at` is read next. */
  safe(at: number): number {
    const { spelling, base } = this.#reading
    const { depth } = this.#values
    const begun = this.#escaped.begun(1)
    const rawFrom = this.#rawNext - (depth[this.#rawState] as number)
    const rawSafe = begun === NO ? rawFrom : Math.min(rawFrom, begun)
    return Math.min(at - (depth[this.#state] as number), spelling.readAt(rawSafe) - base)
  }

  /** Reads the text as it came up to a position. */
  #readRaw(to: number, found: (span: Span) => void): boolean {
    const { raw, rawBase } = this.#reading.spelling
    for (; this.#rawNext < to; this.#rawNext++) {
      const at = this.#rawNext - rawBase
      const code = raw.text.charCodeAt(at)
      const read = this.#escaped.read(raw, at, rawBase)
      if (read === WAIT) return false
      this.#rawState = this.#values.step(this.#rawState, code)
      const next = this.#rawNext + 1
      const length = this.#values.length[this.#rawState] as number
      if (length > 0) found(this.#span(next - length, next))
      // What a cut has left of a value.
      const begun = code === CUT ? this.#escaped.begun(LEAST_OF_VALUE) : NO
      if (begun !== NO) found(this.#span(begun, this.#rawNext))
      const from = read === NO ? NO : this.#escaped.take(read, this.#rawNext)
      if (from !== NO && read !== NO) found(this.#span(from, this.#rawNext + read.size))
    }
    return true
  }

  #span(rawFrom: number, rawTo: number): Span {
    const { spelling } = this.#reading
    return { from: spelling.readAt(rawFrom), to: spelling.readAt(rawTo, true) }
  }
}
