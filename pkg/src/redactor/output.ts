/** Writes the text with a mask in place of each match. Positions count from the beginning of the text. */
import { JsonText } from './json-text.js'
import type { Reading } from './reading.js'
import type { Run } from './runs.js'

/** What may be redacted; `value`: what the host registered. */
export const KINDS = ['value', 'secret', 'email', 'phone', 'card', 'iban', 'ip'] as const
/** A kind of value that `createRedactor` finds. */
export type RedactKind = (typeof KINDS)[number]

export interface Match {
  from: number
  to: number
  kind: RedactKind
  /** Whether it has been shown, as its mask or within the mask before it. */
  told: boolean
  /** The run with which it goes on. */
  run?: Run
  /** Whether it begins a private key. */
  isKey?: boolean
}

const rank = ({ kind }: Match) => KINDS.indexOf(kind)

export class Output {
  readonly #reading: Reading
  readonly #writer: JsonText
  /** Matches that begin in what is not shown yet. */
  #matches: Match[] = []
  /** Up to where the text is shown, and masked; up to where it is shown as it came. */
  #shown = 0
  #masked = 0
  #rawShown = 0
  /** The kind of the last match, and whether none of its characters was written. */
  #kind: RedactKind = 'value'
  #isUnwritten = false

  constructor(reading: Reading, writer: JsonText) {
    this.#reading = reading
    this.#writer = writer
  }

  /** Whether something is held back. */
  get holds(): boolean {
    const { end, rawEnd, spelling } = this.#reading
    const isShort = Math.max(this.#shown, this.#masked) < end
    const isHeld = spelling.held !== '' && rawEnd > this.#rawShown
    return isShort || isHeld || this.#writer.holds
  }

  add(match: Match): void {
    const last = this.#matches.at(-1)
    const mayGrow = match.isKey || match.run
    if (!mayGrow && last && last.from <= match.from && last.to >= match.to) return
    this.#matches.push(match)
  }

  /** Moves the end of a match, of which a part may have been shown. */
  extend(match: Match, to: number): void {
    match.to = Math.max(match.to, to)
    if (match.told) this.#masked = Math.max(this.#masked, match.to)
  }

  /** Shows the text up to a position. */
  show(end: number): string {
    const to = this.#reading.spelling.edge(end)
    this.#matches.sort((a, b) => a.from - b.from || rank(a) - rank(b))
    let output = ''
    let count = 0
    for (const match of this.#matches) {
      if (match.from >= to) break
      count++
      match.told = true
      const isNew = match.from >= this.#masked && match.to > this.#shown
      // After a pause, what is shown already stays.
      output += this.#write(Math.min(isNew ? match.from : this.#masked, to))
      if (isNew) this.#isUnwritten = true
      if (isNew || match.to > this.#masked) this.#kind = match.kind
      this.#masked = Math.max(this.#masked, match.to)
    }
    this.#matches.splice(0, count)
    return output + this.#write(to)
  }

  /** Shows all that has come, as if the text were cut there, and forgets its matches: it may go on. */
  pause(): string {
    const { end, rawEnd, spelling } = this.#reading
    // What there is of an escape goes on: no mask may part it.
    const rawHeld = rawEnd - spelling.held.length
    const begun = spelling.held.slice(Math.max(0, this.#rawShown - rawHeld))
    const output = this.show(end) + this.#writer.take(begun, undefined, false)
    this.#masked = Math.min(this.#masked, end)
    this.#rawShown = rawEnd
    this.#matches = []
    return output + this.#writer.pause()
  }

  /** Shows the rest. */
  end(): string {
    return this.show(this.#reading.end) + this.#writer.end()
  }

  /** What comes may be another text. */
  divide(next: string): void {
    this.#writer.divide(next)
  }

  /** Writes the text up to a position: what a match hides, then what is shown. No escape is parted. */
  #write(end: number): string {
    const { spelling } = this.#reading
    const to = spelling.edge(end)
    const hidden = Math.min(spelling.edge(this.#masked, true), to)
    let written = ''
    if (this.#shown < hidden) {
      const text = this.#came(hidden)
      written += this.#writer.take(text, this.#kind, this.#isUnwritten)
      if (text !== '') this.#isUnwritten = false
    }
    if (this.#shown < to) written += this.#writer.take(this.#came(to), undefined, false)
    return written
  }

  /** The text as it came from what is shown to a position, which is shown then. */
  #came(to: number): string {
    const { spelling } = this.#reading
    const from = Math.max(spelling.rawAt(this.#shown), this.#rawShown)
    this.#shown = to
    return spelling.slice(from, to)
  }
}
