// Tabs closed, and the browser killed, with a turn under way in IndexedDB; other tabs go on with
// it, two at once.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { chromium } from 'playwright-core'
import { executablePath, FLAGS } from '../browser.mjs'
import { PATIENCE_MS } from '../patience.mjs'
import { LANDMARKS } from './remote.mjs'
import { openSite } from './site.mjs'
import { judge } from './verdict.mjs'

/** Trials per landmark and kind of tool. */
const TRIALS = Number(process.env.TRIALS ?? 1)
const folder = mkdtempSync(join(tmpdir(), 'turnlock-tabs-'))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** By trial: what a reader in some tab has seen so far. */
const seen = new Map()
let site, browser

/** Whether a process of the browser is there: all of them name the profile on their command line. */
function isThere() {
  return readdirSync('/proc').some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(folder)
    } catch {
      return false // Not a process, or gone.
    }
  })
}

/** Chromium on its profile, as a process that may be killed. */
async function start() {
  const args = [...FLAGS, `--user-data-dir=${folder}`, '--remote-debugging-port=0', 'about:blank']
  const child = spawn(executablePath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const gone = once(child, 'exit')
  let said = ''
  const address = await new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
      const found = /DevTools listening on (\S+)/.exec(said)
      if (found) resolve(found[1])
    })
    gone.then(() => reject(new Error(said)))
  })
  const connection = await chromium.connectOverCDP(address, { timeout: PATIENCE_MS })
  const [context] = connection.contexts()
  context.setDefaultTimeout(PATIENCE_MS)
  await context.exposeFunction('see', (trial, event) => seen.get(trial).push(event))
  const tab = async () => {
    const page = await context.newPage()
    await page.goto(`${site.url}/tests/kills/tab.html`)
    await page.waitForSelector('[data-ready]', { state: 'attached' })
    return page
  }
  let two
  const others = async () => (two ??= [await tab(), await tab()])
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
    await connection.close().catch(() => {})
    // Its helpers end a moment behind it; till then they hold files of the profile, and write.
    while (isThere()) await pause(20)
  }
  return { tab, others, kill }
}

before(async () => {
  site = await openSite()
  browser = await start()
})
after(async () => {
  await browser.kill()
  await site.close()
  rmSync(folder, { recursive: true, force: true })
})

const ask = (page, what, ...args) =>
  page.evaluate(([what, args]) => globalThis.may[what](...args), [what, args])
const follow = (page, spec) =>
  page.evaluate(
    ([spec, after]) => globalThis.may.followAlong(spec, after, globalThis.see),
    [spec, seen.get(spec.trial).at(-1)?.seq ?? 0],
  )

/** Each ends the tab that has the turn, and gives the tabs that are there then. */
const ENDINGS = {
  async 'tab closed'(tab, others) {
    await tab.close()
    return others
  },
  async 'browser killed'() {
    await browser.kill()
    browser = await start()
    return browser.others()
  },
}

async function trial(ending, landmark, kind, n) {
  const spec = { trial: `${ending}-${landmark}-${kind}-${n}`, kind }
  seen.set(spec.trial, [])
  const [first, others] = [await browser.tab(), await browser.others()]
  const reached = site.reached(spec.trial, landmark)
  ask(first, 'run', { ...spec, who: 'first', stopAt: landmark }).catch(() => {})
  let reader = follow(others[0], spec)
  reader.catch(() => {})
  await reached
  await pause(60) // Most often the last texts before the landmark are kept then, too.
  const tabs = await ENDINGS[ending](first, others)
  if (ending === 'browser killed') reader = follow(tabs[0], spec)

  // By its lock, not its lease, which makes nobody `gone`; what holds the lock may end a moment late.
  let before = await ask(tabs[0], 'read', spec)
  for (; before.idleMs !== 'gone'; before = await ask(tabs[0], 'read', spec)) await pause(20)
  const results = await Promise.all(
    tabs.map((tab, at) => ask(tab, 'resume', { ...spec, who: `other ${at}` })),
  )
  await reader
  const [after, events] = [await ask(tabs[1], 'read', spec), await ask(tabs[1], 'events', spec)]
  const { faults, status, starts } = judge({
    before,
    after,
    last: after,
    events,
    lastEvents: events,
    results,
    cell: { kind },
    holders: ['first'],
    fresh: await ask(tabs[1], 'all', spec),
    starts: site.starts(spec.trial),
    receipts: site.receipts(spec.trial),
    followed: seen.get(spec.trial),
  })
  assert.deepEqual(faults, [])
  const inTool = ['tool started', 'effect applied'].includes(landmark)
  assert.equal(status, inTool && kind === 'plain' ? 'unknown' : 'ok')
  assert.equal(starts, inTool && kind !== 'plain' ? 2 : 1)
}

for (const [ending, kinds] of [
  ['tab closed', ['plain', 'idempotent']],
  ['browser killed', ['plain']],
]) {
  for (const kind of kinds) {
    for (const landmark of LANDMARKS) {
      test(`${ending} at: ${landmark}, ${kind}`, async () => {
        for (let n = 1; n <= TRIALS; n++) await trial(ending, landmark, kind, n)
      })
    }
  }
}
