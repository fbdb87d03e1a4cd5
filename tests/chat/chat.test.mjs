// `useTurn` of `turnlock/react` under StrictMode in Chromium: turns of the page, and turns of a
// handler over HTTP. Then the examples for Vue and Svelte over the same store.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, afterEach, before, beforeEach } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { build as vite } from 'vite'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'
import { edge } from './edge.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder, browser, site, page, complaints

before(async () => {
  mkdirSync(join(root, '.cache'), { recursive: true })
  folder = mkdtempSync(join(root, '.cache/chat-'))
  await build({
    entryPoints: [join(root, 'tests/chat/page.mjs')],
    outdir: folder,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  const html = '<!doctype html><link rel="icon" href="data:,">'
  const script = '<script type="module" src="/page.js"></script>'
  writeFileSync(join(folder, 'index.html'), html + script)
  browser = await launchEngine()
})
after(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => open(folder))
afterEach(async () => {
  await page.close()
  site.close()
})

async function open(from) {
  site = await edge(from)
  page = await browser.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  complaints = []
  page.on('console', (line) => {
    // Of connections that the test breaks.
    const own = line.text().includes('Failed to load resource') || line.type() === 'info'
    if (!own && ['error', 'warning'].includes(line.type())) complaints.push(line.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  await page.goto(site.url)
}

async function mount(kind, shared = false) {
  await page.waitForFunction('window.ready')
  await page.evaluate(([kind, shared]) => window.mount(kind, shared), [kind, shared])
  await page.waitForSelector('#first')
}
const send = (text) => page.evaluate((text) => window.first.send(text), text)
const reach = (status, name = 'first') => page.waitForSelector(`#${name}[data-status=${status}]`)
const shown = (name = 'first') => page.locator(`#${name} p`).allTextContents()
const click = (name) => page.click(`#first .${name}`)
const state = (read) => page.evaluate(`(${read})(window)`)

test('a turn of the page streams, and the next one knows it', async () => {
  await mount('local')
  assert.equal(await send('hello'), true)
  await reach('complete')
  assert.deepEqual(await shown(), ['hello', 'answer 1'])
  await send('again')
  await page.waitForFunction("document.querySelectorAll('#first p').length === 4")
  await reach('complete')
  const [, second] = await state((w) => w.seen.requests)
  const told = second.filter(({ role }) => role !== 'system')
  assert.deepEqual(
    told.map(({ role, content }) => [role, content]),
    [
      ['user', 'hello'],
      ['assistant', 'answer 1'],
      ['user', 'again'],
    ],
  )
  assert.deepEqual(complaints, [])
})

test('text is gathered: 2 000 events are far fewer renders, and none is lost', async () => {
  await mount('local')
  const before = await state((w) => w.seen.renders)
  await send('many')
  await reach('complete')
  const [, text] = await shown()
  assert.equal(text, Array.from({ length: 2000 }, (_, n) => `${n},`).join(''))
  const renders = (await state((w) => w.seen.renders)) - before
  // StrictMode renders twice.
  assert.ok(renders < 400, `${renders} renders`)
})

test('stop cancels, what was shown stays, and a second send is refused meanwhile', async () => {
  await mount('local')
  await send('wait')
  await page.waitForFunction("document.querySelector('.assistant')?.textContent === 'one '")
  assert.equal(await send('too early'), false)
  assert.equal(await state((w) => w.first.regenerate()), false)
  await click('stop')
  await reach('cancelled')
  assert.deepEqual(await shown(), ['wait', 'one '])
  assert.equal(await state((w) => w.seen.cancelled), 1)
  await send('hello')
  await reach('complete')
  assert.deepEqual(await shown(), ['wait', 'one ', 'hello', 'answer 2'])
})

test('regenerate asks again with the same history', async () => {
  await mount('local')
  await send('hello')
  await reach('complete')
  await click('regenerate')
  await page.waitForFunction("document.querySelector('.assistant')?.textContent === 'answer 2'")
  await reach('complete')
  assert.deepEqual(await shown(), ['hello', 'answer 2'])
  const [first, second] = await state((w) => w.seen.requests)
  assert.deepEqual(second, first)
})

test('a failure is state, and the chat goes on', async () => {
  await mount('local')
  await send('break')
  await reach('failed')
  assert.match(await page.textContent('#first output'), /^model\./)
  assert.equal(await state((w) => w.first.error.code.startsWith('model.')), true)
  await send('hello')
  await reach('complete')
  assert.equal(await page.textContent('#first output'), '')
  assert.deepEqual(complaints, [])
})

for (const kind of ['local', 'remote']) {
  test(`an approval: approved, then denied (${kind})`, async () => {
    await mount(kind)
    const runs = () => (kind === 'local' ? state((w) => w.seen.runs) : site.runs)
    await send('ask first')
    await reach('paused')
    assert.deepEqual(await runs(), [])
    assert.equal(await page.getAttribute('#first code', 'data-call'), 'waiting')
    await click('approve')
    await reach('complete')
    assert.deepEqual(await runs(), [{ n: 1 }])
    assert.equal(await page.getAttribute('#first code', 'data-call'), 'ok')
    const history = await state((w) => w.first.history())
    const roles = history.map(({ role }) => role)
    assert.deepEqual(roles, ['user', 'assistant', 'tool', 'assistant'])
    await click('regenerate')
    await reach('paused')
    await click('deny')
    await reach('complete')
    assert.deepEqual(await runs(), [{ n: 1 }])
    assert.equal(await page.getAttribute('#first code', 'data-call'), 'blocked')
    assert.deepEqual(complaints, [])
  })

  test(`unmounted in mid-turn: the turn ends, nothing is set after it (${kind})`, async () => {
    await mount(kind)
    await send('wait')
    await page.waitForSelector('.assistant')
    const renders = await state((w) => (w.show(false), w.seen.renders))
    await page.waitForSelector('i')
    await page.waitForFunction("window.first.chat.getSnapshot().status !== 'running'")
    const snapshot = await state((w) => w.first.chat.getSnapshot().status)
    assert.equal(snapshot, 'cancelled')
    assert.equal(await state((w) => w.seen.renders), renders)
    if (kind === 'local') assert.equal(await state((w) => w.seen.cancelled), 1)
    assert.deepEqual(complaints, [])
  })
}

test('two components show one chat, and it outlives a remount in mid-turn', async () => {
  await mount('local', true)
  await send('wait')
  await page.waitForFunction("document.querySelector('#second .assistant')?.textContent === 'one '")
  await state((w) => w.remount(1))
  await page.waitForFunction("document.querySelector('#first .assistant')?.textContent === 'one '")
  assert.equal(await state((w) => w.seen.cancelled), 0)
  await state((w) => w.seen.gates.forEach((open) => open()))
  for (const name of ['first', 'second']) {
    await reach('complete', name)
    assert.deepEqual(await shown(name), ['wait', 'one two'])
  }
  assert.deepEqual(complaints, [])
})

test('a turn of a handler, over connections that break', async () => {
  await mount('remote')
  site.cut(900, 700, 1500)
  await send('note')
  await reach('complete')
  assert.deepEqual(await shown(), ['note', `I look. note${site.text}`])
  assert.deepEqual(site.runs, [{ n: 1 }])
  assert.ok(site.broken() > 0)
})

test('remote turn: a gateway that fails after a request arrived does not fail the turn', async () => {
  await mount('remote')
  site.fail(504, 502, true, 503)
  await send('ask first')
  await reach('paused')
  await click('approve')
  await reach('complete')
  assert.deepEqual(site.runs, [{ n: 1 }])
  assert.deepEqual(await shown(), ['ask first', `I look. careful${site.text}`])
  site.fail(408, 429)
  await send('hello')
  await page.waitForFunction("document.querySelectorAll('#first .user').length === 2")
  await reach('complete')
  assert.deepEqual(complaints, [])
})

test('a page that was loaded again shows the turn that is open', async () => {
  await mount('remote')
  await send('ask first')
  await reach('paused')
  const id = await state((w) => w.first.requestId)
  await page.reload()
  await mount('remote')
  await page.evaluate((id) => window.first.attach(id), id)
  await reach('paused')
  await click('approve')
  await reach('complete')
  assert.deepEqual(site.runs, [{ n: 1 }])
  assert.deepEqual(await shown(), [`I look. careful${site.text}`])
})

/** What a page that was loaded again finds open, by state. */
const listed = () => state((w) => w.turns.list().then((all) => all.map((one) => one.status)))
/** The page again, with the chat at the turn that it had. */
async function reload() {
  const id = await state((w) => w.first.requestId)
  await page.reload()
  await mount('remote')
  await page.evaluate((id) => window.first.attach(id), id)
}

test('a page that is loaded again finds a turn that runs, and stops it', async () => {
  await mount('remote')
  await send('wait')
  await page.waitForSelector('.assistant')
  await reload()
  await page.waitForFunction("document.querySelector('.assistant')?.textContent === 'one '")
  assert.deepEqual(await listed(), ['running'])
  await click('stop')
  await reach('cancelled')
  const open = async () => (await listed()).length
  // Its owner tells the end.
  while (await open()) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(await send('hello'), true)
  await reach('complete')
})

for (const [text, status, open, code] of [
  ['hello', 'complete', [], ''],
  ['ask first', 'paused', ['paused'], ''],
  ['break', 'failed', ['failed'], 'model.failed'],
]) {
  test(`a page that is loaded again finds a turn that is ${status}`, async () => {
    await mount('remote')
    await send(text)
    await reach(status)
    await reload()
    await reach(status)
    assert.deepEqual(await listed(), open)
    assert.equal(await page.textContent('#first output'), code)
    // The chat goes on.
    await send('hello')
    await page.waitForFunction("document.querySelectorAll('#first .user').length === 1")
    await reach('complete')
  })
}

test('a page that is loaded again runs the tools that are its own, once', async () => {
  await mount('remote')
  await send('where am I')
  await reach('complete')
  assert.deepEqual(await state((w) => w.seen.runs), [{ n: 1 }])
  await reload()
  await reach('complete')
  assert.deepEqual(await state((w) => w.seen.runs), [], 'it ran before')
  assert.deepEqual(await listed(), [])
})

test('a turn that has expired, is unknown, or another tenant’s', async () => {
  await mount('remote')
  await send('ask first')
  await reach('paused')
  const id = await state((w) => w.first.requestId)
  const gone = async (id) => {
    await page.reload()
    await mount('remote')
    await page.evaluate((id) => window.first.attach(id), id)
    await reach('failed')
    assert.equal(await page.textContent('#first output'), 'turn.not_found')
  }
  await gone('nobody-knows')
  await state((w) => void (w.document.cookie = 'tenant=other'))
  await gone(id)
  assert.deepEqual(await listed(), [])
  await state((w) => void (w.document.cookie = 'tenant=t'))
  assert.deepEqual(await listed(), ['paused'])
  site.wait(86_400_001)
  await gone(id)
  assert.deepEqual(await listed(), [])
  assert.deepEqual(site.runs, [])
})

test('two tabs decide on one call: it runs once, and both show the answer', async () => {
  await mount('remote')
  await send('ask first')
  await reach('paused')
  const id = await state((w) => w.first.requestId)
  const first = page
  const other = await browser.newPage()
  other.setDefaultTimeout(PATIENCE_MS)
  await other.goto(site.url)
  page = other
  await mount('remote')
  await page.evaluate((id) => window.first.attach(id), id)
  await reach('paused')
  await Promise.all([first, other].map((tab) => tab.click('#first .approve')))
  const ends = new Set()
  for (const tab of [first, other]) {
    const end = '#first[data-status=complete], #first[data-status=failed]'
    await tab.waitForSelector(end)
    ends.add(
      `${await tab.getAttribute('#first', 'data-status')} ${await tab.textContent('#first output')}`,
    )
    await tab.reload()
    page = tab
    await mount('remote')
    await page.evaluate((id) => window.first.attach(id), id)
    await reach('complete')
    assert.deepEqual(await shown(), [`I look. careful${site.text}`])
  }
  assert.ok(ends.has('complete '), [...ends].join())
  for (const end of ends) assert.ok(['complete ', 'failed turn.conflict'].includes(end), end)
  assert.deepEqual(site.runs, [{ n: 1 }])
  await first.close()
})

/** Waits for the texts of all messages. */
const texts = (...all) =>
  page.waitForFunction(
    (all) =>
      JSON.stringify([...document.querySelectorAll('#first p')].map((p) => p.textContent)) ===
      JSON.stringify(all),
    all,
  )
const told = (messages) =>
  messages.filter(({ role }) => role !== 'system').map(({ role, content }) => [role, content])
/** The page again, with the chat that it keeps. */
async function again(kind) {
  await page.reload()
  await mount(kind)
}

test('local turns: a reload in mid-answer goes on, and the answer is told once', async () => {
  await mount('kept')
  await send('wait')
  await texts('wait', 'one ')
  await again('kept')
  await page.waitForFunction('window.seen.gates.length === 1')
  await texts('wait', 'one ')
  await state((w) => w.seen.gates.forEach((open) => open()))
  await reach('complete')
  await texts('wait', 'one two')
  await again('kept')
  await texts('wait', 'one two')
  await send('hello')
  await texts('wait', 'one two', 'hello', 'answer 1')
  await reach('complete')
  const [request] = await state((w) => w.seen.requests)
  assert.deepEqual(told(request), [
    ['user', 'wait'],
    ['assistant', 'one two'],
    ['user', 'hello'],
  ])
  assert.deepEqual(complaints, [])
})

test('local turns: an approval waits for a reload, and runs once', async () => {
  await mount('kept')
  await send('ask first')
  await reach('paused')
  await again('kept')
  await reach('paused')
  await click('approve')
  await reach('complete')
  assert.deepEqual(await state((w) => w.seen.runs), [{ n: 1 }])
  assert.equal(await page.getAttribute('#first code', 'data-call'), 'ok')
})

test('local turns: a second tab shows the turn, and goes on when the first one is closed', async () => {
  await page.close()
  const context = await browser.newContext()
  const first = (page = await context.newPage())
  page.setDefaultTimeout(PATIENCE_MS)
  await page.goto(site.url)
  await mount('kept')
  await send('wait')
  await texts('wait', 'one ')
  page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  await page.goto(site.url)
  await mount('kept')
  await texts('wait', 'one ')
  assert.equal(await state((w) => w.seen.requests.length), 0, 'it only reads')
  await first.close()
  await page.waitForFunction('window.seen.gates.length === 1')
  await state((w) => w.seen.gates.forEach((open) => open()))
  await reach('complete')
  await texts('wait', 'one two')
  await context.close()
})

test('an earlier message is edited, and each version can be shown again', async () => {
  await mount('forgotten')
  await send('hello')
  await texts('hello', 'answer 1')
  await reach('complete')
  await send('more')
  await texts('hello', 'answer 1', 'more', 'answer 2')
  await reach('complete')
  const idOf = (at) => page.evaluate((at) => window.first.messages[at].id, at)
  const versions = () => state((w) => w.first.messages.map(({ version }) => version ?? null))
  assert.deepEqual(await versions(), [null, null, null, null])
  const hello = await idOf(0)
  assert.equal(await page.evaluate((id) => window.first.edit(id, 'good day'), hello), true)
  await texts('good day', 'answer 3')
  await reach('complete')
  const request = await state((w) => w.seen.requests.at(-1))
  assert.deepEqual(told(request), [['user', 'good day']])
  assert.deepEqual(await versions(), [{ index: 1, count: 2 }, null])
  const show = async (index) =>
    page.evaluate(([id, index]) => window.first.show(id, index), [await idOf(0), index])
  assert.equal(await show(0), true)
  await texts('hello', 'answer 1', 'more', 'answer 2')
  await click('regenerate')
  await texts('hello', 'answer 1', 'more', 'answer 4')
  await reach('complete')
  assert.deepEqual(await versions(), [{ index: 0, count: 2 }, null, { index: 1, count: 2 }, null])
  assert.equal(await show(7), false)
  assert.equal(await page.evaluate(() => window.first.edit('nobody', 'x')), false)
  // All versions are kept.
  await again('forgotten')
  await texts('hello', 'answer 1', 'more', 'answer 4')
  assert.equal(await show(1), true)
  await texts('good day', 'answer 3')
  assert.deepEqual(complaints, [])
})

test('what cannot be kept is an error of the state, and the chat goes on', async () => {
  await mount('forgotten')
  await state((w) => void (w.full = true))
  await send('hello')
  await reach('complete')
  await page.waitForFunction("document.querySelector('#first output').textContent")
  assert.equal(await page.textContent('#first output'), 'store.unavailable')
  assert.deepEqual(await shown(), ['hello', 'answer 1'])
})

test('a call that waits does not stay so when the turn is stopped, or the user goes on', async () => {
  await mount('local')
  await send('ask first')
  await reach('paused')
  await click('stop')
  await reach('cancelled')
  assert.equal(await page.getAttribute('#first code', 'data-call'), 'cancelled')
  await send('ask first')
  await reach('paused')
  await send('hello')
  await reach('complete')
  const parts = await page
    .locator('#first code')
    .evaluateAll((all) => all.map((one) => one.dataset.call))
  assert.deepEqual(parts, ['cancelled', 'cancelled'])
})

test('a tool of the page is aborted when the turn is stopped', async () => {
  await mount('remote')
  await send('stay here')
  await page.waitForFunction('window.seen.lingers === 1')
  await click('stop')
  await reach('cancelled')
  await page.waitForFunction('window.seen.lingers === 0')
})

test('a tool of the page is aborted when its component goes', async () => {
  await mount('remote')
  await send('stay here')
  await page.waitForFunction('window.seen.lingers === 1')
  await state((w) => w.show(false))
  await page.waitForFunction('window.seen.lingers === 0')
})

test('a component that only shows a turn leaves it alone when it goes', async () => {
  await mount('remote')
  await send('wait')
  await page.waitForSelector('.assistant')
  await reload()
  await page.waitForFunction("document.querySelector('.assistant')?.textContent === 'one '")
  const asked = []
  page.on('request', (request) => asked.push(request.url()))
  await state((w) => w.show(false))
  await page.waitForSelector('i')
  // Behind what its going away would do.
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
  assert.deepEqual(await listed(), ['running'])
  assert.deepEqual(
    asked.filter((url) => url.includes('cancel')),
    [],
  )
  // Shown again, it reads the turn again, and can stop it.
  await state((w) => void w.first.chat.hold())
  await state((w) => w.first.chat.stop())
  await page.waitForFunction("window.first.chat.getSnapshot().status === 'cancelled'")
})

test('a turn that the chat shows is not shown twice, nor told twice', async () => {
  await mount('remote')
  await send('hello')
  await reach('complete')
  const id = await state((w) => w.first.requestId)
  assert.equal(await page.evaluate((id) => window.first.attach(id), id), true)
  await reach('complete')
  assert.deepEqual(await shown(), ['hello', site.text])
  const history = await state((w) => w.first.history())
  assert.deepEqual(
    history.map(({ role }) => role),
    ['user', 'assistant'],
  )
})

for (const name of ['vue', 'svelte']) {
  test(`the example for ${name}`, async () => {
    await page.close()
    site.close()
    const out = join(folder, name)
    const from = join(root, 'examples', name)
    const config = join(from, 'vite.config.mjs')
    const options = { root: from, configFile: config, logLevel: 'error' }
    await vite({ ...options, build: { outDir: out, emptyOutDir: true } })
    await open(out)
    const answered = (n) =>
      page.waitForFunction(`document.querySelectorAll('.assistant').length === ${n} &&
      document.querySelector('[data-status=complete]')`)
    await page.fill('input', 'ask first')
    await page.press('input', 'Enter')
    await page.click('button.approve')
    await answered(1)
    assert.deepEqual(site.runs, [{ n: 1 }])
    assert.match(await page.textContent('.assistant'), /I look\..*word 39/s)
    await page.fill('input', 'hello')
    await page.press('input', 'Enter')
    await answered(2)
    await page.click('button.regenerate')
    await answered(2)
    assert.deepEqual(site.seen.at(-1), site.seen.at(-2))
    assert.deepEqual(complaints, [])
  })
}
