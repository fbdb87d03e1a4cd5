/** The one place where a pass's trace events lose what must not be kept. */
import { deep, guarded, type Redact } from '../redact.js'
import type { PassTraceEvent } from './types.js'

/**
 * The event with every text of a model or of a tool redacted: `params`, `reason`, `detail` and
 * `result_summary`. Where `redact` fails, the text is dropped, not shown.
 */
export function redacted(event: PassTraceEvent, redact: Redact): PassTraceEvent {
  const hide = guarded(redact)
  if (event.type === 'strategist_tool_result') {
    return { ...event, result_summary: hide(event.result_summary) }
  }
  if (event.type !== 'strategist_tool_request') return event
  return {
    ...event,
    tool_calls: event.tool_calls.map((call) => ({
      ...call,
      params: deep(call.params, hide),
      reason: hide(call.reason),
    })),
    rejected: event.rejected.map((one) => ({
      ...one,
      detail: one.detail === null ? null : hide(one.detail),
    })),
  }
}
