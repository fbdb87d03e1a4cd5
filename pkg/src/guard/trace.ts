/** What a guarded tool reports to its host. */
import type { ToolStatus } from '../generated/common.js'
import type { RefusalReason } from '../generated/turn.js'

interface GuardTraceMembers {
  /** Milliseconds since 1970. */
  at: number
  /** The conversation, if the host named it. */
  conversationId?: string
  tool_name: string
  /** The id of the call; empty if the framework has none. */
  tool_call_id: string
  /** The signature of the call; empty if its arguments are not a JSON object. */
  signature: string
}

/** A trace event of a guarded tool. It has no arguments and no results. */
export type GuardTraceEvent = GuardTraceMembers &
  (
    | { type: 'tool_call' }
    | {
        type: 'tool_result'
        status: ToolStatus
        /** Milliseconds from the start of the call until it settled. */
        duration_ms: number
        /** Whether an earlier outcome was used instead of an execution. */
        replayed: boolean
        /** The message of the error, if the call failed. */
        error?: string
      }
    | { type: 'duplicate_tool_call' }
    | { type: 'tool_refused'; reason: RefusalReason }
  )
