import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Miniflare } from 'miniflare'
import { storeConformance } from 'turnlock/testing'
import { bundleWorker } from '../server/bundle.mjs'
import { until } from '../patience.mjs'
import { commitOf, HOUR } from './commits.mjs'

const folder = mkdtempSync(join(tmpdir(), 'turnlock-do-'))
let modules
let workerd

const start = () =>
  new Miniflare({
    compatibilityDate: '2025-05-01',
    modules,
    durableObjects: {
      // Evicted when a test says so, and not when nobody has asked for some time.
      turns: { className: 'Turns', useSQLite: true, unsafePreventEviction: true },
      old: { className: 'Old', useSQLite: false },
    },
    durableObjectsPersist: folder,
  })

before(async () => {
  const entry = fileURLToPath(new URL('./worker.mjs', import.meta.url))
  modules = await bundleWorker(entry)
  workerd = start()
})
after(async () => {
  await workerd.dispose()
  rmSync(folder, { recursive: true, force: true })
})

/** Asks an object to do something. */
async function ask(path, ...what) {
  const init = { method: 'POST', body: JSON.stringify(what) }
  const response = await workerd.dispatchFetch(`http://x/${path}`, init)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const { value, error } = JSON.parse(text)
  if (error) throw Object.assign(new Error(error.message), { code: error.code })
  return value
}
const store = (object, method, ...args) => ask(`turns/${object}`, 'store_', method, ...args)

/** Ends the instance of an object; the request that asks for it fails. */
const evict = (object) => assert.rejects(ask(`turns/${object}`, 'end'))

for (const { name } of storeConformance(() => {})) {
  test(name, () => ask('turns/conform', 'conform', name))
}

const full = {
  records: [['claim', 'x']],
  events: { last: 3, text: '["e"]' },
  reusable: [['k', 'reused', HOUR]],
}

async function stillThere(object) {
  const { owner, revision, state, records, idleMs } = await store(object, 'read', 't')
  assert.deepEqual([owner, revision, state, records], ['o', 1, 'state', full.records])
  assert.equal(idleMs, 'Infinity')
  assert.deepEqual(await store(object, 'events', 't', 0, 10), [full.events])
  assert.equal((await store(object, 'recall', 'k')).text, 'reused')
}

test('an object that was evicted: everything is there, and its old owner is known to be dead', async () => {
  await store('evicted', 'commit', 't', commitOf('o', 1, full))
  assert.notEqual((await store('evicted', 'read', 't')).idleMs, 'Infinity')
  await evict('evicted')
  await stillThere('evicted')
  // A new owner is alive; so is an old one that shows that it is.
  const takeOver = commitOf('new', 2, { takeOver: true })
  assert.deepEqual(await store('evicted', 'commit', 't', takeOver), { ok: true })
  assert.notEqual((await store('evicted', 'read', 't')).idleMs, 'Infinity')
  assert.equal((await store('evicted', 'commit', 't', commitOf('o', 2))).ok, false)
  await evict('evicted')
  assert.deepEqual(await store('evicted', 'commit', 't', commitOf('new', 3)), { ok: true })
  assert.notEqual((await store('evicted', 'read', 't')).idleMs, 'Infinity')
})

test('an owner that is heard again behind an eviction is there, and one of a turn that is over is not gone', async () => {
  const idleMs = async (turn) => (await store('again', 'read', turn)).idleMs
  const twice = commitOf('o', 1, full)
  await store('again', 'commit', 'repeats', twice)
  await store('again', 'commit', 'refused', commitOf('o', 1))
  await store('again', 'commit', 'over', commitOf('o', 1, { open: false }))
  await evict('again')
  assert.deepEqual([await idleMs('repeats'), await idleMs('refused')], ['Infinity', 'Infinity'])
  assert.equal(typeof (await idleMs('over')), 'number')
  assert.deepEqual(await store('again', 'commit', 'repeats', twice), { ok: true })
  assert.equal((await store('again', 'commit', 'refused', commitOf('o', 3))).ok, false)
  assert.equal(typeof (await idleMs('repeats')), 'number')
  assert.equal(typeof (await idleMs('refused')), 'number')
})

