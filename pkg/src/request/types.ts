/** The data of a tool-request pass. Members of the request JSON keep its `snake_case` names. */
import type { Rejected, RequestedCall } from '../generated/request.js'

export type {
  Channel,
  ParsedToolRequest,
  Rejected,
  RejectedReason,
  RequestedCall,
  ToolRequestPolicy,
  ToolRequestPrompts,
} from '../generated/request.js'
import type { FinishReason, ToolStatus, Usage } from '../types.js'

/** Why a call does not run. */
export type CallRefusal =
  | 'budget'
  | 'duplicate'
  | 'invalid_arguments'
  | 'not_allowed'
  | 'not_approved'
  | 'not_read_only'
  | 'unknown_tool'

/** A requested call and its outcome. */
export interface PassCall extends RequestedCall {
  /** `blocked`: it was refused; `skipped`: it is a duplicate of a call that has a result. */
  status: ToolStatus
  refusal: CallRefusal | null
  duration_ms: number | null
  /** Whether the result is a recorded one. */
  replayed: boolean
}

/** An entry of `global_context.tool_results`. */
export type PassToolResult = {
  tool_name: string
  params: Record<string, unknown>
  duration_ms: number
} & ({ result: unknown } | { error: { code: string; message: string } })

/** The outcome of a call, recorded for a replay. Plain JSON. */
export interface RecordedCall {
  signature: string
  /** Of several records with one signature, that of the same plan is used, else the last one. */
  plan_id?: string
  tool_name?: string
  params?: Record<string, unknown>
  duration_ms: number
  status: ToolStatus
  result?: unknown
  error?: { code: string; message: string }
  truncated: boolean
}

interface PassTraceEnvelope {
  /** The run's id. */
  requestId: string
  projectId: null
  /** Milliseconds since the pass began. When replaying, only recorded durations count. */
  atMs: number
  /** Milliseconds since 1970: `startedAt` plus `atMs`. */
  at: number
  plan_id: string
  run_id: string
  source: string
  details: { phase: 'request_pass' | 'plan_pass'; toolBatchId: number }
}

/** The trace events of a pass. They contain no results, only summaries of their shapes. */
export type PassTraceEvent = PassTraceEnvelope &
  (
    | {
        type: 'strategist_tool_request'
        /** Every requested call, in order; long `params` are cut to a text. */
        tool_calls: {
          tool_name: string
          params: unknown
          reason: string
          signature: string
          allowed: boolean
          refusal: CallRefusal | null
        }[]
        valid: boolean
        rejected: Rejected[]
        prompt_template_id: string
        prompt_template_hash: string
      }
    | {
        type: 'strategist_tool_result'
        tool_name: string
        signature: string
        duration_ms: number
        status: ToolStatus
        replayed: boolean
        result_summary: string
      }
    | {
        type: 'llm_call'
        inference: number
        prompt_template_id: string
        prompt_template_hash: string
        /** The members of `global_context`, and `tool_results` if results were added. */
        context_flags: string[]
        /** Request pass: requested calls. Plan pass: calls that ran before it. */
        tool_call_count: number
        finish_reason: FinishReason | null
        usage: Usage | null
        /** The code of the failure, if it failed. */
        error?: string
      }
  )
