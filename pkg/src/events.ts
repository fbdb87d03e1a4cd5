/** Events of a turn as streams. */
import { eventStream } from './sse.js'
import type { TurnEvent } from './types.js'

/** A stream that pulls from `events` only when read. `left` is called when it is cancelled. */
export function readable(
  events: AsyncIterator<TurnEvent>,
  left: () => void,
): ReadableStream<TurnEvent> {
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await events.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    // Not `events.return()`: a generator that waits for an event returns only after that event.
    cancel: left,
  })
}

/** Events as a `text/event-stream` response. */
export function eventResponse(events: ReadableStream<TurnEvent>, init: ResponseInit): Response {
  const headers = new Headers(init.headers)
  headers.set('content-type', 'text/event-stream; charset=utf-8')
  headers.set('cache-control', 'no-cache, no-transform')
  return new Response(eventStream(events), { ...init, headers })
}
