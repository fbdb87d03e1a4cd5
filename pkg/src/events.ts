/** Events on their way to readers. */
import { eventStream } from './sse.js'
import type { TurnEvent } from './types.js'

/** Events that a reader may be behind before the model's response is held back. */
const MOST_BEHIND = 256

/** Events as they come; each iteration gets all of them, from the first. */
export class EventQueue {
  readonly events: TurnEvent[] = []
  #over = false
  #wake: (() => void)[] = []
  /** How many events each stream has taken. */
  readonly #readers = new Set<{ taken: number }>()
  #moved: (() => void)[] = []

  push(event: TurnEvent): void {
    this.events.push(event)
    this.#wakeAll()
  }

  end(): void {
    this.#over = true
    this.#wakeAll()
  }

  /**
   * `left` is called when a reader leaves before the end. A `stream` that is read slowly holds the
   * model's response back; an iterator that is left lying about does not.
   */
  async *read(left: () => void, stream = false): AsyncGenerator<TurnEvent, void, undefined> {
    let finished = false
    const reader = { taken: 0 }
    if (stream) this.#readers.add(reader)
    try {
      for (; ; reader.taken++) {
        this.#tellMoved()
        while (reader.taken >= this.events.length) {
          if (this.#over) {
            finished = true
            return
          }
          await new Promise<void>((resolve) => this.#wake.push(resolve))
        }
        const event = this.events[reader.taken]
        if (event) yield event
      }
    } finally {
      this.#readers.delete(reader)
      this.#tellMoved()
      if (!finished) left()
    }
  }

  /** Whether there are streams, and all of them are far behind. */
  get isFull(): boolean {
    if (this.#readers.size === 0) return false
    const taken = Math.max(...Array.from(this.#readers, (reader) => reader.taken))
    return this.events.length - taken > MOST_BEHIND
  }

  /** Until a reader has moved. */
  moved(): Promise<void> {
    return new Promise((resolve) => this.#moved.push(resolve))
  }

  #tellMoved(): void {
    const waiting = this.#moved
    this.#moved = []
    for (const moved of waiting) moved()
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
