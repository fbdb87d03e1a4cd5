import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { open } from './page.mjs'
import { example } from './start.mjs'

const { start } = example(import.meta)
const serve = (env) => start({ args: ['--port', '0'], env })

test('the turn runs in the page, and the next one knows it', async () => {
  const { page, calm } = await open(await serve().url())
  await page.click('button')
  await page.waitForSelector('[data-status=complete]')
  assert.equal(await page.textContent('.call'), 'runs list_files')
  assert.match(await page.textContent('.assistant'), /From the tool results.*main\.js/)
  await page.fill('input', 'And now?')
  await page.click('button')
  await page.waitForFunction("document.querySelectorAll('.assistant').length === 2")
  calm()
})

test('the key is the server’s, and a failure is shown', async (t) => {
  const keys = []
  const model = createServer((request, response) => {
    keys.push(request.headers.authorization)
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end('{"error":{"message":"no such key"}}')
  }).listen(0, '127.0.0.1')
  await once(model, 'listening')
  t.after(() => model.close())
  const BASE_URL = `http://127.0.0.1:${model.address().port}/v1`
  const { page, calm } = await open(await serve({ BASE_URL, OPENAI_API_KEY: 'k' }).url())
  const asked = page.waitForRequest('**/api/v1/chat/completions')
  await page.click('button')
  assert.match(await page.textContent('[role=alert]'), /^failed model\.status: .*401/)
  assert.deepEqual(keys, ['Bearer k'])
  assert.equal((await (await asked).allHeaders()).authorization, undefined)
  calm()
})
