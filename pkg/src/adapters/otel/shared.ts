/** What all spans of a host have in common. */
import type { OtelOptions } from '../../generated/adapters.js'
import type { Attributes, OtelApi, Span, SpanOptions, Tracer } from './api.js'
import type { Redactor } from '../../redactor/index.js'
import { guarded } from '../../shared/redact.js'
import { withoutControls } from '../../shared/text.js'
import { Metrics } from './metrics.js'

/** Where something runs: the context of a tool of a turn, or the id of a turn alone. */
export interface Within {
  requestId: string
  toolCallId?: string
}

/** Redacts arguments or a result. */
export type Redact = (value: unknown) => unknown

/** Characters of a name or an id in a span. A model or a client may have written it. */
const MOST_OF_NAME = 128

/** A name or an id as spans show it: without controls, cut. */
function spanName(name: string): string {
  const start = withoutControls(name.slice(0, 2 * MOST_OF_NAME)).replace(/\s/g, ' ')
  const isCut = start.length > MOST_OF_NAME || name.length > 2 * MOST_OF_NAME
  // Not within a pair of surrogates, which has no UTF-8.
  return isCut ? `${start.slice(0, MOST_OF_NAME - 1).replace(/[\ud800-\udbff]$/, '')}…` : start
}

export class Shared {
  readonly agent: string
  readonly model: string | undefined
  readonly content: boolean
  readonly metrics: Metrics
  /** The tools that run, by turn and call. Turns of several tenants may share both. */
  readonly #tools = new Map<string, Set<Span>>()
  readonly #api: OtelApi
  readonly #tracer: Tracer
  readonly #common: Attributes
  readonly #parent: 'active' | 'root'
  readonly #redact: Redactor | undefined

  constructor({ api, agent = 'turnlock', model, ...options }: OtelOptions) {
    const { provider = 'turnlock', content = false, parent = 'active', redact } = options
    this.#api = api
    this.agent = agent
    this.model = model
    this.content = content
    this.#parent = parent
    this.#redact = redact
    this.#common = {
      'gen_ai.provider.name': provider,
      ...(model !== undefined && { 'gen_ai.request.model': model }),
    }
    this.#tracer = api.trace.getTracer('turnlock') as Tracer
    this.metrics = new Metrics(api.metrics.getMeter('turnlock'), this.#common)
  }

  start(name: string, kind: number, context: unknown, options: Omit<SpanOptions, 'kind'>): Span {
    const attributes = { ...this.#common, ...this.attributes(options.attributes) }
    return this.#tracer.startSpan(this.text(name), { ...options, kind, attributes }, context)
  }

  /** A name or an id as spans show it: redacted, without controls, cut. */
  text(name: string): string {
    return spanName(this.#redact ? guarded(this.#redact.redact)(name) : name)
  }

  /** Attributes whose texts are all as spans show them. */
  attributes(attributes: Attributes): Attributes {
    const entries = Object.entries(attributes).map(([name, value]) => {
      if (Array.isArray(value)) return [name, value.map((item) => this.text(item))]
      return [name, typeof value === 'string' ? this.text(value) : value]
    })
    return Object.fromEntries(entries) as Attributes
  }

  /** Arguments or a result as spans show them: redacted JSON. */
  json(value: unknown, redact: Redact): string {
    try {
      const shownValue = redact(value)
      return JSON.stringify(this.#redact ? this.#redact.value(shownValue) : shownValue)
    } catch {
      // A redactor of the host's own.
      return '[redaction failed]'
    }
  }

  /** The context of what happens within a span. */
  below(span: Span): unknown {
    return this.#api.trace.setSpan(this.#api.ROOT_CONTEXT, span)
  }

  /** Notes that a tool runs. */
  runs(requestId: string, toolCallId: string, span: Span): void {
    const key = JSON.stringify([requestId, toolCallId])
    const spans = this.#tools.get(key) ?? new Set()
    this.#tools.set(key, spans.add(span))
  }

  /** Notes that a tool runs no longer. */
  stops(requestId: string, toolCallId: string, span: Span): void {
    const key = JSON.stringify([requestId, toolCallId])
    const spans = this.#tools.get(key)
    spans?.delete(span)
    if (spans?.size === 0) this.#tools.delete(key)
  }

  /**
   * The context of a tool that runs; of the active span if there is none, or if tools of several turns
   * have these ids: one tenant must not get into the trace of another.
   */
  within(where: Within | undefined): unknown {
    if (!where) return this.active()
    const { requestId, toolCallId } = where
    const [span, ...others] = this.#tools.get(JSON.stringify([requestId, toolCallId])) ?? []
    return span && others.length === 0 ? this.below(span) : this.active()
  }

  /** The context of the span that is active, if one is. */
  active(): unknown {
    const span = this.#api.trace.getActiveSpan() as Span | undefined
    return span ? this.below(span) : this.#api.ROOT_CONTEXT
  }

  /**
   * The context of a turn or a pass. Its id takes no part in it: a client may have chosen it, and would
   * choose the trace.
   */
  root(): unknown {
    return this.#parent === 'active' ? this.active() : this.#api.ROOT_CONTEXT
  }
}
