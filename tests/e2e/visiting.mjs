// A visit to the page: served like `npm start` serves it, in Chromium.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, beforeEach } from 'node:test'
import { serve } from '../../scripts/serve.mjs'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'

/**
 * Gives every test of a file a fresh `page`. What the console complained of stays in `complaints`.
 * @param {string} view what comes behind the address, such as `#doctor`
 */
export function visiting(view = '') {
  const visit = { complaints: [] }
  const complain = (text) => visit.complaints.push(text)
  let browser

  before(async () => {
    visit.site = await serve()
    browser = await launchEngine()
  })
  after(async () => {
    await browser?.close()
    await visit.site?.close()
  })
  /** Opens the page in a tab: of its own browser profile, or of that of `context`. */
  visit.open = async (context, at = view) => {
    context ??= await browser.newContext()
    // Also of the tabs that a test opens itself.
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complain(message.text())
    })
    page.on('pageerror', (error) => complain(String(error)))
    await page.goto(visit.site.url + at)
    await page.waitForSelector('[data-ready]')
    return page
  }
  beforeEach(async () => {
    await visit.page?.context().close()
    visit.page = await visit.open()
  })
  return visit
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Each violation of axe-core's rules within an element of a page, with the first places of it. */
export async function violations(page, within = 'html') {
  await page.evaluate(axe)
  const found = await page.evaluate(async (within) => {
    const { violations } = await globalThis.axe.run(within)
    return violations.map(({ id, help, nodes }) => {
      const places = nodes
        .slice(0, 3)
        .map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
      return `${id} (${nodes.length}): ${help}\n    ${places.join('\n    ')}`
    })
  }, within)
  return found
}
