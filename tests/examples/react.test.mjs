import assert from 'node:assert/strict'
import test from 'node:test'
import { open } from './page.mjs'
import { example, failing } from './start.mjs'

const { start } = example(import.meta)
const serve = (env) => start({ args: ['--port', '0'], env })

test('the user approves a call, and refuses one', async () => {
  const { page, calm } = await open(await serve().url())
  await page.click('text=Send')
  await page.waitForSelector('text=Run it')
  await page.reload()
  await page.click('text=Run it')
  await page.waitForSelector('[data-status=complete]')
  assert.equal(await page.textContent('.assistant code'), 'list_files: ok')
  assert.match(await page.textContent('.assistant'), /From the tool results.*Chat\.jsx/)
  await page.click('text=Again')
  await page.click('text=No')
  await page.waitForSelector('[data-status=complete]')
  assert.equal(await page.textContent('.assistant code'), 'list_files: blocked')
  calm()
})

test('a failure is shown', async () => {
  const { BASE_URL } = await failing()
  const { page, calm } = await open(await serve({ BASE_URL }).url())
  await page.click('text=Send')
  assert.match(await page.textContent('[role=alert]'), /^model\.status: .*401/)
  calm()
})
