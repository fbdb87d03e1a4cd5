/** Things that come one by one, for any number of readers; each reads from the start. */
export class Feed<T> implements AsyncIterable<T> {
  readonly items: T[] = []
  readonly #left: () => void
  #over = false
  #error: unknown
  #wake: (() => void)[] = []

  /** @param left called when a reader leaves before the end */
  constructor(left: () => void = () => {}) {
    this.#left = left
  }

  push(item: T): void {
    this.items.push(item)
    this.#wakeAll()
  }

  /** Nothing follows; with an error, reading ends with it. */
  end(error?: unknown): void {
    this.#over = true
    this.#error = error
    this.#wakeAll()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let finished = false
    try {
      for (let next = 0; ; next++) {
        while (next >= this.items.length) {
          if (this.#over) {
            finished = true
            if (this.#error !== undefined) throw this.#error
            return
          }
          await new Promise<void>((resolve) => this.#wake.push(resolve))
        }
        yield this.items[next] as T
      }
    } finally {
      if (!finished) this.#left()
    }
  }

  #wakeAll(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }
}
