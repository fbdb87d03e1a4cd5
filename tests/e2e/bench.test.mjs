// The benchmarks in the page: they run beside it and compare what they say. Times are not looked at.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#bench?rounds=1')
let page
beforeEach(() => {
  page = visit.page
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const status = () => page.textContent('#bench-status')

test('every case has its numbers, and the peer is loaded only when asked for', async () => {
  const loaded = []
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
  const run = async () => {
    await page.click('#bench-run')
    await until(async () => /^(Done|Not finished)/.test(await status()))
    assert.match(await status(), /^Done: medians of 1 /)
    return page
      .locator('#bench-cases table')
      .evaluateAll((tables) =>
        tables.map(({ id, tBodies: [{ rows }] }) => [
          id,
          [...rows].map(({ cells }) => [...cells].map((cell) => cell.textContent)),
        ]),
      )
  }
  const alone = await run()
  assert.equal(alone.length, 8)
  for (const [id, rows] of alone) {
    assert.ok(rows.length >= 2, id)
    assert.equal(rows[0][2], '1.00 ×', id)
    assert.ok(
      rows.some(([name]) => name.startsWith('turnlock')),
      id,
    )
    for (const [name, median, ratio] of rows) {
      assert.ok(Number(median) > 0 && parseFloat(ratio) > 0, `${id}, ${name}: ${median} ${ratio}`)
    }
  }
  const peers = () => loaded.filter((path) => /\/(peers|ai)-\w+\.js$/.test(path))
  assert.deepEqual(peers(), [])
  await page.check('#bench-peer')
  const beside = await run()
  assert.equal(peers().length > 0, true)
  const withPeer = beside.filter(([, rows]) => rows.some(([name]) => name.startsWith('ai ')))
  assert.equal(withPeer.length, 6, 'all but the bundles')
})

test('it can be stopped, and the page answers meanwhile', async () => {
  await page.fill('#bench-rounds', '99')
  await page.click('#bench-run')
  await until(async () => /round 1 of 99/.test(await status()))
  await page.click('#views a[href="#race"]')
  await page.locator('#race-staged-verdict.good').waitFor()
  await page.click('#views a[href="#bench"]')
  await page.click('#bench-stop')
  await until(async () => (await status()) === 'Not finished: stopped.')
  assert.ok(await page.isEnabled('#bench-run'))
  assert.ok(await page.isEnabled('#bench-copy'))
})
