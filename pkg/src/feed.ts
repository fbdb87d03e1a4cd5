/** Things that come one by one, for any number of readers. */

/** Items that every stream may be behind before whoever makes them is held back. */
const MOST_BEHIND = 256

/** What comes, in order; each reader gets all of it, from the first. */
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

  /** Nothing follows; with an error, reading ends with it. */
  end(error?: unknown): void {
    this.#over = true
    this.#error = error
    tell(this.#wake)
  }

  /**
   * `left` is called when a reader leaves before the end. A `stream` that is read slowly holds back
   * whoever asks {@link room}; an iterator that is left lying about does not.
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

  /** Resolves when a stream has moved; `undefined` unless there are streams, all of them far behind. */
  room(): Promise<void> | undefined {
    if (this.#streams.size === 0) return undefined
    const taken = Math.max(...Array.from(this.#streams, (reader) => reader.taken))
    if (this.items.length - taken <= MOST_BEHIND) return undefined
    return new Promise((resolve) => this.#moved.push(resolve))
  }
}

/** Wakes all who wait; nobody waits then. */
function tell(waiting: (() => void)[]): void {
  for (const wake of waiting.splice(0)) wake()
}
