// Every view by axe-core (WCAG 2.2 A and AA, and its best practices), in both themes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import test from 'node:test'
import { visiting } from './visiting.mjs'

const visit = visiting()
const { resolve } = createRequire(import.meta.url)
const axe = readFileSync(resolve('axe-core/axe.min.js'), 'utf8')

const VIEWS = await (async () => {
  const html = readFileSync(new URL('../../www/index.html', import.meta.url), 'utf8')
  const [, nav] = /<nav[^>]*>(.*?)<\/nav>/s.exec(html)
  return [...nav.matchAll(/href="#(\w+)"/g)].map(([, view]) => view)
})()

/** Each violation, with the first places of it. */
async function violations(page) {
  await page.evaluate(axe)
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run()
    return violations.map(({ id, help, nodes }) => {
      const places = nodes
        .slice(0, 3)
        .map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
      return `${id} (${nodes.length}): ${help}\n    ${places.join('\n    ')}`
    })
  })
  return found
}

test('every view, light and dark', async (t) => {
  assert.ok(VIEWS.length >= 6, VIEWS.join())
  for (const colorScheme of ['light', 'dark']) {
    for (const view of VIEWS) {
      await t.test(`${view}, ${colorScheme}`, async () => {
        const { page } = visit
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.goto(`${visit.site.url}#${view}`)
        await page.waitForSelector(`[data-ready] #${view}:not([hidden])`)
        assert.deepEqual(await violations(page), [])
        await page.click('#dock-toggle')
        await page.focus('#dock-list')
        await page.keyboard.press('End')
        assert.deepEqual(await violations(page), [], 'with the dock')
      })
    }
  }
})
