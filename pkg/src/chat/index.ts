/**
 * The state of a chat over turns, for any user interface: a store with `subscribe` and
 * `getSnapshot`. Holds no part of the core.
 *
 * @module
 */
export type { ChatOptions } from '../generated/chat.js'
export { createChat, isChat, type Chat, type ChatState, type ChatStatus } from './chat.js'
export type { ChatTurns, ShownTurn } from './turns.js'
export type { CallPart, ChatMessage, ChatPart, TextPart } from './message.js'
export type { ChatPersistence, ChatStorage } from './saved.js'
