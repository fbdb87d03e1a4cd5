/**
 * Where a chat is kept, so that it is there after a reload. Loaded when it is used, so it imports
 * nothing: what it shares would be loaded apart from the rest by every page.
 */
import type { Round } from './rounds.js'

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

  /** The chat that is kept, and the turn that was open; `undefined` if there is none that can be read. */
  async read(): Promise<{ root: Round; open: string | undefined } | undefined> {
    const text = await this.#storage.getItem(this.#key)
    if (typeof text !== 'string') return undefined
    try {
      const { v, rounds, open } = JSON.parse(text) as Record<string, unknown>
      const root = v === 1 ? treeOf(rounds) : undefined
      return root && { root, open: typeof open === 'string' ? open : undefined }
    } catch {
      return undefined
    }
  }

  /** Writes a chat. Rejects with what the storage throws, and for a history that is not JSON. */
  async write(root: Round, open: string | undefined): Promise<void> {
    this.#waiting = JSON.stringify({ v: 1, rounds: listOf(root), open })
    await (this.#writing ??= this.#write().finally(() => (this.#writing = undefined)))
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

/** A round in a list. JSON of as many levels as a long chat has rounds cannot be written. */
type ListedRound = Omit<Round, 'next'> & {
  /** The place of the round before it; -1 for the first one. */
  before: number
}

/** Lists all rounds, each behind the one before it. */
function listOf(root: Round): ListedRound[] {
  const list: ListedRound[] = []
  const waiting: [Round, number][] = [[root, -1]]
  for (const [{ next, ...round }, before] of waiting) {
    const place = list.push({ ...round, before }) - 1
    for (const one of next) waiting.push([one, place])
  }
  return list
}

/** Makes the tree of a list; `undefined` for any other value. */
function treeOf(list: unknown): Round | undefined {
  const rounds: Round[] = []
  for (const [place, listed] of (Array.isArray(list) ? list : []).entries()) {
    if (!isListed(listed)) return undefined
    const { before, ...round } = listed
    const made = { ...round, next: [] }
    if (place > 0 && !rounds[before]) return undefined
    rounds[before]?.next.push(made)
    rounds.push(made)
  }
  return rounds[0]
}

const LISTS = ['said', 'shown', 'elements', 'answer']

function isListed(value: unknown): value is ListedRound {
  const round = (value ?? {}) as Record<string, unknown>
  const numbers = [round['at'], round['before']]
  return LISTS.every((name) => Array.isArray(round[name])) && numbers.every(Number.isInteger)
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
