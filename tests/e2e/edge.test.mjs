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

test('where a turn ran is where the next one runs, behind a reload and by a link', async () => {
  await send('answer')
  await completed()
  await page.reload()
  await page.waitForSelector('[data-ready]')
  await completed()
  assert.equal(await page.inputValue('#where'), 'edge')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.click('#share')
  await page.locator('#shared', { hasText: 'Link copied' }).waitFor()
  const link = await page.evaluate(() => navigator.clipboard.readText())
  const visitor = await visit.open(undefined, '')
  await visitor.goto(link)
  await visitor.locator('#owners').waitFor()
  assert.equal(await visitor.inputValue('#where'), 'edge')
  await visitor.context().close()
})

test('a preset that needs what the edge decides itself runs in the page', async () => {
  await page.click('#presets >> text="Answer, and send a note"')
  await decision('Run this call?')
  assert.equal(await page.inputValue('#where'), 'page')
  await choose('Approve')
  await completed()
  assert.match(await page.textContent('#notes'), /Ada/)
})

test('what is no turn of the edge is refused, whatever its address', async () => {
  const { origin } = new URL(visit.site.url)
  const ask = async (path, headers, init) => {
    const response = await fetch(origin + path, {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content: 'a' }] }),
      headers: { 'content-type': 'application/json', 'x-visitor': 'a-visitor', ...headers },
      ...init,
    })
    const text = await response.text()
    return [response.status, text.startsWith('{') ? JSON.parse(text).error?.code : undefined]
  }
  const place = { 'x-place': 'openai-chat loop session-1 0' }
  for (const path of ['/edge', '/edge/messages', '/edge?x=1']) {
    for (const given of ['', 'nope nope nope', '__proto__ constructor x', 'openai-chat loop']) {
      assert.deepEqual(await ask(path, { 'x-place': given }), [400, 'edge.place'], given)
    }
  }
  assert.equal((await ask('/edge', place))[0], 200)
  await ask('/edge-owner', {}, { method: 'PUT', body: 'off' })
  for (const path of ['/edge', '/edge/messages', '/edge?x=1', '/edge/messages?x']) {
    assert.deepEqual(await ask(path, place), [403, 'edge.off'], path)
  }
})
