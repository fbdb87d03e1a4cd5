/** Turn events as a pull-based response body. */
import { formatEvent } from '../sse.js'
import type { Turn } from '../turn.js'
import type { TurnEvent } from '../types.js'

const encoder = /* @__PURE__ */ new TextEncoder()
const KEEP_ALIVE = /* @__PURE__ */ encoder.encode(': keep-alive\n\n')

/** An iterator whose next event can be awaited with a time limit and read without taking it. */
export class EventReader {
  readonly #events: AsyncIterator<TurnEvent>
  #next: Promise<IteratorResult<TurnEvent>> | undefined

  constructor(events: AsyncIterable<TurnEvent>) {
    this.#events = events[Symbol.asyncIterator]()
  }

  /** Returns the next event without taking it; `undefined` if none arrives within `ms`. */
  async peek(ms: number): Promise<IteratorResult<TurnEvent> | undefined> {
    this.#next ??= this.#events.next()
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms)))
    try {
      return await Promise.race([this.#next, late])
    } finally {
      clearTimeout(timer)
    }
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
  let seen: number | undefined
  for await (const event of turn) {
    const taken = event.type === 'error' && event.code === 'turn.conflict' && seen !== undefined
    if (event.type !== 'cancelled' && !taken) {
      seen = event.seq
      yield event
      continue
    }
    let rest = false
    for await (const kept of follow(seen ?? event.seq - 1)) {
      rest = true
      yield kept
    }
    if (!rest) yield event
    return
  }
}

/**
 * Sends `id: <seq>`, `data: <one line of JSON>`, and a comment whenever `keepAliveMs` pass without
 * an event. An event is taken from `events` only after the client has read the previous one.
 */
export function eventBody(
  events: EventReader,
  keepAliveMs: number,
  onLeave: () => void,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  let left = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await events.peek(keepAliveMs)
          if (!next) return controller.enqueue(KEEP_ALIVE)
          events.advance()
          if (next.done) controller.close()
          else controller.enqueue(encoder.encode(formatEvent(forClient(next.value))))
        } catch (error) {
          // An event that arrives behind a client that has left fails, and is nobody's error.
          if (left) return
          // The client sees a broken stream and reconnects for the rest.
          onError(error)
          controller.error(error)
        }
      },
      cancel() {
        left = true
        onLeave()
      },
    },
    { highWaterMark: 0 },
  )
}

const FAILED: Record<string, string> = {
  'model.redirected': 'the model could not be reached',
  'model.status': 'the model refused the request',
  'model.stream': 'the response of the model broke',
  'model.timeout': 'the model took too long',
  'model.truncated': 'the response of the model was cut off',
  'model.unreachable': 'the model could not be reached',
}

/** Whether a failure is the server's: a failure of its model, its store or the core. */
export const isOurs = ({ code }: { code: string }): boolean => /^(model|store|core)\./.test(code)

/**
 * Replaces the messages of model and store failures. The original messages come from other
 * software and can contain a URL or a key, so only `onError` receives them. The client receives
 * the code, the status and a fixed message.
 */
function forClient(event: TurnEvent): TurnEvent {
  if (event.type !== 'error' || !isOurs(event)) return event
  const status = event.details?.status
  const words = FAILED[event.code] ?? 'the server failed'
  return { ...event, message: status === undefined ? words : `${words} (status ${status})` }
}
