/** The spans of one turn, made of its trace events. */
import type { ToolResult, TraceEvent, TurnEvent, TurnResult, Usage } from '../../types.js'
import { CLIENT, FAILED, INTERNAL, type Attributes, type Span } from './api.js'
import type { Redact, Shared } from './shared.js'

type Of<Type extends TraceEvent['type']> = Extract<TraceEvent, { type: Type }>

/** A tool that runs, or has run and waits for its result to be told. */
interface Running {
  span: Span
  endedAt?: number
  /** Whether the response that has the call is still read. */
  reading: boolean
}

/** How a turn ended. */
type End = Pick<TurnResult, 'status'> & { code?: string | undefined; usage?: Usage | undefined }

/** The spans of a turn, or of one leg of it: a resume has spans of its own, with the same request id. */
export class TurnSpans {
  readonly #shared: Shared
  readonly #id: string
  readonly #span: Span
  readonly #startedAt: number
  #phase: Span | undefined
  readonly #tools = new Map<string, Running>()
  /** When the inference that runs may have begun. */
  #from: number
  #at: number
  /** The calls told since the last response had ended, and how many of that one are still to come. */
  readonly #seen = new Set<string>()
  #expected = 0
  #inferences = 0
  #calls = 0
  /** The tokens of the inferences, as far as the provider reported them. */
  #usage: Pick<Usage, 'inputTokens' | 'outputTokens'> | undefined
  #ended = false
  /** Whether the turn's own events are told, which end it. */
  isFollowed = false

