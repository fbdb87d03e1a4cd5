// The tool-request pass of the page, as a user meets it.
import assert from 'node:assert/strict'
import test, { beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#planner', { oneTab: true })
let page
beforeEach(() => {
  page = visit.page
})

const texts = (selector) => page.locator(selector).allTextContents()
const outcome = (words) => page.locator('#ask-outcome').filter({ hasText: words }).waitFor()
const plan = async () => JSON.parse(await page.textContent('#ask-plan'))

test('what is asked for, allowed, blocked and brought, the plan and its audit', async () => {
  await outcome(/^Live: 3 calls requested, 1 ran; a plan from the input and the results\.$/)
  const calls = await texts('#ask-calls strong')
  assert.deepEqual(calls, [
    'read_file: allowed',
    'send_note: blocked, not_read_only',
    'read_file: skipped, duplicate',
  ])
  const [result, ...more] = await texts('#ask-results li')
  assert.deepEqual(more, [])
  assert.match(result, /^read_file, \d+ ms.*Call Ada about the engine/)
  assert.deepEqual(await plan(), { action: 'act on what was read', based_on: ['read_file'] })
  const audit = await texts('#ask-audit strong')
  assert.deepEqual(audit, [
    'llm_call',
    'strategist_tool_request',
    'strategist_tool_result',
    'llm_call',
  ])
  assert.ok(!(await page.textContent('#ask-audit')).includes('Ada'), 'no result in the audit')
  await page.click('#views a[href="#turn"]')
  assert.deepEqual(await texts('#notes li'), ['None yet.'])
  assert.deepEqual(visit.complaints, [])
})

test('the recording gives the same plan', async () => {
  await outcome(/^Live: 3 calls/)
  await page.click('#ask-replay')
  await outcome(/^From the recording: 3 calls requested, 1 ran/)
  assert.deepEqual(await plan(), { action: 'act on what was read', based_on: ['read_file'] })
})

test('failures and time-outs are results, and the plan is made without them', async () => {
  await page.selectOption('#ask-example', 'A file that is not there, and a slow tool')
  await outcome(/^Live: 2 calls requested, 2 ran; a plan from the input alone: no call brought/)
  const [gone, slow] = await texts('#ask-results li')
  assert.match(gone, /tool\.threw: there is no file gone\.txt/)
  assert.match(slow, /tool\.timeout/)
  assert.deepEqual(await plan(), { action: 'wait', based_on: [] })
})

const gate = () =>
  page.$$eval('#gate tbody tr', (rows) =>
    rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent[0]).join('')),
  )

test('the gate: where each request stops, and what lets it through', async () => {
  await outcome(/^Live: 3 calls/)
  const [read, note, again] = await gate()
  assert.match(read, /^✓{6}[^–]✓$/u, 'asked, brought and used')
  assert.equal(note, '✓✓✕···––', 'known and allowed, but it changes something')
  assert.equal(again, '✓✓✓✓✕·––', 'asked before')
  await page.uncheck('#gate-tools [value=read_file]')
  await outcome(/^Live: 3 calls requested, 0 ran/)
  assert.equal((await gate())[0], '✓✕····––')
  await page.check('#gate-tools [value=read_file]')
  await outcome(/^Live: 3 calls requested, 1 ran/)
  await page.selectOption('#ask-example', 'More than the limit')
  await outcome(/3 calls requested, 2 ran/)
  assert.equal((await gate())[2], '✓✓✓✓✓✕––')
  await page.focus('#ask-limit')
  await page.keyboard.press('ArrowRight')
  await outcome(/3 calls requested, 3 ran/)
  assert.match((await gate())[2], /^✓{6}[^–]/u)
  await page.keyboard.press('Home')
  await outcome(/3 calls requested, 1 ran/)
  await page.fill('#ask-input', '{')
  await page.click('#ask-form [type=submit]')
  await outcome(/^SyntaxError/)
  assert.deepEqual(await gate(), ['N'], 'nothing of another pass')
  assert.deepEqual(visit.complaints, [])
})

test('what a model asks for is text', async () => {
  const tool_name = '<img src=x onerror=alert(1)>'
  await page.fill('#ask', JSON.stringify({ tool_calls: [{ tool_name, params: {}, reason: 'r' }] }))
  await page.click('#ask-form [type=submit]')
  await outcome(/0 ran|SyntaxError|requested/)
  assert.equal(await page.locator('#planner img').count(), 0)
})

test("a request of one's own, and a limit", async () => {
  await page.fill('#ask', 'Just plan, please.')
  await page.click('#ask-form [type=submit]')
  await outcome(/0 calls requested.*what the model said is no request/)
  assert.deepEqual(await texts('#ask-calls strong'), ['Not a request: no_json'])
  assert.equal(await page.inputValue('#ask-example'), '')
  await page.selectOption('#ask-example', 'More than the limit')
  await outcome(/3 calls requested, 2 ran/)
  await page.fill('#ask-limit', '1')
  await page.click('#ask-form [type=submit]')
  await outcome(/3 calls requested, 1 ran/)
  assert.equal((await texts('#ask-calls strong'))[2], 'read_file: blocked, budget')
})

test('what is odd about a request is noted, and where a call is rejected the others run', async () => {
  await page.selectOption('#ask-example', 'A member too many')
  await outcome(/^Live: 1 call requested, 1 ran/)
  assert.deepEqual(await texts('#ask-calls strong'), ['read_file: allowed', 'Noted: unknown_field'])
  await page.selectOption('#ask-example', 'With thoughts, in prose')
  await outcome(/^Live: 1 call requested, 1 ran/)
  const call = (own) => ({ tool_name: 'read_file', params: { path: 'notes.txt' }, ...own })
  const asked = [call({ reason: 'r' }), { tool_name: 'read_file', reason: 'r' }]
  await page.fill('#ask', JSON.stringify({ tool_calls: asked }))
  await page.click('#ask-form [type=submit]')
  await outcome(/1 call requested, 1 ran/)
  assert.deepEqual(await texts('#ask-calls strong'), [
    'Not a call: missing_field',
    'read_file: allowed',
  ])
})

test('an input that is no JSON is said', async () => {
  await page.fill('#ask-input', '{')
  await page.click('#ask-form [type=submit]')
  await outcome(/^SyntaxError/)
})
