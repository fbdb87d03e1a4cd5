// What a store in IndexedDB must do, for one implementation of it or for two over one database.
// The pages of a browser context share a database; a context is a private window.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { storeConformance } from 'turnlock/testing'
import { launchEngine } from '../browser.mjs'
import { PATIENCE_MS, until } from '../patience.mjs'
import { commitOf, HOUR } from './commits.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.wasm': 'application/wasm',
}
let site
export let browser
let url

/**
 * The scripts of the page by their paths, bundled: the page asks for a hundred files otherwise, and
 * each test opens pages. The Rust driver stays a file of its own.
 */
async function scripts() {
  const folder = join(root, 'tests/stores')
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'page.mjs')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    external: ['/.cache/*'],
  })
  return new Map(outputFiles.map(({ path, contents }) => [path, contents]))
}

before(async () => {
  const bundled = await scripts()
  site = createServer((request, response) => {
    const path = join(root, new URL(request.url, 'http://x').pathname)
    const known = bundled.has(path) || (path.startsWith(root) && existsSync(path))
    if (!known) return response.writeHead(404).end()
    // Also for a sandboxed frame, whose origin is none.
    const headers = { 'content-type': TYPES[extname(path)], 'access-control-allow-origin': '*' }
    response.writeHead(200, headers).end(bundled.get(path) ?? readFileSync(path))
  })
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${site.address().port}/tests/stores/page.html`
  browser = await launchEngine()
})
after(async () => {
  await browser.close()
  site.closeAllConnections()
  site.close()
})

/** A page whose stores are of `kinds`, the first of them where it needs only one. */
export async function openPage(where, kinds) {
  const page = await where.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('pageerror', (error) => console.error(`page: ${error}`))
  await page.goto(`${url}?kinds=${kinds}`)
  await page.waitForFunction(() => globalThis.bench)
  return page
}

function unwrap({ value, error }) {
  if (error) throw Object.assign(new Error(error.message), error)
  return value ?? undefined
}

/** Calls a method of the page's store over the database `name`. */
export const ask = async (page, name, method, ...args) =>
  unwrap(await page.evaluate((given) => bench.ask(...given), [name, method, ...args]))

const code = (wanted) => (error) => assert.equal(error.code, wanted, error.message) ?? true

/** `length` characters that nothing makes shorter: browsers compress what they keep. */
const incompressible = (length) =>
  createHash('shake256', { outputLength: (length / 4) * 3 })
    .update('always the same')
    .digest('base64')

/**
 * A test of each case. `kinds` are the implementations, `ts` and `rust`, that the pages of a test
 * take turns in; `named` begins the names.
 */
export function databaseCases(kinds, named = '') {
  let context
  const case_ = (name, run) => test(named + name, run)

  const open = async (where, at = 0) => {
    const first = at % kinds.length
    return openPage(where ?? (await (context ??= browser.newContext())), [
      ...kinds.slice(first),
      ...kinds.slice(0, first),
    ])
  }

  const tabs = []
  /** Several pages that tests share: each has a database of its own, and spoils nothing else. */
  async function shared(count) {
    while (tabs.length < count) tabs.push(await open(undefined, tabs.length))
    return tabs.slice(0, count)
  }

  /** Several pages; closed at the end of a test. */
  async function pages(t, count, where) {
    const all = await Promise.all(Array.from({ length: count }, (_, at) => open(where, at)))
    t.after(() => Promise.all(all.map((page) => page.close())))
    return all
  }

  let suite
  for (const { name } of storeConformance(() => {})) {
    case_(name, async () => {
      suite ??= await open()
      unwrap(await suite.evaluate((name) => bench.conform(name), name))
    })
  }

  case_('two pages race for a turn and for its take-over: one wins each time', async () => {
    const two = await shared(2)
    for (let round = 0; round < 20; round++) {
      const turn = `race ${round}`
      for (const revision of [1, 2]) {
        const answers = await Promise.all(
          two.map((page, at) => {
            const owner = `page ${at} revision ${revision}`
            const more = { takeOver: true, records: [[`claim ${revision}`, owner]], state: owner }
            return ask(page, 'race', 'commit', turn, commitOf(owner, revision, more))
          }),
        )
        const [winner, ...others] = answers.flatMap(({ ok }, at) => (ok ? [at] : []))
        assert.deepEqual(others, [])
        const owner = `page ${winner} revision ${revision}`
        assert.equal(answers[1 - winner].owner, owner)
        const kept = await ask(two[0], 'race', 'read', turn)
        assert.deepEqual([kept.owner, kept.records.at(-1)[1]], [owner, owner])
      }
    }
  })

  case_('claims, outcomes and states are strict; events alone are relaxed', async () => {
    const [page] = await shared(1)
    const asked = async (revision, more) => {
      await page.evaluate(() => (bench.durability.length = 0))
      const commit = commitOf('o', revision, more)
      assert.deepEqual(await ask(page, 'durable', 'commit', 'd', commit), { ok: true })
      return page.evaluate(() => bench.durability[0])
    }
    const events = (last) => ({ events: { last, text: '[]' } })
    assert.equal(await asked(1, events(1)), 'strict')
    assert.equal(await asked(2, events(2)), 'relaxed')
    assert.equal(await asked(3, { ...events(3), records: [['claim', 'x']] }), 'strict')
    assert.equal(await asked(4, { state: 's' }), 'strict')
    assert.equal(await asked(5, events(5)), 'relaxed')
  })

  case_('a page that is closed: its owner is gone; a page that lives: it is not', async (t) => {
    const [one, other] = await pages(t, 2)
    const full = { records: [['claim', 'x']], events: { last: 1, text: '[]' } }
    await ask(one, 'closed', 'commit', 't', commitOf('o', 1, full))
    assert.equal(typeof (await ask(other, 'closed', 'read', 't')).idleMs, 'number')
    assert.equal(typeof (await ask(one, 'closed', 'read', 't')).idleMs, 'number')
    await one.close()
    await until(async () => (await ask(other, 'closed', 'read', 't')).idleMs === 'Infinity')
    const kept = await ask(other, 'closed', 'read', 't')
    assert.deepEqual([kept.owner, kept.open, kept.records], ['o', true, full.records])
    const takeOver = commitOf('new', 2, { takeOver: true })
    assert.deepEqual(await ask(other, 'closed', 'commit', 't', takeOver), { ok: true })
    assert.equal(typeof (await ask(other, 'closed', 'read', 't')).idleMs, 'number')
  })

  const heldLocks = (page) =>
    page.evaluate(async () => (await navigator.locks.query()).held.map(({ name }) => name))

  case_('a page that crashes: its owner is gone', async (t) => {
    const [other] = await pages(t, 1)
    const one = await open()
    await ask(one, 'crashed', 'commit', 't', commitOf('o', 1))
    const crashed = new Promise((resolve) => one.once('crash', resolve))
    one.goto('chrome://crash').catch(() => {})
    await crashed
    await until(async () => (await ask(other, 'crashed', 'read', 't')).idleMs === 'Infinity')
  })

  case_(
    'a lock is let go when its turn is over, taken over, refused, or could not begin',
    async (t) => {
      // A private window of its own: locks of other tests are not seen.
      const where = await browser.newContext()
      t.after(() => where.close())
      const [one, other] = await pages(t, 2, where)
      // Pages are processes: that a lock was let go takes a moment to be known.
      const held = (...names) =>
        until(
          async () =>
            (await heldLocks(one)).join() === names.map((name) => `turnlock:l:${name}`).join(),
        )
      const commit = (page, ...args) => ask(page, 'l', 'commit', 't', commitOf(...args))
      await commit(one, 'a', 1)
      await held('a')
      assert.equal((await commit(other, 'b', 1)).ok, false)
      await held('a')
      await commit(other, 'b', 2, { takeOver: true })
      await held('b')
      await commit(other, 'b', 3, { open: false })
      await held()
      const twice = [
        ['r', '1'],
        ['r', '2'],
      ]
      const failed = ask(one, 'l', 'commit', 'new', commitOf('c', 1, { records: twice }))
      await assert.rejects(failed, code('store.record_exists'))
      await held()
    },
  )

  case_(
    'a page in the back/forward cache counts as gone; when it is back, it is alive',
    async (t) => {
      const [one, other] = await pages(t, 2)
      const idle = async () => (await ask(other, 'bf', 'read', 't')).idleMs
      const fire = (type) =>
        one.evaluate((type) => {
          dispatchEvent(new PageTransitionEvent(type, { persisted: true }))
        }, type)
      await ask(one, 'bf', 'commit', 't', commitOf('o', 1))
      await one.evaluate(() => bench.at('bf').watch('t', () => (globalThis.told = true)))
      await fire('pagehide')
      await until(async () => (await idle()) === 'Infinity')
      await fire('pageshow')
      await until(async () => typeof (await idle()) === 'number')
      // What it missed is told, and it hears again.
      await one.waitForFunction(() => globalThis.told)
      await one.evaluate(() => (globalThis.told = false))
      assert.deepEqual(
        await ask(other, 'bf', 'commit', 't', commitOf('new', 2, { takeOver: true })),
        {
          ok: true,
        },
      )
      await one.waitForFunction(() => globalThis.told)
      assert.equal((await ask(one, 'bf', 'commit', 't', commitOf('o', 2))).ok, false)
    },
  )

  case_('without Web Locks time alone tells', async (t) => {
    const [one, other] = await pages(t, 2)
    for (const page of [one, other]) {
      await page.evaluate(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
    }
    await ask(one, 'nolocks', 'commit', 't', commitOf('o', 1))
    await one.close()
    assert.equal(typeof (await ask(other, 'nolocks', 'read', 't')).idleMs, 'number')
    // An owner that could not take a lock is not taken for gone by a page that has them.
    const [third] = await pages(t, 1)
    assert.equal(typeof (await ask(third, 'nolocks', 'read', 't')).idleMs, 'number')
  })

  case_('another page’s commits are told', async () => {
    const [one, other] = await shared(2)
    await one.evaluate(() => {
      globalThis.calls = globalThis.first = 0
      bench.at('watched').watch('first', () => globalThis.first++)
      globalThis.stop = bench.at('watched').watch('t', () => globalThis.calls++)
    })
    // Pages are processes: that one listens takes a moment to be known.
    let revision = 1
    await until(async () => {
      await ask(other, 'watched', 'commit', 'first', commitOf('o', revision++))
      return one.evaluate(() => globalThis.first > 0)
    })
    await ask(other, 'watched', 'commit', 't', commitOf('o', 1))
    await one.waitForFunction(() => globalThis.calls === 1)
    await ask(other, 'watched', 'commit', 'another', commitOf('o', 1))
    await ask(other, 'watched', 'commit', 't', commitOf('o', 2))
    await one.waitForFunction(() => globalThis.calls === 2)
  })

  /** Deletes or upgrades a database from outside; tells whether that came about. */
  const deleteDatabase = (page, name) =>
    page.evaluate(
      (name) =>
        new Promise((resolve) => {
          const request = indexedDB.deleteDatabase(name)
          request.onsuccess = () => resolve('deleted')
          request.onerror = () => resolve('failed')
        }),
      name,
    )

  case_('a database that another page deletes is let go, and opened again', async () => {
    const [one, other] = await shared(2)
    await ask(one, 'deleted', 'commit', 't', commitOf('o', 1))
    assert.equal(await deleteDatabase(other, 'deleted'), 'deleted')
    assert.equal(await ask(one, 'deleted', 'read', 't'), undefined)
    assert.deepEqual(await ask(one, 'deleted', 'commit', 't', commitOf('o', 1)), { ok: true })
    assert.equal((await ask(other, 'deleted', 'read', 't')).owner, 'o')
  })

  case_('a newer version of the page takes the database over: typed', async () => {
    const [one, other] = await shared(2)
    await ask(one, 'newer', 'commit', 't', commitOf('o', 1))
    await other.evaluate(
      () =>
        new Promise((resolve, reject) => {
          const request = indexedDB.open('newer', 99)
          request.onsuccess = resolve
          request.onerror = reject
        }),
    )
    await assert.rejects(ask(one, 'newer', 'read', 't'), code('store.version'))
    await assert.rejects(ask(one, 'newer', 'commit', 't', commitOf('o', 2)), code('store.version'))
  })

  case_('a page that holds the database back: typed, and it goes on when it is free', async () => {
    const [one, other] = await shared(2)
    await other.evaluate(
      () =>
        new Promise((resolve) => {
          const request = indexedDB.open('blocked', 1)
          request.onsuccess = () => {
            // It does not listen to versionchange, so a deletion waits for it, and all others behind.
            globalThis.holder = request.result
            indexedDB.deleteDatabase('blocked').onblocked = resolve
          }
        }),
    )
    await one.evaluate(() => void bench.at('blocked', { openTimeoutMs: 1000 }))
    const commit = commitOf('o', 1)
    await assert.rejects(ask(one, 'blocked', 'commit', 't', commit), code('store.blocked'))
    await other.evaluate(() => globalThis.holder.close())
    await until(() =>
      ask(one, 'blocked', 'commit', 't', commit).then(
        ({ ok }) => ok,
        (error) => !code('store.blocked')(error),
      ),
    )
    assert.equal((await ask(one, 'blocked', 'read', 't')).owner, 'o')
  })

  case_('a full disk: the commit fails whole, typed, and can be repeated', async (t) => {
    const where = await browser.newContext()
    t.after(() => where.close())
    const [page] = await pages(t, 1, where)
    const devtools = await where.newCDPSession(page)
    const { origin } = new URL(url)
    const quota = async (quotaSize) => {
      await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize })
      // Asked here and not in the page, which a private window tells of more room than it has.
      const inForce = () => devtools.send('Storage.getUsageAndQuota', { origin })
      await until(async () => (await inForce()).overrideActive === (quotaSize !== undefined))
    }
    // Before the first write: the browser remembers for a while how much room there was.
    await quota(2_000_000)
    await ask(page, 'full', 'commit', 't', commitOf('o', 1))
    // Some versions count what a text takes when it is compressed: this one is too large even so.
    const state = incompressible(6_000_000)
    const large = { state, records: [['r', 'x']], reusable: [['k', 'x', HOUR]] }
    const commit = commitOf('o', 2, large)
    await assert.rejects(ask(page, 'full', 'commit', 't', commit), code('store.quota'))
    const left = await ask(page, 'full', 'read', 't')
    assert.deepEqual([left.revision, left.state, left.records], [1, 'state', []])
    assert.equal(await ask(page, 'full', 'recall', 'k'), undefined)
    await quota(undefined)
    await until(() =>
      ask(page, 'full', 'commit', 't', commit).then(
        ({ ok }) => ok,
        (error) => !code('store.quota')(error),
      ),
    )
    assert.equal((await ask(page, 'full', 'read', 't')).revision, 2)
  })

  case_('a frame that may have no storage: typed', async (t) => {
    const [page] = await pages(t, 1)
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          const frame = document.createElement('iframe')
          // The page says of itself that it is ready, too.
          addEventListener('message', ({ source }) => {
            if (source === frame.contentWindow) resolve()
          })
          frame.sandbox = 'allow-scripts'
          frame.src = location.href
          document.body.append(frame)
        }),
    )
    const [, frame] = page.frames()
    await assert.rejects(ask(frame, 'x', 'commit', 't', commitOf('o', 1)), code('store.denied'))
    await assert.rejects(ask(frame, 'x', 'read', 't'), code('store.denied'))
  })

  case_(
    'a browser without IndexedDB, and one that refuses it in a private window: typed',
    async (t) => {
      const [page] = await pages(t, 1)
      const codes = await page.evaluate(async () => {
        // What a browser's own request has; only the failure is made up.
        const failing = (name) => ({
          open() {
            const request = Object.create(IDBOpenDBRequest.prototype)
            for (const key of ['onsuccess', 'onerror', 'onupgradeneeded', 'onblocked']) {
              Object.defineProperty(request, key, { value: null, writable: true })
            }
            const value = (kind, heard) => void (request[`on${kind}`] = heard)
            Object.defineProperty(request, 'addEventListener', { value })
            Object.defineProperty(request, 'removeEventListener', { value() {} })
            Object.defineProperty(request, 'error', { value: new DOMException('refused', name) })
            setTimeout(() => request.onerror({ target: request }))
            return request
          },
        })
        const codeOf = async (indexedDB) => {
          const store = bench.storeOver(indexedDB)
          return store.read('t').catch((error) => error.code)
        }
        const found = []
        const names = ['InvalidStateError', 'SecurityError', 'UnknownError', 'QuotaExceededError']
        for (const name of names) {
          found.push(await codeOf(failing(name)))
        }
        Object.defineProperty(globalThis, 'indexedDB', { value: undefined })
        return [...found, await codeOf(undefined)]
      })
      const denied = 'store.denied'
      assert.deepEqual(codes, [denied, denied, 'store.unavailable', 'store.quota', denied])
    },
  )

  case_('the user clears the site’s data: typed or nothing, and it goes on', async (t) => {
    const where = await browser.newContext()
    t.after(() => where.close())
    const [page] = await pages(t, 1, where)
    await ask(page, 'cleared', 'commit', 't', commitOf('o', 1))
    const devtools = await where.newCDPSession(page)
    const origin = new URL(url).origin
    await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
    await until(() =>
      ask(page, 'cleared', 'read', 't').then(
        (kept) => kept === undefined,
        (error) => !code('store.closed')(error),
      ),
    )
    assert.deepEqual(await ask(page, 'cleared', 'commit', 't', commitOf('o', 1)), { ok: true })
  })

  /** Sets the clock of a page ahead by so many hours. */
  const setAhead = (page, hours) =>
    page.evaluate((ahead) => {
      globalThis.trueNow ??= Date.now
      Date.now = () => globalThis.trueNow() + ahead
    }, hours * HOUR)
  /** Begins a turn, and waits until what has expired is cleared away. */
  const sweep = async (page, name, turn) => {
    const writes = () => page.evaluate(() => bench.durability.length)
    const before = await writes()
    await ask(page, name, 'commit', turn, commitOf('sweeper', 1, { ttlMs: 24 * HOUR }))
    await until(async () => (await writes()) >= before + 2)
    await ask(page, name, 'commit', turn, commitOf('sweeper', 2, { ttlMs: 24 * HOUR }))
  }

  // Source: Tr3kkR/Yuzu#2360 (2026-07-22): one wrong reading of the clock deletes all that has a TTL.
  case_('a clock that is ahead for a moment erases nothing', async (t) => {
    const where = await browser.newContext()
    t.after(() => where.close())
    const [before] = await pages(t, 1, where)
    const more = { ttlMs: 24 * HOUR, records: [['r', 'x']], events: { last: 1, text: '[1]' } }
    await sweep(before, 'ahead', 'first')
    await ask(before, 'ahead', 'commit', 'paused', commitOf('o', 1, more))
    await before.close()
    const [page] = await pages(t, 1, where)
    const isWhole = async () => {
      const { records } = await ask(page, 'ahead', 'read', 'paused')
      assert.deepEqual(records, [['r', 'x']])
      assert.equal((await ask(page, 'ahead', 'events', 'paused', 0, 9)).length, 1)
    }
    let n = 0
    for (const hours of [25, 26, 24 * 400]) {
      await setAhead(page, hours)
      await sweep(page, 'ahead', `ahead ${n++}`)
      await sweep(page, 'ahead', `ahead ${n++}`)
      await setAhead(page, 0)
      await isWhole()
      await sweep(page, 'ahead', `back ${n++}`)
      await isWhole()
    }
    // A clock that goes on so is believed a day later.
    for (const hours of [25, 50]) {
      await setAhead(page, hours)
      await sweep(page, 'ahead', `later ${hours}`)
    }
    await setAhead(page, 0)
    assert.equal(await ask(page, 'ahead', 'read', 'paused'), undefined)
  })

  case_(
    'a turn whose owner is there does not expire by a clock that is ahead for a moment',
    async (t) => {
      const where = await browser.newContext()
      t.after(() => where.close())
      const [owner, other] = await pages(t, 2, where)
      const ttlMs = 24 * HOUR
      await sweep(owner, 'held', 'first')
      const turn = JSON.stringify(['t', 'runs'])
      await ask(owner, 'held', 'commit', turn, commitOf('o', 1, { ttlMs }))
      for (const page of [owner, other]) {
        await setAhead(page, 25)
        assert.equal((await ask(page, 'held', 'read', turn)).owner, 'o')
      }
      const twice = await ask(other, 'held', 'commit', turn, commitOf('p', 1, { ttlMs }))
      assert.equal(twice.ok, false)
      assert.deepEqual(await ask(owner, 'held', 'commit', turn, commitOf('o', 2, { ttlMs })), {
        ok: true,
      })
      // Without its owner it has expired, by that clock.
      await setAhead(other, 51)
      await owner.close()
      await until(async () => (await ask(other, 'held', 'read', turn)) === undefined)
    },
  )

  case_('expired turns and outcomes leave the database', async () => {
    const [page] = await shared(1)
    const more = { ttlMs: 1, records: [['r', 'x']], events: { last: 1, text: '[]' } }
    for (let n = 0; n < 5; n++) {
      const reusable = [[`k${n}`, 'x', 1]]
      await ask(page, 'swept', 'commit', `t${n}`, commitOf('o', 1, { ...more, reusable }))
    }
    const counts = () =>
      page.evaluate(
        () =>
          new Promise((resolve) => {
            indexedDB.open('swept').onsuccess = ({ target: { result: db } }) => {
              const names = ['turns', 'records', 'events', 'reusable']
              const tx = db.transaction(names)
              const all = names.map((name) => tx.objectStore(name).count())
              tx.oncomplete = () => {
                db.close()
                resolve(all.map(({ result }) => result).join())
              }
            }
          }),
      )
    // Each new turn clears the expired ones away.
    let n = 0
    await until(async () => {
      await ask(page, 'swept', 'commit', `new${n++}`, commitOf('o', 1, { ttlMs: 1 }))
      return /^[01],0,0,0$/.test(await counts())
    })
  })

  case_('options that were given are used', async () => {
    const [page] = await shared(1)
    await ask(page, 'mine', 'commit', 't', commitOf('o', 1))
    const names = await page.evaluate(async () =>
      (await indexedDB.databases()).map(({ name }) => name),
    )
    assert.ok(names.includes('mine'), `${names}`)
    assert.equal(await ask(page, 'other', 'read', 't'), undefined)
  })
}
