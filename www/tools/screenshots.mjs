// npm run screenshots [-- --readme]: every view of the page, in both themes and three widths, into
// .cache/screenshots. With --readme, that of the README too (docs/images).
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { launch } from '../../tests/browser.mjs'
import { serve } from './serve.mjs'
import { root } from '../../scripts/setup.mjs'

const WIDTHS = [320, 768, 1280]
const README = 'race-1280-light.png'

/** What is done in a view before its picture is taken. */
const FIRST = {
  async turn(page) {
    await page.selectOption('#behaviour', 'loop')
    await page.click('#send')
    await page.waitForSelector('#timeline li:has-text("Complete")')
    await page.click('#dock-toggle')
  },
}

const folder = join(root, '.cache/screenshots')
mkdirSync(folder, { recursive: true })
const [site, browser] = [await serve(), await launch()]
for (const width of WIDTHS) {
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({
      viewport: { width, height: 860 },
      colorScheme,
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await page.goto(site.url)
    await page.waitForSelector('[data-ready]')
    const views = await page.evaluate(() =>
      [...document.querySelectorAll('#views a')].map(({ hash }) => hash.slice(1)),
    )
    for (const view of views) {
      await page.goto(`${site.url}#${view}`)
      await page.reload()
      await page.waitForSelector(`[data-ready] #${view}:not([hidden])`)
      await FIRST[view]?.(page)
      await page.waitForLoadState('networkidle')
      // What runs by itself in a view is over soon.
      await page.waitForTimeout(1500)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      if (wide > 0) console.log(`${view}, ${width}: ${wide} px too wide`)
      await page.screenshot({ path: join(folder, `${view}-${width}-${colorScheme}.png`) })
    }
    await context.close()
  }
}
await browser.close()
await site.close()
if (process.argv.includes('--readme')) {
  const images = join(root, 'docs/images')
  mkdirSync(images, { recursive: true })
  cpSync(join(folder, README), join(images, README))
}
console.log(`The screenshots are in ${folder}`)
