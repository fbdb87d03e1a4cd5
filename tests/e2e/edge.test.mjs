// Turns that run at the edge: the page reads them over HTTP, and the owner's switch decides.
import assert from 'node:assert/strict'
import test, { beforeEach } from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting('#turn')
let page
beforeEach(async () => {
  page = visit.page
  await page.selectOption('#where', 'edge')
  await page.locator('#owners').waitFor()
})

const send = async (behaviour, set = async () => {}) => {
  await page.selectOption('#behaviour', behaviour)
  await set()
  await page.click('#send')
}
const row = (text) => page.locator('#timeline li', { hasText: text }).first().waitFor()
const completed = async () => {
  await row(/^Complete:/)
  await page.waitForSelector('#send:enabled')
}
const decision = (title) =>
  page.locator('#decision', { has: page.locator('h3', { hasText: title }) }).waitFor()
const choose = (label) =>
  page.locator('#decision').getByRole('button', { name: label, exact: true }).click()
const owner = async (position) => {
  const told = page.waitForResponse((response) => response.request().method() === 'PUT')
  await page.selectOption('#owner', position)
  await told
}
const answer = () => page.locator('.message.assistant').last().innerText()

test('a turn at the edge answers, and this page asks no model', async () => {
  const asked = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await send('loop')
  await completed()
  assert.match(await answer(), /\w/)
  await row(/Tool phase/i)
  assert.ok(asked.includes('/edge'))
  // What the edge asked its model is not told, so nothing is said of it.
  const told = await page.locator('#turn').innerText()
  assert.doesNotMatch(told, /0 model calls|Model calls: 0/)
  assert.ok(await page.isDisabled('#policy-actionTools'))
  assert.deepEqual(
    asked.filter((path) => path.startsWith('/model')),
    [],
  )
  // Of a reload, the turn is told again from there.
  await page.reload()
  await page.waitForSelector('[data-ready]')
  await completed()
  assert.deepEqual(visit.complaints, [])
})

test('it pauses, survives a reload, and goes on', async () => {
  await send('one-call', () => page.check('#policy-pauseAfterTools'))
  await decision('Paused behind the tools')
  assert.equal(await page.locator('#decision-items option', { hasText: 'write' }).count(), 0)
  await page.reload()
  await page.waitForSelector('[data-ready]')
  await decision('Paused behind the tools')
  await choose('Resume')
  await completed()
})

test('a reload in the middle of a turn reads on, while the edge runs it', async () => {
  await send('one-call', () => page.fill('#toolMs', '3000'))
  await row(/list_files/)
  await page.reload()
  await page.waitForSelector('[data-ready]')
  await completed()
  assert.match(await answer(), /That answers it/)
  assert.equal(await page.locator('#timeline li', { hasText: 'list_files: ok' }).count(), 1)
})

test('a call that needs approval waits for the page', async () => {
  // In the tool phase, with room for the call behind the reading.
  await send('read-then-note', () => page.fill('#policy-maxTools', '2'))
  await decision('Run this call?')
  await choose('Approve')
  await completed()
})

test('the switch of the owner decides about the next turn', async () => {
  await owner('unified')
  await send('loop')
  await completed()
  await row(/Unified/i)
  await owner('off')
  await page.fill('#prompt', 'Anybody there?')
  await page.click('#send')
  await page.locator('#status', { hasText: 'switched turns off' }).waitFor()
  assert.equal(await page.inputValue('#prompt'), 'Anybody there?')
  visit.complaints.length = 0
  await owner('two_stage')
  await page.click('#send')
  await completed()
  await row(/Tool phase/i)
})

test('a turn is stopped from the page', async () => {
  await send('loop', () => page.fill('#toolMs', '60000'))
  await row(/list_files/)
  await page.click('#stop')
  await row(/Cancelled/i)
})
