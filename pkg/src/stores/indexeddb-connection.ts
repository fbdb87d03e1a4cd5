/** The database of an `indexedDbStore`: opened when needed, and reopened after it was closed. */
import { TurnlockError } from '../errors.js'

const VERSION = 1
const STORES = ['turns', 'records', 'events', 'reusable']

/** Creates transactions over the whole database. */
export interface Connection {
  transaction(
    mode: 'readonly' | 'readwrite',
    durability?: 'strict' | 'relaxed',
  ): Promise<IDBTransaction>
}

/** Resolves with the result of a request. */
export function done<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T)
    request.onerror = () => reject(request.error)
  })
}

/** Resolves when the transaction is complete. */
export function finished(tx: IDBTransaction): Promise<void> {
  const end = new Promise<void>((resolve, reject) => {
    tx.oncomplete = () => resolve()
    // No error means that the connection was closed: the user cleared the site's data.
    tx.onabort = () => reject(tx.error ?? new DOMException('closed', 'AbortError'))
  })
  // A caller that abandoned the transaction does not await its end.
  end.catch(() => {})
  return end
}

const CODES: Record<string, [code: string, message: string]> = {
  QuotaExceededError: ['store.quota', 'the storage of this site is full'],
  VersionError: ['store.version', 'a newer version of this page has upgraded the database; reload'],
  SecurityError: ['store.denied', 'this page may not use IndexedDB'],
  NotAllowedError: ['store.denied', 'this page may not use IndexedDB'],
  AbortError: ['store.closed', 'IndexedDB was closed in the middle of an operation'],
  InvalidStateError: ['store.closed', 'IndexedDB was closed in the middle of an operation'],
  TransactionInactiveError: ['store.closed', 'IndexedDB was closed in the middle of an operation'],
}

/** Converts an error of IndexedDB to an error of this package. */
export function failure(cause: unknown): TurnlockError {
  if (cause instanceof TurnlockError) return cause
  const { name = '', message: said = String(cause) } = (cause ?? {}) as Partial<Error>
  const [code, message] = CODES[name] ?? ['store.unavailable', `IndexedDB failed: ${said}`]
  return new TurnlockError(code, message, undefined, cause)
}

function create(db: IDBDatabase) {
  const turns = db.createObjectStore('turns', { keyPath: 'turn' })
  turns.createIndex('expires', 'expires')
  const records = db.createObjectStore('records', { keyPath: ['turn', 'n'] })
  records.createIndex('name', ['turn', 'name'], { unique: true })
  db.createObjectStore('events', { keyPath: ['turn', 'last'] })
  const reusable = db.createObjectStore('reusable', { keyPath: 'key' })
  reusable.createIndex('expires', 'expires')
}

function open(factory: IDBFactory, name: string, timeoutMs: number): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(name, VERSION)
    let late = false
    // A timer instead of the `blocked` event, which does not fire if a pending deletion blocks it.
    const timer = setTimeout(() => {
      late = true
      const message = 'another page holds the database back; close the other tabs of this site'
      reject(new TurnlockError('store.blocked', message))
    }, timeoutMs)
    request.onupgradeneeded = () => create(request.result)
    request.onsuccess = () => {
      clearTimeout(timer)
      if (late) request.result.close()
      else resolve(request.result)
    }
    request.onerror = () => {
      clearTimeout(timer)
      // Firefox does this in private windows of old versions, and for a read-only profile.
      const denied = request.error?.name === 'InvalidStateError'
      reject(denied ? new DOMException(request.error.message, 'SecurityError') : request.error)
    }
  })
}

export function connect(
  name: string,
  given: IDBFactory | undefined,
  openTimeoutMs: number,
): Connection {
  let opened: Promise<IDBDatabase> | undefined

  const database = async (): Promise<IDBDatabase> => {
    // Read as late as possible, because the access itself throws in a sandboxed frame.
    const factory = given ?? globalThis.indexedDB
    if (!factory) throw new TurnlockError('store.denied', 'there is no IndexedDB here')
    const db = await open(factory, name, openTimeoutMs)
    const forget = () => (opened = undefined)
    // Another page wants to upgrade or delete the database, and waits for this one.
    db.onversionchange = () => {
      forget()
      db.close()
    }
    db.onclose = forget
    return db
  }

  const ready = (): Promise<IDBDatabase> => {
    if (!opened) {
      const opening = database()
      opened = opening
      opening.catch(() => {
        if (opened === opening) opened = undefined
      })
    }
    return opened
  }

  return {
    async transaction(mode, durability) {
      const options = durability ? { durability } : undefined
      try {
        const db = await ready()
        try {
          return db.transaction(STORES, mode, options)
        } catch {
          // The connection was closed after it was opened: retry on a new one.
          opened = undefined
          return (await ready()).transaction(STORES, mode, options)
        }
      } catch (cause) {
        throw failure(cause)
      }
    },
  }
}
