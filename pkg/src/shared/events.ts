/** Events as streams: of turns, bundles, chains and passes. */
import { isTurnlockError, TurnlockError } from '../errors.js'
import { describe } from './serialize.js'
import { eventStreamResponse, formatEvent, type EventResponseInit, type Numbered } from './sse.js'
import type { TurnEvent } from '../types.js'

/** What a stream of events says last if there is nothing else to say. */
export interface ErrorEvent extends Numbered {
  type: 'error'
  /** Stable code, such as `core.unavailable`. */
  code: string
  /** The error message. */
  message: string
}

/** A stream that pulls from `events` only when read. `left` is called when it is cancelled. */
export function readable<T>(events: AsyncIterator<T>, left: () => void): ReadableStream<T> {
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

/** Reads a stream; leaving the iteration cancels it. Not all runtimes iterate streams. */
export async function* pulled<T>(stream: ReadableStream<T>): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** The texts of events. Each reader reads them from the first one on. */
export const textOf = (events: AsyncIterable<TurnEvent>): AsyncIterable<string> => ({
  async *[Symbol.asyncIterator]() {
    for await (const event of events) if (event.type === 'text') yield event.chunk
  },
})

/** Events as a `text/event-stream` response. */
export function eventResponse(
  events: ReadableStream<Numbered>,
  init?: EventResponseInit,
): Response {
  const texts = events.pipeThrough(
    new TransformStream<Numbered, string>({
      transform: (event, controller) => controller.enqueue(formatEvent(event)),
    }),
  )
  return eventStreamResponse(texts, init)
}

/** The event of a failure, behind `seq` others. */
export function errorEvent(error: unknown, seq: number): ErrorEvent {
  const { code, message } = isTurnlockError(error)
    ? error
    : new TurnlockError('core.fault', describe(error))
  return { type: 'error', seq: seq + 1, code, message }
}

/** The events, and an {@link ErrorEvent} instead of what reading them throws. */
export async function* closed<T extends Numbered>(
  events: AsyncIterable<T>,
): AsyncGenerator<T | ErrorEvent, void, undefined> {
  let seq = 0
  try {
    for await (const event of events) {
      seq = event.seq
      yield event
    }
  } catch (error) {
    yield errorEvent(error, seq)
  }
}
