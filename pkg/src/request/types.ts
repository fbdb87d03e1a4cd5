/** The data of a tool-request pass. Members of the request JSON keep its `snake_case` names. */
import type { FinishReason, ToolStatus, Usage } from '../types.js'

/** The limits of a pass. Times in milliseconds. */
export interface ToolRequestPolicy {
  /**
   * Names of the tools that may be asked for. A tool that is not `readOnly` never runs, whatever
   * stands here. @defaultValue every tool that is `readOnly`
   */
  allow?: string[]
  /** Calls that run for one plan; further ones are refused, in order. @defaultValue 2 */
  maxToolCalls?: number
  /** Requests for one plan, at most 4; 0 asks for the plan at once. @defaultValue 1 */
  maxIterations?: number
  /** One call; a tool's own `timeoutMs` counts where it is shorter. @defaultValue 2000 */
  toolTimeoutMs?: number
  /** All calls together. @defaultValue 5000 */
  totalToolMs?: number
  /** Longer results are cut, and say so. @defaultValue 65536 */
  maxToolResultBytes?: number
  /** UTF-16 units of a `reason`; longer ones are cut. @defaultValue 200 */
  maxReasonChars?: number
  /**
   * How the model is asked for its request: in the text of its answer, as structured output
   * (`response_format`; a forced tool on Anthropic), or as a call of `request_tools`. It is read
   * wherever it comes. @defaultValue "text"
   */
  channel?: 'text' | 'structured' | 'tool_call'
  /** @defaultValue 60000 */
  modelFirstByteMs?: number
  /** @defaultValue 60000 */
  modelIdleMs?: number
  /** The whole pass. @defaultValue 300000 */
  totalMs?: number
}

/** Why something is not taken; the first group spoils a whole request, the second one call. */
export type RejectedReason =
  | 'ambiguous'
  | 'invalid_field'
  | 'missing_field'
  | 'no_json'
  | 'not_an_object'
  | 'syntax'
  | 'too_large'
  | 'truncated'
  | 'unknown_field'
  | CallRefusal

/** Why a call does not run. */
export type CallRefusal =
  | 'budget'
  | 'duplicate'
  | 'invalid_arguments'
  | 'not_allowed'
  | 'not_approved'
  | 'not_read_only'
  | 'unknown_tool'

/** Something of a request that is not taken. */
export interface Rejected {
  /** The call's place in the request, from 0; null for the request itself. */
  index: number | null
  tool_name: string | null
  reason: RejectedReason
  /** The member, or the code, that it is about. */
  detail: string | null
}

/** A call that a model asks for. */
export interface RequestedCall {
  tool_name: string
  params: Record<string, unknown>
  reason: string
  /** Lower-case hex SHA-256; see `signature`. */
  signature: string
}

/** What `parseToolRequest` finds. */
export interface ParsedToolRequest {
  /** The calls that may run, in order. */
  toolCalls: RequestedCall[]
  rejected: Rejected[]
  /** Whether the text is a request by the schema. If not, nothing of it is taken. */
  valid: boolean
}

/** A requested call, and what has become of it. */
export interface PassCall extends RequestedCall {
  /** `blocked`: it was refused; `skipped`: it is a duplicate, whose result is there already. */
  status: ToolStatus
  refusal: CallRefusal | null
  duration_ms: number | null
  /** The result is a recorded one. */
  replayed: boolean
}

/** An entry of `global_context.tool_results`. */
export type PassToolResult = {
  tool_name: string
  params: Record<string, unknown>
  duration_ms: number
} & ({ result: unknown } | { error: { code: string; message: string } })

/** What came of a call, written down to be given again. Plain JSON. */
export interface RecordedCall {
  signature: string
  /** Of several records of one signature, that of the same plan counts, else the last one. */
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
  /** Milliseconds since 1970: `startedAt` and `atMs`. */
  at: number
  plan_id: string
  run_id: string
  source: string
  details: { phase: 'request_pass' | 'plan_pass'; toolBatchId: number }
}

/** What `onTrace` of a pass gets. No result is in it, only a summary of its shape. */
export type PassTraceEvent = PassTraceEnvelope &
  (
    | {
        type: 'strategist_tool_request'
        /** Every call that was requested, in order; long `params` are cut to a text. */
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
        /** Members of `global_context` that are there, and `tool_results` if results were added. */
        context_flags: string[]
        /** Request pass: calls asked for. Plan pass: calls that ran before it. */
        tool_call_count: number
        finish_reason: FinishReason | null
        usage: Usage | null
        /** The code of the failure, if it failed. */
        error?: string
      }
  )
