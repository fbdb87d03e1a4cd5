/** Audits of plans: which tool was used for a plan, when, why and with which parameters. */
import type { Usage } from '../types.js'
import type { CallRefusal, PassTraceEvent, Rejected } from './types.js'

/** One requested call, from its request to its result. */
export interface AuditedCall {
  tool_name: string
  /** The reason that the model gave. */
  reason: string
  /** The parameters of the call. */
  params: unknown
  signature: string
  /** The times of the request and of the result, in milliseconds since 1970. */
  requestedAt: number
  settledAt: number | null
  /** `blocked` and `skipped` calls never ran. For `pending` calls, no result was recorded. */
  status: string
  refusal: CallRefusal | null
  duration_ms: number | null
  replayed: boolean
  result_summary: string | null
}

/** The audit of one plan. */
export interface PlanAudit {
  planId: string
  runId: string | null
  source: string | null
  calls: AuditedCall[]
  /** The parts of requests that were rejected. */
  rejected: Rejected[]
  /** The inferences, with their prompts, contexts and usage. */
  inferences: {
    pass: 'request_pass' | 'plan_pass'
    at: number
    prompt_template_id: string
    prompt_template_hash: string
    context_flags: string[]
    usage: Usage | null
    error?: string
  }[]
}

/**
 * Makes the audit of a plan from stored trace events in their original order. Events of other
 * plans are ignored.
 */
export function auditToolUse(
  events: Iterable<PassTraceEvent | { type: string }>,
  planId: string,
): PlanAudit {
  const audit: PlanAudit = {
    ...{ planId, runId: null, source: null, calls: [], rejected: [], inferences: [] },
  }
  for (const event of events as Iterable<PassTraceEvent>) {
    if (event.plan_id !== planId) continue
    audit.runId = event.run_id
    audit.source = event.source
    if (event.type === 'strategist_tool_request') {
      audit.rejected.push(...event.rejected)
      for (const { allowed, ...asked } of event.tool_calls) {
        const refused = asked.refusal === 'duplicate' ? 'skipped' : 'blocked'
        audit.calls.push({
          ...asked,
          ...{ requestedAt: event.at, settledAt: null, status: allowed ? 'pending' : refused },
          ...{ duration_ms: null, replayed: false, result_summary: null },
        })
      }
    } else if (event.type === 'strategist_tool_result') {
      const { signature, status, duration_ms, replayed, result_summary, at } = event
      const open = audit.calls.find((one) => one.signature === signature && !one.refusal)
      const known = { status, duration_ms, replayed, result_summary, settledAt: at }
      if (open) Object.assign(open, known)
    } else if (event.type === 'llm_call') {
      const { prompt_template_id, prompt_template_hash, context_flags, usage, error } = event
      audit.inferences.push({
        ...{ pass: event.details.phase, at: event.at, prompt_template_id, prompt_template_hash },
        ...{ context_flags, usage, ...(error !== undefined && { error }) },
      })
    }
  }
  return audit
}
