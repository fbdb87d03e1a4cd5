// The crate's IndexedDbStore, by itself and with the package's over one database: what one of them
// writes the other reads, refuses, hears and takes over.
import assert from 'node:assert/strict'
import test from 'node:test'
import { commitOf, HOUR } from './commits.mjs'
import { browser, databaseCases, openPage } from './database.mjs'

databaseCases(['rust'], 'Rust: ')
databaseCases(['rust', 'ts'], 'Rust and TypeScript: ')
databaseCases(['ts', 'rust'], 'TypeScript and Rust: ')

/** Everything that a store does, told as commits; the clock stands still. */
const COMMITS = [
  [
    '["t","1"]',
    commitOf('o', 1, {
      state: '{"format":1}',
      records: [
        ['turn', '{"é":"😀\\u0000"}'],
        ['claim/1/1/call_1', '\u0001\0'],
      ],
      events: { last: 3, text: '[{"seq":1}]' },
      reusable: [['["t","signature"]', '{"ok":true}', 60_000]],
    }),
  ],
  ['["t","1"]', commitOf('o', 2, { records: [['outcome/1/call_1', '']], ttlMs: 2 ** 40 })],
  ['["t","1"]', commitOf('new', 3, { takeOver: true, events: { last: 2 ** 33, text: '[]' } })],
  ['["t","1"]', commitOf('new', 4, { forget: 3, open: false, state: '' })],
  ['["t","2"]', commitOf('o', 1, { events: { last: 1, text: '[]' } })],
  ['["t","1"]', commitOf('late', 5, { takeOver: true })],
]

