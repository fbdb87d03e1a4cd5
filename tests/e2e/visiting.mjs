// A visit to the page: served like `npm start` serves it, in Chromium.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, beforeEach } from 'node:test'
import { serve } from '../../www/tools/serve.mjs'
import { hear, launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'

/**
 * Gives every test of a file a fresh `page`. What the console complained of stays in `complaints`.
 * @param {string} view what comes behind the address, such as `#doctor`
 * @param {object} options of the browser's profile, and: `each`, whether every test, and every test in a
 *   test, has a page (otherwise they open theirs); `oneTab`, whether it is loaded anew in the tab of the
 *   test before, whose storage is cleared, for tests that leave it no listeners and no routes: that takes
 *   two thirds of the processor time. A test that leaves scripts in it sets `visit.spoilt`.
 */
export function visiting(view = '', { each = true, oneTab = false, ...profile } = {}) {
  const visit = { complaints: [] }
  const complain = (text) => visit.complaints.push(text)
  let browser, viewport

  before(async () => {
    visit.site = await serve()
    browser = await launchEngine()
  })
  after(async () => {
    await browser?.close()
    await visit.site?.close()
  })
  /** A browser profile of its own. */
  visit.context = (options) => browser.newContext({ ...profile, ...options })
  /** Opens the page in a tab: of its own browser profile, or of that of `context`. */
  visit.open = async (context, at = view) => {
    context ??= await visit.context()
    // Also of the tabs that a test opens itself.
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    hear(page, complain)
    await load(page, at)
    return page
  }
  /** Whether loading the page anew ends all that the test before has left. */
  const isAlone = () =>
    !visit.spoilt && !visit.page.isClosed() && visit.page.context().pages().length === 1
  /** Loads the page anew in its tab. */
  const again = async () => {
    await visit.page.context().clearPermissions()
    await visit.page.setViewportSize(viewport)
    // From an address that differs in its fragment alone nothing would be loaded.
    await visit.page.goto('about:blank')
    const devtools = await visit.page.context().newCDPSession(visit.page)
    const { origin } = new URL(visit.site.url)
    await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
    await devtools.detach()
    await load(visit.page, view)
  }
  const load = async (page, at) => {
    await page.goto(visit.site.url + at)
    await page.waitForSelector('[data-ready]')
  }
  if (each) {
    beforeEach(async () => {
      if (oneTab && visit.page && isAlone()) return again()
      visit.spoilt = false
      await visit.page?.context().close()
      visit.page = await visit.open()
      viewport = visit.page.viewportSize()
    })
  }
  return visit
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Each violation of axe-core's rules within an element of a page, with the first places of it. */
export async function violations(page, within = 'html') {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const found = await page.evaluate(async (within) => {
    const { violations } = await globalThis.axe.run(within, { resultTypes: ['violations'] })
    return violations.map(({ id, help, nodes }) => {
      const places = nodes
        .slice(0, 3)
        .map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
      return `${id} (${nodes.length}): ${help}\n    ${places.join('\n    ')}`
    })
  }, within)
  return found
}
