/** One turn, for a page or a worker. */
import { Driver } from './driver.js'
import { TurnlockError } from './errors.js'
import type { Model } from './models/model.js'
import { eventStream } from './sse.js'
import type { Tool } from './tools.js'
import type { Policy, ToolResult, TraceEvent, TurnEvent, TurnResult } from './types.js'

/** What `runTurn` takes. */
export interface RunTurnOptions {
  /** From `openaiChat`, `anthropic` or `customModel`. */
  model: Model
  /** The history, the user's message last: `{ role, content, … }`. */
  messages: unknown[]
  /** By name: 1 to 64 of `A-Z a-z 0-9 _ -`. */
  tools?: Record<string, Tool>
  /** @defaultValue "two_stage" */
  mode?: 'two_stage' | 'unified'
  policy?: Policy
  /** @defaultValue `crypto.randomUUID()` */
  requestId?: string
  /** Part of every signature. */
  projectId?: string | null
  conversationId?: string
  /** Cancels the turn. */
  signal?: AbortSignal
  /** Gets trace events; what it throws is ignored. */
  onTrace?(event: TraceEvent): void
}

/** A turn under way. Iterate over its events, or await its result, or both. */
export interface Turn extends AsyncIterable<TurnEvent> {
  readonly requestId: string
  /** Settles when the turn is over. Never rejects. */
  readonly result: Promise<TurnResult>
  /** Ends the turn: the request is aborted, tools are told through their signal. */
  cancel(reason?: string): void
  /** Ends the turn as `paused` behind the tool results; a turn that is answering finishes. */
  pause(): void
  /** The events as objects. Cancelling the stream cancels the turn. */
  toReadableStream(): ReadableStream<TurnEvent>
  /** The events as `text/event-stream`: `id:` is `seq`, `data:` one line of JSON. */
  toResponse(init?: ResponseInit): Response
}

/**
 * Runs one turn.
 *
 * Iterating never throws and `result` never rejects: a failure is the terminal event `error`.
 * Leaving the iteration with `break` cancels the turn.
 *
 * @throws TurnlockError for misuse: `options.invalid`, `tool.invalid_name`,
 * `message.unknown_shape`, `dialect.no_stream`, `core.load`
 */
export function runTurn(options: RunTurnOptions): Turn {
  return new RunningTurn(options)
}

class RunningTurn implements Turn {
  readonly requestId: string
  readonly result: Promise<TurnResult>
  readonly #driver: Driver
  readonly #events: TurnEvent[] = []
  #over = false
  #wake: (() => void)[] = []
  #settle!: (result: TurnResult) => void
  #forget: () => void = () => {}

  constructor(options: RunTurnOptions) {
    const { model, messages, tools = {}, policy, mode, projectId = null, signal, onTrace } = options
    if (typeof model?.open !== 'function') {
      throw new TurnlockError('options.invalid', '`model`: expected a model, such as openaiChat(…)')
    }
    this.requestId = options.requestId ?? randomId()
    this.result = new Promise((resolve) => (this.#settle = resolve))
    this.#driver = new Driver(
      {
        ...{ model, tools, projectId, requestId: this.requestId, onTrace: onTrace?.bind(options) },
        onEvent: (event) => this.#push(event),
        onDone: (result) => this.#finish(result),
        onFault: (error) => this.#fault(error),
      },
      {
        ...{ dialect: model.dialect, maxRetries: model.maxRetries, mode, policy, messages },
        ...{ requestId: this.requestId, projectId, conversationId: options.conversationId },
        tools: Object.entries(tools).map(([name, tool]) => wireTool(name, tool)),
        secret: randomHex(32),
        trace: onTrace !== undefined,
      },
    )
    const onAbort = () => this.cancel(abortReason(signal))
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#forget = () => signal?.removeEventListener('abort', onAbort)
    this.#driver.send({ type: 'start' })
    if (signal?.aborted) onAbort()
  }

  cancel(reason = 'cancelled by the host'): void {
    this.#driver.send({ type: 'cancel', reason: String(reason) })
  }

  pause(): void {
    this.#driver.send({ type: 'pause' })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    let finished = false
    try {
      for (let next = 0; ; next++) {
        while (next >= this.#events.length) {
          if (this.#over) {
            finished = true
            return
          }
          await new Promise<void>((resolve) => this.#wake.push(resolve))
        }
        const event = this.#events[next]
        if (event) yield event
      }
    } finally {
      if (!finished) this.cancel('the reader left')
    }
  }

  toReadableStream(): ReadableStream<TurnEvent> {
    const events = this[Symbol.asyncIterator]()
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await events.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      // The generator may be waiting for an event, and would return only behind it.
      cancel: () => this.cancel('the reader left'),
    })
  }

  toResponse(init: ResponseInit = {}): Response {
    const headers = new Headers(init.headers)
    headers.set('content-type', 'text/event-stream; charset=utf-8')
    headers.set('cache-control', 'no-cache, no-transform')
    return new Response(eventStream(this.toReadableStream()), { ...init, headers })
  }

  #push(event: TurnEvent): void {
    this.#events.push(event)
    this.#wakeAll()
  }

  #finish(result: TurnResult): void {
    this.#over = true
    this.#forget()
    this.#settle(result)
    this.#wakeAll()
  }

  #wakeAll(): void {
    const waiting = this.#wake
    this.#wake = []
    for (const wake of waiting) wake()
  }

  /** The core is gone, so what it knew is put together from what it had shown. */
  #fault(error: TurnlockError): void {
    const { code, message } = error
    const last = this.#events.at(-1)
    const shown = this.#events.map((event) => (event.type === 'text' ? event.chunk : '')).join('')
    const of = (event: TurnEvent): ToolResult[] =>
      event.type === 'tool_results' ? event.toolResults : []
    this.#push({
      ...{ type: 'error', phase: last?.phase ?? 'tool_phase', requestId: this.requestId },
      ...{ projectId: last?.projectId ?? null, toolBatchId: last?.toolBatchId ?? 0 },
      ...{ seq: (last?.seq ?? 0) + 1, code, message },
    })
    this.#finish({
      ...{ requestId: this.requestId, status: 'failed', text: shown, fullContent: shown },
      ...{ toolResults: this.#events.flatMap(of), blockedSignatures: [], inferences: 0 },
      ...{ usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, repairs: [] },
      error: { code, message },
    })
  }
}

function wireTool(name: string, tool: Tool): Record<string, unknown> {
  if (typeof tool?.check !== 'function') {
    throw new TurnlockError('options.invalid', `\`tools.${name}\`: expected a tool from defineTool`)
  }
  const { description, inputSchema, readOnly, idempotent, dedupe, timeoutMs, maxResultBytes } = tool
  return {
    ...{ name, description, inputSchema, readOnly, idempotent, dedupe, timeoutMs, maxResultBytes },
    checks: true,
  }
}

function abortReason(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason
  if (typeof reason === 'string') return reason
  return reason instanceof Error && reason.message ? reason.message : 'aborted'
}

function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** `randomUUID` exists in secure contexts only; a page over plain HTTP gets the same entropy. */
const randomId = (): string => crypto.randomUUID?.() ?? randomHex(16)
