/** A turn's events as AG-UI: those that the clients of 0.0.59 and 1.0 both take. */
import { shownError } from '../../server/failures.js'
import type { ToolCall, ToolResult, TurnEvent } from '../../types.js'
import { bare, failureText, Narrator, type Ending, type Kind, type Other } from '../narrator.js'

/** What an approval is answered with: `payload` of an entry in `resume`. */
const ANSWER = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

/** A call that waits for the user. */
export interface Interrupt {
  /** Names the turn and the call: `<requestId>:<signature>`. */
  id: string
  reason: 'tool_call'
  message: string
  toolCallId: string
  responseSchema: typeof ANSWER
}

/** An event of AG-UI. Optional members are left out, never null. */
export type AgUiEvent =
  | { type: 'RUN_STARTED'; threadId: string; runId: string }
  | {
      type: 'RUN_FINISHED'
      threadId: string
      runId: string
      result?: { status: string; reason?: string }
      outcome?: { type: 'interrupt'; interrupts: Interrupt[] }
    }
  | { type: 'RUN_ERROR'; message: string; code: string }
  | { type: 'TEXT_MESSAGE_START'; messageId: string; role: 'assistant' }
  | { type: 'REASONING_MESSAGE_START'; messageId: string; role: 'reasoning' }
  | { type: 'TEXT_MESSAGE_CONTENT' | 'REASONING_MESSAGE_CONTENT'; messageId: string; delta: string }
  | {
      type: 'TEXT_MESSAGE_END' | 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END'
      messageId: string
    }
  | { type: 'TOOL_CALL_START'; toolCallId: string; toolCallName: string; parentMessageId: string }
  | { type: 'TOOL_CALL_ARGS'; toolCallId: string; delta: string }
  | { type: 'TOOL_CALL_END'; toolCallId: string }
  | {
      type: 'TOOL_CALL_RESULT'
      messageId: string
      toolCallId: string
      content: string
      role: 'tool'
    }
  | { type: 'CUSTOM'; name: string; value: unknown }

/** The run of a turn: a turn that is resumed has a run for each response. */
export interface RunOf {
  requestId: string
  threadId: string
  runId: string
}

/**
 * Makes the events of one run. Text and calls of an inference are one message. Ids of calls have the
 * turn's before the provider's: in a thread no call may have the id of another.
 */
export class AgUiStream {
  readonly #run: RunOf
  readonly #narrator: Narrator
  #events: AgUiEvent[] = []
  #message = ''

  /** `isVoid`: which text and reasoning to leave out, by `seq`. */
  constructor(run: RunOf, isVoid?: (seq: number) => boolean) {
    this.#run = run
    this.#narrator = new Narrator(this, isVoid)
  }

  /** What an event of the turn becomes. */
  take(event: TurnEvent): AgUiEvent[] {
    this.#narrator.take(event)
    return this.#taken()
  }

  /** What follows the last event of a response. */
  finish(): AgUiEvent[] {
    this.#narrator.end()
    return this.#taken()
  }

  /** Takes events that the client has from earlier runs. */
  seen(events: readonly TurnEvent[]): void {
    for (const event of events) this.#narrator.take(event)
    this.#narrator.again()
    this.#events = []
  }

  #taken(): AgUiEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }

  #own = (id: string) => `${this.#run.requestId}:${id}`

  begin(): void {
    const { threadId, runId } = this.#run
    this.#events.push({ type: 'RUN_STARTED', threadId, runId })
  }

  step(id: string): void {
    this.#message = this.#own(id)
  }

  stepEnd(): void {}

  open(kind: Kind, id: string): void {
    if (kind === 'text') {
      const messageId = this.#message
      return void this.#events.push({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
    }
    const messageId = this.#own(id)
    this.#events.push(
      { type: 'REASONING_START', messageId },
      { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' },
    )
  }

  delta(kind: Kind, id: string, delta: string): void {
    // Older parsers refuse an empty one.
    if (!delta) return
    const [type, messageId] =
      kind === 'text'
        ? (['TEXT_MESSAGE_CONTENT', this.#message] as const)
        : (['REASONING_MESSAGE_CONTENT', this.#own(id)] as const)
    this.#events.push({ type, messageId, delta })
  }

  close(kind: Kind, id: string): void {
    if (kind === 'text') {
      return void this.#events.push({ type: 'TEXT_MESSAGE_END', messageId: this.#message })
    }
    const messageId = this.#own(id)
    this.#events.push(
      { type: 'REASONING_MESSAGE_END', messageId },
      { type: 'REASONING_END', messageId },
    )
  }

  call(id: string, { name, args }: ToolCall): void {
    const toolCallId = this.#own(id)
    const parentMessageId = this.#message
    this.#events.push(
      { type: 'TOOL_CALL_START', toolCallId, toolCallName: name, parentMessageId },
      { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(args) },
      { type: 'TOOL_CALL_END', toolCallId },
    )
  }

  /** The last event of the run names what waits. */
  approval(): void {}

  denied(id: string): void {
    this.#result(id, 'this call was not approved; it did not run')
  }

  result(id: string, result: ToolResult, own: boolean): void {
    // The client has a message with the result already, and would have two.
    if (own) return
    this.#result(id, result.status === 'ok' ? textOf(result.result) : failureText(result))
  }

  #result(id: string, content: string): void {
    const messageId = this.#own(`result-${id}`)
    const toolCallId = this.#own(id)
    this.#events.push({ type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' })
  }

  other(event: Other): void {
    // The last event says it.
    if (['paused', 'cancelled', 'error'].includes(event.type)) return
    this.#events.push({ type: 'CUSTOM', name: `turnlock.${event.type}`, value: bare(event) })
  }

  end(event: Ending, waiting: Map<string, ToolCall>): void {
    const { threadId, runId, requestId } = this.#run
    if (event.type === 'error') {
      const { code, message } = shownError(event)
      return void this.#events.push({ type: 'RUN_ERROR', message, code })
    }
    const interrupts = [...waiting].map(([id, { name, signature }]): Interrupt => ({
      id: `${requestId}:${signature}`,
      reason: 'tool_call',
      toolCallId: this.#own(id),
      message: `${name} needs an approval`,
      responseSchema: ANSWER,
    }))
    const asks = event.type === 'paused' && interrupts.length > 0
    this.#events.push({
      type: 'RUN_FINISHED',
      threadId,
      runId,
      // The client of 0.0.59 refuses an outcome that says cancelled.
      ...(event.type === 'cancelled' && {
        result: { status: 'cancelled', reason: event.reason },
      }),
      // `object` is the answer of a turn with `answerSchema`.
      ...(event.type === 'complete' && {
        result: { status: 'complete', ...('object' in event && { object: event.object }) },
      }),
      ...(event.type === 'paused' && !asks && { result: { status: 'paused' } }),
      ...(asks && { outcome: { type: 'interrupt' as const, interrupts } }),
    })
  }
}

/** A value as text: text as it is, else its JSON. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')

/** An event as a server-sent event. Its clients read no line breaks of CR and LF, and no `[DONE]`. */
export const formatAgUi = (event: AgUiEvent): string => `data: ${JSON.stringify(event)}\n\n`
