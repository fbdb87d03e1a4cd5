/** Events as `text/event-stream`: written, and read. */

/** An event with its number, from 1. */
export interface Numbered {
  seq: number
}

/**
 * `id: <seq>`, `data: <one line of JSON>`, blank line. The JSON contains no line breaks.
 *
 * @param replace as of `JSON.stringify`
 */
export const formatEvent = (
  event: Numbered,
  replace?: (name: string, value: unknown) => unknown,
): string => `id: ${event.seq}\ndata: ${JSON.stringify(event, replace)}\n\n`

/**
 * Headers of an event stream. With `no-transform` a compressing middleware leaves it alone, such as
 * `compression` of Express (RFC 9111, 5.2.2.6), and nginx does not buffer what says `no`
 * (X-Accel-Buffering in its `proxy_buffering`).
 */
export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** A comment: readers of event streams skip it, and what lies between sees that something is sent. */
export const KEEP_ALIVE = ': keep-alive\n\n'
/** Milliseconds without an event before {@link KEEP_ALIVE}. */
export const KEEP_ALIVE_MS = 15_000

/** What a promise resolves to; `undefined` if it takes longer than `ms`. */
export function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** How the response of an event stream is made. */
export interface EventResponseInit extends ResponseInit {
  /**
   * Milliseconds without an event before a comment (`: keep-alive`), so that nothing between takes the
   * connection for dead.
   * @defaultValue 15000
   */
  keepAliveMs?: number
}

/**
 * The texts of events as a response that nobody buffers, with a comment whenever `keepAliveMs` pass
 * without one. An event is taken from `texts` only when the client has read the one before it.
 */
export function eventStreamResponse(
  texts: ReadableStream<string>,
  init: EventResponseInit = {},
): Response {
  const { keepAliveMs = KEEP_ALIVE_MS, ...rest } = init ?? {}
  const headers = new Headers(EVENT_STREAM_HEADERS)
  for (const [name, value] of new Headers(rest.headers)) {
    if (name !== 'content-type') headers.set(name, value)
  }
  const encoder = new TextEncoder()
  const reader = texts.getReader()
  let next: Promise<ReadableStreamReadResult<string>> | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        next ??= reader.read()
        const read = await within(next, keepAliveMs)
        if (!read) return controller.enqueue(encoder.encode(KEEP_ALIVE))
        next = undefined
        if (read.done) controller.close()
        else controller.enqueue(encoder.encode(read.value))
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { ...rest, headers })
}

/**
 * Splits the text of an event stream into its blocks. Every character is searched once, however many
 * pieces a block arrives in.
 */
export class BlockReader {
  /** The pieces of the block that has not ended. */
  #pieces: string[] = []
  /** Characters of these pieces. */
  #length = 0
  /** A line break at the end of the last piece: it ends the block if another one follows. */
  #lineBreak = ''

  /** Characters of the block that has not ended. */
  get pending(): number {
    return this.#length
  }

  /** Takes the next piece, and returns the blocks that it ends, without the blank line. */
  push(piece: string): string[] {
    const blocks = (this.#lineBreak + piece.replace(/\r/g, '')).split('\n\n')
    let rest = blocks.pop() ?? ''
    if (blocks.length) {
      blocks[0] = this.#pieces.join('') + blocks[0]
      this.#pieces = []
      this.#length = 0
    }
    this.#lineBreak = rest.endsWith('\n') ? '\n' : ''
    if (this.#lineBreak) rest = rest.slice(0, -1)
    if (rest) this.#pieces.push(rest)
    this.#length += rest.length
    return blocks
  }
}
