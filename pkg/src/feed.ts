/** A sequence of items for any number of readers. */

/** Number of items that all streams may be behind before the producer is held back. */
const MOST_BEHIND = 256

/** Stores items in order. Each reader receives all of them, from the first one on. */
export class Feed<T> {
  readonly items: T[] = []
  #over = false
  #error: unknown
  readonly #wake: (() => void)[] = []
  /** How many items each stream has taken. */
  readonly #streams = new Set<{ taken: number }>()
  readonly #moved: (() => void)[] = []

  push(item: T): void {
    this.items.push(item)
    tell(this.#wake)
  }

  /** Ends the feed. With an error, readers throw it after the last item. */
  end(error?: unknown): void {
    this.#over = true
    this.#error = error
    tell(this.#wake)
  }

  /**
   * `left` is called when a reader leaves before the end. A `stream` that is read slowly holds back
   * the caller of {@link room}; an iterator that is not read any further does not.
   */
  async *read(left: () => void, stream = false): AsyncGenerator<T, void, undefined> {
    let finished = false
    const reader = { taken: 0 }
    if (stream) this.#streams.add(reader)
    try {
      for (; ; reader.taken++) {
        tell(this.#moved)
        while (reader.taken >= this.items.length) {
          if (this.#over) {
            finished = true
            if (this.#error !== undefined) throw this.#error
            return
          }
          await new Promise<void>((resolve) => this.#wake.push(resolve))
        }
        yield this.items[reader.taken] as T
      }
    } finally {
      this.#streams.delete(reader)
      tell(this.#moved)
      if (!finished) left()
    }
  }

  /** Resolves when a stream advances. `undefined` if no stream is read or one is not far behind. */
  room(): Promise<void> | undefined {
    if (this.#streams.size === 0) return undefined
    const taken = Math.max(...Array.from(this.#streams, (reader) => reader.taken))
    if (this.items.length - taken <= MOST_BEHIND) return undefined
    return new Promise((resolve) => this.#moved.push(resolve))
  }
}

/** Wakes all waiting readers and clears the list. */
function tell(waiting: (() => void)[]): void {
  for (const wake of waiting.splice(0)) wake()
}
