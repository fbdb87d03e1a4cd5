/** The data that crosses the public API; the same shapes in every runtime and over HTTP. */

/** A provider's wire. */
export type Dialect =
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic'
  | 'gemini'
  | 'mistral'
  | 'deepseek'
  | 'cohere'
  | 'bedrock'
  | 'ollama'
  | 'langchain'
  // OpenAI's wire, each with rules of its own for histories.
  | 'groq'
  | 'xai'
  | 'chat-template'

/** Tokens. `inputTokens` holds cached ones, `outputTokens` those of the reasoning. */
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

/** The limits and switches of a turn. Times in milliseconds. */
export interface Policy {
  /** Tool calls executed in the tool phase, all batches together. @defaultValue 1 */
  maxTools?: number
  /** When the tool phase stops reading a response. @defaultValue "auto" */
  freeze?: 'auto' | 'first_call' | 'batch'
  /** Tools of the action phase; empty: strictly none. @defaultValue [] */
  actionTools?: string[]
  /** Calls executed in the action phase where it has tools. @defaultValue 1 */
  actionMaxTools?: number
  /** A/B cycles, 1 or 2. @defaultValue 1 */
  maxCycles?: number
  /** End as `paused` behind the tool phase. @defaultValue false */
  pauseAfterTools?: boolean
  /** One call. @defaultValue 30000 */
  toolTimeoutMs?: number
  /** All calls of the turn together. @defaultValue 60000 */
  toolsTotalMs?: number
  /** From a request to the first byte of its response. @defaultValue 60000 */
  modelFirstByteMs?: number
  /** Between two pieces of a response. @defaultValue 60000 */
  modelIdleMs?: number
  /** The whole turn. @defaultValue 300000 */
  turnMs?: number
  /** Longer results are cut, marked, and say so. @defaultValue 65536 */
  maxToolResultBytes?: number
  /** Unified mode: model calls in one turn. @defaultValue 5 */
  maxSteps?: number
  /** How results reach the model. @defaultValue "system_box" */
  resultsAs?: 'system_box' | 'native'
}

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

/** A call. `args` is the raw text where the model sent no JSON. */
export interface ToolCall {
  id: string
  name: string
  args: unknown
  /** Lower-case hex SHA-256; see `signature`. */
  signature: string
}

/** What came of a call. */
export interface ToolResult {
  toolCallId: string
  name: string
  status: ToolStatus
  result?: unknown
  error?: { code: string; message: string }
  durationMs: number
  signature: string
  /** An earlier outcome of the same signature; nothing was executed. */
  replayed: boolean
  /** `result` was cut to its limit and says so at its end. */
  truncated: boolean
}

/** Why a turn could not go on. */
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

/** What a turn shows. Exactly one terminal event (`complete`, `paused`, `cancelled`, `error`) comes last. */
export type TurnEvent = Envelope &
  /** `resumed`: the phase had begun before; what it showed and did not finish is void. */
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
        /** The answer was made from the results, because the model gave none. */
        composed?: true
      }
    | { type: 'cancelled'; reason: string }
    | ({ type: 'error' } & TurnFailure)
  )

/** What `await turn.result` gives. It never rejects. */
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
  /** Requests to the model, repetitions not counted. */
  inferences: number
  repairs: Repair[]
  error?: TurnFailure
}

/** One change made to a history. */
export interface Repair {
  /** Stable, such as `TOOL_RESULT_ORPHAN`. */
  code: string
  action: 'dropped' | 'synthesized' | 'moved' | 'merged' | 'renamed' | 'converted'
  /** The element of the given history, from 0. */
  index: number
  /** The id that the history gave the call. */
  toolCallId?: string
  detail: string
}

/** One rule of a provider that a list of messages breaks. */
export interface Violation {
  /** Stable, such as `TOOL_RESULT_ORPHAN`. */
  code: string
  /** The message, from 0. */
  index: number
  toolCallId?: string
  message: string
}

/** What `onTrace` gets: names and numbers, never texts, arguments or results. */
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
