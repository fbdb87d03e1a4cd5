// The page of an example, in Chromium.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'

let browser
/** A new page of this address: a tab, and what it complains of. */
export async function open(url) {
  browser ??= await launchEngine()
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.setDefaultNavigationTimeout(PATIENCE_MS)
  const complaints = []
  page.on('console', (line) => {
    // A model that fails on purpose.
    if (line.type() !== 'error' || line.text().includes('Failed to load resource')) return
    complaints.push(line.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(url)
  return { page, calm: () => assert.deepEqual(complaints, []) }
}
after(() => browser?.close())
