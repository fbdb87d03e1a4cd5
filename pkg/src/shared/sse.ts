/** Events as `text/event-stream`. */

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
