import assert from 'node:assert/strict'
import test from 'node:test'
import { browser, databaseCases, openPage } from './database.mjs'

databaseCases(['ts'])

test('rows that nobody can have kept are typed errors, and end nothing', async () => {
  const page = await openPage(await browser.newContext(), ['ts'])
  const { done, columns, wrong } = await page.evaluate(() => globalThis.bench.hostile('hostile'))
  assert.deepEqual(wrong, [])
  assert.ok(done > 100 && columns >= 14, `${done} of ${columns}`)
})
