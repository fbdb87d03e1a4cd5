// The start page: two ways to run the same model, side by side.
import assert from 'node:assert/strict'
import test, { afterEach, beforeEach } from 'node:test'
import { PATIENCE_MS, until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const visit = visiting()
let page
beforeEach(() => {
  page = visit.page
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const side = async (name) => {
  const of = (what) => page.textContent(`#race-${name}-${what}`)
  const [models, runs, about, bytes, answer, verdict] = await Promise.all(
    ['models', 'runs', 'runs-about', 'bytes', 'answer', 'verdict'].map(of),
  )
  return { models: Number(models), runs: Number(runs), about, bytes, answer, verdict }
}
const over = async () => {
  const verdicts = page.locator('#race .verdict')
  await until(async () => (await verdicts.allTextContents()).every((text) => text !== 'running'))
}

test('the loop is seen, and seen being stopped', async () => {
  const requests = []
  page.on('request', ({ url, method }) => method() === 'POST' && requests.push(url()))
  await page.click('#race-replay')
  await over()
  const [plain, staged] = [await side('plain'), await side('staged')]
  assert.deepEqual([plain.models, plain.runs, plain.about], [25, 25, 'tool runs, 24 of them again'])
  assert.deepEqual([plain.verdict, plain.answer], ['✕ No answer', '–'])
  assert.deepEqual([staged.models, staged.runs, staged.about], [3, 1, 'tool runs, 1 refused'])
  assert.equal(staged.verdict, '✓ Answered')
  assert.match(staged.answer, /notes\.txt/)
  assert.match(plain.bytes, /^\d\d+ kB$/)
  assert.match(staged.bytes, /^\d\.\d kB$/)
  const phases = await page.locator('#race-staged .phase-name').allTextContents()
  assert.deepEqual(phases, ['tool phase', 'action phase: no tools'])
  assert.equal(await page.locator('#race-plain .again').count(), 24)
  assert.deepEqual(requests, [], 'nothing leaves the page')
})

test('every model of the chips, and what the handles say', async () => {
  // Each is seen at its end: without motion at once.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const chips = await page.locator('#race-vices button:not([value=real])').all()
  assert.ok(chips.length >= 4)
  for (const chip of chips) {
    await chip.click()
    await over()
    assert.equal((await side('staged')).verdict, '✓ Answered', await chip.textContent())
    assert.equal(await chip.getAttribute('aria-pressed'), 'true')
  }
  await page.click('#race-vices [value=loop-reordered]')
  await page.fill('#race-cap', '7')
  await until(async () => (await side('plain')).models === 7)
  assert.equal((await side('plain')).about, 'tool runs, 6 of them again', 'however it is written')
  await page.click('#race-vices [value=parallel]')
  await page.fill('#race-budget', '2')
  await until(async () => (await side('staged')).runs === 2)
  assert.match(await page.textContent('#race-code'), /policy: \{ maxTools: 2 \}/)
  assert.match(page.url(), /#race\?model=parallel&budget=2&cap=7$/)
  await page.reload()
  await page.waitForSelector('[data-ready]')
  await over()
  assert.deepEqual([(await side('staged')).runs, await page.inputValue('#race-cap')], [2, '7'])
})

test('a step says what it was, by mouse and by keyboard', async () => {
  await over()
  await page.focus('#race-staged .glyph >> nth=0')
  for (let step = 0; step < 3; step++) await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  const refused = JSON.parse(await page.textContent('#race-step-json'))
  assert.deepEqual([refused.kind, refused.reason], ['refused', 'tools_disabled'])
  await page.click('#race-plain .glyph >> nth=0')
  const { request } = JSON.parse(await page.textContent('#race-step-json'))
  assert.equal(request.messages[0].content, 'What is in my files?')
})

test('title, focus and scroll follow the view', async () => {
  for (const link of await page.locator('#views a').all()) {
    const name = await link.textContent()
    await page.evaluate(() => scrollTo(0, 200))
    await link.click()
    await until(async () => (await page.title()) === `${name} · Turnlock`)
    if (name === 'Race') continue
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1', name)
    assert.equal(await page.evaluate(() => scrollY), 0)
    assert.equal(await page.locator('main > div:visible').count(), 1)
  }
})

const VIEWS = ['#race', '#turn', '#doctor', '#bundle', '#planner', '#chain', '#proxy']

test('no view is wider than the narrowest phone', async () => {
  await page.setViewportSize({ width: 320, height: 700 })
  for (const view of VIEWS) {
    await page.goto(`${visit.site.url}${view}`)
    await page.waitForSelector(`${view}:visible`)
    const [wide, has] = await page.evaluate(() => [
      document.documentElement.scrollWidth,
      innerWidth,
    ])
    assert.ok(wide <= has, `${view}: ${wide}`)
  }
})

test('until the script is there, no other view is shown than the address names', async () => {
  await page.route('**/main.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: '' }),
  )
  for (const [address, shown] of [
    ['', ['race']],
    ['#turn', []],
  ]) {
    await page.goto('about:blank')
    await page.goto(visit.site.url + address)
    const views = page.locator('main > div:visible')
    assert.deepEqual(await views.evaluateAll((all) => all.map(({ id }) => id)), shown, address)
  }
})

test('nothing moves by itself', async () => {
  for (const width of [360, 768, 1360]) {
    const context = await visit.context({ viewport: { width, height: 850 } })
    const tab = await context.newPage()
    tab.setDefaultTimeout(PATIENCE_MS)
    await tab.addInitScript(() => {
      globalThis.moved = 0
      new PerformanceObserver((list) => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) globalThis.moved += one.value
      }).observe({ type: 'layout-shift', buffered: true })
    })
    for (const view of VIEWS) {
      // From an address that differs in its fragment alone nothing would be loaded.
      await tab.goto('about:blank')
      await tab.goto(`${visit.site.url}${view}`)
      await tab.waitForSelector('[data-ready]')
      if (view === '#race') await tab.waitForSelector('#race .verdict.good')
      if (view === '#proxy') await tab.waitForSelector('#proxy .verdict.good')
      if (view === '#bundle')
        await tab.locator('#bundle-outcome').filter({ hasText: 'ran' }).waitFor()
      const moved = await tab.evaluate(() =>
        new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50))).then(
          () => moved,
        ),
      )
      assert.ok(moved < 0.02, `${view} at ${width} px: ${moved}`)
    }
    await context.close()
  }
})
