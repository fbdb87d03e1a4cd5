/** The data of a tool-request pass. Members of the request JSON keep its `snake_case` names. */
import type { RejectedReason } from '../generated/planning.js'

export type {
  Channel,
  ParsedToolRequest,
  PassCall,
  PassToolResult,
  PassTraceEvent,
  RecordedCall,
  RequestRejection,
  RejectedReason,
  RequestedCall,
  ToolRequestPolicy,
  PlanningPrompts,
} from '../generated/planning.js'

/** Why a call does not run. */
export type CallRefusal = Extract<
  RejectedReason,
  | 'budget'
  | 'duplicate'
  | 'invalid_arguments'
  | 'not_allowed'
  | 'not_approved'
  | 'not_read_only'
  | 'unknown_tool'
>
