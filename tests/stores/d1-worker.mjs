// A worker that plays the conformance suite on its D1 database, and does single steps on request.
import { customModel, defineTool, resumeTurn, runTurn } from 'turnlock'
import { d1Store } from 'turnlock/stores/d1'
import { storeConformance } from 'turnlock/testing'

const model = customModel(async function* ({ messages }) {
  if (messages.some(({ content }) => String(content).includes('TOOL RESULT'))) {
    return yield { type: 'text', text: 'Paid.' }
  }
  yield { type: 'tool_call_start', index: 0, id: 'c', name: 'pay' }
  yield { type: 'tool_call_arguments', index: 0, text: '{}' }
  yield { type: 'tool_call_end', index: 0 }
})

/** A database that fails at its nth batch with more than one row to write, before or after it. */
function failing(database, { at, after }) {
  let left = at
  return {
    prepare: (query) => database.prepare(query),
    async batch(statements) {
      if (left-- !== 0) return database.batch(statements)
      if (after) await database.batch(statements)
      throw new Error('D1_ERROR: Network connection lost.')
    },
  }
}

const steps = {
  conform: async (database, name) => {
    const cases = storeConformance(() => d1Store(database))
    await cases.find((each) => each.name === name).run()
  },
  store: async (database, options, method, ...args) => d1Store(database, options)[method](...args),
  sql: async (database, query) => (await database.prepare(query).all()).results,
  refused: async (_, given, options) => void d1Store(given, options),
  /** A turn whose database fails once, at its nth batch. */
  async turn(database, fault) {
    let runs = 0
    const inputSchema = { type: 'object' }
    const pay = defineTool({ description: 'Pays.', inputSchema, execute: () => ++runs })
    const store = d1Store(failing(database, fault))
    const own = { model, tools: { pay }, store }
    const turn = runTurn({ ...own, messages: [{ role: 'user', content: 'pay' }] })
    let { status, text, error } = await turn.result
    const first = status
    if (status === 'failed') {
      const resumed = resumeTurn({ ...own, requestId: turn.requestId })
      ;({ status, text, error } = await resumed.result)
    }
    return { first, status, text, error: error?.code, runs }
  },
  /** Two turns of one id at once, and what came of them. */
  async race(database) {
    let runs = 0
    const inputSchema = { type: 'object' }
    const pay = defineTool({ description: 'Pays.', inputSchema, execute: () => ++runs })
    const messages = [{ role: 'user', content: 'pay' }]
    const requestId = crypto.randomUUID()
    const results = await Promise.all(
      [1, 2].map(() => {
        const store = d1Store(database)
        return runTurn({ model, tools: { pay }, store, messages, requestId }).result
      }),
    )
    return { runs, ended: results.map(({ status, error }) => error?.code ?? status) }
  },
}

export default {
  async fetch(request, { DB }) {
    const [what, ...args] = await request.json()
    try {
      return Response.json({ value: await steps[what](DB, ...args) })
    } catch (error) {
      return Response.json({
        error: { code: error.code, message: String(error.stack ?? error) },
      })
    }
  },
}
