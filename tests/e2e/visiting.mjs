// A visit to the page: served like `npm start` serves it, in Chromium.
import { after, before, beforeEach } from 'node:test'
import { serve } from '../../scripts/serve.mjs'
import { launch } from '../browser.mjs'

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
    browser = await launch()
  })
  after(async () => {
    await browser?.close()
    await visit.site?.close()
  })
  beforeEach(async () => {
    await visit.page?.close()
    visit.page = await browser.newPage()
    visit.page.setDefaultTimeout(20_000)
    visit.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complain(message.text())
    })
    visit.page.on('pageerror', (error) => complain(String(error)))
    await visit.page.goto(visit.site.url + view)
    await visit.page.waitForSelector('[data-ready]')
  })
  return visit
}
