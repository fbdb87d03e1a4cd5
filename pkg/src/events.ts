/** Events on their way to readers. */
import { eventStream } from './sse.js'
import type { TurnEvent } from './types.js'

/** Events as they come; each iteration gets all of them, from the first. */
export class EventQueue {
  readonly events: TurnEvent[] = []
  #over = false
  #wake: (() => void)[] = []

  push(event: TurnEvent): void {
    this.events.push(event)
    this.#wakeAll()
  }

  end(): void {
    this.#over = true
    this.#wakeAll()
  }

  /** `left` is called when a reader leaves before the end. */
  async *read(left: () => void): AsyncGenerator<TurnEvent, void, undefined> {
    let finished = false
    try {
      for (let next = 0; ; next++) {
        while (next >= this.events.length) {
          if (this.#over) {
            finished = true
            return
          }
          await new Promise<void>((resolve) => this.#wake.push(resolve))
        }
        const event = this.events[next]
        if (event) yield event
      }
    } finally {
      if (!finished) left()
    }
  }

  #wakeAll(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }
}

/** Pulls from `events` only as fast as it is read; `left` is called when it is cancelled. */
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
    // A generator may be waiting for an event, and would return only behind it.
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
