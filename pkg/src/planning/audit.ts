/** Audits of plans: which tool was used for a plan, when, why and with which parameters. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { Usage } from '../types.js'
import type { CallRefusal, PassTraceEvent, RequestRejection } from './types.js'

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

/** One inference of a pass, with its prompt, context and usage. */
export interface AuditedInference {
  pass: 'request_pass' | 'plan_pass'
  at: number
  prompt_template_id: string
  prompt_template_hash: string
  context_flags: string[]
  usage: Usage | null
  error?: string
}

/** The audit of one run. */
export interface RunAudit {
  runId: string
  /** Null if the host gave none. */
  source: string | null
  calls: AuditedCall[]
  /** The parts of requests that were rejected. */
  rejected: RequestRejection[]
  /** What deviates from the schema of a request without effect on its calls. */
  notes: RequestRejection[]
  inferences: AuditedInference[]
}

/** The audit of one plan. Its lists have the entries of all runs, run by run. */
export interface PlanAudit extends Omit<RunAudit, 'runId' | 'source'> {
  planId: string
  /** Null if there is no event of the plan, or if it has several runs. */
  runId: string | null
  /** Null if the host gave none, or if the runs of the plan differ in it. */
  source: string | null
  /** The runs, in the order of their first events. */
  runs: RunAudit[]
}

/**
 * Makes the audit of a plan from stored trace events in their original order. Events of other
 * plans are ignored, and with `runId` those of other runs of the plan too. Runs are kept apart: a
 * result belongs to a call of its own run.
 *
 * @throws TurnlockError `options.invalid` for events that are no iterable
 */
export function auditToolUse(
  events: Iterable<PassTraceEvent | { type: string }>,
  planId: string,
  runId?: string,
): PlanAudit {
  const isList = typeof (events ?? {})[Symbol.iterator] === 'function'
  if (!isList) throw wrong('events', 'an iterable of trace events')
  const byId = new Map<string, RunAudit>()
  for (const event of events as Iterable<PassTraceEvent>) {
    if (!isObject(event)) continue
    const { plan_id, run_id, source } = event
    if (plan_id !== planId || (runId ?? run_id) !== run_id) continue
    const run = byId.get(run_id) ?? {
      runId: run_id,
      source,
      calls: [],
      rejected: [],
      notes: [],
      inferences: [],
    }
    byId.set(run_id, run)
    take(event, run)
  }
  const runs = [...byId.values()]
  const [first] = runs
  return {
    planId,
    runId: first && runs.length === 1 ? first.runId : null,
    source: first && runs.every((run) => run.source === first.source) ? first.source : null,
    calls: runs.flatMap((run) => run.calls),
    rejected: runs.flatMap((run) => run.rejected),
    notes: runs.flatMap((run) => run.notes),
    inferences: runs.flatMap((run) => run.inferences),
    runs,
  }
}

/** Adds what an event tells to the audit of its run. */
function take(event: PassTraceEvent, { calls, rejected, notes, inferences }: RunAudit): void {
  if (event.type === 'strategist_tool_request') {
    rejected.push(...event.rejected)
    // Events that an older version stored have none.
    notes.push(...(event.notes ?? []))
    for (const { allowed, ...asked } of event.tool_calls) {
      const refused = asked.refusal === 'duplicate' ? 'skipped' : 'blocked'
      calls.push({
        ...asked,
        requestedAt: event.at,
        settledAt: null,
        status: allowed ? 'pending' : refused,
        duration_ms: null,
        replayed: false,
        result_summary: null,
      })
    }
  } else if (event.type === 'strategist_tool_result') {
    const { signature, status, duration_ms, replayed, result_summary, at } = event
    const open = calls.find((one) => one.signature === signature && one.status === 'pending')
    const known = { status, duration_ms, replayed, result_summary, settledAt: at }
    if (open) Object.assign(open, known)
  } else if (event.type === 'llm_call') {
    const { prompt_template_id, prompt_template_hash, context_flags, usage, error } = event
    inferences.push({
      pass: event.details.phase,
      at: event.at,
      prompt_template_id,
      prompt_template_hash,
      context_flags,
      usage,
      ...(error !== undefined && { error }),
    })
  }
}
