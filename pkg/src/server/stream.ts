/** Events as a pull-based response body. */
import { encode } from '../core/instance.js'
import { EVENT_STREAM_HEADERS, formatEvent, KEEP_ALIVE, within } from '../shared/sse.js'
import type { Turn } from '../turn/turn.js'
import type { TurnEvent } from '../types.js'
import { shownError } from './failures.js'
import type { Refusal } from './refusal.js'

/** An iterator whose next event can be awaited with a time limit and read without taking it. */
class EventReader<T> {
  readonly #events: AsyncIterator<T>
  #next: Promise<IteratorResult<T>> | undefined

  constructor(events: AsyncIterable<T>) {
    this.#events = events[Symbol.asyncIterator]()
  }

  /** Returns the next event without taking it; `undefined` if none arrives within `ms`. */
  peek(ms: number): Promise<IteratorResult<T> | undefined> {
    this.#next ??= this.#events.next()
    return within(this.#next, ms)
  }

  /** Ends the reading, whether or not an event was taken. */
  leave(): void {
    // Left until the last one arrives, or until the events notice that their reader has gone.
    void this.#events.return?.().catch(() => {})
  }

  /** Takes the event that {@link peek} returned. */
  advance(): void {
    this.#next = undefined
  }
}

/**
 * The events of a turn through its stream, so that a slow client holds the model's response back.
 * After `leave`, events are discarded as they arrive, so that nothing is held back.
 */
export class TurnStream implements AsyncIterable<TurnEvent> {
  readonly #reader: ReadableStreamDefaultReader<TurnEvent>

  constructor(turn: Turn) {
    this.#reader = turn.toReadableStream().getReader()
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    return { next: () => this.#reader.read() as Promise<IteratorResult<TurnEvent>> }
  }

  async leave(): Promise<void> {
    while (!(await this.#reader.read()).done);
  }
}

/**
 * The events of a turn as they are stored. If a turn is cancelled or taken over elsewhere, it ends
 * here before its stored events do, so the rest is read from the store.
 */
export async function* asKept(
  turn: AsyncIterable<TurnEvent>,
  follow: (after: number) => AsyncIterable<TurnEvent>,
): AsyncGenerator<TurnEvent, void, undefined> {
  let lastSeq: number | undefined
  for await (const event of turn) {
    const isConflict =
      event.type === 'error' && event.code === 'turn.conflict' && lastSeq !== undefined
    if (event.type !== 'cancelled' && !isConflict) {
      lastSeq = event.seq
      yield event
      continue
    }
    let rest = false
    for await (const stored of follow(lastSeq ?? event.seq - 1)) {
      rest = true
      yield stored
    }
    if (!rest) yield event
    return
  }
}

/** Calls `leave` once the client has left, which may be before. */
export function whenGone({ signal }: Request, leave: () => void): void {
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
}

/** How events become a response. */
export interface Streaming<T> {
  /** Writes an event; empty text is not sent. */
  text(event: T): string
  /** Writes what follows the last event. */
  end?(): string
  /** The refusal to send instead of a stream that begins with this event. */
  refuse(first: T): Refusal | undefined
  keepAliveMs: number
  /** The client has left. */
  onLeave(): void
  onError(error: unknown): void
  headers: Record<string, string>
}

/**
 * Events as a response. The head waits for the first event or the first keep-alive, so that the
 * status can report an early failure.
 *
 * @throws Refusal
 */
export async function streamed<T>(events: AsyncIterable<T>, how: Streaming<T>): Promise<Response> {
  const reader = new EventReader(events)
  const first = await reader.peek(how.keepAliveMs)
  // This status tells an `EventSource` not to reconnect, because there are no more events.
  if (first?.done) return new Response(null, { status: 204, headers: how.headers })
  const refusal = first && how.refuse(first.value)
  if (refusal) {
    reader.leave()
    throw refusal
  }
  return new Response(eventBody(reader, how), {
    headers: { ...EVENT_STREAM_HEADERS, ...how.headers },
  })
}

/**
 * Sends each event, and a comment whenever `keepAliveMs` pass without one. An event is taken from
 * `events` only after the client has read the previous one.
 */
function eventBody<T>(events: EventReader<T>, how: Streaming<T>): ReadableStream<Uint8Array> {
  let hasLeft = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const next = await events.peek(how.keepAliveMs)
            if (!next) return controller.enqueue(encode(KEEP_ALIVE))
            events.advance()
            const text = next.done ? how.end?.() : how.text(next.value)
            if (text) controller.enqueue(encode(text))
            if (next.done) return controller.close()
            if (text) return
          }
        } catch (error) {
          // An event that arrives behind a client that has left fails, and is nobody's error.
          if (hasLeft) return
          // The client sees a broken stream and reconnects for the rest.
          how.onError(error)
          controller.error(error)
        }
      },
      cancel() {
        hasLeft = true
        how.onLeave()
        events.leave()
      },
    },
    { highWaterMark: 0 },
  )
}

/** An event of a turn as text. */
export const turnEventText = (event: TurnEvent): string =>
  formatEvent(event.type === 'error' ? shownError(event) : event)
