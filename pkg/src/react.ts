/**
 * A chat as a hook of React, from 18 on.
 *
 * @module
 */
import { useEffect, useRef, useSyncExternalStore } from 'react'
import { createChat, isChat, type Chat, type ChatState } from './chat/chat.js'
import type { ChatOptions } from './generated/chat.js'

export * from './chat/index.js'

/** The state of a chat, and what a user may do. */
export interface UseTurn
  extends
    ChatState,
    Pick<
      Chat,
      'send' | 'edit' | 'show' | 'approve' | 'resume' | 'stop' | 'regenerate' | 'attach' | 'history'
    > {
  /** The chat, for another component that shows it too. */
  chat: Chat
}

/**
 * The state of a chat in a component.
 *
 * With options, the chat belongs to the component: the turn that runs is cancelled when it is
 * unmounted. With a chat of `createChat`, any number of components show it, and it outlives them.
 *
 * @throws TurnlockError `options.invalid`
 */
export function useTurn(given: ChatOptions | Chat): UseTurn {
  const chatRef = useRef<Chat | undefined>(undefined)
  const options = isChat(given) ? undefined : given
  const chat = options ? (chatRef.current ??= createChat(options)) : (given as Chat)
  const { subscribe, getSnapshot, configure, hold, ...actions } = chat
  useEffect(() => {
    if (options) configure(options)
  })
  useEffect(() => options && hold(), [chat, !options])
  return { ...useSyncExternalStore(subscribe, getSnapshot, getSnapshot), ...actions, chat }
}
