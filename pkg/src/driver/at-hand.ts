/** Reads a body by what is at hand, rather than by what was sent as one chunk. @module */

/**
 * Microtasks after which a chunk that a stream has queued, or makes when asked, is read.
 *
 * Not a limit.
 */
const TICKS = 4
/**
 * Bytes beyond which nothing is added.
 *
 * Limit | chunks of a body that are joined | bytes | they are read apart
 */
const ENOUGH = 64 * 1024

/** A read that has begun. */
interface Ahead {
  readonly settled: Promise<void>
  isSettled: boolean
  result?: ReadableStreamReadResult<Uint8Array>
  error?: unknown
}

/**
 * The bytes of a body. Chunks that can be read without waiting for anything but microtasks are
 * given as one: servers send an event a chunk, and a call of the core takes longer than an event.
 * One chunk is read ahead.
 *
 * @throws what the stream fails with, behind the bytes before it
 */
export async function* atHand(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  let next = ahead(reader)
  for (;;) {
    if (!next.isSettled) await next.settled
    const chunk = valueOf(next)
    if (!chunk) return
    const chunks = [chunk]
    let size = chunk.length
    next = ahead(reader)
    while (size < ENOUGH) {
      for (let tick = 0; tick < TICKS && !next.isSettled; tick++) await undefined
      const more = next.result?.value
      if (!more) break
      chunks.push(more)
      size += more.length
      next = ahead(reader)
    }
    yield chunks.length > 1 ? joined(chunks, size) : chunk
  }
}

function ahead(reader: ReadableStreamDefaultReader<Uint8Array>): Ahead {
  const next: Ahead = {
    isSettled: false,
    settled: reader.read().then(
      (result) => {
        next.result = result
        next.isSettled = true
      },
      (error: unknown) => {
        next.error = error
        next.isSettled = true
      },
    ),
  }
  return next
}

/** `undefined` at the end. */
function valueOf({ result, error }: Ahead): Uint8Array | undefined {
  if (!result) throw error
  return result.value
}

/** Chunks of `size` bytes in all, as one. */
export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}
