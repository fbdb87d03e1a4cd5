// The chain view of the page, as a user meets it.
import assert from 'node:assert/strict'
import test, { beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#chain')
let page
beforeEach(() => {
  page = visit.page
})

const texts = (selector) => page.locator(selector).allTextContents()
const ended = (text) => page.locator('#chain-status').filter({ hasText: text }).waitFor()
const states = () =>
  page.$$eval('#chain-graph li', (all) => all.map(({ dataset }) => dataset.state))

test('a comparison: classification, graph, reason, answer', async () => {
  assert.match((await texts('#chain-class li'))[0], /^It is: complex/)
  assert.match((await texts('#chain-class li'))[2], /Ohio, Texas, Maine/)
  await page.click('#chain-form [type=submit]')
  await ended(/^complete, by a chain of steps/)
  const waves = await page.$$eval('#chain-graph ol', (all) => all.map((one) => one.children.length))
  assert.deepEqual(waves, [3, 1])
  assert.deepEqual(await states(), ['done', 'done', 'done', 'done'])
  assert.match(await page.textContent('#chain-stopped'), /plan_finished/)
  assert.match(await page.textContent('#chain-answer'), /^From 3 results: /)
  assert.deepEqual(visit.complaints, [])
})

test('a step that fails leaves the rest', async () => {
  await page.fill('#chain-fails', '2')
  await page.click('#chain-form [type=submit]')
  await ended(/^complete, by a chain/)
  assert.deepEqual(await states(), ['done', 'failed', 'done', 'done'])
  assert.match(await page.textContent('#chain-status'), / 67 % of them with a result/)
  assert.match(await page.textContent('#chain-answer'), /^From 2 results, without 1: /)
})

test('a condition, and a plan that is none', async () => {
  await page.selectOption('#chain-example', { index: 2 })
  await page.click('#chain-form [type=submit]')
  await ended(/^complete, by a chain/)
  assert.deepEqual(await states(), ['done', 'done', 'skipped', 'done'])
  await page.selectOption('#chain-example', { index: 3 })
  await page.click('#chain-form [type=submit]')
  await ended(/in one call \(plan\.cycle/)
  assert.deepEqual(await states(), [])
})

test('the classification follows what is written; a simple question needs no plan', async () => {
  await page.fill('#chain-query', 'What is a causeway?')
  assert.match((await texts('#chain-class li'))[0], /^It is: simple/)
  await page.click('#chain-form [type=submit]')
  await ended(/^complete, in one call, /)
})

test('stopped by the user', async () => {
  // By its length each takes 510 ms, and here no such time ever ends: the chain would take as often
  // what the core gives a step.
  await page.evaluate(() => {
    const set = globalThis.setTimeout
    globalThis.setTimeout = (work, ms, ...rest) => (ms === 510 ? 0 : set(work, ms, ...rest))
  })
  const step = (id) => ({ id, type: 'search', query: `part ${id}`.padEnd(13, '.') })
  const steps = Array.from({ length: 40 }, (_, at) => step(at + 1))
  await page.fill('#chain-plan', JSON.stringify({ pattern: 'sequential', steps }))
  await page.fill('#chain-steps', '40')
  await page.click('#chain-form [type=submit]')
  await page.locator('#chain-graph li[data-state=running]').first().waitFor()
  await page.click('#chain-stop')
  await ended(/^cancelled/)
  assert.match(await page.textContent('#chain-stopped'), /cancelled/)
})
