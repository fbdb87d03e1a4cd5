// The same page in two frameworks.
import assert from 'node:assert/strict'
import test from 'node:test'
import { open } from './page.mjs'
import { example, failing } from './start.mjs'

export function chat(meta) {
  const { start } = example(meta)
  const serve = (env) => start({ args: ['--port', '0'], env })
  const ask = async (app) => {
    const { page, calm } = await open(await app.url())
    await page.fill('input', 'What is in this app?')
    await page.press('input', 'Enter')
    return { page, calm }
  }

  test('the user approves a call, and the turn goes on', async () => {
    const app = serve()
    const { page, calm } = await ask(app)
    await page.click('text=Run it')
    await page.waitForSelector('[data-status=complete]')
    assert.equal(await page.textContent('.assistant code'), 'list_files: ok')
    assert.match(await page.textContent('.assistant'), /From the tool results.*server\.mjs/)
    await app.hears(/\S+ complete/)
    calm()
  })

  test('a failure is shown, and in the log', async () => {
    const { BASE_URL } = await failing()
    const app = serve({ BASE_URL })
    const { page, calm } = await ask(app)
    assert.match(await page.textContent('[role=alert]'), /^model\.status: .*401/)
    await app.hears(/model\.status/)
    calm()
  })
}
