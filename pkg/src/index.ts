/**
 * Turnlock: bounded tools, valid histories, computed evidence.
 *
 * The core is embedded in parts, one a capability. Asynchronous operations load theirs when it is
 * first needed, from a chunk of its own; synchronous ones carry theirs and compile it at the first
 * call. So neither an init call nor a bundler plug-in is needed, and a page carries what it
 * imports. `turnlock/slim` is the same without the embedded core. Evidence bundles, plans that ask for
 * data first and chains are entries of their own: `turnlock/evidence`, `turnlock/planning`, `turnlock/chain`.
 *
 * @module
 */
export { init, type ModuleSource } from './core/instance.js'
export { isTurnlockError, TurnlockError } from './errors.js'
export type { ErrorCode } from './generated/error-codes.js'
export { trimHistory, type TrimOptions, type TrimmedHistory } from './history/trim.js'
export {
  diagnoseHistory,
  explainProviderError,
  normalizeHistory,
  openHistory,
  threadId,
  type GrowingHistory,
  type HistoryOptions,
  type NormalizedHistory,
} from './history/history.js'
export {
  createCallGuard,
  type CallGuard,
  type CallVerdict,
  type GuardedCall,
  type GuardedTool,
  type GuardPolicy,
  type GuardState,
} from './guard/call-guard.js'
export { anthropic, type AnthropicOptions } from './models/anthropic.js'
export { bedrock, type BedrockOptions } from './models/bedrock.js'
export { cohere, type CohereOptions } from './models/cohere.js'
export { customModel } from './models/custom.js'
export { gemini, type GeminiOptions } from './models/gemini.js'
export type { Model, ModelRequest, SignableRequest, SignedHeaders } from './models/model.js'
export { ollama, type OllamaOptions } from './models/ollama.js'
export { openaiChat, type OpenAIChatOptions } from './models/openai-chat.js'
export { PROVIDERS, type ProviderInfo } from './generated/providers.js'
export { providerModel, type ProviderModelOptions } from './models/provider.js'
export { openaiResponses, type OpenAIResponsesOptions } from './models/openai-responses.js'
export {
  diagnoseTools,
  type DeclaredTool,
  type ToolCode,
  type ToolFinding,
} from './tools/diagnose-tools.js'
export { partialObject, type PartialObject } from './tools/partial.js'
export { canonicalize, signature } from './signature.js'
export { decodeStream, type DeltaDecoder } from './stream.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory.js'
export {
  checkStore,
  type CommitResult,
  type Commit,
  type EventGroup,
  type StoredTurn,
  type ListedTurn,
  type StoredOutcome,
  type TurnHead,
  type Store,
} from './stores/store.js'
export {
  defineTool,
  type PendingCall,
  type ReconcileContext,
  type Reconciled,
  type ReconciledOutcome,
  type Tool,
  type ApprovalDecision,
  type ToolContext,
  type ToolOptions,
} from './tools/tools.js'
export type {
  ToolContent,
  ToolContentPart,
  ToolContentReference,
  ToolMedia,
  ToolMediaReference,
  ToolText,
} from './tools/content.js'
export { followTurn, type FollowedTurn, type FollowTurnOptions } from './turn/follow.js'
export type { Keep } from './turn/kept.js'
export {
  localTurns,
  type LocalResumeOptions,
  type LocalRunOptions,
  type LocalTurns,
  type LocalTurnsOptions,
} from './turn/local.js'
export type { RemoteEnd, RemoteTurn } from './remote/turn.js'
export type { RemoteState } from './remote/turns.js'
export type { ClaimResult, OpenTurn } from './turn/beside.js'
export {
  cancelTurn,
  claimCalls,
  listTurns,
  pauseTurn,
  resumeTurn,
  type Approval,
  type CallOutcome,
  type ResultRevision,
  type CancelTurnOptions,
  type ListTurnsOptions,
  type PauseTurnOptions,
  type ResumeTurnOptions,
} from './turn/resume.js'
export type {
  CutResult,
  FailedResult,
  Json,
  OkResult,
  ToolResultOf,
  ToolSet,
} from './tools/results.js'
export type { EventResponseInit } from './shared/sse.js'
export { runTurn, type RunTurnOptions, type Turn, type TurnEnd, type TurnOf } from './turn/turn.js'
export type * from './types.js'
export type { Redact } from './shared/redact.js'

// Parts of what is above, so that a host can name them.
export type { ErrorEvent } from './shared/events.js'
export type {
  FailureDetails,
  MissingReasoning,
  Prices,
  ReasoningReplay,
  Strategy,
  ThoughtSignatures,
  ToolError,
} from './generated/common.js'
export type { UnknownElements } from './generated/history.js'
export type { CustomModelOptions } from './generated/models.js'
export type {
  ClaimCallsOptions,
  ModelHistory,
  Stagnation,
  TurnMessage,
  TurnReasoning,
  TurnStatus,
} from './generated/turn.js'
export type { JsonSchema, StandardSchema } from './tools/tools.js'
