/** A text as it comes: fields of JSON in it are hidden, then what the scanner finds. */
import { Fields } from './fields.js'
import type { Path } from './paths.js'
import { Scanner, type Plan } from './scanner.js'

/** Readers of JSON in one text: each pause may be in the middle of a value. */
const MOST_READERS = 4

export class Stream {
  readonly #plan: Plan
  readonly #paths: readonly Path[]
  readonly #scanner: Scanner
  #fields: Fields[]
  #isPaused = false

  constructor(plan: Plan, paths: readonly Path[]) {
    this.#plan = plan
    this.#paths = paths
    this.#scanner = new Scanner(plan)
    this.#fields = this.#fresh()
  }

  #fresh(): Fields[] {
    if (this.#paths.length === 0) return []
    return [new Fields(this.#paths, JSON.stringify(this.#plan.mask('field')))]
  }

  /** Whether something is held back. */
  get holds(): boolean {
    return this.#scanner.holds
  }

  /** Takes the next part. Returns what can be shown. */
  feed(chunk: string): string {
    if (this.#isPaused && /\S/.test(chunk)) {
      this.#isPaused = false
      // Another answer begins, or what is open goes on; both are read where it may be either.
      const isJson = /^\s*(?:[[{]|```)/.test(chunk)
      if (isJson && !this.#fields.some(({ midway }) => midway)) this.#fields = this.#fresh()
      else {
        const [oldest, ...others] = this.#fields.filter(({ isOpen }) => isOpen)
        // The oldest has read the text from where it began; the others began behind a pause.
        if (oldest) this.#fields = [oldest, ...others.slice(2 - MOST_READERS), ...this.#fresh()]
      }
    }
    const shown = this.#fields.reduce((text, fields) => fields.feed(text), chunk)
    return this.#scanner.feed(shown)
  }

  /** Returns the rest, as if the text were cut here; it may go on. */
  pause(): string {
    this.#isPaused = true
    return this.#scanner.pause()
  }

  /** Ends the text. Returns its rest. */
  end(): string {
    return this.#scanner.end()
  }
}
