// What a page of these tests has: its stores, and what is asked of them.
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import { storeConformance } from 'turnlock/testing'

/** The durability of every transaction that writes, as the browser took it. */
const durability = []
const begin = IDBDatabase.prototype.transaction
IDBDatabase.prototype.transaction = function (...given) {
  const tx = begin.apply(this, given)
  if (tx.mode === 'readwrite') durability.push(tx.durability)
  return tx
}

/** The implementations that this page uses: the first one, and all of them in a suite. */
const kinds = new URLSearchParams(location.search).get('kinds').split(',')
const rust = kinds.includes('rust') && (await import('./rust-store.mjs'))
const make = { ts: indexedDbStore, rust: rust.rustStore }
const store = make[kinds[0]]

const stores = {}
const at = (name, options) => (stores[name] ??= store({ name, ...options }))
/** Stores that take turns in the kinds, over one database. */
const taking = (name) => {
  let made = 0
  return () => {
    const one = make[kinds[made++ % kinds.length]]({ name })
    return rust ? rust.wellFormed(one) : one
  }
}
const plain = (value) =>
  value?.idleMs === Infinity ? { ...value, idleMs: 'Infinity' } : (value ?? null)
const settle = async (work) => {
  try {
    return { value: plain(await work()) }
  } catch (error) {
    const { name, code, stack } = error
    return { error: { name, code, message: String(stack ?? error) } }
  }
}
globalThis.bench = {
  durability,
  plain,
  /** What plays turns: loaded where it is asked for, since a page is opened for every test. */
  turns: async () => (await import('./turns.mjs')).turns,
  at,
  /** A store whose browser answers as `factory` does. */
  storeOver(factory) {
    if (kinds[0] === 'ts') return indexedDbStore({ name: 'none', indexedDB: factory })
    if (factory) IDBFactory.prototype.open = factory.open
    return store({ name: 'none' })
  },
  /** Uses turns whose rows were spoiled in the database `name`. */
  async hostile(name) {
    const { hostileRows } = await import('./hostile-rows.mjs')
    const own = store({ name })
    await own.read('any')
    const asked = (request) =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    const db = await asked(indexedDB.open(name))
    const tables = ['turns', 'records', 'events', 'reusable']
    const writing = async (work) => {
      const tx = db.transaction(tables, 'readwrite')
      const over = new Promise((resolve) => (tx.oncomplete = tx.onabort = resolve))
      try {
        await work((table) => tx.objectStore(table))
        return true
      } catch {
        // What this database cannot hold.
        return false
      } finally {
        await over
      }
    }
    return hostileRows(() => own, {
      clear: () => writing((of) => Promise.all(tables.map((table) => asked(of(table).clear())))),
      all: async () => {
        const rows = []
        await writing(async (of) => {
          for (const table of tables) {
            for (const row of await asked(of(table).getAll())) rows.push({ table, row })
          }
        })
        return rows
      },
      replace: (table, row, changed) =>
        writing(async (of) => {
          const path = [of(table).keyPath].flat()
          const key = path.map((one) => row[one])
          await asked(of(table).delete(path.length > 1 ? key : key[0]))
          if (changed) await asked(of(table).put(changed))
        }),
    })
  },
  /** A store of a kind, whatever the page's own is. */
  make: (kind, options) => make[kind](options),
  ask: (name, method, ...args) => settle(() => at(name)[method](...args)),
  conform: (name) =>
    settle(() =>
      storeConformance(taking('conformance'))
        .find((each) => each.name === name)
        .run(),
    ),
}
parent.postMessage('ready', '*')
