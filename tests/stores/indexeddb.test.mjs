import assert from 'node:assert/strict'
import test from 'node:test'
import { until } from '../patience.mjs'
import { commitOf, HOUR } from './commits.mjs'
import { ask, browser, databaseCases, openPage } from './database.mjs'

databaseCases(['ts'])

test('rows that nobody can have kept are typed errors, and end nothing', async () => {
  const page = await openPage(await browser.newContext(), ['ts'])
  const { done, columns, wrong } = await page.evaluate(() => globalThis.bench.hostile('hostile'))
  assert.deepEqual(wrong, [])
  assert.ok(done > 100 && columns >= 14, `${done} of ${columns}`)
})

test('those whose owners are gone are last in a list', async () => {
  const context = await browser.newContext()
  const [one, other] = [await openPage(context, ['ts']), await openPage(context, ['ts'])]
  const [lives, gone] = ['lives', 'gone'].map((id) => JSON.stringify(['t', id]))
  await ask(other, 'listed', 'commit', lives, commitOf('o', 1))
  await ask(one, 'listed', 'commit', gone, commitOf('p', 1))
  await one.close()
  await until(async () => (await ask(other, 'listed', 'read', gone)).idleMs === 'Infinity')
  const list = await ask(other, 'listed', 'list', 't', 9)
  assert.deepEqual(
    list.map(({ turn }) => turn),
    [lives, gone],
  )
})

test('list: a row that cannot be read is left out', async () => {
  const page = await openPage(await browser.newContext(), ['ts'])
  const turnOf = (id) => JSON.stringify(['t', id])
  for (const id of ['a', 'spoiled', 'z']) {
    await ask(page, 'rows', 'commit', turnOf(id), commitOf('o', 1))
  }
  await page.evaluate(
    (turn) =>
      new Promise((resolve) => {
        indexedDB.open('rows').onsuccess = ({ target: { result: db } }) => {
          const tx = db.transaction('turns', 'readwrite')
          const row = { turn, owner: 7, open: true, state: { v: 1 }, locked: 'no', at: 'never' }
          tx.objectStore('turns').put({ ...row, expires: Infinity })
          tx.oncomplete = () => resolve(db.close())
        }
      }),
    turnOf('spoiled'),
  )
  const listed = (await ask(page, 'rows', 'list', 't', 9)).map(({ turn }) => turn)
  const known = listed.filter((turn) => turn !== turnOf('spoiled'))
  assert.deepEqual(known.toSorted(), [turnOf('a'), turnOf('z')])
})

test('list: a turn whose owner is there stands, although the clock is ahead for a moment', async () => {
  const page = await openPage(await browser.newContext(), ['ts'])
  const turnOf = (id) => JSON.stringify(['t', id])
  const commit = (id, ttlMs) =>
    ask(page, 'moment', 'commit', turnOf(id), commitOf('o', 1, { ttlMs }))
  await commit('first', 1)
  await until(async () => (await page.evaluate(() => bench.durability.length)) >= 2)
  await commit('runs', 24 * HOUR)
  await page.evaluate(() => {
    const { now } = Date
    Date.now = () => now() + 25 * 3_600_000
  })
  const listed = await ask(page, 'moment', 'list', 't', 9)
  assert.deepEqual(
    listed.map(({ turn }) => turn),
    [turnOf('runs')],
  )
})
