// What the page says of failures, and what it does not do unasked.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import test, { beforeEach } from 'node:test'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting('#turn')
let page
beforeEach(() => {
  page = visit.page
})

const send = () => page.click('#composer [type=submit]')
const idle = () => page.waitForSelector('#send:enabled')
const notes = () => page.locator('#notes li').allTextContents()
async function endpoint(baseURL) {
  await page.selectOption('#provider', 'real')
  await page.fill('#baseURL', baseURL)
  await page.fill('#model', 'm')
  await page.fill('#apiKey', 'sk-secret')
}

test('a comparison sends nothing, after a refusal either', async () => {
  await page.click('#presets >> text="Answer, and send a note"')
  await page.click('#decision >> text="Refuse"')
  await page.waitForSelector('#timeline .end')
  await idle()
  await page.click('#compare')
  await page.waitForSelector('#comparison tbody tr')
  await page.waitForSelector('#compare:enabled')
  assert.match(await page.textContent('#staged'), /send_note: ok/, 'the tool was called')
  assert.deepEqual(await notes(), ['None yet.'])
})

test('a base URL without a scheme gets no key', async () => {
  const asked = []
  page.on('request', (request) => asked.push(request))
  for (const address of ['api.openai.com/v1', '/v1', 'localhost:1234/v1', 'https:/v1', '']) {
    await endpoint(address)
    await send()
    await page.locator('#status').filter({ hasText: 'must begin with https://' }).waitFor()
  }
  const leaked = asked.filter((request) => JSON.stringify(request.headers()).includes('sk-secret'))
  assert.deepEqual([leaked.length, asked.filter((one) => one.method() === 'POST').length], [0, 0])
})

test('why an endpoint cannot be reached: nobody there, no CORS, the policy of the page', async () => {
  const failed = page.locator('.message.failed').last()
  const keys = []
  const server = createServer((request, response) => {
    keys.push(request.headers.authorization)
    response.end('{}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  try {
    await endpoint(`http://127.0.0.1:${port}/v1`)
    await send()
    await failed.filter({ hasText: 'does not allow requests from this page (CORS)' }).waitFor()
    await idle()
    assert.match(await page.textContent('#status'), /[1-9] requests? left this page\.$/)
    assert.ok(!keys.includes('Bearer sk-secret'), 'a preflight has no key')
    assert.match(await page.textContent('#decision'), /No tool has run/)
  } finally {
    server.closeAllConnections()
    server.close()
  }
  await page.click('#clear')
  await endpoint(`http://127.0.0.1:${port}/v1`)
  await send()
  await failed.filter({ hasText: `Nothing answers at 127.0.0.1, port ${port}` }).waitFor()
  await idle()
  await page.click('#clear')
  await endpoint('http://model.example/v1')
  await send()
  await failed.filter({ hasText: 'content security policy of this page' }).waitFor()
})

const respond = (finish) =>
  page.route('**/chat/completions', (route) => {
    const end = { choices: [{ index: 0, delta: {}, finish_reason: finish }] }
    return route.fulfill({
      contentType: 'text/event-stream',
      body: `data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`,
    })
  })

test('a turn whose model sends empty responses is shown as failed', async () => {
  await respond('stop')
  await send()
  await page.locator('.message.failed').filter({ hasText: 'model.empty: ' }).waitFor()
  const row = page.locator('#timeline .bad')
  assert.match(await row.textContent(), /^Error model\.empty: /)
  await idle()
  assert.match(await page.textContent('#facts'), /Status: failed/)
})

test('a turn without an answer is no success', async () => {
  await respond('content_filter')
  await send()
  const row = page.locator('#timeline .end')
  await row.waitFor()
  assert.match(await row.textContent(), /^Complete, without an answer/)
  assert.match(await row.getAttribute('class'), /bad/)
})

test('a finished turn is there after a reload, with the settings that it had', async () => {
  await page.selectOption('#behaviour', 'list-then-read')
  await page.fill('#policy-maxTools', '2')
  await page.fill('#policy-modelIdleMs', '86400000')
  await send()
  await page.waitForSelector('#timeline .end')
  await idle()
  const rows = await page.locator('#timeline > li').allTextContents()
  await page.reload()
  await page.waitForSelector('#timeline .end')
  const again = page.locator('#timeline > li')
  await until(async () => (await again.count()) === rows.length)
  assert.deepEqual(await again.allTextContents(), rows)
  assert.equal(await page.inputValue('#behaviour'), 'list-then-read')
  assert.equal(await page.inputValue('#policy-maxTools'), '2')
})

test('every pasted answer counts, and no numbers stand beside an error', async () => {
  await page.click('#views a[href="#bundle"]')
  const outcome = page.locator('#bundle-outcome')
  await outcome.filter({ hasText: 'ran' }).waitFor()
  const run = async (text) => {
    await page.fill('#replicates', text)
    await page.click('#bundle-form [type=submit]')
  }
  await run('["APPROVE", "APPROVE", "REJECT: fraud"]')
  await outcome.filter({ hasText: '3 replicates of 3 ran: all have run' }).waitFor()
  assert.doesNotMatch(await page.textContent('#confidence'), /^Confidence 1:/)
  await run('[1,')
  await outcome.filter({ hasText: 'The replicates: ' }).waitFor()
  for (const id of ['lanes', 'matrix', 'confidence', 'consensus', 'distributions']) {
    assert.equal(await page.textContent(`#${id}`), '', id)
  }
  await page.click('#views a[href="#planner"]')
  await page.locator('#ask-outcome').filter({ hasText: '3 calls' }).waitFor()
  await page.fill('#ask-input', '{')
  await page.click('#ask-form [type=submit]')
  await page.locator('#ask-outcome').filter({ hasText: 'SyntaxError' }).waitFor()
  for (const id of ['ask-calls', 'ask-plan', 'ask-audit']) {
    assert.equal(await page.textContent(`#${id}`), '', id)
  }
})
