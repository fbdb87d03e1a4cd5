// A Durable Object that applies commits, and counts the rows that they write.
import { durableObjectStore } from 'turnlock/stores/durable-object'

export class Turns {
  constructor({ storage }) {
    this.cursors = []
    const exec = (...statement) => {
      const cursor = storage.sql.exec(...statement)
      this.cursors.push(cursor)
      return cursor
    }
    const transactionSync = (work) => storage.transactionSync(work)
    this.store = durableObjectStore({ storage: { sql: { exec }, transactionSync } })
  }

  async fetch(request) {
    this.cursors.length = 0
    for (const [turn, commit] of await request.json()) await this.store.commit(turn, commit)
    const rows = this.cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0)
    return Response.json({ rows, gatherMs: this.store.gatherMs })
  }
}

export default {
  fetch: (request, { turns }) => turns.get(turns.idFromName('x')).fetch(request),
}
