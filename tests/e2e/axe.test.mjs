// Every view by axe-core (WCAG 2.2 A and AA, and its best practices), in both themes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { violations, visiting } from './visiting.mjs'

const visit = visiting('', { each: false, reducedMotion: 'reduce' })

const VIEWS = await (async () => {
  const html = readFileSync(new URL('../../www/index.html', import.meta.url), 'utf8')
  const [, nav] = /<nav[^>]*>(.*?)<\/nav>/s.exec(html)
  return [...nav.matchAll(/href="#(\w+)"/g)].map(([, view]) => view)
})()

test('every view, light and dark', async (t) => {
  assert.ok(VIEWS.length >= 6, VIEWS.join())
  for (const colorScheme of ['light', 'dark']) {
    // One visit a theme: the views are told apart by the address, as links do it.
    const page = await visit.open(await visit.context({ colorScheme }))
    for (const view of VIEWS) {
      await t.test(`${view}, ${colorScheme}`, async () => {
        await page.goto(`${visit.site.url}#${view}`)
        await page.waitForSelector(`[data-ready] #${view}:not([hidden])`)
        assert.deepEqual(await violations(page), [])
        await page.click('#dock-toggle[aria-expanded=false]')
        await page.focus('#dock-list')
        await page.keyboard.press('End')
        assert.deepEqual(await violations(page), [], 'with the dock')
        await page.click('#dock-toggle')
      })
    }
    await page.context().close()
  }
})