test('workerd ended and started again: everything is there, and its old owner is known to be dead', async () => {
  await store('restarted', 'commit', 't', commitOf('o', 1, full))
  await workerd.dispose()
  workerd = start()
  await stillThere('restarted')
})

test('a commit that fails anywhere leaves nothing of it', async () => {
  // The second group is too large for the row of the turn, the third makes both too old.
  const large = `["${'x'.repeat(100_000)}"]`
  const small = commitOf('o', 1, { records: [['first', 'x']], events: { last: 1, text: '[]' } })
  await store('torn', 'commit', 't', small)
  await store('torn', 'commit', 't', commitOf('o', 2, { events: { last: 2, text: large } }))
  const events = { last: 3, text: large }
  const commit = commitOf('o', 3, { ...full, events, state: 'new', forget: 2 })
  const seen = async () => [
    { ...(await store('torn', 'read', 't')), idleMs: 0 },
    await store('torn', 'events', 't', 0, 10),
    await store('torn', 'recall', 'k'),
  ]
  const before = await seen()
  let at = 0
  for (; ; at++) {
    const came = await ask('turns/torn', 'torn', 't', commit, at)
    if (came === 'applied') break
    assert.equal(came, 'store.quota')
    assert.deepEqual(await seen(), before, `failed at write ${at}`)
  }
  assert.ok(at >= 7, `${at} places to fail`)
  assert.equal((await store('torn', 'read', 't')).revision, 3)
})

test('stores of one object share what they know', async () => {
  await ask('turns/shared', 'heard', 't', commitOf('o', 1))
  assert.notEqual((await store('shared', 'read', 't')).idleMs, 'Infinity')
})

test('expired turns and outcomes are cleared away by later ones, and the alarm is left alone', async () => {
  const short = { ...full, ttlMs: 1 }
  for (let n = 0; n < 6; n++) {
    const reusable = [[`k${n}`, 'x', 1]]
    await store('swept', 'commit', `t${n}`, commitOf('o', 1, { ...short, reusable }))
  }
  for (let n = 0; n < 6; n++) {
    while (await store('swept', 'read', `t${n}`));
    while (await store('swept', 'recall', `k${n}`));
  }
  await store('swept', 'commit', 'new', commitOf('o', 1))
  assert.deepEqual(await ask('turns/swept', 'count'), [1, 1, 0, 0, 0])
  assert.equal(await ask('turns/swept', 'alarm_'), null)
})

test('list: a row that cannot be read is left out', async () => {
  const turnOf = (id) => JSON.stringify(['t', id])
  for (const id of ['a', 'state', 'z']) {
    await store('spoiled', 'commit', turnOf(id), commitOf('o', 1, { state: `state of ${id}` }))
  }
  const set = "UPDATE turnlock_states SET text = char(1) || '{' WHERE turn = ?"
  await ask('turns/spoiled', 'sql', set, turnOf('state'))
  const listed = await store('spoiled', 'list', 't', 9)
  assert.deepEqual(listed.map(({ state }) => state).toSorted(), ['state of a', 'state of z'])
})

test('a clock that was set back: an owner that is gone does not seem alive for as long', async () => {
  await store('back', 'commit', 't', commitOf('o', 1))
  await ask('turns/back', 'sql', 'UPDATE turnlock_turns SET at = at + 3600000')
  assert.equal((await store('back', 'read', 't')).idleMs, 0)
  await until(async () => (await store('back', 'read', 't')).idleMs > 0)
})

test('an object without SQLite storage is told what it needs', async () => {
  await assert.rejects(ask('old/x', 'count'), (error) => {
    assert.equal(error.code, 'store.unsupported')
    assert.match(error.message, /new_sqlite_classes/)
    return true
  })
})

test('rows that nobody can have kept are typed errors, and end nothing', async () => {
  const { done, columns, wrong } = await ask('turns/hostile', 'hostile')
  assert.deepEqual(wrong, [])
  assert.ok(done > 100 && columns >= 20, `${done} of ${columns}`)
})
