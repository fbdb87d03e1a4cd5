/** What all spans of a host have in common. */
import type { OtelOptions } from '../../generated/adapters.js'
import type { Attributes, OtelApi, Span, SpanOptions, Tracer } from './api.js'
import { Metrics } from './metrics.js'

/** Where something runs: the context of a tool of a turn, or the id of a turn alone. */
export interface Within {
  requestId: string
  toolCallId?: string
}

export class Shared {
  readonly agent: string
  readonly model: string | undefined
  readonly content: boolean
  readonly metrics: Metrics
  /** The tools that run, by turn and call. */
  readonly #tools = new Map<string, Span>()
  readonly #api: OtelApi
  readonly #tracer: Tracer
  readonly #common: Attributes
  readonly #parent: 'request' | 'active'

  constructor({ api, agent = 'turnlock', model, ...options }: OtelOptions) {
    const { provider = 'turnlock', content = false, parent = 'request' } = options
    this.#api = api
    this.agent = agent
    this.model = model
    this.content = content
    this.#parent = parent
    this.#common = {
      'gen_ai.provider.name': provider,
      ...(model !== undefined && { 'gen_ai.request.model': model }),
    }
    this.#tracer = api.trace.getTracer('turnlock') as Tracer
    this.metrics = new Metrics(api.metrics.getMeter('turnlock'), this.#common)
  }

  start(name: string, kind: number, context: unknown, options: Omit<SpanOptions, 'kind'>): Span {
    const attributes = { ...this.#common, ...options.attributes }
    return this.#tracer.startSpan(name, { ...options, kind, attributes }, context)
  }

  /** The context of what happens within a span. */
  below(span: Span): unknown {
    return this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span)
  }

  /** Notes that a tool runs, or with no span that it does so no longer. */
  runs(requestId: string, toolCallId: string, span?: Span): void {
    const key = JSON.stringify([requestId, toolCallId])
    if (span) this.#tools.set(key, span)
    else this.#tools.delete(key)
  }

  /** The context of a tool that runs, else of its turn; without either, of the active span. */
  within(where: Within | undefined): unknown {
    if (!where) return this.active()
    const { requestId, toolCallId } = where
    const tool = this.#tools.get(JSON.stringify([requestId, toolCallId]))
    return tool ? this.below(tool) : this.rootOf(requestId)
  }

  /** The context of the span that is active, if one is. */
  active(): unknown {
    const span = this.#api.trace.getActiveSpan() as Span | undefined
    return span ? this.below(span) : this.#api.ROOT_CONTEXT
  }

  /**
   * The context of a turn. Its trace id is made of the turn's id, so that a resume in another process
   * goes on in the same trace, and nothing about it has to be stored.
   */
  rootOf(requestId: string): unknown {
    if (this.#parent === 'active') return this.active()
    const traceId = traceOf(requestId)
    const span = { traceId, spanId: traceId.slice(16), traceFlags: 1, isRemote: true }
    return this.#api.trace.setSpanContext(this.#api.ROOT_CONTEXT, span)
  }
}

/** 32 hex digits: those of a UUID, else a hash (FNV-1a, four times with different beginnings). */
function traceOf(requestId: string): string {
  const digits = requestId.replaceAll('-', '').toLowerCase()
  if (/^(?!0{16})[0-9a-f]{16}(?!0{16})[0-9a-f]{16}$/.test(digits)) return digits
  return [1, 2, 3, 4].map((seed) => fnv(`${seed} ${requestId}`)).join('')
}

function fnv(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0 || 1).toString(16).padStart(8, '0')
}
