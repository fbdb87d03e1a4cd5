// A worker whose tools are guarded: by a Durable Object's store, by a D1 store, or in its memory; and
// a client of a provider whose `fetch` is guarded.
import OpenAI from 'openai'
import { guardFetch, guardTools } from 'turnlock/guard'
import { d1Store } from 'turnlock/stores/d1'
import { durableObjectStore } from 'turnlock/stores/durable-object'

const messages = [{ role: 'user', content: 'send it' }]

/** Calls the guarded tool `send`, which counts its runs by `count`. */
async function call(request, store, count) {
  const { conversationId, toolCallId = 'call_1', hangs, leaseMs } = await request.json()
  const execute = async ({ to }) => {
    const runs = await count()
    if (hangs) await new Promise(() => {})
    return `sent to ${to}: ${runs}`
  }
  const tools = guardTools({ send: { execute } }, { store, conversationId, leaseMs })
  const output = await tools.send.execute({ to: 'Ada' }, { toolCallId, messages })
  return Response.json(output)
}

export class Turns {
  constructor(state) {
    this.state = state
  }

  async fetch(request) {
    const { pathname } = new URL(request.url)
    const { storage } = this.state
    if (pathname === '/runs') return Response.json((await storage.get('runs')) ?? 0)
    // As an eviction or a deployment does.
    if (pathname === '/end') this.state.abort('evicted')
    return call(request, durableObjectStore(this.state), async () => {
      const runs = ((await storage.get('runs')) ?? 0) + 1
      await storage.put('runs', runs)
      return runs
    })
  }
}

export default {
  async fetch(request, { TURNS, DB, PROVIDER }) {
    const { pathname } = new URL(request.url)
    if (pathname === '/model') {
      const reports = []
      const fetch = guardFetch(undefined, { onReport: (report) => reports.push(report) })
      const client = new OpenAI({ baseURL: `${PROVIDER}/v1`, apiKey: 'k', fetch, maxRetries: 0 })
      const completion = await client.chat.completions.create(await request.json())
      return Response.json({ message: completion.choices[0].message, reports })
    }
    if (pathname === '/d1') {
      await DB.exec('CREATE TABLE IF NOT EXISTS runs (n INTEGER)')
      return call(request, d1Store(DB), async () => {
        await DB.exec('INSERT INTO runs VALUES (1)')
        return (await DB.prepare('SELECT count(*) AS n FROM runs').first()).n
      })
    }
    return TURNS.get(TURNS.idFromName('one')).fetch(request)
  },
}
