// Rows of a store that nobody can have kept: wrong types, missing, huge, of another version or of
// another turn. Runs where the store is: in a page, in a Durable Object.
import {
  cancelTurn,
  claimCalls,
  customModel,
  defineTool,
  followTurn,
  pauseTurn,
  resumeTurn,
  runTurn,
} from 'turnlock'

const messages = [{ role: 'user', content: 'go' }]
const inputSchema = { type: 'object' }

/** A model that calls a tool once, and then fails, or answers. */
const model = (fails) => {
  let asked = 0
  return customModel(async function* ({ tools }) {
    if (!asked++ && tools?.length) {
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'look' }
      yield { type: 'tool_call_arguments', index: 0, text: '{}' }
      yield { type: 'tool_call_end', index: 0 }
      return
    }
    yield { type: 'text', text: 'Hel' }
    if (fails) throw new Error('gone')
    yield { type: 'text', text: 'lo.' }
  })
}
const tools = () => ({
  look: defineTool({ readOnly: true, reuseMs: 60_000, inputSchema, execute: () => 'seen' }),
})

export const VALUES = {
  null: null,
  true: true,
  '-1': -1,
  1.5: 1.5,
  '2^53': 2 ** 53,
  '2^63': 2 ** 63,
  'not a number': NaN,
  nothing: '',
  'a text': 'x',
  'half a JSON': '[{"a":',
  'another version': '{"v":99}',
  'other events': '[{"type":"text","seq":1e99},7,null]',
  'no events': '[]',
  'a huge text': 'x'.repeat(1_500_000),
  'a list': [1],
  'an object': { v: 1 },
  bytes: new Uint8Array(3),
  missing: undefined,
}

/** What an operation came to; an error that is not typed is told. */
async function tried(what, work, wrong) {
  try {
    await work()
  } catch (error) {
    if (error?.name !== 'TurnlockError') wrong.push(`${what}: ${error?.stack ?? error}`)
  }
}

/** Does everything with the kept turn `r`; returns what was wrong. */
async function used(store, what) {
  const wrong = []
  const requestId = 'r'
  const stop = new AbortController()
  const iterated = async (turn) => {
    for await (const event of turn) {
      if (event.type === 'error' && !/^[a-z]+\.[a-z_]+$/.test(event.code))
        wrong.push(`${what}: ${event.code}`)
    }
    return turn.result
  }
  const followed = tried(
    `${what}, followed`,
    () => iterated(followTurn({ requestId, store, signal: stop.signal })),
    wrong,
  )
  await tried(`${what}, paused`, () => pauseTurn({ requestId, store }), wrong)
  await tried(
    `${what}, claimed`,
    () => claimCalls({ requestId, store, toolBatchId: 1, toolCallIds: ['c'] }),
    wrong,
  )
  await tried(
    `${what}, resumed`,
    () => iterated(resumeTurn({ requestId, store, model: model(false), tools: tools() })),
    wrong,
  )
  await tried(`${what}, cancelled`, () => cancelTurn({ requestId, store }), wrong)
  stop.abort()
  await followed
  // What one turn left does not touch the next one.
  const other = runTurn({
    model: model(false),
    messages,
    tools: tools(),
    store,
    requestId: 'other',
  })
  const { status, error } = await other.result
  if (status !== 'complete') wrong.push(`${what}: another turn is ${status}, ${error?.code}`)
  return wrong
}

/**
 * Spoils each column of each row in turn. `rows`: `clear()`, `all()` gives `{ table, row }`,
 * `replace(table, row, changed)` answers whether the database takes it.
 */
export async function hostileRows(store, rows) {
  const wrong = []
  let done = 0
  const kept = async () => {
    await rows.clear()
    const own = store()
    for (const requestId of ['r', 'of another']) {
      await runTurn({ model: model(true), messages, tools: tools(), store: own, requestId }).result
    }
    return rows.all()
  }
  const columns = new Map()
  for (const { table, row } of await kept()) {
    for (const name of Object.keys(row)) columns.set(`${table}.${name}`, [table, name])
  }
  for (const [column, [table, name]] of columns) {
    for (const [value, given] of Object.entries(VALUES)) {
      const all = (await kept()).filter((one) => one.table === table)
      let taken = 0
      for (const { row } of all) {
        const changed = { ...row, [name]: given }
        if (given === undefined) delete changed[name]
        if (await rows.replace(table, row, changed)) taken++
      }
      if (!taken) continue
      done++
      wrong.push(...(await used(store(), `${column} is ${value}`)))
    }
  }
  for (const table of new Set([...columns.values()].map(([table]) => table))) {
    const all = (await kept()).filter((one) => one.table === table)
    for (const { row } of all) await rows.replace(table, row, undefined)
    wrong.push(...(await used(store(), `${table} is empty`)))
    const again = (await kept()).filter((one) => one.table === table && 'turn' in one.row)
    const ids = [...new Set(again.map(({ row }) => row.turn))]
    for (const { row } of again) {
      await rows.replace(table, row, { ...row, turn: ids[1 - ids.indexOf(row.turn)] })
    }
    wrong.push(...(await used(store(), `${table} is another turn's`)))
    done += 2
  }
  return { done, columns: columns.size, wrong }
}
