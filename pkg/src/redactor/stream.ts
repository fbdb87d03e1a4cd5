/** A text as it comes: fields of JSON in it are hidden, then what the scanner finds. */
import { Fields, type Span } from './fields.js'
import { escaped } from './json-text.js'
import type { Path } from './paths.js'
import { Scanner, type Plan } from './scanner.js'

/**
 * Readers of JSON in one text: each division may be in the middle of a value.
 *
 * Limit | readers of JSON in a text that events divide | readers | one of the middle is dropped
 */
const MOST_READERS = 16

export class Stream {
  readonly #paths: readonly Path[]
  /** What stands in place of a field, as JSON. */
  readonly #mask: string
  readonly #scanner: Scanner
  #fields: Fields[]
  #isDivided = false
  #context: number
  /** The beginning of an escape in which a field may begin, and what is hidden of it. */
  #pending = ''
  #spans: Span[] = []

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
    return this.#pending !== '' || this.#scanner.holds
  }

  /** Takes the next part. Returns what can be shown. */
  feed(chunk: string): string {
    if (this.#isDivided && /\S/.test(chunk)) {
      this.#isDivided = false
      this.#scanner.divide(chunk)
      // Another answer begins, or what is open goes on; both are read. The oldest has read the text
      // from where it began; the others began behind a division.
      const [oldest, ...others] = this.#fields.filter(({ isOpen }) => isOpen)
      const retained = oldest ? [oldest, ...others.slice(2 - MOST_READERS)] : []
      this.#fields = [...retained, ...this.#fresh()]
    }
    const context = chunk.slice(0, this.#context)
    this.#context -= context.length
    return this.#scanner.feed(context + this.#withoutFields(chunk.slice(context.length)))
  }

  /** A part of the text without what any of the readers hides; it may end with what is `pending`. */
  #withoutFields(chunk: string): string {
    const offset = this.#pending.length
    const text = this.#pending + chunk
    for (const span of this.#fields.flatMap((fields) => fields.feed(chunk))) {
      this.#spans.push({ ...span, from: span.from + offset, to: span.to + offset })
    }
    const end = text.length - Math.max(0, ...this.#fields.map(({ pending }) => pending))
    let [shown, at] = ['', 0]
    for (const { from, to, begins, depth } of this.#spans.sort((a, b) => a.from - b.from)) {
      if (from >= end) break
      if (from >= at) shown += text.slice(at, from) + (begins ? escaped(this.#mask, depth) : '')
      at = Math.max(at, Math.min(to, end))
    }
    this.#pending = text.slice(end)
    this.#spans = this.#spans
      .filter(({ to }) => to > end)
      .map(({ from, to, begins, depth }) => ({
        from: Math.max(0, from - end),
        to: to - end,
        begins: begins && from >= end,
        depth,
      }))
    return shown + text.slice(at, end)
  }

  /** What comes may go on the text, or be another answer. */
  divide(): void {
    this.#isDivided = true
  }

  /** Returns the rest, as if the text were cut here; it may go on. No escape is parted. */
  pause(): string {
    this.divide()
    return this.#scanner.pause()
  }

  /** Ends the text. Returns its rest. */
  end(): string {
    const pending = this.#pending
    this.#pending = ''
    return this.#scanner.feed(pending) + this.#scanner.end()
  }
}
