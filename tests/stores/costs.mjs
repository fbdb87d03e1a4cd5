// What an answer costs in each store: commits, and rows where a store bills by row. The turn runs by a
// clock of its own, so that the counts depend on nothing but the code; its commits are then applied to
// the real D1 and to a real Durable Object.
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'
import { customModel, init, memoryStore, runTurn } from 'turnlock'
import { d1Store } from 'turnlock/stores/d1'
import { fakeClock } from 'turnlock/testing'
import { bundleWorker } from '../server/bundle.mjs'

/** An answer of some 300 words. */
const CHUNKS = 400
/** Milliseconds from the request to the first chunk. */
const FIRST = 400
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The commits of a turn with this answer, and how late a reader saw its chunks at most. */
async function commitsOf(gatherMs, perSecond) {
  const real = performance.now
  // Whole milliseconds, as the core counts them.
  performance.now = () => 1_000
  const clock = fakeClock()
  try {
    const sent = []
    const model = customModel(async function* () {
      await wait(FIRST)
      for (let n = 0; n < CHUNKS; n++) {
        sent.push(clock.now)
        yield { type: 'text', text: 'word ' }
        await wait(1000 / perSecond)
      }
    })
    const inner = memoryStore()
    const commits = []
    const commit = (turn, one) => {
      commits.push([turn, one])
      return inner.commit(turn, one)
    }
    const messages = [{ role: 'user', content: 'Write an article.' }]
    const store = { ...inner, commit }
    const turn = runTurn({ model, messages, store, requestId: 'r', keep: { gatherMs } })
    let ended = false
    const late = []
    const reading = (async () => {
      for await (const event of turn) {
        if (event.type === 'text') late.push(clock.now - sent[late.length])
      }
      ended = true
    })()
    while (!ended) await clock.advance(250)
    await reading
    const { status } = await turn.result
    if (status !== 'complete') throw new Error(status)
    return { commits, first: late[0], latest: Math.max(...late) }
  } finally {
    clock.restore()
    performance.now = real
  }
}

/** Row counters of the two stores that bill by row. */
async function openStores() {
  const entry = fileURLToPath(new URL('costs-worker.mjs', import.meta.url))
  const workerd = new Miniflare({
    compatibilityDate: '2025-05-01',
    modules: await bundleWorker(entry),
    d1Databases: { DB: 'turns' },
    durableObjects: { turns: { className: 'Turns', useSQLite: true } },
  })
  const database = await workerd.getD1Database('DB')
  let written = 0
  const d1 = d1Store({
    prepare: (query) => database.prepare(query),
    async batch(statements) {
      const results = await database.batch(statements)
      for (const { meta } of results) written += meta.rows_written
      return results
    },
  })
  let turns = 0
  const renamed = (commits) => {
    const turn = JSON.stringify(['', `${++turns}`])
    return commits.map(([, commit]) => [turn, commit])
  }
  const inD1 = async (commits) => {
    written = 0
    for (const [turn, commit] of renamed(commits)) await d1.commit(turn, commit)
    return written
  }
  const inObject = async (commits) => {
    const init = { method: 'POST', body: JSON.stringify(renamed(commits)) }
    return (await workerd.dispatchFetch('http://x/', init)).json()
  }
  return { d1, inD1, inObject, close: () => workerd.dispose() }
}

const NORMAL = 80

/** The counts, by store and by `gatherMs`. */
export async function measure() {
  await init()
  const stores = await openStores()
  try {
    const counted = async (gatherMs, perSecond) => {
      const { commits, first, latest } = await commitsOf(gatherMs, perSecond)
      const { rows } = await stores.inObject(commits)
      const [d1, object] = [await stores.inD1(commits), rows]
      return { gatherMs, perSecond, commits: commits.length, d1, object, first, latest }
    }
    // The tables are made once.
    const { gatherMs } = await stores.inObject([])
    await counted(1000, 1000)
    const trade = []
    for (const each of [25, 100, gatherMs, 500, 1000]) trade.push(await counted(each, NORMAL))
    const speeds = []
    for (const each of [160, NORMAL, 40, 20]) speeds.push(await counted(gatherMs, each))
    return { defaults: { d1: stores.d1.gatherMs, object: gatherMs }, trade, speeds }
  } finally {
    await stores.close()
  }
}

const table = ([head, ...rows]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** The tables of docs/stores.md. */
export function tablesOf({ defaults, trade, speeds }) {
  const by = (gatherMs) => trade.find((one) => one.gatherMs === gatherMs)
  const [often, seldom] = [by(25), by(defaults.d1)]
  const costs = table([
    ['store', '`gatherMs`', 'commits', 'a commit is', 'rows written'],
    ['`memoryStore`', 25, often.commits, 'a call', 'not billed'],
    ['`indexedDbStore`', 25, often.commits, 'a transaction', 'not billed'],
    ['`redisStore`', 25, often.commits, 'a script', 'not billed'],
    ['`postgresStore`', 25, often.commits, 'a statement', 'not billed'],
    ['`durableObjectStore`', defaults.object, seldom.commits, 'a transaction', seldom.object],
    ['`d1Store`', defaults.d1, seldom.commits, 'a batch', seldom.d1],
  ])
  const tradeOff = table([
    [
      '`keep.gatherMs`',
      'commits',
      'rows in D1',
      'rows in a Durable Object',
      'text is at most late by',
    ],
    ...trade.map(({ gatherMs, commits, d1, object, latest }) => {
      return [gatherMs, commits, d1, object, `${Math.ceil(latest)} ms`]
    }),
  ])
  const bySpeed = table([
    ['tokens per second', 'seconds', 'rows in D1', 'rows in a Durable Object'],
    ...speeds.map(({ perSecond, d1, object }) => [perSecond, CHUNKS / perSecond, d1, object]),
  ])
  return [costs, tradeOff, bySpeed]
}
