/** A text as it comes: fields of JSON in it are hidden, then what the scanner finds. */
import { Fields } from './fields.js'
import type { Path } from './paths.js'
import { Scanner, type Plan } from './scanner.js'

export class Stream {
  readonly #plan: Plan
  readonly #paths: readonly Path[]
  readonly #scanner: Scanner
  #fields: Fields | undefined
  #isPaused = false

  constructor(plan: Plan, paths: readonly Path[]) {
    this.#plan = plan
    this.#paths = paths
    this.#scanner = new Scanner(plan)
    this.#fields = this.#fresh()
  }

  #fresh(): Fields | undefined {
    return this.#paths.length > 0
      ? new Fields(this.#paths, JSON.stringify(this.#plan.mask('field')))
      : undefined
  }

  /** Whether something is held back. */
  get holds(): boolean {
    return this.#scanner.holds
  }

  /** Takes the next part. Returns what can be shown. */
  feed(chunk: string): string {
    if (this.#isPaused && /\S/.test(chunk)) {
      this.#isPaused = false
      // Another answer begins.
      if (!this.#fields?.midway && /^\s*(?:[[{]|```)/.test(chunk)) this.#fields = this.#fresh()
    }
    return this.#scanner.feed(this.#fields?.feed(chunk) ?? chunk)
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
