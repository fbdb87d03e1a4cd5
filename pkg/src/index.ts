/**
 * Turnlock: bounded tools, valid histories, computed evidence.
 *
 * The core is embedded in parts, one a capability. Asynchronous operations load theirs when it is
 * first needed, from a chunk of its own; synchronous ones carry theirs and compile it at the first
 * call. So neither an init call nor a bundler plug-in is needed, and a page carries what it
 * imports. `turnlock/slim` is the same without the embedded core.
 *
 * @module
 */
export * from './bundle/index.js'
export { chainBreaker, type ChainBreaker, type ChainBreakerOptions } from './chain/breaker.js'
export { runChain, type Chain, type RunChainOptions } from './chain/chain.js'
export {
  patternStats,
  type PatternEffectiveness,
  type PatternState,
  type PatternStats,
  type PatternStatsOptions,
} from './chain/learn.js'
export { classifyQuery, parsePlan } from './chain/pure.js'
export type * from './chain/types.js'
export { init, type ModuleSource } from './core/instance.js'
export { isTurnlockError, TurnlockError } from './errors.js'
export type { ErrorCode } from './error-codes.js'
export { fit, type FitOptions, type Fitted } from './history/fit.js'
export {
  diagnose,
  explainRefusal,
  normalize,
  openHistory,
  threadId,
  type GrowingHistory,
  type HistoryOptions,
  type NormalizedHistory,
} from './history/history.js'
export {
  openLedger,
  type CallLedger,
  type LedgerCall,
  type LedgerOptions,
  type LedgerTool,
  type Ruling,
} from './tools/ledger.js'
export { anthropic, type AnthropicOptions } from './models/anthropic.js'
export { bedrock, type BedrockOptions } from './models/bedrock.js'
export { cohere, type CohereOptions } from './models/cohere.js'
export { customModel } from './models/custom.js'
export { gemini, type GeminiOptions } from './models/gemini.js'
export type { Model, ModelRequest, SignableRequest, SignedHeaders } from './models/model.js'
export { ollama, type OllamaOptions } from './models/ollama.js'
export { openaiChat, type OpenAIChatOptions } from './models/openai-chat.js'
export { openaiResponses, type OpenAIResponsesOptions } from './models/openai-responses.js'
export { partialObject, type PartialObject } from './tools/partial.js'
export {
  createRedactor,
  type Redactor,
  type RedactKind,
  type RedactOptions,
} from './redactor/index.js'
export { canonicalize, signature } from './signature.js'
export { decodeStream, type DeltaDecoder } from './stream.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory.js'
export {
  checkStore,
  type Answer,
  type Commit,
  type EventGroup,
  type Kept,
  type Listed,
  type Recalled,
  type Standing,
  type Store,
} from './stores/store.js'
export {
  defineTool,
  type PendingCall,
  type ReconcileContext,
  type Reconciled,
  type ReconciledOutcome,
  type Tool,
  type ToolContext,
  type ToolOptions,
} from './tools/tools.js'
export { followTurn, type FollowedTurn, type FollowTurnOptions } from './turn/follow.js'
export type { Keep } from './turn/kept.js'
export type { Claimed, ListedTurn } from './turn/beside.js'
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
export * from './request/index.js'
export type {
  CutResult,
  FailedResult,
  Json,
  OkResult,
  ToolResultOf,
  ToolSet,
} from './tools/results.js'
export { runTurn, type RunTurnOptions, type Turn, type TurnEnd, type TurnOf } from './turn/turn.js'
export type * from './types.js'

// Parts of what is above, so that a host can name them.
export type { ErrorEvent } from './shared/events.js'
export type {
  AgreementLevel,
  BundleCounts,
  BundleEncoding,
  BundleStop,
  ConfidenceReason,
  ConsensusSupport,
  InvalidReplicate,
  NumberDistribution,
  PatchOperation,
  ReplicateMeta,
  SchemaName,
  ValueDistribution,
} from './generated/bundle.js'
export type {
  AcceptedRefinement,
  PatternTable,
  QueryLanguage,
  RefusedRefinement,
} from './generated/chain.js'
export type { FailureDetails, Strategy, ToolError } from './generated/common.js'
export type { ReasoningReplay, ThoughtSignatures, UnknownElements } from './generated/history.js'
export type { CustomModelOptions } from './generated/models.js'
export type { FellBack, InventoryTool, PromptLintCode } from './generated/request.js'
export type { ClaimCallsOptions, Stagnation, TurnMessage, TurnStatus } from './generated/turn.js'
export type { JsonSchema, StandardSchema } from './tools/tools.js'
