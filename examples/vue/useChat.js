import { onScopeDispose, readonly, shallowRef } from 'vue'
import { createChat } from 'turnlock/chat'

/** A chat of `turnlock/chat` whose state is a ref. It ends with the component. */
export function useChat(options) {
  const chat = createChat(options)
  const state = shallowRef(chat.getSnapshot())
  const release = chat.hold()
  const leave = chat.subscribe(() => (state.value = chat.getSnapshot()))
  onScopeDispose(() => {
    leave()
    release()
  })
  return { ...chat, state: readonly(state) }
}
