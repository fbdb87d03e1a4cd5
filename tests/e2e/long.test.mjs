// A long answer: all of it arrives, in order, where it belongs.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#turn')
let page
beforeEach(() => {
  page = visit.page
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

test('ten thousand pieces of a text', async () => {
  const words = Array.from({ length: 10_000 }, (_, at) => `w${at}${at % 50 ? ' ' : '\n'}`)
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const body = [
    ...words.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    'data: [DONE]\n\n',
  ]
  await page.route('https://models.example/**', (route) =>
    route.fulfill({
      headers: { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' },
      body: body.join(''),
    }),
  )
  await page.selectOption('#provider', 'real')
  await page.fill('#baseURL', 'https://models.example/v1')
  await page.fill('#model', 'm')
  await page.click('#send')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  assert.equal(await page.textContent('.message.assistant'), words.join(''))
  const row = await page.textContent('#timeline .said')
  assert.ok(row.startsWith(`Text: ${words.slice(0, 100).join('')}`))
  assert.ok(row.length < 2_100, 'a list of events shows the beginning')
  await page
    .locator('#dock-counts')
    .filter({ hasText: /^100\d\d events · 1 request/ })
    .waitFor()
  // What is said next knows all of it.
  await page.reload()
  await page.waitForSelector('[data-ready]')
  assert.equal(await page.textContent('.message.assistant'), words.join(''))
})
