// Each page, built by each bundler, run in Chromium under a strict content security policy; and
// what becomes of a page whose parts cannot be loaded.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import test, { after, before } from 'node:test'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'
import { BUNDLERS, PAGES, SLIM } from './build.mjs'

const EXPECTED = {
  turn: 'complete seen 1',
  kept: 'complete kept',
  repaired: 'complete 1',
  history: '1 TOOL_RESULT_ORPHAN 0',
  bundle: '1 a',
  signature: '{"a":2,"b":1} 64',
  stream: 'hi',
  chain: 'complete answered',
  request: 'a plan',
  meeting: 'one two',
}
EXPECTED.all = Object.fromEntries(Object.entries(EXPECTED).filter(([page]) => page !== 'meeting'))

const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'none'; style-src 'self'"
// The core of `turnlock/slim` is a file that the page fetches.
const SLIM_POLICY = POLICY.replace("connect-src 'none'", "connect-src 'self'")

const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm' }

const home = mkdtempSync(join(tmpdir(), 'turnlock-bundlers-'))
let server, origin, browser

before(async () => {
  server = createServer(({ url }, response) => {
    const { pathname } = new URL(url, 'http://page')
    const type = TYPES[extname(pathname)]
    response.setHeader('content-security-policy', pathname === '/slim' ? SLIM_POLICY : POLICY)
    response.setHeader('content-type', type ?? 'text/html')
    try {
      const page = '<!doctype html><link rel="icon" href="data:,"><title>page</title>'
      response.end(type ? readFileSync(join(home, pathname)) : page)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${server.address().port}`
  browser = await launchEngine()
})
after(async () => {
  await browser?.close()
  server?.close()
  rmSync(home, { recursive: true, force: true })
})

/** A tab, in a profile of its own. What it loads is in `loaded`. */
async function open(path = '') {
  const context = await browser.newContext()
  context.setDefaultTimeout(PATIENCE_MS)
  const tab = await context.newPage()
  const loaded = []
  tab.on('request', (request) => loaded.push(new URL(request.url()).pathname))
  await tab.goto(origin + path)
  return { tab, loaded, close: () => context.close() }
}

const run = (tab, path) => tab.evaluate(async (path) => (await import(path)).run(), path)

for (const [bundler, build] of Object.entries(BUNDLERS)) {
  test(`${bundler}: every page does its work, and loads no part twice`, async () => {
    await build(join(home, bundler))
    assert.deepEqual(PAGES.toSorted(), Object.keys(EXPECTED).toSorted())
    for (const page of PAGES) {
      const { tab, loaded, close } = await open()
      assert.deepEqual(await run(tab, `/${bundler}/${page}.js`), EXPECTED[page], page)
      const scripts = loaded.filter((path) => path.endsWith('.js'))
      assert.equal(new Set(scripts).size, scripts.length, `${page}: ${scripts}`)
      await close()
    }
  })
}

test('behind init() nothing is loaded any more: a page that is offline goes on', async () => {
  const { tab, close } = await open()
  await tab.evaluate(async () => (await import('/esbuild/all.js')).init())
  await tab.context().setOffline(true)
  assert.deepEqual(await run(tab, '/esbuild/all.js'), EXPECTED.all)
  await close()
})

test('a part that cannot be loaded is core.unavailable; once it can be, a later call works', async () => {
  for (const page of ['turn', 'kept', 'repaired', 'bundle', 'chain', 'request']) {
    const { tab, close } = await open()
    // The page's own script is there; what it loads later is not.
    await tab.evaluate((path) => import(path), `/esbuild/${page}.js`)
    await tab.context().setOffline(true)
    assert.equal(await run(tab, `/esbuild/${page}.js`), 'core.unavailable', page)
    await tab.context().setOffline(false)
    assert.equal(await run(tab, `/esbuild/${page}.js`), EXPECTED[page], page)
    await close()
  }
})

test('where the small part leaves a turn to one that cannot be loaded, it is core.unavailable', async () => {
  const { tab, close } = await open()
  const call = (name) =>
    tab.evaluate(async (name) => (await import('/esbuild/repaired.js'))[name](), name)
  assert.equal(await call('plain'), 'complete 0')
  await tab.context().setOffline(true)
  assert.equal(await call('run'), 'core.unavailable')
  assert.equal(await call('plain'), 'complete 0')
  await tab.context().setOffline(false)
  assert.equal(await call('run'), EXPECTED.repaired)
  await close()
})

test('a page without wasm-unsafe-eval says what its policy lacks', async () => {
  const context = await browser.newContext()
  const tab = await context.newPage()
  await tab.route(`${origin}/`, async (route) => {
    const response = await route.fetch()
    const headers = { ...response.headers(), 'content-security-policy': "script-src 'self'" }
    await route.fulfill({ response, headers })
  })
  await tab.goto(origin)
  assert.equal(await run(tab, '/esbuild/turn.js'), 'core.load')
  await context.close()
})

for (const [bundler, build] of Object.entries(SLIM)) {
  test(`${bundler}: turnlock/slim, with the core as one file`, async () => {
    await build(join(home, `${bundler}-slim`))
    const { tab, loaded, close } = await open('/slim')
    assert.equal(await run(tab, `/${bundler}-slim/slim.js`), 'slim')
    assert.equal(loaded.filter((path) => path.endsWith('.wasm')).length, 1, `${loaded}`)
    await close()
  })
}
