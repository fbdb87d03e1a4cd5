/** Which turn of a chat is the last one: `useChat` asks by the id of its chat alone. */
import { inTime, stateOf, turnKey } from '../../turn/kept.js'
import { randomHex } from '../../shared/random.js'
import type { Chats } from '../../server/format.js'

/** No turn has this name: ids of turns have no white space. */
const name = (tenant: string, chat: string) => turnKey(tenant, `chat ${chat}`)

/**
 * The note is a reusable text of the store, which replaces the one before it. A commit brings it;
 * the turn of that commit is over at once, and nobody reads it.
 */
export const chats: Chats = {
  async began(store, tenant, chat, requestId, ttlMs) {
    const commit = {
      owner: randomHex(16),
      revision: 1,
      takeOver: false,
      open: false,
      records: [],
      events: null,
      forget: 0,
      state: '{}',
      ttlMs: 1,
      reusable: [[name(tenant, chat), requestId, ttlMs]] as [string, string, number][],
    }
    await inTime(store.commit(turnKey(tenant, `note ${requestId}`), commit))
  },
  async open(store, tenant, chat) {
    const requestId = (await inTime(store.recall(name(tenant, chat))))?.text
    const stored = requestId && (await inTime(store.read(turnKey(tenant, requestId))))
    if (!stored) return undefined
    return ['running', 'paused'].includes(stateOf(stored).status) ? requestId : undefined
  },
}
