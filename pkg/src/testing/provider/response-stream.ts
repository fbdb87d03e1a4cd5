/** The bytes of a scripted response, as its client reads them. */
import type { ProviderRequest } from './sessions.js'
import type { ScriptEntry, StreamEvent } from './wire/entry.js'

/** How a response is sent. */
export type Playback = Pick<ScriptEntry, 'then' | 'bytes' | 'paceMs'>

/** The client of a request: it waits for the end of the response, or disconnects before. */
export class Client {
  hasLeft = false
  /** Settles when the client disconnects. */
  readonly gone: Promise<void>
  #resolveGone: () => void = () => {}
  #hasEnded = false
  readonly #request: ProviderRequest
  readonly #breaks: boolean

  constructor(signal: AbortSignal, request: ProviderRequest, { then }: Playback) {
    this.#request = request
    this.#breaks = then !== undefined
    this.gone = new Promise((resolve) => (this.#resolveGone = resolve))
    if (signal.aborted) this.leave()
    signal.addEventListener('abort', () => this.leave())
  }

  /** The response has ended, or broke off. */
  end(): void {
    this.#hasEnded = true
    if (this.#breaks) this.#request.failed = true
  }

  /** The client disconnects. */
  leave(): void {
    if (this.#hasEnded) return
    if (this.#breaks) this.#request.failed = true
    this.hasLeft = true
    this.#request.closedEarly = true
    this.#resolveGone()
  }
}

/**
 * Returns the stream of a response, and the number of its bytes.
 *
 * @param cut settles when a scripted connection may break; undefined if the client does not decide that
 */
export function responseStream(
  events: readonly StreamEvent[],
  playback: Playback,
  client: Client,
  cut: Promise<void> | undefined,
): { body: ReadableStream<Uint8Array>; length: number } {
  const chunks = events.map((event) =>
    typeof event === 'string' ? new TextEncoder().encode(event) : event,
  )
  const pieces = play(chunks, playback, client, cut)
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await pieces.next()
          if (!done) return controller.enqueue(value)
          client.end()
          controller.close()
        } catch (error) {
          client.end()
          controller.error(error)
        }
      },
      cancel: () => client.leave(),
    },
    { highWaterMark: 0 },
  )
  return { body, length: chunks.reduce((sum, chunk) => sum + chunk.length, 0) }
}

/** Yields the bytes of each write, then ends as scripted. */
async function* play(
  chunks: readonly Uint8Array[],
  { bytes, paceMs = 0, then }: Playback,
  client: Client,
  cut: Promise<void> | undefined,
): AsyncGenerator<Uint8Array, void> {
  for (const chunk of chunks) {
    const size = bytes ?? chunk.length
    for (let at = 0; at < chunk.length; at += size) {
      if (client.hasLeft) return
      yield chunk.subarray(at, at + size)
      // Each write leaves in its own turn of the event loop.
      await pause(paceMs)
    }
  }
  if (then === 'stall') await client.gone
  if (then !== 'cut') return
  // Without `x-cut` the bytes leave before the connection breaks; whether the client reads them is up
  // to its runtime.
  await (cut ? Promise.race([cut, client.gone]) : pause(5))
  throw new Error('the connection breaks here, as scripted')
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
