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

export function eventStream(events: ReadableStream<Numbered>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return events.pipeThrough(
    new TransformStream<Numbered, Uint8Array>({
      transform(event, controller) {
        controller.enqueue(encoder.encode(formatEvent(event)))
      },
    }),
  )
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
