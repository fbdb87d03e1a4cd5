/** The UI message stream of a turn that the host runs itself. */
import { wrong } from '../../errors.js'
import { eventStreamResponse, type EventResponseInit } from '../../shared/sse.js'
import type { Turn } from '../../turn/turn.js'
import { DONE, formatChunk, UI_HEADERS, UiMessageStream, type UiChunk } from './stream.js'

/**
 * The chunks of a turn, as `createUIMessageStream` of the AI SDK makes them: `writer.merge` and
 * `readUIMessageStream` take them. Cancelling the stream cancels the turn.
 *
 * @throws TurnlockError `options.invalid` for what is no turn
 */
export function toUIMessageStream(turn: Turn): ReadableStream<UiChunk> {
  if (typeof turn?.toReadableStream !== 'function') throw wrong('turn', 'a turn of `runTurn`')
  const stream = new UiMessageStream(turn.requestId)
  return turn.toReadableStream().pipeThrough(
    new TransformStream({
      transform(event, controller) {
        for (const chunk of stream.take(event)) controller.enqueue(chunk)
      },
      flush(controller) {
        for (const chunk of stream.finish()) controller.enqueue(chunk)
      },
    }),
  )
}

/**
 * A turn as the response to `useChat`. The id of the message is that of the turn. `init` is as of
 * `turn.toResponse`.
 *
 * @throws TurnlockError `options.invalid` for what is no turn
 */
export function toUIMessageResponse(turn: Turn, init: EventResponseInit = {}): Response {
  const texts = toUIMessageStream(turn).pipeThrough(
    new TransformStream<UiChunk, string>({
      transform: (chunk, controller) => controller.enqueue(formatChunk(chunk)),
      flush: (controller) => controller.enqueue(DONE),
    }),
  )
  const headers = new Headers(UI_HEADERS)
  for (const [name, value] of new Headers(init?.headers)) headers.set(name, value)
  return eventStreamResponse(texts, { ...init, headers })
}
