/**
 * Everything, without an embedded core: call `await init(…)` first.
 *
 * @module
 */
export * from './bundle/index.js'
export { init, type ModuleSource } from './core.js'
export { isTurnlockError, TurnlockError } from './errors.js'
export {
  diagnose,
  explainRefusal,
  normalize,
  openHistory,
  threadId,
  type GrowingHistory,
  type HistoryOptions,
  type NormalizedHistory,
} from './history.js'
export { anthropic, type AnthropicOptions } from './models/anthropic.js'
export { customModel } from './models/custom.js'
export type { Model, ModelRequest } from './models/model.js'
export { openaiChat, type OpenAIChatOptions } from './models/openai-chat.js'
export { canonicalize, decodeStream, signature, type DeltaDecoder } from './pure.js'
export { defineTool, type Tool, type ToolContext, type ToolOptions } from './tools.js'
export { runTurn, type RunTurnOptions, type Turn } from './turn.js'
export type * from './types.js'
