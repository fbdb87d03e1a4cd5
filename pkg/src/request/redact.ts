/** The one place where a pass's trace events lose what must not be kept. */
import type { PassTraceEvent } from './types.js'

/** Takes out of a text what must not be kept. */
export type Redact = (text: string) => string

/**
 * The event with every text of a model or of a tool redacted: `params`, `reason`, `detail` and
 * `result_summary`. Where `redact` fails, the text is dropped, not shown.
 */
export function redacted(event: PassTraceEvent, redact: Redact): PassTraceEvent {
  const text = (value: string) => {
    try {
      return String(redact(value))
    } catch {
      return '[redaction failed]'
    }
  }
  const deep = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map(deep)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, own]) => [text(key), deep(own)]))
  }
  if (event.type === 'strategist_tool_result') {
    return { ...event, result_summary: text(event.result_summary) }
  }
  if (event.type !== 'strategist_tool_request') return event
  return {
    ...event,
    tool_calls: event.tool_calls.map((call) => ({
      ...call,
      params: deep(call.params),
      reason: text(call.reason),
    })),
    rejected: event.rejected.map((one) => ({
      ...one,
      detail: one.detail === null ? null : text(one.detail),
    })),
  }
}
