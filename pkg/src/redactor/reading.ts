/** The text that a scanner reads, as it came and as it is spelled plainly: what is there of it. */
import { Spelling } from './spelling.js'
import { BEHIND, CUT, type View } from './view.js'

export class Reading implements View {
  /** As it is read (`spelling.ts`). All positions are those of this text, but for `raw…`. */
  text = ''
  final = false
  steps = 0
  /** Where `text` begins in the whole text. */
  base = 0
  readonly spelling = new Spelling()

  /** Where `text` ends in the whole text. */
  get end(): number {
    return this.base + this.text.length
  }

  /** Where the text as it came ends, with what is held of an escape. */
  get rawEnd(): number {
    const { rawBase, raw, held } = this.spelling
    return rawBase + raw.text.length + held.length
  }

  /** Takes the next part. */
  take(chunk: string): void {
    this.text += this.spelling.take(chunk)
  }

  /** Reads a number that is held, as if the text were cut in it. */
  release(): void {
    this.text += this.spelling.release()
  }

  /** Ends the text. */
  finish(): void {
    this.text += this.spelling.flush()
    this.#setFinal(true)
  }

  /** Does `read` as if the text were cut at its end. It may go on. */
  cut(read: () => void): void {
    const { text } = this
    const { raw } = this.spelling
    const came = raw.text
    this.text += String.fromCharCode(CUT)
    raw.text += String.fromCharCode(CUT)
    this.#setFinal(true)
    read()
    this.text = text
    raw.text = came
    this.#setFinal(false)
  }

  /**
   * Forgets what no matcher behind a position of the whole text reads. Returns the number of characters.
   */
  forget(at: number): number {
    const least = Math.max(this.base, at - BEHIND)
    const count = this.spelling.edge(least) - this.base
    if (count <= 0) return 0
    this.spelling.forget(this.base + count)
    this.text = this.text.slice(count)
    this.base += count
    return count
  }

  #setFinal(final: boolean): void {
    this.final = this.spelling.raw.final = final
  }
}