  constructor(shared: Shared, first: TraceEvent) {
    this.#shared = shared
    this.#startedAt = this.#from = this.#at = first.at - first.atMs
    const { requestId, conversationId, projectId } = first
    this.#id = requestId
    this.#span = shared.start(`invoke_agent ${shared.agent}`, INTERNAL, shared.root(), {
      startTime: this.#startedAt,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': shared.agent,
        'gen_ai.conversation.id': conversationId,
        'turnlock.request_id': requestId,
        ...(projectId !== null && { 'turnlock.project_id': projectId }),
      },
    })
  }

  get isEnded(): boolean {
    return this.#ended
  }

  get isInPhase(): boolean {
    return this.#phase !== undefined
  }

  trace(event: TraceEvent): void {
    if (this.#ended) return
    this.#at = event.at
    switch (event.type) {
      case 'orchestration_phase_start':
        return this.#phaseStart(event)
      case 'orchestration_phase_end':
        return this.#phaseEnd(event)
      case 'llm_call':
        return this.#inference(event)
      case 'tool_call':
        return this.#toolStart(event)
      case 'tool_result':
        return this.#toolEnd(event)
      case 'tool_refused':
      case 'duplicate_tool_call':
        this.#isOfRunning(event.tool_call_id)
        this.#note(
          event.type,
          { ...named(event), reason: (event as Of<'tool_refused'>).reason },
          event.at,
        )
    }
  }

  /** The turn's own events have what trace events leave out. */
  event(event: TurnEvent, redact: Redact = (value) => value): void {
    this.isFollowed = true
    if (this.#ended) return
    if (event.type === 'tool_results') {
      for (const result of event.toolResults) this.#content(result, redact)
    }
    if (event.type === 'complete') this.end({ status: 'complete', usage: event.usage })
    if (event.type === 'paused') this.end({ status: 'paused' })
    if (event.type === 'cancelled') this.end({ status: 'cancelled' })
    if (event.type === 'error') this.end({ status: 'failed', code: event.code })
  }

  end({ status, code, usage }: End): void {
    if (this.#ended) return
    this.#ended = true
    for (const [key, { span, endedAt }] of this.#tools) {
      span.end(endedAt ?? this.#at)
      this.#shared.stops(this.#id, (JSON.parse(key) as [string])[0], span)
    }
    this.#phase?.end(this.#at)
    const failed = status === 'failed' ? { 'error.type': code ?? 'failed' } : {}
    const ended = { ...usageOf(usage ?? this.#usage), ...failed, 'turnlock.status': status }
    this.#span.setAttributes(this.#shared.attributes(ended))
    if (status === 'failed')
      this.#span.setStatus({ code: FAILED, message: this.#shared.text(code ?? '') })
    this.#span.end(this.#at)
    const ms = this.#at - this.#startedAt
    this.#shared.metrics.agent(ms, this.#inferences, this.#calls, failed)
  }

  #phaseStart({ details: { phase, toolBatchId }, at }: TraceEvent): void {
    this.#from = at
    this.#phase = this.#shared.start(`phase ${phase}`, INTERNAL, this.#shared.below(this.#span), {
      startTime: at,
      attributes: { 'turnlock.phase': phase, 'turnlock.tool_batch_id': toolBatchId },
    })
  }

  #phaseEnd({ status, at }: Of<'orchestration_phase_end'>): void {
    this.#phase?.setAttributes({ 'turnlock.status': status })
    this.#phase?.end(at)
    this.#phase = undefined
  }

  get #within() {
    return this.#shared.below(this.#phase ?? this.#span)
  }

  /** A response was read: there is no event at its beginning. Retries are in one span. */
  #inference(event: Of<'llm_call'>): void {
    const { at, usage, status, finish_reason: finish } = event
    this.#inferences += 1
    if (usage) {
      const { inputTokens = 0, outputTokens = 0 } = this.#usage ?? {}
      this.#usage = {
        inputTokens: inputTokens + usage.inputTokens,
        outputTokens: outputTokens + usage.outputTokens,
      }
    }
    const { model } = this.#shared
    const failed = status === 'failed' ? { 'error.type': 'model' } : {}
    const span = this.#shared.start(model ? `chat ${model}` : 'chat', CLIENT, this.#within, {
      startTime: this.#from,
      attributes: {
        'gen_ai.operation.name': 'chat',
        ...usageOf(usage ?? undefined),
        ...(finish && { 'gen_ai.response.finish_reasons': [finish] }),
        'turnlock.inference': event.inference,
        'turnlock.tool_call_count': event.tool_call_count,
        'turnlock.prompt_template.id': event.prompt_template_id ?? undefined,
        'turnlock.prompt_template.hash': event.prompt_template_hash ?? undefined,
        ...failed,
      },
    })
    if (status === 'failed') span.setStatus({ code: FAILED })
    span.end(at)
    this.#shared.metrics.inference(at - this.#from, usage, failed)
    this.#from = at
    this.#expected = Math.max(0, event.tool_call_count - this.#seen.size)
    this.#seen.clear()
    for (const running of this.#tools.values()) running.reading = false
  }

  /** Whether a call is of a response that is still read: calls may start before its end. */
  #isOfRunning(id: string): boolean {
    if (this.#expected > 0) {
      this.#expected -= 1
      return false
    }
    this.#seen.add(id)
    return true
  }

  #toolStart(event: Of<'tool_call'>): void {
    const span = this.#shared.start(`execute_tool ${event.tool_name}`, INTERNAL, this.#within, {
      startTime: event.at,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.type': 'function',
        ...named(event),
      },
    })
    const reading = this.#isOfRunning(event.tool_call_id)
    this.#tools.set(keyOf(event.tool_call_id, event.signature), { span, reading })
    this.#shared.runs(this.#id, event.tool_call_id, span)
  }

  #toolEnd(event: Of<'tool_result'>): void {
    const { at, status, replayed, truncated, duration_ms: ms } = event
    const key = keyOf(event.tool_call_id, event.signature)
    const running = this.#tools.get(key)
    if (running) this.#shared.stops(this.#id, event.tool_call_id, running.span)
    // The next inference reads this result.
    if (!running?.reading) this.#from = at
    if (replayed || !running) {
      this.#note('tool_result_replayed', named(event), at)
      running?.span.end(at)
      this.#tools.delete(key)
      return
    }
    this.#calls += 1
    const failed = status === 'ok' ? {} : { 'error.type': status }
    running.span.setAttributes({
      'turnlock.tool.status': status,
      'turnlock.tool.truncated': truncated,
      ...failed,
    })
    if (status !== 'ok') running.span.setStatus({ code: FAILED })
    this.#shared.metrics.tool(ms, {
      'gen_ai.tool.name': this.#shared.text(event.tool_name),
      ...failed,
    })
    // With content, the span waits for the result, which is told behind it.
    running.endedAt = at
    if (this.#shared.content) return
    running.span.end(at)
    this.#tools.delete(key)
  }

  #content({ toolCallId, signature, args, result }: ToolResult, redact: Redact): void {
    const key = this.#keyOfEnded(toolCallId, signature)
    const running = this.#tools.get(key)
    if (!running || !this.#shared.content) return
    running.span.setAttributes({
      'gen_ai.tool.call.arguments': this.#shared.json(args, redact),
      'gen_ai.tool.call.result': this.#shared.json(result, redact),
    })
    running.span.end(running.endedAt)
    this.#tools.delete(key)
  }

  /** Trace events may have a redacted id of the call: then its signature tells it. */
  #keyOfEnded(id: string, signature: string): string {
    const key = keyOf(id, signature)
    if (this.#tools.has(key)) return key
    const ended = [...this.#tools].find(
      ([other, { endedAt }]) => endedAt !== undefined && signatureOf(other) === signature,
    )
    return ended?.[0] ?? key
  }

  #note(name: string, attributes: Attributes, at: number): void {
    const span = this.#phase ?? this.#span
    span.addEvent(`turnlock.${name}`, this.#shared.attributes(attributes), at)
  }
}

const keyOf = (id: string, signature: string) => JSON.stringify([id, signature])
const signatureOf = (key: string) => (JSON.parse(key) as [id: string, signature: string])[1]

const named = (event: { tool_name: string; tool_call_id: string; signature: string }) => ({
  'gen_ai.tool.name': event.tool_name,
  'gen_ai.tool.call.id': event.tool_call_id,
  'turnlock.signature': event.signature,
})

/** The attributes of used tokens. */
export function usageOf(
  usage: Pick<Usage, 'inputTokens' | 'outputTokens'> | undefined,
): Attributes {
  if (!usage) return {}
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
  }
}
