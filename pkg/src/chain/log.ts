/** Events as they come; each iteration gets all of them, from the first. */
export class EventLog<T> {
  readonly events: T[] = []
  #over = false
  #wake: (() => void)[] = []

  push(event: T): void {
    this.events.push(event)
    this.#wakeAll()
  }

  end(): void {
    this.#over = true
    this.#wakeAll()
  }

  /** `left` is called when a reader leaves before the end. */
  async *read(left: () => void): AsyncGenerator<T, void, undefined> {
    let next = 0
    try {
      for (;;) {
        while (next < this.events.length) yield this.events[next++] as T
        if (this.#over) return
        await new Promise<void>((resolve) => this.#wake.push(resolve))
      }
    } finally {
      if (!this.#over || next < this.events.length) left()
    }
  }

  #wakeAll(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }
}
