import { onDestroy } from 'svelte'
import { readable } from 'svelte/store'
import { createChat } from 'turnlock/chat'

/** A chat of `turnlock/chat` whose state is a store of Svelte. It ends with the component. */
export function useChat(options) {
  const chat = createChat(options)
  onDestroy(chat.hold())
  const state = readable(chat.getSnapshot(), (set) => {
    set(chat.getSnapshot())
    return chat.subscribe(() => set(chat.getSnapshot()))
  })
  return { ...chat, state }
}
