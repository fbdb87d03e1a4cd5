/** What callbacks of a host, and the objects that they throw, may do. */

/** Calls a listener. What it throws, or what its promise rejects with, must not end anything else. */
export function quietly(listener: () => unknown): void {
  try {
    const result = listener()
    // In a promise, so that a `then` that throws is caught too.
    if (typeof result === 'object' && result !== null) Promise.resolve(result).catch(() => {})
  } catch {
    // Ignored, see above.
  }
}

/**
 * The values of an iterable. Leaving the iteration ends it without waiting: `for await` would wait for
 * its `return`, which may never settle.
 */
export async function* leavable<T>(values: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  const iterator = values[Symbol.asyncIterator]()
  let isOpen = false
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      isOpen = true
      yield value
      isOpen = false
    }
  } finally {
    if (isOpen) quietly(() => iterator.return?.())
  }
}

/** A member of a value that was thrown; `undefined` if it has none or reading it throws. */
export function member(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown> | null | undefined)?.[name]
  } catch {
    return undefined
  }
}
