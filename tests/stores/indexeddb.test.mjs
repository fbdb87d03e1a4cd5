import assert from 'node:assert/strict'
import test from 'node:test'
import { until } from '../patience.mjs'
import { commitOf } from './commits.mjs'
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
