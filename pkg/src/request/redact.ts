/** The only place where the events of a pass are redacted. */
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

/** Members of a result with the core's or the host's own names in them. */
const OWN = new Set([
  ...['planId', 'runId', 'fellBack', 'tool_name', 'signature', 'status', 'refusal', 'code'],
])
/** Members of a result whose inner names come from a model or a tool, too. */
const FOREIGN = new Set(['plan', 'params', 'result'])

/**
 * Redacts every text of a result that may come from a model or a tool, also of members that are not
 * known here. The reasons of rejections and notes are names of the core.
 */
export function redactedPlan<Result extends object>(result: Result, redact: Redact): Result {
  const hide = guarded(redact)
  const shown = (value: unknown, name: string, own: boolean): unknown => {
    if (FOREIGN.has(name)) return deep(value, hide)
    if (typeof value === 'string') return own ? value : hide(value)
    if (Array.isArray(value)) return value.map((item) => shown(item, name, own))
    if (typeof value !== 'object' || value === null) return value
    const named = name === 'rejected' || name === 'notes'
    const isOwn = (inner: string) => OWN.has(inner) || (named && inner === 'reason')
    const entries = Object.entries(value)
    return Object.fromEntries(
      entries.map(([inner, item]) => [inner, shown(item, inner, isOwn(inner))]),
    )
  }
  return shown(result, '', false) as Result
}