/** What stands in a database after `COMMITS`, and what was said on the way. */
function play(page, kind, name, commits) {
  return page.evaluate(
    async ([kind, name, commits]) => {
      Date.now = () => 1_800_000_000_123
      const said = []
      const channel = new BroadcastChannel(`turnlock:${name}`)
      channel.onmessage = ({ data }) => said.push(Object.entries(data))
      const store = bench.make(kind, { name })
      const answers = []
      const locks = []
      for (const [turn, commit] of commits) {
        answers.push(await store.commit(turn, commit))
        const { held } = await navigator.locks.query()
        locks.push(held.map(({ name, mode }) => [name.split(':').at(-1), mode]))
      }
      const db = await new Promise((resolve, reject) => {
        const request = indexedDB.open(name)
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
      const names = [...db.objectStoreNames]
      const tx = db.transaction(names)
      const asked = names.map((name) => {
        const store = tx.objectStore(name)
        const indexes = [...store.indexNames].map((name) => {
          const { keyPath, unique, multiEntry } = store.index(name)
          return { name, keyPath, unique, multiEntry, keys: store.index(name).getAllKeys() }
        })
        const { keyPath, autoIncrement } = store
        const rows = { values: store.getAll(), keys: store.getAllKeys() }
        return { name, keyPath, autoIncrement, indexes, rows }
      })
      await new Promise((resolve) => (tx.oncomplete = resolve))
      // Members in their order, and which kind of value each one is.
      const typed = (value) => {
        if (Array.isArray(value)) return value.map(typed)
        if (typeof value !== 'object') return [typeof value, value]
        const { constructor } = Object.getPrototypeOf(value)
        return [constructor.name, Object.entries(value).map(([key, one]) => [key, typed(one)])]
      }
      const stores = asked.map(({ indexes, rows, ...about }) => ({
        ...about,
        indexes: indexes.map(({ keys, ...index }) => ({ ...index, keys: typed(keys.result) })),
        values: typed(rows.values.result),
        keys: typed(rows.keys.result),
      }))
      const { version } = db
      db.close()
      // A page hears of its own stores in the order of posting, but some time later.
      while (said.length < answers.filter(({ ok }) => ok).length) {
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      channel.close()
      return { version, stores, answers, locks, said }
    },
    [kind, name, commits],
  )
}

test('both write the same database, message for message and lock for lock', async (t) => {
  const play_ = async (kind) => {
    // A private window each, so that both may have the same name.
    const where = await browser.newContext()
    t.after(() => where.close())
    return play(await openPage(where, ['ts', 'rust']), kind, 'same', COMMITS)
  }
  const [ts, rust] = [await play_('ts'), await play_('rust')]
  assert.deepEqual(rust, ts)
  // Something was compared.
  assert.deepEqual(
    ts.stores.map(({ name, values }) => [name, values.length]),
    [
      ['events', 2],
      ['records', 3],
      ['reusable', 1],
      // Two, and the row of the clock.
      ['turns', 3],
    ],
  )
  assert.deepEqual(
    ts.answers.map(({ ok }) => ok),
    [true, true, true, true, true, false],
  )
  assert.deepEqual(ts.locks.at(-1), [['o', 'exclusive']])
  assert.equal(ts.said.length, 5)
})

test('each reads of the other what it reads of itself', async (t) => {
  const where = await browser.newContext()
  t.after(() => where.close())
  for (const writer of ['ts', 'rust']) {
    const page = await openPage(where, ['ts', 'rust'])
    const name = `by ${writer}`
    await play(page, writer, name, COMMITS)
    const read = (kind) =>
      page.evaluate(
        async ([kind, name]) => {
          const store = bench.make(kind, { name })
          const turns = []
          for (const turn of ['["t","1"]', '["t","2"]', 'unknown']) {
            const kept = bench.plain(await store.read(turn))
            turns.push([kept && Object.entries(kept).sort(), await store.events(turn, 0, 100)])
          }
          const outcomes = [await store.recall('["t","signature"]'), await store.recall('k')]
          return { turns, outcomes }
        },
        [kind, name],
      )
    const [ts, rust] = [await read('ts'), await read('rust')]
    assert.deepEqual(rust, ts, `written by ${writer}`)
    assert.equal(ts.outcomes[0].text, '{"ok":true}')
    assert.equal(ts.turns[0][1].length, 1)
  }
})

test('of owners in both languages that race for every commit, one wins each time', async (t) => {
  const where = await browser.newContext()
  t.after(() => where.close())
  const two = [await openPage(where, ['rust', 'ts']), await openPage(where, ['ts', 'rust'])]
  // Both begin, each with a store of either kind, and go on until the turn has forty commits.
  const run = (page, at) =>
    page.evaluate(
      async ([at, HOUR]) => {
        const stores = ['ts', 'rust'].map((kind) => bench.make(kind, { name: 'race' }))
        const won = []
        for (let revision = 1; revision <= 40; revision++) {
          const answers = await Promise.all(
            stores.map((store, kind) => {
              const owner = `page ${at} kind ${kind} revision ${revision}`
              return store.commit('t', {
                owner,
                revision,
                takeOver: true,
                open: true,
                state: owner,
                forget: 0,
                records: [[`claim ${revision}`, owner]],
                events: null,
                reusable: [],
                ttlMs: HOUR,
              })
            }),
          )
          won.push(...answers.flatMap(({ ok }, kind) => (ok ? [[revision, at, kind]] : [])))
        }
        const kept = await stores[0].read('t')
        return { won, records: kept.records }
      },
      [at, HOUR],
    )
  const [one, other] = await Promise.all(two.map(run))
  const won = [...one.won, ...other.won].sort(([a], [b]) => a - b)
  assert.deepEqual(
    won.map(([revision]) => revision),
    Array.from({ length: 40 }, (_, at) => at + 1),
  )
  const last = await two[0].evaluate(async () => {
    return (await bench.make('rust', { name: 'race' }).read('t')).records
  })
  const owner = ([revision, at, kind]) => `page ${at} kind ${kind} revision ${revision}`
  assert.deepEqual(
    last,
    won.map((who) => [`claim ${who[0]}`, owner(who)]),
  )
})
