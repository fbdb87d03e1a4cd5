import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { storeConformance } from 'turnlock/testing'
import { until } from '../patience.mjs'
import { commitOf, HOUR } from './commits.mjs'
import { playRule } from './rule.mjs'

const folder = mkdtempSync(join(tmpdir(), 'turnlock-d1-'))
let modules
let workerd

const start = () =>
  new Miniflare({
    compatibilityDate: '2025-05-01',
    modules,
    d1Databases: { DB: 'turns' },
    d1Persist: folder,
  })

before(async () => {
  const entry = fileURLToPath(new URL('./d1-worker.mjs', import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    outdir: '/',
    loader: { '.wasm': 'copy' },
    assetNames: '[name]',
  })
  const output = (end) => outputFiles.find(({ path }) => path.endsWith(end))
  modules = [
    { type: 'ESModule', path: 'worker.mjs', contents: output('.js').text },
    { type: 'CompiledWasm', path: 'turnlock.wasm', contents: output('.wasm').contents },
  ]
  workerd = start()
})
after(async () => {
  await workerd?.dispose()
  rmSync(folder, { recursive: true, force: true })
})

/** Asks the worker to do something. */
async function ask(...what) {
  const init = { method: 'POST', body: JSON.stringify(what) }
  const response = await workerd.dispatchFetch('http://x/', init)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const { value, error } = JSON.parse(text)
  if (error) throw Object.assign(new Error(error.message), { code: error.code })
  return value
}
/** The store of the worker, as one of this process. */
const store = (options = {}) =>
  Object.fromEntries(
    ['read', 'commit', 'events', 'recall', 'list', 'idle'].map((method) => [
      method,
      (...args) => ask('store', options, method, ...args),
    ]),
  )
const code = (wanted) => (error) => assert.equal(error.code, wanted, error.message) ?? true

for (const { name } of storeConformance(() => {})) test(name, () => ask('conform', name))

test('the rule, as the statements of a batch judge', () => playRule(store()))

test('what is no database, and names that are none, are refused', async () => {
  for (const wrong of [null, {}, 'turns']) {
    await assert.rejects(ask('refused', wrong), code('options.invalid'))
  }
  for (const prefix of ['', 'a b', 'a.b', '1a', 'a;b']) {
    await assert.rejects(ask('store', { prefix }, 'read', 't'), code('options.invalid'))
  }
})

test('workerd ended and started again: everything is there', async () => {
  const full = {
    records: [['claim', 'x']],
    events: { last: 3, text: '["e"]' },
    reusable: [['k', 'reused', HOUR]],
  }
  await store().commit('restarted', commitOf('o', 1, full))
  await workerd.dispose()
  workerd = start()
  const { owner, revision, state, records } = await store().read('restarted')
  assert.deepEqual([owner, revision, state, records], ['o', 1, 'state', full.records])
  assert.deepEqual(await store().events('restarted', 0, 10), [full.events])
  assert.equal((await store().recall('k')).text, 'reused')
  assert.deepEqual(await store().commit('restarted', commitOf('o', 2)), { ok: true })
})

test('a commit that fails anywhere leaves nothing of it', async () => {
  const torn = store({ prefix: 'torn_' })
  // The second group is too large for the row of the turn, the third makes both too old.
  const large = `["${'x'.repeat(100_000)}"]`
  const small = commitOf('o', 1, { records: [['first', 'x']], events: { last: 1, text: '[]' } })
  await torn.commit('t', small)
  await torn.commit('t', commitOf('o', 2, { events: { last: 2, text: large } }))
  const commit = commitOf('o', 3, {
    state: 'new',
    records: [['second', 'x']],
    events: { last: 3, text: large },
    forget: 2,
    reusable: [['k', 'x', HOUR]],
  })
  const seen = async () => [
    { ...(await torn.read('t')), idleMs: 0 },
    await torn.events('t', 0, 10),
    (await torn.recall('k')) ?? null,
  ]
  const before = await seen()
  for (const [table, what] of [
    ['records', 'INSERT'],
    ['states', 'DELETE'],
    ['states', 'INSERT'],
    ['events', 'INSERT'],
    ['events', 'DELETE'],
    ['reusable', 'INSERT'],
    ['turns', 'UPDATE'],
  ]) {
    const fails = "BEGIN SELECT RAISE(ABORT, 'planted: disk is full'); END"
    await ask('sql', `CREATE TRIGGER no_room BEFORE ${what} ON torn_${table} ${fails}`)
    await assert.rejects(torn.commit('t', commit), code('store.unavailable'), `${what} ${table}`)
    await ask('sql', 'DROP TRIGGER no_room')
    assert.deepEqual(await seen(), before, `${what} ${table}`)
  }
  assert.deepEqual(await torn.commit('t', commit), { ok: true })
  assert.equal((await torn.read('t')).state, 'new')
})

