// The crate's IndexedDbStore behind the interface of the package's stores.
import { pack, unpack } from '../../pkg/dist/stores/text.js'
import init, { RustStore } from '/.cache/page/turnlock_page.js'

await init()

/** The object that a database has of a turn. */
function rowOf(name, turn) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name)
    // Gone since: it is not made anew by looking.
    request.onupgradeneeded = () => request.transaction.abort()
    request.onerror = () => resolve(undefined)
    request.onsuccess = () => {
      const db = request.result
      const get = db.transaction('turns').objectStore('turns').get(turn)
      get.onerror = () => reject(get.error)
      get.onsuccess = () => {
        db.close()
        resolve(get.result)
      }
    }
  })
}

/**
 * A store of Rust. Who wrote last, which the package's stores tell for those who look and Rust's
 * do not, is read from the database.
 */
export function rustStore({ name = 'turnlock', openTimeoutMs } = {}) {
  const store = new RustStore(name, openTimeoutMs)
  return {
    async read(turn) {
      const kept = await store.read(turn)
      return kept && { ...kept, owner: (await rowOf(name, turn))?.owner }
    },
    async commit(turn, commit) {
      const { ok, state } = await store.commit(turn, commit)
      if (ok) return { ok }
      if (state === undefined) return { ok }
      const { owner, revision, open } = await rowOf(name, turn)
      return { ok, owner, revision, open, state }
    },
    events: (turn, after, most) => store.events(turn, after, most),
    recall: (key) => store.recall(key),
    watch(turn, changed) {
      let watch = store.watch(turn, (owner) => changed(owner))
      return () => {
        watch?.free()
        watch = undefined
      }
    },
  }
}

/** A store that is given no lone surrogates, which Rust's strings have not: as in SQLite. */
export function wellFormed(store) {
  const each = (change) => (pairs) => pairs.map(([name, text]) => [change(name), change(text)])
  const [packed, unpacked] = [each(pack), each(unpack)]
  const maybe = (change, text) => (typeof text === 'string' ? change(text) : text)
  return {
    async read(turn) {
      const kept = await store.read(turn)
      if (!kept) return undefined
      return { ...kept, state: unpack(kept.state), records: unpacked(kept.records) }
    },
    async commit(turn, commit) {
      const { state, records, events, reusable } = commit
      const answer = await store.commit(turn, {
        ...commit,
        state: maybe(pack, state),
        records: packed(records),
        events: events && { ...events, text: pack(events.text) },
        reusable: reusable.map(([key, text, ttlMs]) => [key, pack(text), ttlMs]),
      })
      return answer.ok ? answer : { ...answer, state: maybe(unpack, answer.state) }
    },
    async events(turn, after, most) {
      const groups = await store.events(turn, after, most)
      return groups.map((group) => ({ ...group, text: unpack(group.text) }))
    },
    async recall(key) {
      const found = await store.recall(key)
      return found && { ...found, text: unpack(found.text) }
    },
    watch: (turn, changed) => store.watch(turn, changed),
  }
}
