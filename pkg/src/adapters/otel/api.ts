/** What is used of `@opentelemetry/api`, of which the host passes its own. */

/** The attributes of a span or a measurement. */
export type Attributes = Record<string, string | number | boolean | string[] | undefined>

export interface SpanContext {
  traceId: string
  spanId: string
  traceFlags: number
  isRemote?: boolean
}

/** The part of OpenTelemetry's `Span` that is used. */
export interface Span {
  spanContext(): SpanContext
  setAttributes(attributes: Attributes): unknown
  addEvent(name: string, attributes?: Attributes, at?: number): unknown
  setStatus(status: { code: number; message?: string }): unknown
  end(at?: number): void
}

export interface Tracer {
  startSpan(name: string, options: SpanOptions, context?: unknown): Span
}

export interface SpanOptions {
  kind: number
  attributes: Attributes
  startTime?: number
  links?: { context: SpanContext }[]
}

export interface Meter {
  createHistogram(name: string, options: { unit: string; description: string }): Recorder
  createCounter(name: string, options: { unit: string; description: string }): Counter
}

interface Recorder {
  record(value: number, attributes?: Attributes): void
}

interface Counter {
  add(value: number, attributes?: Attributes): void
}

/** The module `@opentelemetry/api`: `import * as api from '@opentelemetry/api'`. */
export interface OtelApi {
  // Contexts and spans are of the host's version.
  trace: {
    getTracer(name: string, version?: string): any
    setSpan(context: any, span: any): any
    getActiveSpan(): any
  }
  metrics: { getMeter(name: string, version?: string): any }
  ROOT_CONTEXT: any
}

/** Values of the API's enumerations. */
export const [INTERNAL, CLIENT, FAILED] = [0, 2, 2]