test('expired turns and outcomes are cleared away by later ones', async () => {
  const swept = store({ prefix: 'swept_' })
  for (let n = 0; n < 6; n++) {
    const more = { records: [['r', 'x']], events: { last: 1, text: '[]' }, ttlMs: 1 }
    await swept.commit(`t${n}`, commitOf('o', 1, { ...more, reusable: [[`k${n}`, 'x', 1]] }))
  }
  for (let n = 0; n < 6; n++) {
    await until(async () => !(await swept.read(`t${n}`)) && !(await swept.recall(`k${n}`)))
  }
  await swept.commit('new', commitOf('o', 1))
  const counts = []
  for (const table of ['turns', 'states', 'records', 'events', 'reusable']) {
    const [{ n }] = await ask('sql', `SELECT count(*) AS n FROM swept_${table}`)
    counts.push(n)
  }
  assert.deepEqual(counts, [1, 1, 0, 0, 0])
})

test('list: a row that cannot be read is left out', async () => {
  const spoiled = store({ prefix: 'spoiled_' })
  const turnOf = (id) => JSON.stringify(['t', id])
  for (const id of ['a', 'state', 'piece', 'z']) {
    await spoiled.commit(turnOf(id), commitOf('o', 1, { state: `state of ${id}` }))
  }
  const where = (id) => `WHERE turn = '${turnOf(id)}'`
  await ask('sql', `UPDATE spoiled_states SET text = char(1) || '{' ${where('state')}`)
  await ask('sql', `UPDATE spoiled_states SET piece = 1 ${where('piece')}`)
  const listed = await spoiled.list('t', 9)
  assert.deepEqual(listed.map(({ turn, state }) => [turn, state]).toSorted(), [
    [turnOf('a'), 'state of a'],
    [turnOf('z'), 'state of z'],
  ])
})

test('a clock that was set back: an owner that is gone does not seem alive for as long', async () => {
  const back = store({ prefix: 'back_' })
  await back.commit('t', commitOf('o', 1))
  for (const look of [async () => (await back.read('t')).idleMs, () => back.idle('t')]) {
    await ask('sql', `UPDATE back_turns SET at = at + ${HOUR}`)
    // A few milliseconds may have passed, and no hour.
    const idleMs = await look()
    assert.ok(idleMs >= 0 && idleMs < HOUR, `${idleMs}`)
    await until(async () => (await look()) > 0)
  }
})

test('a connection that is lost at any batch of a turn, before or behind it: the tool ran at most once', async () => {
  for (const after of [false, true]) {
    let turns = 0
    for (let at = 0; ; at++) {
      const { status, text, error, runs } = await ask('turn', { at, after })
      // A commit is sent again; what cannot be is the typed end of a turn.
      assert.ok(status === 'complete' || /^(store|turn)\./.test(error), `${at}: ${status} ${error}`)
      assert.ok(runs <= 1, `${at}: the tool ran ${runs} times`)
      if (status === 'complete') assert.equal(text, 'Paid.')
      turns += status === 'complete' ? 1 : 0
      if (at > 12) break
    }
    assert.ok(turns >= 8, `${turns} turns were completed`)
  }
})

test('two turns of one id at once: one runs', async () => {
  const { runs, ended } = await ask('race')
  assert.equal(runs, 1)
  assert.deepEqual(ended.toSorted(), ['complete', 'turn.conflict'])
})
