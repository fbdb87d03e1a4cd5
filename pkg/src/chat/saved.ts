/** Where a chat is kept, so that it is there after a reload. */
import type { Round } from './rounds.js'

/** A chat as it is kept: JSON. */
export interface SavedChat {
  v: 1
  rounds: Round
  /** The turn that was running or waiting. */
  open?: string
}

/** Reads a text (`null` or `undefined`: there is none), and writes one. As `localStorage` does it. */
export interface ChatStorage {
  getItem(key: string): unknown
  setItem(key: string, text: string): unknown
}

/**
 * Where a chat is kept: in the page's `localStorage`, in its IndexedDB, in anything with `getItem` and
 * `setItem`, or by a function, which reads the text of a key and writes one if it is given. Each may
 * return promises.
 */
export type ChatPersistence =
  'localStorage' | 'indexedDB' | ChatStorage | ((key: string, text?: string) => unknown)

/** Reads and writes the text of one chat. */
export class Saved {
  readonly #key: string
  readonly #storage: ChatStorage
  /** Writes are one behind the other; of those that wait, the last one counts. */
  #writing: Promise<unknown> | undefined
  #waiting: string | undefined

  constructor(given: ChatPersistence, conversationId: string | undefined) {
    this.#key = `turnlock:chat:${conversationId ?? ''}`
    this.#storage = storageOf(given)
  }

  /** The chat that is kept; `undefined` if there is none, or another version's. */
  async read(): Promise<SavedChat | undefined> {
    const text = await this.#storage.getItem(this.#key)
    if (typeof text !== 'string') return undefined
    try {
      const saved = JSON.parse(text) as SavedChat
      return saved.v === 1 && Array.isArray(saved.rounds.next) ? saved : undefined
    } catch {
      return undefined
    }
  }

  /** Writes a chat. Rejects with what the storage throws. */
  write(saved: SavedChat): Promise<unknown> {
    this.#waiting = JSON.stringify(saved)
    return (this.#writing ??= this.#write().finally(() => (this.#writing = undefined)))
  }

  async #write(): Promise<void> {
    // Not in the midst of what made it.
    await null
    while (this.#waiting !== undefined) {
      const text = this.#waiting
      this.#waiting = undefined
      await this.#storage.setItem(this.#key, text)
    }
  }
}

function storageOf(given: ChatPersistence): ChatStorage {
  if (typeof given === 'function') {
    return { getItem: (key) => given(key), setItem: (key, text) => given(key, text) }
  }
  if (given === 'indexedDB') return inDatabase
  return given === 'localStorage' ? globalThis.localStorage : given
}

const [DATABASE, TABLE] = ['turnlock-chat', 'chats']

const inDatabase: ChatStorage = {
  getItem: (key) => inTable('readonly', (table) => table.get(key)),
  setItem: (key, text) => inTable('readwrite', (table) => table.put(text, key)),
}

async function inTable(
  mode: IDBTransactionMode,
  act: (table: IDBObjectStore) => IDBRequest,
): Promise<unknown> {
  const opening = indexedDB.open(DATABASE, 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(TABLE)
  const database = (await settled(opening)) as IDBDatabase
  try {
    const transaction = database.transaction(TABLE, mode)
    const ended = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () =>
        reject(transaction.error ?? new Error('the transaction was aborted'))
    })
    const result = await settled(act(transaction.objectStore(TABLE)))
    await ended
    return result
  } finally {
    database.close()
  }
}

const settled = (request: IDBRequest) =>
  new Promise<unknown>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'))
  })
