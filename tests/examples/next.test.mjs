import assert from 'node:assert/strict'
import test from 'node:test'
import { open } from './page.mjs'
import { example, failing } from './start.mjs'

const { start } = example(import.meta)
const serve = (env) => start({ args: ['--port', '0', '--hostname', '127.0.0.1'], env })

test('the turn runs on the server, and the page shows it', async () => {
  const app = serve()
  const { page, calm } = await open(await app.url())
  await page.click('text=Send')
  await page.waitForSelector('[data-status=complete]')
  assert.equal(await page.textContent('.assistant code'), 'list_files: ok')
  assert.match(await page.textContent('.assistant'), /From the tool results.*page\.jsx/)
  await app.hears(/\S+ complete/)
  calm()
  await app.stop()
})

test('what is sent before the page is hydrated is sent when it is', async () => {
  const app = serve()
  const { page, calm } = await open('about:blank')
  let release
  const clicked = new Promise((resolve) => (release = resolve))
  await page.route('**/*.js*', async (route) => {
    await clicked
    await route.continue()
  })
  await page.goto(await app.url(), { waitUntil: 'commit' })
  await page.click('text=Send')
  release()
  await page.waitForSelector('[data-status=complete]')
  assert.match(await page.textContent('.assistant'), /From the tool results.*page\.jsx/)
  calm()
  await app.stop()
})

test('a failure is shown, and in the log', async () => {
  const { BASE_URL } = await failing()
  const app = serve({ BASE_URL })
  const { page, calm } = await open(await app.url())
  await page.click('text=Send')
  assert.match(await page.textContent('p[role=alert]'), /^model\.status: .*401/)
  await app.hears(/model\.status/)
  calm()
})
