/**
 * Turns for the AI SDK, versions 6 and 7: `createHandler({ format: 'ai-sdk' })` for `useChat`,
 * {@link toUIMessageResponse} for a route of the host's own, {@link turnlockMiddleware} for those who
 * stay with `streamText` and `generateText`.
 *
 * @module
 */
export {
  turnlockMiddleware,
  type AiSdkMiddlewareOptions,
  type MiddlewareReport,
  type TurnlockMiddleware,
} from './middleware.js'
export type { PromptRepair } from './prompt.js'
export { toUIMessageResponse, toUIMessageStream } from './response.js'
export type { UiChunk } from './stream.js'
