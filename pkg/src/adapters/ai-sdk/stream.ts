/** A turn's events as the UI message stream of the AI SDK: the chunks that v6 and v7 both take. */
import type { ToolCall, ToolResult, TurnEvent } from '../../types.js'
import { shownError } from '../../server/failures.js'
import { bare, failureText, Narrator, type Ending, type Kind, type Other } from '../narrator.js'

/** A chunk of the stream. Optional members are left out, never null: both versions refuse null. */
export type UiChunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'finish-step' }
  | { type: `${Kind}-start` | `${Kind}-end`; id: string }
  | { type: `${Kind}-delta`; id: string; delta: string }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: unknown }
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'data-turnlock'; data: Record<string, unknown>; transient: true }
  | { type: 'finish'; finishReason: 'stop' | 'tool-calls' }
  | { type: 'abort'; reason: string }
  | { type: 'error'; errorText: string }

/** The headers of a response with the stream. */
export const UI_HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' }

/**
 * Makes the chunks of one assistant message. Its id is that of the turn, so that the message which
 * a client sends with its approvals names the turn.
 */
export class UiMessageStream {
  readonly #messageId: string
  readonly #narrator: Narrator
  #chunks: UiChunk[] = []

  /** `isVoid`: which text and reasoning to leave out, by `seq`. */
  constructor(messageId: string, isVoid?: (seq: number) => boolean) {
    this.#messageId = messageId
    this.#narrator = new Narrator(this, isVoid)
  }

  /** The chunks of an event. */
  take(event: TurnEvent): UiChunk[] {
    this.#narrator.take(event)
    return this.#taken()
  }

  /** The chunks behind the last event of a response. */
  finish(): UiChunk[] {
    this.#narrator.end()
    return this.#taken()
  }

  /** Takes events that the client has from earlier responses. */
  seen(events: readonly TurnEvent[]): void {
    for (const event of events) this.#narrator.take(event)
    this.#narrator.again()
    this.#chunks = []
  }

  #taken(): UiChunk[] {
    const chunks = this.#chunks
    this.#chunks = []
    return chunks
  }

  begin(): void {
    this.#chunks.push({ type: 'start', messageId: this.#messageId })
  }

  step(): void {
    this.#chunks.push({ type: 'start-step' })
  }

  stepEnd(): void {
    this.#chunks.push({ type: 'finish-step' })
  }

  open(kind: Kind, id: string): void {
    this.#chunks.push({ type: `${kind}-start`, id })
  }

  delta(kind: Kind, id: string, delta: string): void {
    this.#chunks.push({ type: `${kind}-delta`, id, delta })
  }

  close(kind: Kind, id: string): void {
    this.#chunks.push({ type: `${kind}-end`, id })
  }

  call(toolCallId: string, { name, args }: ToolCall): void {
    this.#chunks.push({ type: 'tool-input-available', toolCallId, toolName: name, input: args })
  }

  /** The id of an approval is the signature of the call: it approves these arguments only. */
  approval(toolCallId: string, { signature }: ToolCall): void {
    this.#chunks.push({ type: 'tool-approval-request', approvalId: signature, toolCallId })
  }

  denied(toolCallId: string): void {
    this.#chunks.push({ type: 'tool-output-denied', toolCallId })
  }

  result(toolCallId: string, result: ToolResult): void {
    this.#chunks.push(
      result.status === 'ok'
        ? { type: 'tool-output-available', toolCallId, output: result.result ?? null }
        : { type: 'tool-output-error', toolCallId, errorText: failureText(result) },
    )
  }

  other(event: Other): void {
    // The last chunk says it.
    if (event.type === 'error' || event.type === 'cancelled') return
    this.#chunks.push({ type: 'data-turnlock', data: bare(event), transient: true })
  }

  end(event: Ending): void {
    this.#chunks.push(endOf(event))
  }
}

function endOf(event: Ending): UiChunk {
  switch (event.type) {
    case 'complete':
      return { type: 'finish', finishReason: 'stop' }
    case 'paused':
      return { type: 'finish', finishReason: 'tool-calls' }
    case 'cancelled':
      return { type: 'abort', reason: event.reason }
    case 'error':
      return { type: 'error', errorText: `${event.code}: ${shownError(event).message}` }
  }
}

/** A chunk as a server-sent event. */
export const formatChunk = (chunk: UiChunk): string => `data: ${JSON.stringify(chunk)}\n\n`

/** The end of the stream. */
export const DONE = 'data: [DONE]\n\n'
