/** A text as it comes: fields of JSON in it are hidden, then what the scanner finds. */
import { Fields } from './fields.js'
import type { Path } from './paths.js'
import { Scanner, type Plan } from './scanner.js'

/** Readers of JSON in one text: each division may be in the middle of a value. */
const MOST_READERS = 16

export class Stream {
  readonly #paths: readonly Path[]
  /** What stands in place of a field, as JSON. */
  readonly #mask: string
  readonly #scanner: Scanner
  #fields: Fields[]
  #isDivided = false
  #context: number

  /** @param context characters at the beginning that only tell what follows: no JSON is in them */
  constructor(plan: Plan, paths: readonly Path[], context = 0) {
    this.#context = context
    this.#paths = paths
    this.#mask = paths.length > 0 ? JSON.stringify(plan.mask('field')) : ''
    this.#scanner = new Scanner(plan, context)
    this.#fields = this.#fresh()
  }

  #fresh(): Fields[] {
    return this.#paths.length > 0 ? [new Fields(this.#paths)] : []
  }

  /** Whether something is held back. */
  get holds(): boolean {
    return this.#scanner.holds
  }

  /** Takes the next part. Returns what can be shown. */
  feed(chunk: string): string {
    if (this.#isDivided && /\S/.test(chunk)) {
      this.#isDivided = false
      this.#scanner.divide(chunk)
      // Another answer begins, or what is open goes on; both are read. The oldest has read the text
      // from where it began; the others began behind a division.
      const [oldest, ...others] = this.#fields.filter(({ isOpen }) => isOpen)
      const kept = oldest ? [oldest, ...others.slice(2 - MOST_READERS)] : []
      this.#fields = [...kept, ...this.#fresh()]
    }
    const context = chunk.slice(0, this.#context)
    this.#context -= context.length
    return this.#scanner.feed(context + this.#withoutFields(chunk.slice(context.length)))
  }

  /** A part of the text without what any of the readers hides. */
  #withoutFields(chunk: string): string {
    const spans = this.#fields.flatMap((fields) => fields.feed(chunk))
    let [shown, at] = ['', 0]
    for (const { from, to, begins } of spans.sort((a, b) => a.from - b.from)) {
      if (from >= at) shown += chunk.slice(at, from) + (begins ? this.#mask : '')
      at = Math.max(at, to)
    }
    return shown + chunk.slice(at)
  }

  /** What comes may go on the text, or be another answer. */
  divide(): void {
    this.#isDivided = true
  }

  /** Returns the rest, as if the text were cut here; it may go on. */
  pause(): string {
    this.divide()
    return this.#scanner.pause()
  }

  /** Ends the text. Returns its rest. */
  end(): string {
    return this.#scanner.end()
  }
}
