// `turnlock serve`: the page out of the package, with the scripted model, in Chromium.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import test, { after, before } from 'node:test'
import { hear, launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'

const cli = fileURLToPath(new URL('../../pkg/dist/cli.js', import.meta.url))
const [complaints, missing] = [[], []]
let child, browser, page, at

before(async () => {
  child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  ;({ page: at } = JSON.parse((await lines.next()).value))
  browser = await launchEngine()
  const context = await browser.newContext()
  context.setDefaultTimeout(PATIENCE_MS)
  page = await context.newPage()
  hear(page, (text) => complaints.push(text))
  page.on('response', (response) => {
    if (response.status() >= 400) missing.push(`${response.status()} ${response.url()}`)
  })
  await page.goto(at)
  await page.waitForSelector('[data-ready]')
})
after(async () => {
  await browser?.close()
  child?.kill('SIGKILL')
})

test('every view that the page of the package has works', async () => {
  await page.locator('#race-staged-verdict.good').waitFor()
  await page.click('#views a[href="#turn"]')
  const asked = page.waitForRequest(/\/model\/s\//)
  await page.click('#composer [type=submit]')
  await asked
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  assert.match(await page.textContent('.message.assistant'), /notes\.txt/)
  for (const [view, says, what] of [
    ['doctor', '#loops-verdict', /\d times/],
    ['bundle', '#bundle-outcome', /ran/],
    ['planner', '#ask-outcome', /3 calls/],
    ['chain', '#chain-status', /complete/],
    ['proxy', '#proxy-behind-verdict', /Answered/],
  ]) {
    await page.click(`#views a[href="#${view}"]`)
    await page.locator(says).filter({ hasText: what }).waitFor()
  }
  // Every view, and no guides.
  const links = await page.locator('#views a').evaluateAll((all) => all.map(({ hash }) => hash))
  const own = ['race', 'turn', 'doctor', 'bundle', 'planner', 'chain', 'proxy']
  assert.deepEqual(
    links,
    own.map((view) => `#${view}`),
  )
  assert.equal(await page.locator('#docs').count(), 0)
  assert.deepEqual([missing, complaints], [[], []])
})

test('a turn runs at its edge, which is behind the same address', async () => {
  await page.click('#views a[href="#turn"]')
  await page.selectOption('#where', 'edge')
  await page.locator('#owners').waitFor()
  await page.selectOption('#behaviour', 'loop')
  await page.click('#clear')
  const asked = []
  page.on('request', (one) => asked.push(`${one.method()} ${new URL(one.url()).pathname}`))
  await page.click('#send')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  assert.match(await page.locator('.message.assistant').last().innerText(), /notes\.txt/)
  assert.ok(asked.includes('POST /edge'), asked.join())
  // The edge asks the model, and not this page.
  assert.ok(!asked.some((one) => one.includes('/model/')), asked.join())
  assert.deepEqual([missing, complaints], [[], []])
})

test('the console has the package that the page runs', async () => {
  const [isSame, made] = await page.evaluate(async () => {
    const [own, served] = await Promise.all([import('turnlock'), import('/turnlock/index.js')])
    const { createProxy } = await import('turnlock/proxy')
    return [own === served, typeof createProxy]
  })
  assert.deepEqual([isSame, made], [true, 'function'])
})

test('one sheet has the styles of all sheets of the project', async () => {
  const www = new URL('../../www/', import.meta.url)
  const sheets = readdirSync(www).filter((name) => name.endsWith('.css'))
  assert.ok(sheets.length > 5)
  const made = await page.evaluate(async () => {
    const links = [...document.querySelectorAll('link[rel=stylesheet]')]
    return Promise.all(links.map(async ({ href }) => (await fetch(href)).text()))
  })
  assert.equal(made.length, 1)
  for (const name of sheets) {
    const text = readFileSync(new URL(name, www), 'utf8').replace(/\/\*[^]*?\*\//g, '')
    const selectors = Array.from(text.matchAll(/^\s*([.#][a-z][\w-]*)/gm), ([, one]) => one)
    assert.ok(selectors.length > 0, name)
    for (const one of selectors) assert.ok(made[0].includes(one), `${name}: ${one}`)
  }
})

/** As it is written: `fetch` would take the dots out of it. */
async function raw(path, method = 'GET') {
  const asked = request(at, { path, method }).end()
  const [response] = await once(asked, 'response')
  response.setEncoding('utf8')
  let text = ''
  for await (const piece of response) text += piece
  return { status: response.statusCode, headers: response.headers, text }
}

test('of the package, only scripts, sheets and wasm are served, under the policy of the page', async () => {
  const html = await raw('/')
  const policy = html.headers['content-security-policy']
  assert.match(policy, /default-src 'self'; script-src 'self' 'wasm-unsafe-eval' 'sha256-[^']+';/)
  assert.match(policy, /frame-ancestors 'none'/)
  for (const path of ['/turnlock/page/main.js', '/turnlock/index.js', '/turnlock/page/style.css']) {
    const { status, headers } = await raw(path)
    assert.deepEqual([status, headers['x-content-type-options']], [200, 'nosniff'], path)
  }
  const head = await raw('/', 'HEAD')
  assert.deepEqual([head.status, head.text], [200, ''])
  for (const path of [
    '/turnlock/../package.json',
    '/turnlock/%2e%2e/package.json',
    '/turnlock/..%2fpackage.json',
    '/turnlock/page/..%5c..%5cpackage.js',
    '/turnlock//etc/x.js',
    '/turnlock/index.d.ts',
    '/turnlock/none.js',
    '/turnlock/page',
    '//',
    '/package.json',
    '/favicon.ico',
  ]) {
    const { status, text } = await raw(path)
    assert.equal(status, 404, path)
    assert.ok(JSON.parse(text).error.message, path)
  }
})
