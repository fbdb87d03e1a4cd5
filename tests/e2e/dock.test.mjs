// The dock: the events of every view, whole, and what can be copied of them. What is copied is run.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import test, { afterEach, beforeEach } from 'node:test'
import { promisify } from 'node:util'
import { until } from '../patience.mjs'
import { visiting } from './visiting.mjs'

const run = promisify(execFile)
// The race is not looked at: without motion it is over at once.
const visit = visiting('', { reducedMotion: 'reduce' })
let page
beforeEach(async () => {
  page = visit.page
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
})
afterEach(() => assert.deepEqual(visit.complaints.splice(0), []))

const open = () => page.click('#dock-toggle[aria-expanded=false]')
const copied = async (id) => {
  await page.click(id)
  await page.locator('#dock-said').filter({ hasText: 'copied' }).waitFor()
  return page.evaluate(() => navigator.clipboard.readText())
}
const shown = async () => JSON.parse(await page.textContent('#dock-json'))

/**
 * Runs copied tests as they are, below this folder, where the package is found: in one process, so
 * without `--test`, which takes one more for each file.
 */
async function passes(texts, change = (all) => all) {
  const folder = mkdtempSync(join(import.meta.dirname, 'copied-'))
  try {
    const names = texts.map((_, at) => `copied-${at}.test.mjs`)
    for (const [at, name] of names.entries()) writeFileSync(join(folder, name), change(texts[at]))
    const file = join(folder, 'all.mjs')
    writeFileSync(file, names.map((name) => `import './${name}'\n`).join(''))
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined }
    const args = ['--test-reporter=tap', file]
    const { stdout } = await run(process.execPath, args, { env }).catch((error) => error)
    const count = /^# pass (\d+)$/m.exec(stdout)?.[1]
    return { ok: Number(count) === texts.length && /^# fail 0$/m.test(stdout), stdout }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The test holds as it is, and not when another answer is asked for. */
async function isTest(text) {
  const right = await passes([text])
  assert.ok(right.ok, right.stdout)
  const wrong = await passes([text], (all) => all.replace("assert.equal(said.join(''), \"", '$&no'))
  assert.match(wrong.stdout, /^# fail 1$/m)
}

test('every view has its events', async () => {
  await open()
  for (const [view, kinds] of [
    ['race', ['request', 'phase_start', 'tool_results', 'refused', 'complete']],
    ['doctor', ['user', 'assistant']],
    ['bundle', ['partial_summary']],
    ['planner', ['llm_call', 'strategist_tool_request']],
    ['chain', ['step_started', 'step_done', 'complete']],
  ]) {
    await page.click(`#views a[href="#${view}"]`)
    await until(async () => {
      const there = await page
        .locator('#dock-kind option')
        .evaluateAll((all) => all.map(({ value }) => value))
      return kinds.every((kind) => there.includes(kind))
    })
    await page.selectOption('#dock-kind', kinds[0])
    await until(async () => {
      const rows = await page.locator('#dock-rows strong').allTextContents()
      return rows.length > 0 && rows.every((kind) => kind === kinds[0])
    })
  }
})

test('a turn is copied as JSON, as curl and as a test, and they do what they say', async () => {
  await page.click('#views a[href="#turn"]')
  await open()
  await page.click('#presets >> text="List, then read"')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  await page.locator('#dock-test:enabled').waitFor()
  await page.focus('#dock-list')
  await page.keyboard.press('Home')
  const at = page.locator('#dock-list [aria-selected=true]')
  await at.waitFor()
  const lines = (await copied('#dock-lines')).split('\n').map((line) => JSON.parse(line))
  assert.deepEqual(await shown(), lines[0])
  await page.keyboard.press('Tab')
  await page.focus('#dock-at')
  await page.keyboard.press('End')
  assert.deepEqual([await shown(), (await shown()).type], [lines.at(-1), 'complete'])
  assert.deepEqual(JSON.parse(await copied('#dock-copy')), lines.at(-1))
  await isTest(await copied('#dock-test'))

  // The command, run by a shell, sends what the page sent.
  const [first] = lines.filter(({ url }) => url)
  await page.focus('#dock-list')
  await page.selectOption('#dock-kind', 'request')
  await page.locator('#dock-rows [role=option]').first().click()
  const command = await copied('#dock-curl')
  let got
  const server = createServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    got = { url: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(parts)) }
    response.end('ok')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const env = {
    ...process.env,
    API_KEY: 'secret',
    BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
  }
  try {
    await run('sh', ['-c', `${command} --noproxy '*' -s`], { env })
  } finally {
    server.close()
  }
  assert.equal(got.url, '/v1/chat/completions')
  assert.equal(got.headers.authorization, 'Bearer secret')
  assert.deepEqual(got.body, first.body)
})

test('a test case of the race, and of every wire', async () => {
  await open()
  await page.locator('#dock-test:enabled').waitFor()
  await isTest(await copied('#dock-test'))
  await page.click('#views a[href="#turn"]')
  const texts = []
  for (const wire of await page
    .locator('#wire option')
    .evaluateAll((all) => all.map(({ value }) => value))) {
    await page.selectOption('#wire', wire)
    await page.click('#presets >> text="A model that loops"')
    await page.locator('#timeline .end').filter({ hasText: 'Complete' }).waitFor()
    await page.locator('#dock-test:enabled').waitFor()
    texts.push(await copied('#dock-test'))
  }
  assert.equal(new Set(texts).size, 7, 'each is of its wire')
  const { ok, stdout } = await passes(texts)
  assert.ok(ok, stdout)
})

test('a replayed trace is a test too', async () => {
  await page.click('#views a[href="#doctor"]')
  await open()
  await page.locator('#loops-replay:enabled').click()
  await page.locator('#dock-test:enabled').waitFor()
  await isTest(await copied('#dock-test'))
})

test('no key is in what is copied, and hostile texts stay texts', async () => {
  await page.click('#views a[href="#turn"]')
  await page.route('https://models.example/**', (route) => {
    const chunk = {
      choices: [{ delta: { content: '<img src=x onerror=alert(1)>' }, finish_reason: 'stop' }],
    }
    return route.fulfill({
      headers: { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' },
      body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
    })
  })
  await page.selectOption('#provider', 'real')
  await page.fill('#baseURL', 'https://models.example/v1')
  await page.fill('#model', "it's $(touch x)")
  await page.fill('#apiKey', 'sk-a-secret-of-the-visitor')
  await page.click('#send')
  await page.waitForSelector('#timeline .end:has-text("Complete")')
  await open()
  await page.locator('#dock-test:enabled').waitFor()
  const all = [await copied('#dock-lines')]
  all.push(await copied('#dock-curl'), await copied('#dock-test'))
  for (const text of all) assert.doesNotMatch(text, /sk-a-secret/)
  assert.match(all[1], /^curl -N 'https:\/\/models\.example\/v1\/chat\/completions'/)
  await isTest(all[2])
  await page.selectOption('#dock-kind', 'text')
  await page.locator('#dock-rows [role=option]').first().click()
  assert.equal(await page.locator('#dock img').count(), 0)
})

test('twenty thousand events: few rows are in the page, and every one can be reached', async () => {
  await page.click('#views a[href="#doctor"]')
  const events = Array.from({ length: 20_000 }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: `n${at}`,
  }))
  await page.fill('#history', JSON.stringify(events))
  await open()
  await page.locator('#dock-counts').filter({ hasText: '20000 events' }).waitFor()
  await page.focus('#dock-list')
  await page.keyboard.press('End')
  assert.deepEqual(await shown(), events.at(-1))
  assert.ok(await page.locator('#dock-list [aria-selected=true]').isVisible())
  await page.locator('#dock-at').fill('10001')
  assert.deepEqual(await shown(), events[10_000])
  assert.ok((await page.locator('#dock-rows > *').count()) < 100)
  await page.evaluate(() => (document.getElementById('dock-list').scrollTop = 0))
  await page.locator('#dock-rows strong').first().waitFor()
  await until(async () => (await page.textContent('#dock-rows')).includes('n0'))
})
