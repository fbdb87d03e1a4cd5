// The bundle view of the page, as a user meets it.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#bundle', { oneTab: true })
let page
beforeEach(() => {
  page = visit.page
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const said = (outcome) => page.locator('#bundle-outcome').filter({ hasText: outcome }).waitFor()
const texts = (selector) => page.locator(selector).allTextContents()
async function run(replicates, { schema = '', outcome, ...fields }) {
  await page.fill(
    '#replicates',
    typeof replicates === 'string' ? replicates : JSON.stringify(replicates),
  )
  await page.fill('#bundle-schema', schema && JSON.stringify(schema))
  for (const [id, value] of Object.entries(fields)) await page.fill(`#${id}`, value)
  await page.click('#bundle-form [type=submit]')
  await said(outcome)
}

test('the first example stops early, and the third lane never starts', async () => {
  await said(/^2 replicates of 3 ran: stopped early/)
  assert.deepEqual(await texts('#lanes .state'), [
    'valid, seed 11',
    'valid, seed 23',
    'not started',
  ])
  assert.equal(await page.locator('#matrix tr').count(), 3)
  assert.match(await page.textContent('#confidence'), /^Confidence 0\.\d+: how much 2 valid/)
  assert.match((await texts('#consensus > li')).join(), /\/label "?approve"? 2 of 2/)
  assert.equal((await page.locator('#distributions meter').count()) > 0, true)
})

test('pasted replicates: who said what', async () => {
  await said(/ran/)
  await run([{ a: 1 }, { a: 2 }, { a: 1 }], { outcome: /^3 replicates of 3 ran: all have run/ })
  assert.equal(await page.inputValue('#bundle-example'), '')
  const [disagreement] = await texts('#disagreements > li')
  assert.match(disagreement, /^\/a mean distance 0\.333, weight 11: r1, r32: r2$/)
  assert.deepEqual(await texts('#matrix tr:nth-child(2) td'), ['0', '0.5', '0'])
})

test('long texts are cut before data goes', async () => {
  await said(/ran/)
  await page.selectOption('#bundle-example', 'Long texts, within 8000 bytes')
  await said(
    /^\d replicates of 3 ran.* In [4-7]\d{3} bytes: data of (\d) of \1, 0 of \d+ long texts/,
  )
  await page.fill('#bundle-bytes', '')
  await page.click('#bundle-form [type=submit]')
  await said(/^\d replicates of 3 ran: [a-z ,]+\.$/)
})

test('an invalid replicate is shown, and in no number', async () => {
  await said(/ran/)
  const schema = { type: 'object', required: ['a'] }
  await run([{ b: 1 }, { a: 1 }, { a: 1 }], { schema, outcome: /^3 replicates/ })
  assert.match((await texts('#lanes .state'))[0], /^does not fit the schema/)
  assert.deepEqual(await texts('#matrix tr:nth-child(2) td'), ['–', '–', '–'])
  assert.equal((await page.locator('#disagreements .invalid').count()) > 0, true)
})

test('what is no JSON, no array, no schema, no option is said', async () => {
  await said(/ran/)
  await run('[1,', { outcome: /^The replicates: / })
  await run('{}', { outcome: /expected an array/ })
  await run([1, 2], { schema: { 'x-compare': 'nearly' }, outcome: /schema\.x-compare/ })
  await run([1, 2], { 'must-agree': 'label', outcome: /mustAgree/ })
})

test('a field that must agree brings in the third', async () => {
  await said(/ran/)
  const same = { a: 1, b: 1, c: 1, d: 1 }
  const all = ['yes', 'no', 'no'].map((answer) => ({ answer, ...same }))
  await run(all, { outcome: /^3 replicates of 3 ran: all have run/ })
  await page.selectOption('#bundle-rule', 'agreement')
  await page.click('#bundle-form [type=submit]')
  await said(/^2 replicates of 3 ran: stopped early/)
  await page.fill('#must-agree', '/answer')
  await page.click('#bundle-form [type=submit]')
  await said(/^3 replicates of 3 ran/)
  await run(all, { 'must-agree': '/answer', outcome: /^3 replicates of 3 ran/ })
})

/** Moves the handle of ε. */
const drag = (epsilon) => page.fill('#epsilon', String(epsilon))

test('at a glance: who says what, and from which distance on the third is not needed', async () => {
  await said(/ran/)
  assert.match(
    await page.textContent('#agreement-said'),
    /^2 of 3 say "?approve"?; they differ on /,
  )
  assert.match(
    await page.textContent('#agreement-stop'),
    /^The first two are 0\.012 apart, ε is 0\.2: near enough, 1 not needed\.$/,
  )
  assert.equal(await page.textContent('#agreement thead th:nth-child(4) small'), 'not needed')
  assert.match((await texts('#agreement tbody tr')).join('|'), /\/label.*≠ far.*2 of 3/)
  // The distance is 1/85: the handle has the two steps around it.
  await drag(0.01)
  assert.match(await page.textContent('#agreement-stop'), /ε is 0\.01: more answers are needed\.$/)
  assert.equal(await page.locator('#agreement .spare').count(), 0)
  await drag(0.02)
  assert.equal(await page.locator('#agreement .spare').count(), 5)
  await said(/^2 replicates of 3 ran: stopped early/)
  await page.focus('#epsilon')
  await page.keyboard.press('ArrowLeft')
  assert.equal(await page.textContent('#epsilon-value'), '0.01')
})

test('every pasted answer counts at once, one in each line or as an array', async () => {
  await said(/ran/)
  await page.fill('#bundle-schema', '')
  await page.fill('#replicates', 'REJECT: fraud\nAPPROVE\nREJECT: fraud')
  assert.match(await page.textContent('#agreement-said'), /^2 of 3 say REJECT: fraud; they differ/)
  await page.click('#bundle-form [type=submit]')
  await said(/^3 replicates of 3 ran/)
  await page.fill('#replicates', '{"a":1}\n{"a":2}\n{"a":1}\n{"a":1}')
  assert.match(await page.textContent('#agreement-said'), /^3 of 4 say 1; they differ on \/a\.$/)
  await page.fill('#replicates', JSON.stringify(Array.from({ length: 30 }, (_, at) => at % 2)))
  assert.equal(await page.locator('#agreement thead th').count(), 14, 'the first twelve are drawn')
  await page.fill('#replicates', '[1,')
  assert.equal(await page.locator('#agreement tr').count(), 0, 'no table of other answers')
})

test('answers are text, whatever they hold', async () => {
  await said(/ran/)
  await page.fill('#bundle-schema', '')
  const hostile = '<img src=x onerror=alert(1)>'
  await page.fill('#replicates', JSON.stringify([{ [hostile]: hostile, __proto__: 1 }, { b: 2 }]))
  assert.match((await texts('#agreement td')).join(), /<img src=x/)
  await page.click('#bundle-form [type=submit]')
  await said(/ran/)
  assert.equal(await page.locator('#bundle img').count(), 0)
})
