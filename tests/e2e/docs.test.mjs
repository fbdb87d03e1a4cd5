// The documentation as `npm start` serves it, below the page, with its policy, in Chromium.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before, beforeEach } from 'node:test'
import { CHAPTERS, DOCS, writeDocs } from '../../docs/tools/site.mjs'
import { serve } from '../../www/tools/serve.mjs'
import { root } from '../../scripts/setup.mjs'
import { hear, launchEngine } from '../browser.mjs'
import { PATIENCE_MS, until } from '../patience.mjs'
import { violations } from './visiting.mjs'

const folder = join(root, DOCS)
const complaints = []
let site, browser, page

before(async () => {
  await writeDocs(folder)
  site = await serve()
  browser = await launchEngine()
})
after(async () => {
  await browser?.close()
  await site?.close()
})
beforeEach(async () => {
  await page?.context().close()
  complaints.length = 0
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  context.setDefaultTimeout(PATIENCE_MS)
  page = await context.newPage()
  hear(page, (text) => complaints.push(text))
})
const open = (path) => page.goto(`${site.url}docs/${path}`)

test('the page leads to the guides, and these to one another', async () => {
  await page.goto(site.url)
  await page.click('header a:has-text("Docs")')
  await page.locator('main h1').filter({ hasText: 'Start' }).waitFor()
  await page.click('nav[aria-label="Table of contents"] >> text="Stores"')
  await page.locator('main h1').filter({ hasText: 'Stores' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('coding agents find every guide as Markdown, and all in one file', async () => {
  const text = async (path) => {
    const response = await fetch(`${site.url}docs/${path}`)
    assert.equal(response.status, 200, path)
    return response.text()
  }
  const links = [...(await text('llms.txt')).matchAll(/^- \[.+\]\((.+\.md)\)$/gm)]
  assert.equal(links.length, Object.values(CHAPTERS).flat().length)
  const whole = await text('llms-full.txt')
  for (const [, link] of links) {
    const guide = readFileSync(join(root, 'docs', link), 'utf8')
    assert.equal(await text(link), guide)
    assert.ok(whole.includes(guide), link)
  }
})

test('a search finds a guide by a word, and an error code', async () => {
  await open('start.html')
  await page.locator('#mdbook-search-toggle').click()
  for (const [word, found] of [
    ['replicates', /bundles\.html/],
    ['turn.events_gone', /errors\.html/],
  ]) {
    // The index is loaded behind the click: what was typed before it was there is not searched.
    await until(async () => {
      await page.fill('#mdbook-searchbar', '')
      await page.locator('#mdbook-searchbar').pressSequentially(word)
      const links = page.locator('#mdbook-searchresults a')
      await links
        .first()
        .waitFor({ timeout: 2000 })
        .catch(() => {})
      const targets = await links.evaluateAll((all) => all.map(({ href }) => href))
      return targets.some((href) => found.test(href))
    })
  }
  assert.deepEqual(complaints, [])
})

test('light, dark, and narrow', async () => {
  const background = () =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  const backgrounds = {}
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const name of ['turns', 'api', 'start', 'rust', 'sizes']) {
      await open(`${name}.html`)
      backgrounds[colorScheme] = await background()
      assert.deepEqual(await violations(page, 'main'), [], `${name}, ${colorScheme}`)
    }
  }
  assert.notEqual(backgrounds.light, backgrounds.dark)
  await page.setViewportSize({ width: 320, height: 640 })
  for (const names of Object.values(CHAPTERS)) {
    await open(`${names[0]}.html`)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.ok(wide <= 320, `${names[0]} is ${wide} wide`)
  }
  assert.deepEqual(complaints, [])
})

test('the reference has what the package exports', async () => {
  await open('reference/index.html')
  await page.locator('.container-main').filter({ hasText: 'turnlock/stores/redis' }).waitFor()
  await open('reference/functions/turnlock.runTurn.html')
  await page.locator('h1').filter({ hasText: 'runTurn' }).waitFor()
  assert.deepEqual(complaints, [])
})

test('no link of the guides leads nowhere', () => {
  const pages = readdirSync(folder).filter((file) => file.endsWith('.html') && file !== '404.html')
  const texts = Object.fromEntries(
    pages.map((file) => [file, readFileSync(join(folder, file), 'utf8')]),
  )
  const ids = (file) => new Set([...texts[file].matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  let count = 0
  for (const [file, text] of Object.entries(texts)) {
    const main = text.slice(text.indexOf('<main'), text.indexOf('</main>'))
    for (const [, href] of main.matchAll(/ href="([^"]+)"/g)) {
      if (/^https?:/.test(href)) continue
      const [path, id] = href.split('#')
      const target = path || file
      count += 1
      assert.ok(texts[target], `${file}: ${href}`)
      if (id) assert.ok(ids(target).has(decodeURIComponent(id)), `${file}: ${href}`)
    }
  }
  assert.ok(count > 50, `${count} links`)
})
