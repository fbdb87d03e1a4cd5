/** A sequence of items for any number of readers. */

/**
 * Number of items that are kept together.
 *
 * Not a limit.
 */
const BLOCK = 256

/**
 * Number of items that all streams may be behind before the producer is held back.
 *
 * Limit | events that a slow reader is behind | events | the model waits
 */
const MOST_BEHIND = 256

/** A call of a reader that has no answer yet. */
interface Asked<T> {
  resolve(result: IteratorResult<T, void>): void
  reject(error: unknown): void
  /** Whether the reader leaves. */
  leaves: boolean
}

/** Items that are kept together. */
interface Block<T> {
  unpack(): T[]
}

/** Stores items in order. Each reader receives all of them, from the first one on. */
export class Feed<T> {
  /** All but the last items, in blocks. */
  readonly #blocks: Block<T>[] = []
  #tail: T[] = []
  readonly #pack: ((items: T[]) => Block<T>) | undefined
  #over = false
  #error: unknown
  readonly #wake: (() => void)[] = []
  /** How many items each stream has taken. */
  readonly #streams = new Set<{ taken: number }>()
  readonly #moved: (() => void)[] = []

  /** @param pack keeps a block of items in less memory */
  constructor(pack?: (items: T[]) => Block<T>) {
    this.#pack = pack
  }

  push(item: T): void {
    if (this.#tail.length === BLOCK) {
      const items = this.#tail
      this.#blocks.push(this.#pack?.(items) ?? { unpack: () => items })
      this.#tail = []
    }
    this.#tail.push(item)
    wakeAll(this.#wake)
  }

  get length(): number {
    return this.#blocks.length * BLOCK + this.#tail.length
  }

  get last(): T | undefined {
    return this.#tail.at(-1)
  }

  /** A copy of all items. */
  all(): T[] {
    return [...this.#blocks.flatMap((block) => block.unpack()), ...this.#tail]
  }

  #block(at: number): T[] {
    return this.#blocks[at]?.unpack() ?? this.#tail
  }

  /** Ends the feed. With an error, readers throw it after the last item. */
  end(error?: unknown): void {
    this.#over = true
    this.#error = error
    wakeAll(this.#wake)
  }

  /**
   * `left` is called when a reader leaves before the end. A `stream` that is read slowly holds back
   * the caller of {@link room}; an iterator that is not read any further does not.
   */
  read(left: () => void, stream = false): AsyncGenerator<T, void, undefined> {
    // Not an async generator, which takes three microtasks for each item. Calls are answered in
    // order, as by a generator.
    const reader = { taken: 0 }
    const requests: Asked<T>[] = []
    let delivered = 0
    let block: T[] = []
    const take = () => {
      if (delivered % BLOCK === 0) block = this.#block(delivered / BLOCK)
      return block[delivered++ % BLOCK] as T
    }
    let begun = false
    let closed = false
    const close = (leaves: boolean) => {
      if (closed) return
      closed = true
      this.#streams.delete(reader)
      wakeAll(this.#moved)
      if (leaves && begun) left()
    }
    const answer = () => {
      for (let request = requests[0]; request; request = requests[0]) {
        const over = delivered === this.length && this.#over
        const isOpen = !closed && !request.leaves
        if (isOpen && !over && delivered === this.length) return void this.#wake.push(answer)
        requests.shift()
        if (isOpen && !over) {
          request.resolve({ done: false, value: take() })
        } else {
          close(request.leaves)
          if (isOpen && this.#error !== undefined) request.reject(this.#error)
          else request.resolve({ done: true, value: undefined })
        }
      }
    }
    const ask = (leaves: boolean) =>
      new Promise<IteratorResult<T, void>>((resolve, reject) => {
        if (requests.push({ resolve, reject, leaves }) === 1) answer()
      })
    const iterator = {
      next: () => {
        if (!begun && !closed) {
          begun = true
          if (stream) this.#streams.add(reader)
        }
        reader.taken = delivered
        wakeAll(this.#moved)
        return ask(false)
      },
      return: () => ask(true),
      throw: async (error: unknown) => {
        await ask(true)
        throw error
      },
      [Symbol.asyncIterator]: () => iterator,
    } as AsyncGenerator<T, void, undefined>
    return iterator
  }

  /** Resolves when a stream advances. `undefined` if no stream is read or one is not far behind. */
  room(): Promise<void> | undefined {
    if (this.#streams.size === 0) return undefined
    const furthest = Math.max(...Array.from(this.#streams, (reader) => reader.taken))
    if (this.length - furthest <= MOST_BEHIND) return undefined
    return new Promise((resolve) => this.#moved.push(resolve))
  }
}

let packing: typeof import('./packed.js') | undefined

/** Keeps a block in less memory. The module that does it is loaded with the first full block. */
export function packed<T>(items: T[]): Block<T> {
  if (packing) return new packing.Packed(items)
  import('./packed.js').then(
    (module) => (packing = module),
    () => {},
  )
  return { unpack: () => items }
}

/** Wakes all waiting readers and clears the list. */
function wakeAll(waiting: (() => void)[]): void {
  if (waiting.length > 0) for (const wake of waiting.splice(0)) wake()
}
