/** Events as `text/event-stream`. */
import type { TurnEvent } from './types.js'

/** `id: <seq>`, `data: <one line of JSON>`, blank line. The JSON contains no line breaks. */
export const formatEvent = (event: TurnEvent): string =>
  `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`

export function eventStream(events: ReadableStream<TurnEvent>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return events.pipeThrough(
    new TransformStream<TurnEvent, Uint8Array>({
      transform(event, controller) {
        controller.enqueue(encoder.encode(formatEvent(event)))
      },
    }),
  )
}
