// What outlives a reload: the turns, in IndexedDB, and what the page itself remembers.
import { indexedDbStore } from 'turnlock/stores/indexeddb'

/** Every event, claim and outcome of a turn is in here before it is shown or acted on. */
export const store = indexedDbStore()

const PREFIX = 'turnlock-page:'
const listeners = new Set()
/** Where the browser allows no storage, a reload forgets. */
const unkept = new Map()

/** `listener(key, elsewhere)`: something was remembered, here or in another tab. */
export const onRemembered = (listener) => listeners.add(listener)

export function recall(key, otherwise) {
  let text = unkept.get(key)
  try {
    text ??= localStorage.getItem(PREFIX + key)
  } catch {
    // No storage for this page.
  }
  return text == null ? otherwise : JSON.parse(text)
}

/** `undefined` forgets. */
export function remember(key, value) {
  const text = JSON.stringify(value)
  try {
    if (text === undefined) localStorage.removeItem(PREFIX + key)
    else localStorage.setItem(PREFIX + key, text)
    unkept.delete(key)
  } catch {
    unkept.set(key, text)
  }
  for (const listener of listeners) listener(key, false)
}

addEventListener('storage', ({ key }) => {
  if (!key?.startsWith(PREFIX)) return
  for (const listener of listeners) listener(key.slice(PREFIX.length), true)
})
