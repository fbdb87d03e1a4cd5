// The page as static files below a path: no server but one that serves files.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import test, { after, before } from 'node:test'
import { gzipSync } from 'node:zlib'
import { writeSite } from '../../www/tools/site.mjs'
import { hear, launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'

const PATH = '/some/where/'
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css' }
const folder = mkdtempSync(join(tmpdir(), 'turnlock-site-'))
const missing = []
let server, browser, page
const complaints = []

/** What a build of the page may not pick up. */
const CANARY = 'sk-ant-api03-aCanaryThatNoPageMayHold0123456789'

before(async () => {
  for (const name of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'API_KEY']) process.env[name] = CANARY
  await writeSite(folder)
  server = createServer(({ url, method }, response) => {
    const { pathname } = new URL(url, 'http://page')
    const path = pathname.slice(PATH.length) || 'index.html'
    try {
      if (method !== 'GET' || !pathname.startsWith(PATH)) throw new Error(`${method} ${pathname}`)
      response.setHeader('content-type', TYPES[extname(path)] ?? 'text/html')
      response.end(readFileSync(join(folder, path)))
    } catch {
      missing.push(`${method} ${pathname}`)
      response.writeHead(404).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  browser = await launchEngine()
  const context = await browser.newContext()
  context.setDefaultTimeout(PATIENCE_MS)
  page = await context.newPage()
  hear(page, (text) => complaints.push(text))
  await page.goto(`http://127.0.0.1:${server.address().port}${PATH}`)
  await page.waitForSelector('[data-ready]')
})
after(async () => {
  await browser?.close()
  server?.closeAllConnections()
  server?.close()
  rmSync(folder, { recursive: true, force: true })
})

test('every view works without a server, and asks for nothing that is not there', async () => {
  await page.locator('.verdict.good').waitFor()
  await page.click('#views a[href="#turn"]')
  await page.click('#composer [type=submit]')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  assert.match(await page.textContent('.message.assistant'), /notes\.txt/)
  await page.click('#views a[href="#doctor"]')
  await page.locator('#outcome').filter({ hasText: /\w/ }).waitFor()
  await page.click('#views a[href="#bundle"]')
  await page.locator('#bundle-outcome').filter({ hasText: 'ran' }).waitFor()
  await page.click('#views a[href="#planner"]')
  await page.locator('#ask-outcome').filter({ hasText: '3 calls' }).waitFor()
  await page.click('#views a[href="#chain"]')
  await page.click('#chain-form [type=submit]')
  await page.locator('#chain-answer').filter({ hasText: /\w/ }).waitFor()
  assert.deepEqual([missing, complaints], [[], []])
})

test('no key of a provider is in what pages load', () => {
  // Their forms, as in the rules of gitleaks; not in the base64 of the core, which has any letters.
  const KEYS = [
    /\bsk-(ant-|proj-)?[\w-]{20,}/,
    /\bAIza[\w-]{35}\b/,
    /\b(gsk|xai|hf|r8)[_-]\w{20,}/,
    /\bAKIA[A-Z2-7]{16}\b/,
  ]
  const keys = (text) => {
    const read = text.replace(/[A-Za-z0-9+/=]{2000,}/g, '')
    return KEYS.flatMap((form) => form.exec(read)?.[0] ?? [])
  }
  assert.deepEqual(keys(`const apiKey = '${CANARY}'`), [CANARY])
  const examples = join(import.meta.dirname, '../../examples')
  let scanned = 0
  for (const root of [folder, examples]) {
    for (const path of readdirSync(root, { recursive: true })) {
      if (!/\.(m?js|json|html|css|ts|tsx|vue|svelte|rs|toml)$/.test(path)) continue
      if (/node_modules|target\//.test(path)) continue
      scanned += 1
      assert.deepEqual(keys(readFileSync(join(root, path), 'utf8')), [], path)
    }
  }
  assert.ok(scanned > 100, `${scanned} files`)
})

test('a turn goes on after a reload', async () => {
  await page.click('#views a[href="#turn"]')
  await page.click('#presets >> text="Pause, then resume"')
  await page.waitForSelector('#decision .primary')
  await page.reload()
  await page.waitForSelector('#decision .primary')
  await page.click('#decision .primary')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  assert.match(await page.textContent('.message.assistant'), /notes\.txt/)
  assert.deepEqual([missing, complaints], [[], []])
})

test('what a first paint waits for is less than 60 KB', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8')
  const sheets = [...html.matchAll(/<link rel="stylesheet" href="\.\/([^"]+)"/g)].map(
    ([, at]) => at,
  )
  assert.ok(sheets.length >= 7)
  // Scripts that are modules run behind it; others would stop it.
  for (const [tag] of html.matchAll(/<script[^>]*>/g))
    assert.match(tag, /type="(module|importmap)"/)
  const css = sheets.map((at) => readFileSync(join(folder, at)))
  for (const text of css) assert.doesNotMatch(String(text), /@import|@font-face/)
  const bytes = [Buffer.from(html), ...css].reduce((sum, part) => sum + gzipSync(part).length, 0)
  assert.ok(bytes < 60_000, `${bytes} bytes`)
})

test('after init() the page works offline', async () => {
  await page.click('#views a[href="#race"]')
  await page.locator('#race-staged-verdict.good').waitFor()
  // All parts of the core, which views load as they need them.
  await page.evaluate(async () => (await import('turnlock')).init())
  await page.context().setOffline(true)
  try {
    await page.click('#race-vices [value=parallel]')
    await page.locator('#race-staged-verdict.good').waitFor()
    await page.click('#views a[href="#turn"]')
    await page.click('#presets >> text="A model that loops"')
    await page.waitForSelector('#timeline .end:has-text("Complete")')
    for (const [view, says, what] of [
      ['doctor', '#loops-verdict', /\d times/],
      ['bundle', '#bundle-outcome', /ran/],
      ['planner', '#ask-outcome', /3 calls/],
      ['chain', '#chain-status', /complete/],
    ]) {
      await page.click(`#views a[href="#${view}"]`)
      await page.locator(says).filter({ hasText: what }).waitFor()
    }
  } finally {
    await page.context().setOffline(false)
  }
  assert.deepEqual([missing, complaints], [[], []])
})
