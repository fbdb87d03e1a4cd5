// Beneath the race: a turn that a reload does not end, and one that asks.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

// The race is not looked at: without motion it is over at once.
const visit = visiting('#race', { reducedMotion: 'reduce' })
let page
beforeEach(() => {
  page = visit.page
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const runs = (tab = page) => tab.textContent('#survive-runs')

test('a turn goes on after the button that reloads, and a second tab sees it', async () => {
  await page.click('#survive-slow')
  await until(async () => /started 1, finished 0/.test(await runs()))
  const [second] = await Promise.all([
    page.context().waitForEvent('page'),
    page.click('#survive-tab'),
  ])
  await second.waitForSelector('[data-ready]')
  await page.click('#survive-reload')
  await page.waitForSelector('[data-ready]')
  for (const tab of [page, second]) {
    await tab.locator('#survive-said').filter({ hasText: 'Turn complete' }).waitFor()
    assert.match(await runs(tab), /finished 1/)
  }
})

test('a call that acts waits for the word that is given here', async () => {
  for (const [word, sent] of [
    ['Refuse', 0],
    ['Approve', 1],
  ]) {
    await page.click('#survive-ask')
    await page.locator(`#survive-choices >> text="${word}"`).click()
    await page.locator('#survive-said').filter({ hasText: 'Turn complete' }).waitFor()
    assert.equal(await page.locator('#survive-choices button').count(), 0)
    assert.equal(await page.locator('#notes li:has-text("To ")').count(), sent)
  }
})
