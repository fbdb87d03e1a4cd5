/** A body of the provider, which has failed once it sends nothing for too long. */
import { joined } from '../driver/at-hand.js'
import { TurnlockError } from '../errors.js'

type Chunk = ReadableStreamReadResult<Uint8Array>

export interface Source {
  read(): Promise<Chunk>
  /** Ends the body, and its timer. */
  cancel(): void
}

export function sourceOf(
  body: ReadableStream<Uint8Array>,
  idleMs: number,
  onIdle: (error: Error) => void,
): Source {
  const reader = body.getReader()
  let timer: ReturnType<typeof setTimeout> | undefined
  /** When the provider was asked for what is pending. */
  let since = 0
  let fail: ((error: Error) => void) | undefined
  const cancel = () => {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }
  /**
   * One timer for many chunks: a timer for each would cost more than the chunk. There is none while
   * nothing is asked of the provider, so a body that nobody reads keeps no process.
   */
  const watch = (ms: number) => {
    timer = setTimeout(() => {
      timer = undefined
      if (!fail) return
      const remainingMs = idleMs - (Date.now() - since)
      if (remainingMs > 0) return watch(remainingMs)
      const error = new TurnlockError('model.timeout', `the provider sent nothing for ${idleMs} ms`)
      fail(error)
      cancel()
      onIdle(error)
    }, ms)
  }
  const read = () => {
    since = Date.now()
    if (!timer) watch(idleMs)
    return new Promise<Chunk>((resolve, reject) => {
      fail = reject
      reader.read().then(
        (chunk) => {
          fail = undefined
          if (chunk.done) cancel()
          resolve(chunk)
        },
        (error: Error) => {
          cancel()
          reject(error)
        },
      )
    })
  }
  return { read, cancel }
}

/** The first bytes of a body, `least` if it has as many, and the whole of it as a stream. */
export async function beginning(
  source: Source,
  least: number,
): Promise<{ bytes: Uint8Array; rest: ReadableStream<Uint8Array> }> {
  const chunks: Uint8Array[] = []
  let length = 0
  let isDone = false
  while (!isDone && length < least) {
    const { done, value } = await source.read()
    isDone = done
    if (!value) continue
    chunks.push(value)
    length += value.byteLength
  }
  const bytes = joined(chunks, length)
  const { read, cancel } = source
  const rest = streamOf({
    read: () => {
      const value = chunks.shift()
      if (value) return Promise.resolve({ done: false, value })
      return isDone ? Promise.resolve({ done: true, value: undefined }) : read()
    },
    cancel,
  })
  return { bytes, rest }
}

/** What is read as a stream. Nothing is asked of the provider that the client does not take. */
export const streamOf = ({ read, cancel }: Source): ReadableStream<Uint8Array> =>
  new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel,
    },
    { highWaterMark: 0 },
  )
