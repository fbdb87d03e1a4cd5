// The chain view of the page, as a user meets it.
import assert from 'node:assert/strict'
import test, { beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#chain', { oneTab: true })
let page
beforeEach(() => {
  page = visit.page
})

const texts = (selector) => page.locator(selector).allTextContents()
const ended = (text) => page.locator('#chain-status').filter({ hasText: text }).waitFor()
const states = () =>
  page.$$eval('#chain-graph li', (all) => all.map(({ dataset }) => dataset.state))
const edges = () =>
  page.$$eval('#chain-graph path', (all) =>
    Object.fromEntries(all.map(({ dataset }) => [dataset.edge, dataset.state])),
  )

test('runs once by itself; a plan is drawn with its edges before it runs', async () => {
  await ended(/^complete, by a chain of steps/)
  assert.deepEqual(await edges(), { '1 4': 'done', '2 4': 'done', '3 4': 'done' })
  await page.selectOption('#chain-example', { index: 1 })
  assert.deepEqual(await states(), ['pending', 'pending', 'pending', 'pending'], 'with the answer')
  assert.deepEqual(await edges(), { '1 2': 'waiting', '2 3': 'waiting', '3 synthesis': 'waiting' })
  assert.deepEqual(await texts('#chain-gantt small'), ['waits', 'waits', 'waits', 'waits'])
  const apart = await page.$$eval('#chain-graph path', (all) =>
    all.map((path) => path.getTotalLength()),
  )
  assert.ok(
    apart.every((length) => length > 10),
    apart.join(),
  )
  await page.fill('#chain-plan', '{"steps": [')
  assert.match(await page.textContent('#chain-stopped'), /^plan\.syntax: .* One call answers/)
  assert.deepEqual(await states(), [])
})

test('a step that is broken by its button cuts its edge; the slider bounds what runs at once', async () => {
  await ended(/^complete/)
  await page.click('[aria-label="Make it fail: step 2"]')
  await ended(/^complete, by a chain/)
  assert.deepEqual(await states(), ['done', 'failed', 'done', 'done'])
  assert.deepEqual(await edges(), { '1 4': 'done', '2 4': 'cut', '3 4': 'done' })
  assert.equal(
    await page.getAttribute('[aria-label="Make it fail: step 2"]', 'aria-pressed'),
    'true',
  )
  assert.match(await page.textContent('#chain-together'), /^3 at once/)
  await page.focus('[aria-label="Make it fail: step 2"]')
  await page.keyboard.press('Enter')
  await ended(/^complete, by a chain/)
  assert.deepEqual(await states(), ['done', 'done', 'done', 'done'])
  await page.focus('#chain-parallel')
  await page.keyboard.press('Home')
  await ended(/^complete, by a chain/)
  assert.equal(await page.textContent('#chain-together'), '1 at once at most.')
  assert.equal(await page.locator('#chain-gantt rect[data-state=done]').count(), 4)
  assert.deepEqual(visit.complaints, [])
})

test('a plan is text, whatever it holds', async () => {
  const query = '<img src=x onerror=alert(1)>'
  const steps = [{ id: '"]<b>', type: 'search', query }]
  await page.fill('#chain-plan', JSON.stringify({ pattern: 'parallel', steps }))
  assert.match((await texts('#chain-graph small')).join(), /<img src=x/)
  assert.equal(await page.locator('#chain img, #chain b').count(), 0)
  await page.locator('#chain-graph button').click()
  await ended(/^complete/)
  assert.deepEqual(visit.complaints, [])
})

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
  assert.deepEqual(await states(), ['cycle', 'cycle'], 'drawn before it runs')
  assert.deepEqual(await edges(), { '2 1': 'cut', '1 2': 'cut' })
  await page.click('#chain-form [type=submit]')
  await ended(/in one call \(plan\.cycle/)
  assert.deepEqual(await states(), ['cycle', 'cycle'])
})

test('the classification follows what is written; a simple question needs no plan', async () => {
  await page.fill('#chain-query', 'What is a causeway?')
  assert.match((await texts('#chain-class li'))[0], /^It is: simple/)
  await page.click('#chain-form [type=submit]')
  await ended(/^complete, in one call, /)
  assert.ok((await states()).every((state) => state === 'unused'))
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
