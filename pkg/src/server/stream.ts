/** Turn events as a response body that is read, never pushed. */
import { formatEvent } from '../sse.js'
import type { Turn } from '../turn.js'
import type { TurnEvent } from '../types.js'

const encoder = /* @__PURE__ */ new TextEncoder()
const KEEP_ALIVE = /* @__PURE__ */ encoder.encode(': keep-alive\n\n')

/** An iteration whose next event can be waited for with a limit, and looked at without taking it. */
export class EventReader {
  readonly #events: AsyncIterator<TurnEvent>
  #next: Promise<IteratorResult<TurnEvent>> | undefined

  constructor(events: AsyncIterable<TurnEvent>) {
    this.#events = events[Symbol.asyncIterator]()
  }

  /** The next event, which stays the next one; `undefined` where none comes within `ms`. */
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

  /** Goes on behind what was looked at. */
  advance(): void {
    this.#next = undefined
  }
}

/**
 * The events of a turn through its stream, so that a client who reads slowly holds the model back.
 * Behind `leave` they are thrown away as they come: then nobody is waited for.
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
 * The events of a turn as they are kept. One that was stopped or taken over from elsewhere ends
 * here before what is kept of it does, so the rest is read from there.
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
 * `id: <seq>`, `data: <one line of JSON>`; a comment whenever `keepAliveMs` pass without an event.
 * Nothing is taken from `events` before the client has read what came before it.
 */
export function eventBody(
  events: EventReader,
  keepAliveMs: number,
  onLeave: () => void,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
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
          // To the client a stream that breaks: it comes back for the rest.
          onError(error)
          controller.error(error)
        }
      },
      cancel: onLeave,
    },
    { highWaterMark: 0 },
  )
}

const FAILED: Record<string, string> = {
  'model.status': 'the model refused the request',
  'model.stream': 'the response of the model broke',
  'model.timeout': 'the model took too long',
  'model.truncated': 'the response of the model was cut off',
  'model.unreachable': 'the model could not be reached',
}

/** Whether a failure is the server's: of its model, its store or the core. */
export const isOurs = ({ code }: { code: string }): boolean => /^(model|store|core)\./.test(code)

/**
 * The words of a model's or a store's failure are made by others and can hold an address or a
 * key; they are for `onError`. The client gets the code, the status and our words.
 */
function forClient(event: TurnEvent): TurnEvent {
  if (event.type !== 'error' || !isOurs(event)) return event
  const status = event.details?.status
  const words = FAILED[event.code] ?? 'the server failed'
  return { ...event, message: status === undefined ? words : `${words} (status ${status})` }
}
