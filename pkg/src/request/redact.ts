/** The only place where the trace events of a pass are redacted. */
import { deep, guarded, type Redact } from '../redact.js'
import type { PassTraceEvent, Rejected } from './types.js'

/**
 * Redacts every text of an event that comes from a model or a tool: `params`, `reason`, `detail`
 * and `result_summary`. If `redact` fails, the text is dropped.
 */
export function redacted(event: PassTraceEvent, redact: Redact): PassTraceEvent {
  const hide = guarded(redact)
  if (event.type === 'strategist_tool_result') {
    return { ...event, result_summary: hide(event.result_summary) }
  }
  if (event.type !== 'strategist_tool_request') return event
  const about = (one: Rejected) => ({
    ...one,
    detail: one.detail === null ? null : hide(one.detail),
  })
  return {
    ...event,
    tool_calls: event.tool_calls.map((call) => ({
      ...call,
      params: deep(call.params, hide),
      reason: hide(call.reason),
    })),
    rejected: event.rejected.map(about),
    notes: event.notes.map(about),
  }
}
