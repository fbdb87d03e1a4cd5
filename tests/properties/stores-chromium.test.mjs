// The property of stores, for IndexedDB in Chromium.
import { test } from 'node:test'
import { until } from '../patience.mjs'
import { ask, browser, openPage } from '../stores/database.mjs'
import { clockOf, holdsInStore, remoteStore } from './stores.mjs'

const METHODS = ['read', 'commit', 'events', 'recall', 'list']

/** A store of pages; `at` says which of them is asked. */
const storeOf = (name, at) =>
  remoteStore(METHODS, async (method, args) => {
    const told = await ask(at(method, args), name, method, ...args)
    return told?.idleMs === 'Infinity' ? { ...told, idleMs: Infinity } : told
  })

/** Pages that share a database. */
async function open(count) {
  const context = await browser.newContext()
  return Promise.all(Array.from({ length: count }, () => openPage(context, ['ts'])))
}

async function reload(page) {
  await page.reload()
  await page.waitForFunction(() => globalThis.bench)
}

test('IndexedDB, in a page that is loaded again', async () => {
  const [page] = await open(1)
  const clock = clockOf()
  const tell = () => page.evaluate((now) => void (Date.now = () => now), clock.now)
  const wait = (ms) => (clock.wait(ms), tell())
  const restart = async () => {
    await reload(page)
    await until(() => page.evaluate(async () => !(await navigator.locks.query()).held.length))
    await tell()
  }
  // A database of its own, since the clock of a known one would have jumped ahead, and is not believed.
  let runs = 0
  const make = async () => {
    clock.begin()
    await tell()
    const store = storeOf(`one-${(runs += 1)}`, () => page)
    return { store, wait, restart }
  }
  return holdsInStore('IndexedDB, one page', make, 30)
})

test('IndexedDB, two pages, one of which is loaded again', async () => {
  const pages = await open(2)
  // An owner lives in a page; whoever reads is in either.
  let asked = 0
  const store = storeOf('two', (method, [, commit]) => {
    return pages[(method === 'commit' ? commit.owner.charCodeAt(0) : asked++) % 2]
  })
  const restart = () => reload(pages[asked++ % 2])
  return holdsInStore('IndexedDB, two pages', () => ({ store, restart }), 30)
})
