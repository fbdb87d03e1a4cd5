// What the page shows else is tested in tests/e2e/rust-page.test.mjs.
import assert from 'node:assert/strict'
import test from 'node:test'
import { open } from './page.mjs'
import { example } from './start.mjs'

const { start } = example(import.meta, { inPlace: true })

test('it runs the tool and answers; a failure is shown', async () => {
  const { page, calm } = await open(`${await start({ env: { PORT: '0' } }).url()}/rust-page/`)
  const ask = async (behaviour, shown) => {
    await page.selectOption('#behaviour', behaviour)
    await page.fill('#prompt', 'go')
    await page.press('#prompt', 'Enter')
    return (await page.waitForSelector(shown)).textContent()
  }
  await ask('one-call', '#facts li')
  const answer = await page.locator('.message.assistant').last().textContent()
  assert.match(answer, /notes\.txt.*That answers it\./)
  assert.match(await ask('server-error', '.message.failed'), /^model\.status: /)
  calm()
})
