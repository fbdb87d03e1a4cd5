/** The data that crosses the public API; the same shapes in every runtime and over HTTP. */

export type { Dedupe, Dialect } from './generated/common.js'
export type { HistoryCode, Repair, RepairAction, Violation } from './generated/history.js'
export type { Freeze, Mode, Policy, ResultsAs } from './generated/turn.js'
import type { Repair } from './generated/history.js'

/** Tokens. `inputTokens` includes cached ones, `outputTokens` includes reasoning tokens. */
export interface Usage {
  inputTokens: number
  outputTokens: number
  totalTokens: number
  cachedInputTokens?: number
  reasoningTokens?: number
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' | 'other'

/** One increment of a model's response. */
export type Delta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; signature?: string }
  | { type: 'tool_call_start'; index: number; id: string; name: string }
  | { type: 'tool_call_arguments'; index: number; text: string }
  | { type: 'tool_call_end'; index: number }
  | { type: 'usage'; usage: Partial<Usage> }
  | { type: 'finish'; reason: FinishReason; raw: string }
  | { type: 'error'; class: string; retryable: boolean; message: string; raw: unknown }
  | { type: 'other'; raw: unknown }

export type PhaseName = 'tool_phase' | 'action_phase' | 'unified' | 'complete'

export type RefusalReason =
  | 'duplicate'
  | 'budget'
  | 'not_allowed'
  | 'tools_disabled'
  | 'unknown_tool'
  | 'invalid_arguments'
  | 'not_approved'

export type ToolStatus =
  'ok' | 'error' | 'timeout' | 'blocked' | 'skipped' | 'unknown' | 'cancelled'

/** A call. `args` is the raw text if the model did not send JSON. */
export interface ToolCall {
  id: string
  name: string
  args: unknown
  /** Lower-case hex SHA-256; see `signature`. */
  signature: string
}

/** The outcome of a call. */
export interface ToolResult {
  toolCallId: string
  name: string
  status: ToolStatus
  result?: unknown
  error?: { code: string; message: string }
  durationMs: number
  signature: string
  /** Whether this is an earlier outcome of the same signature; nothing was executed. */
  replayed: boolean
  /** Whether `result` was cut to its limit; a note at its end states this. */
  truncated: boolean
}

/** Why a turn failed. */
export interface TurnFailure {
  code: string
  message: string
  details?: { status?: number }
}

interface Envelope {
  phase: PhaseName
  requestId: string
  projectId: string | null
  /** 0 before the first batch, then 1, 2, … */
  toolBatchId: number
  /** 1, 2, … */
  seq: number
}

/** The events of a turn. The last one is terminal: `complete`, `paused`, `cancelled` or `error`. */
export type TurnEvent = Envelope &
  /** `resumed`: the phase had begun before; its unfinished output is void. */
  (
    | { type: 'phase_start'; resumed?: true }
    | { type: 'phase_end' }
    | { type: 'text'; chunk: string }
    | { type: 'reasoning'; chunk: string }
    | { type: 'tool_calls'; toolCalls: ToolCall[] }
    | { type: 'tool_progress'; toolCallId: string; name: string; data: unknown }
    | { type: 'tool_results'; toolResults: ToolResult[] }
    | {
        type: 'refused'
        toolCalls: ToolCall[]
        reason: RefusalReason
        notice: string
        blockedSignatures: string[]
      }
    /** Calls that the user must approve; the turn pauses. */
    | { type: 'approval_required'; toolCalls: ToolCall[] }
    | {
        type: 'paused'
        resume: { requestId: string; toolBatchId: number }
        /** Calls that wait for an approval. */
        approvals?: ToolCall[]
      }
    | {
        type: 'complete'
        done: true
        fullContent: string
        usage: Usage
        blockedSignatures: string[]
        /** The answer was composed from the results, because the model returned none. */
        composed?: true
      }
    | { type: 'cancelled'; reason: string }
    | ({ type: 'error' } & TurnFailure)
  )

/** The value of `turn.result`, which never rejects. */
export interface TurnResult {
  requestId: string
  status: 'complete' | 'paused' | 'cancelled' | 'failed'
  /** The answer: the text of the last action phase, or of the plain stream. */
  text: string
  /** All text that was shown, in order. */
  fullContent: string
  toolResults: ToolResult[]
  blockedSignatures: string[]
  usage: Usage
  /** Requests to the model, not counting retries. */
  inferences: number
  repairs: Repair[]
  error?: TurnFailure
}

/** The events for `onTrace`: names and numbers, never texts, arguments or results. */
export interface TraceEvent {
  type:
    | 'tool_registration'
    | 'tool_call'
    | 'tool_result'
    | 'duplicate_tool_call'
    | 'orchestration_phase_start'
    | 'orchestration_phase_end'
    | 'llm_call'
  requestId: string
  projectId: string | null
  /** Milliseconds since the turn began. */
  atMs: number
  details: { phase: PhaseName; toolBatchId: number }
  [field: string]: unknown
}
