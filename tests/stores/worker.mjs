// A Durable Object that plays the conformance suite on itself, and does single steps on request.
import { durableObjectStore } from 'turnlock/stores/durable-object'
import { storeConformance } from 'turnlock/testing'
import { hostileRows } from './hostile-rows.mjs'

const failure = (error) => ({ code: error.code, message: String(error.stack ?? error) })

export class Turns {
  constructor(state) {
    this.state = state
    state.blockConcurrencyWhile(async () => {
      try {
        this.store = durableObjectStore(state)
      } catch (error) {
        this.failed = failure(error)
      }
    })
  }

  async fetch(request) {
    const [what, ...args] = await request.json()
    if (this.failed) return Response.json({ error: this.failed })
    try {
      return Response.json({ value: await this[what](...args) })
    } catch (error) {
      return Response.json({ error: failure(error) })
    }
  }

  async conform(name) {
    // A store made for each request knows what the others know.
    const cases = storeConformance(() => durableObjectStore(this.state))
    await cases.find((each) => each.name === name).run()
  }

  async store_(method, ...args) {
    const value = await this.store[method](...args)
    return value?.idleMs === Infinity ? { ...value, idleMs: 'Infinity' } : value
  }

  /** Whether a store made by another request of the same object hears of a commit. */
  async heard(turn, commit) {
    return new Promise((resolve, reject) => {
      const stop = this.store.watch(turn, () => resolve(stop()))
      durableObjectStore(this.state).commit(turn, commit).catch(reject)
    })
  }

  async count() {
    const count = (table) =>
      this.state.storage.sql.exec(`SELECT count(*) AS n FROM turnlock_${table}`).one().n
    return ['turns', 'states', 'records', 'events', 'reusable'].map(count)
  }

  async sql(query, ...bindings) {
    this.state.storage.sql.exec(query, ...bindings)
  }

  async alarm_() {
    return this.state.storage.getAlarm()
  }

  /** Uses turns whose rows were spoiled. */
  async hostile() {
    const { sql } = this.state.storage
    const tables = ['turns', 'states', 'records', 'events', 'reusable'].map(
      (one) => `turnlock_${one}`,
    )
    const same = (row) => {
      const names = Object.keys(row)
      return [names.map((name) => `${name} IS ?`).join(' AND '), Object.values(row)]
    }
    return hostileRows(() => durableObjectStore(this.state), {
      clear: async () => tables.forEach((table) => void sql.exec(`DELETE FROM ${table}`)),
      all: async () =>
        tables.flatMap((table) =>
          [...sql.exec(`SELECT * FROM ${table}`)].map((row) => ({ table, row })),
        ),
      async replace(table, row, changed) {
        const [where, values] = same(row)
        try {
          if (!changed) sql.exec(`DELETE FROM ${table} WHERE ${where}`, ...values)
          else {
            const all = Object.keys(row)
            const set = all.map((name) => `${name} = ?`).join(', ')
            sql.exec(
              `UPDATE ${table} SET ${set} WHERE ${where}`,
              ...all.map((name) => changed[name] ?? null),
              ...values,
            )
          }
          return true
        } catch {
          return false
        }
      },
    })
  }

  /** Makes the storage fail in the middle of a commit. */
  async torn(turn, commit, at) {
    const { storage } = this.state
    let left = at
    const exec = (query, ...bindings) => {
      if (/^(INSERT|DELETE|UPDATE)/.test(query) && left-- === 0)
        throw new Error('planted: disk is full')
      return storage.sql.exec(query, ...bindings)
    }
    const transactionSync = (work) => storage.transactionSync(work)
    const store = durableObjectStore({ storage: { sql: { exec }, transactionSync } })
    try {
      await store.commit(turn, commit)
      return 'applied'
    } catch (error) {
      return error.code
    }
  }

  /** Ends this instance of the object, as an eviction or a deployment does. */
  async end() {
    this.state.abort('evicted')
  }
}

export class Old extends Turns {}

export default {
  fetch(request, env) {
    const [kind, name] = new URL(request.url).pathname.slice(1).split('/')
    const space = env[kind]
    return space.get(space.idFromName(name)).fetch(request)
  },
}
