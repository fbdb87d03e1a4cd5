/** The only place where the events of a pass are redacted. */
import { deep, guarded, type Redact } from '../shared/redact.js'
import { utf8Length } from '../shared/serialize.js'
import { stringify } from '../shared/text.js'
import type { PassTraceEvent, RequestRejection } from './types.js'

/**
 * Redacts every text of an event that comes from a model or a tool: `params`, `reason`, `detail`,
 * `result_summary`, and names of tools that the host does not have. If `redact` fails, the text is dropped.
 */
export function redacted(event: PassTraceEvent, redact: Redact, maxReason: number): PassTraceEvent {
  const hide = guarded(redact)
  if (event.type === 'strategist_tool_result') {
    return { ...event, result_summary: clip(hide(event.result_summary), SUMMARY_BYTES) }
  }
  if (event.type !== 'strategist_tool_request') return event
  const about = (one: RequestRejection) => ({
    ...one,
    tool_name: one.tool_name === null ? null : hide(one.tool_name),
    detail: one.detail === null ? null : hide(one.detail),
  })
  return {
    ...event,
    tool_calls: event.tool_calls.map((call) => ({
      ...call,
      tool_name: clip(
        call.refusal === 'unknown_tool' ? hide(call.tool_name) : call.tool_name,
        NAME_BYTES,
      ),
      params: cutParams(deep(call.params, hide)) as typeof call.params,
      reason: shorten(hide(call.reason), maxReason),
    })),
    rejected: event.rejected.map(about).map(cutNames),
    notes: event.notes.map(about).map(cutNames),
  }
}

/** Bytes of the arguments, of a name, and of the summary of a result in an event. */
const PARAMS_BYTES = 2048
const NAME_BYTES = 64
const SUMMARY_BYTES = 512

/**
 * Cuts what the core told whole because it is redacted first: half of a secret is not found. As the
 * core does (`src/planning/cut.rs`).
 */
export function cut<Result extends Cuttable>(result: Result, maxReason: number): Result {
  return {
    ...result,
    calls: result.calls.map((call) => ({ ...call, reason: shorten(call.reason, maxReason) })),
    rejected: result.rejected.map(cutNames),
    notes: result.notes.map(cutNames),
  }
}

interface Cuttable {
  calls: readonly { reason: string }[]
  rejected: readonly RequestRejection[]
  notes: readonly RequestRejection[]
}

const cutNames = (one: RequestRejection): RequestRejection => ({
  ...one,
  tool_name: one.tool_name === null ? null : clip(one.tool_name, NAME_BYTES),
  detail: one.detail === null ? null : clip(one.detail, NAME_BYTES),
})

function cutParams(params: unknown): unknown {
  const text = stringify(params)
  const bytes = utf8Length(text)
  return bytes > PARAMS_BYTES ? `${clip(text, PARAMS_BYTES)}… [cut: ${bytes} bytes]` : params
}

/** At most `most` UTF-16 units, with the `…`. */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const end = Math.max(most - 1, 0)
  // No half of a pair.
  const whole = /[\uD800-\uDBFF]$/.test(text.slice(0, end)) ? end - 1 : end
  return text.slice(0, whole) + (most > 0 ? '…' : '')
}

/** The beginning of a text, of at most so many bytes. */
function clip(text: string, bytes: number): string {
  if (text.length * 3 <= bytes) return text
  // What a cut leaves of a character waits for its rest, which does not come.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return decoder.decode(new TextEncoder().encode(text).subarray(0, bytes), { stream: true })
}

/** Members of a result with the core's or the host's own names in them. */
const OWN = new Set([
  'planId',
  'runId',
  'fellBack',
  'tool_name',
  'signature',
  'status',
  'refusal',
  'code',
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
    // A model wrote the name of a tool that the host does not have.
    const unknown = named || ('refusal' in value && value.refusal === 'unknown_tool')
    const isOwn = (inner: string) =>
      inner === 'tool_name' ? !unknown : OWN.has(inner) || (named && inner === 'reason')
    const entries = Object.entries(value)
    return Object.fromEntries(
      entries.map(([inner, item]) => [inner, shown(item, inner, isOwn(inner))]),
    )
  }
  return shown(result, '', false) as Result
}
