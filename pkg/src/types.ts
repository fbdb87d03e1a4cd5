/** The data that crosses the public API; the same shapes in every runtime and over HTTP. */
import type { FinishReason, Usage } from './generated/common.js'
import type { ProviderToolStatus } from './generated/turn.js'

export type {
  Dedupe,
  Dialect,
  FinishReason,
  HistoryCode,
  Repair,
  RepairAction,
  TextToolCalls,
  ThinkTags,
  ToolStatus,
  TurnFailure,
  Usage,
} from './generated/common.js'
export type { Violation } from './generated/history.js'
export type {
  ReadMode,
  Mode,
  PhaseName,
  Policy,
  ProviderToolStatus,
  RefusalReason,
  ResultsAs,
  ToolCall,
  ToolResult,
  TraceEvent,
  TurnEvent,
  TurnResult,
} from './generated/turn.js'

/** One increment of a model's response. */
export type Delta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; signature?: string }
  | { type: 'tool_call_start'; index: number; id: string; name: string }
  | { type: 'tool_call_arguments'; index: number; text: string }
  /** The arguments are complete as far as is known, but the wire format has no mark that ends a call: only a call that may run twice may start here. */
  | { type: 'tool_call_ready'; index: number }
  /** The arguments are complete. A call with effects starts here, and never without this delta. */
  | { type: 'tool_call_end'; index: number }
  | { type: 'usage'; usage: Partial<Usage> }
  | { type: 'finish'; reason: FinishReason; raw: string }
  | { type: 'error'; class: string; retryable: boolean; message: string; raw: unknown }
  | {
      type: 'provider_tool'
      name: string
      id?: string
      status: ProviderToolStatus
      block?: unknown
      data?: unknown
    }
  | { type: 'members'; index?: number; members: Record<string, unknown> }
  | { type: 'other'; raw: unknown }
