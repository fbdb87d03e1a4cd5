import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import test from 'node:test'
import { checkStore, defineTool, memoryStore, runTurn } from 'turnlock'
import { scriptedModel, storeConformance } from 'turnlock/testing'
import { judge } from '../../pkg/dist/stores/store.js'
import { commitOf, HOUR } from './commits.mjs'
import { playRule, RULE } from './rule.mjs'

const code = (wanted) => (error) => error.name === 'TurnlockError' && error.code === wanted

const shared = memoryStore()
for (const { name, run } of storeConformance(() => shared)) test(`memory: ${name}`, run)

test('the rule, as the package judges', () => {
  for (const { name, stands, commit, judgement } of RULE) {
    assert.equal(judge(stands ?? undefined, commit), judgement, name)
  }
})

test('memory: the rule', () => playRule(memoryStore()))

test('memory: the turn that was over first makes room; with all open, a new one fails', async () => {
  const store = memoryStore({ maxTurns: 3 })
  for (const turn of ['a', 'b', 'c']) await store.commit(turn, commitOf('o', 1))
  await assert.rejects(store.commit('d', commitOf('o', 1)), code('store.full'))
  assert.equal(await store.read('d'), undefined)
  await store.commit('c', commitOf('o', 2, { open: false }))
  await store.commit('b', commitOf('o', 2, { open: false }))
  assert.deepEqual(await store.commit('d', commitOf('o', 1)), { ok: true })
  assert.equal(await store.read('c'), undefined)
  assert.equal((await store.read('b')).open, false)
  assert.deepEqual(await store.commit('e', commitOf('o', 1)), { ok: true })
  assert.equal(await store.read('b'), undefined)
  for (const turn of ['a', 'd', 'e']) assert.equal((await store.read(turn)).open, true)
})

test('memory: a tenant that fills the store makes room itself, and first by what cannot be resumed', async () => {
  const store = memoryStore({ maxTurns: 6 })
  const key = (tenant, id) => JSON.stringify([tenant, id])
  const state = (status) => JSON.stringify({ v: 1, status })
  const write = (tenant, id, status, open = true) =>
    store.commit(key(tenant, id), commitOf('o', 1, { state: state(status), open }))
  const kept = async (tenant, ...ids) => {
    const there = await Promise.all(ids.map((id) => store.read(key(tenant, id))))
    return ids.filter((_, at) => there[at])
  }
  await write('small', 'p', 'paused')
  for (const id of ['f1', 'f2', 'f3']) await write('big', id, 'failed')
  await write('big', 'over', 'complete', false)
  await write('big', 'runs', 'running')
  await write('other', 'a', 'running')
  assert.deepEqual(await kept('big', 'f1', 'f2', 'f3', 'over', 'runs'), ['f1', 'f2', 'f3', 'runs'])
  await write('other', 'b', 'running')
  assert.deepEqual(await kept('big', 'f1', 'f2', 'f3', 'runs'), ['f2', 'f3', 'runs'])
  // Resumed, so that it is not at rest any longer.
  await store.commit(key('big', 'f2'), commitOf('o', 2, { state: state('running') }))
  await write('big', 'g', 'running')
  assert.deepEqual(await kept('big', 'f2', 'f3', 'runs', 'g'), ['f2', 'runs', 'g'])
  assert.deepEqual(await kept('small', 'p'), ['p'])
  await write('other', 'c', 'running')
  assert.deepEqual(await kept('small', 'p'), [])
  await assert.rejects(write('other', 'd', 'running'), code('store.full'))
})

test('memory: characters are limited too', async () => {
  const store = memoryStore({ maxCharacters: 1000 })
  const big = { records: [['r', 'x'.repeat(400)]] }
  for (const turn of ['a', 'b']) await store.commit(turn, commitOf('o', 1, big))
  await assert.rejects(store.commit('c', commitOf('o', 1, big)), code('store.full'))
  await store.commit('a', commitOf('o', 2, { open: false }))
  assert.deepEqual(await store.commit('c', commitOf('o', 1, big)), { ok: true })
  assert.equal(await store.read('a'), undefined)
  await store.commit('c', commitOf('o', 2, { open: false }))
  const huge = { records: [['r', 'x'.repeat(1001)]] }
  await assert.rejects(store.commit('d', commitOf('o', 1, huge)), code('store.full'))
  assert.equal((await store.read('c')).open, false, 'nothing is dropped for what cannot fit')
})

test('watch: a callback that throws keeps the news from no other', async () => {
  const store = memoryStore()
  store.watch('t', () => {
    throw new Error('planned')
  })
  const told = new Promise((resolve) => store.watch('t', resolve))
  await store.commit('t', commitOf('o', 1))
  assert.equal(await told, 'o')
})

test('memory: expired turns make room, wherever they are', async () => {
  let now = 0
  const store = memoryStore({ maxTurns: 100, now: () => now })
  for (let n = 0; n < 100; n++) {
    await store.commit(`t${n}`, commitOf('o', 1, { ttlMs: n === 77 ? 10 : HOUR }))
  }
  await assert.rejects(store.commit('new', commitOf('o', 1)), code('store.full'))
  now = 9
  assert.equal((await store.read('t77')).idleMs, 9)
  await assert.rejects(store.commit('new', commitOf('o', 1)), code('store.full'))
  now = 10
  assert.deepEqual(await store.commit('new', commitOf('o', 1)), { ok: true })
})

test('memory: the oldest reusable outcome makes room', async () => {
  const store = memoryStore({ maxReusable: 2 })
  const reusable = (...keys) => keys.map((key) => [key, key, HOUR])
  await store.commit('t', commitOf('o', 1, { reusable: reusable('a', 'b') }))
  await store.commit('t', commitOf('o', 2, { reusable: reusable('a', 'c') }))
  assert.equal(await store.recall('b'), undefined)
  assert.equal((await store.recall('a')).text, 'a')
  assert.equal((await store.recall('c')).text, 'c')
})

test('memory: 100 000 turns in flat memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  let now = 0
  const store = memoryStore({ maxTurns: 2000, maxReusable: 2000, now: () => now })
  const text = 'x'.repeat(500)
  const run = async (from, to) => {
    for (let n = from; n < to; n++) {
      now++
      // Some end, some are left open; some live shorter than others.
      const ttlMs = n % 3 ? 900 : 300
      const state = `${n}${text}`
      await store.commit(`t${n}`, commitOf(`o${n}`, 1, { ttlMs, state, records: [['r', state]] }))
      const events = { last: 3, text: state }
      const reusable = [[`k${n}`, state, ttlMs]]
      const open = n % 5 === 0
      await store.commit(`t${n}`, commitOf(`o${n}`, 2, { ttlMs, events, reusable, open }))
    }
    collect()
    return process.memoryUsage().heapUsed
  }
  const early = await run(0, 20_000)
  const late = await run(20_000, 100_000)
  // Without bounds, 80 000 turns of 4 kB would add 300 MB.
  assert.ok(late - early < 4e6, `${early} bytes, then ${late}`)
  assert.equal((await store.read('t99999')).open, false)
})

test('memory: options are checked', () => {
  for (const options of [
    { maxTurns: 0 },
    { maxTurns: 1.5 },
    { maxReusable: '3' },
    { maxCharacters: 0 },
  ]) {
    assert.throws(() => memoryStore(options), code('options.invalid'))
  }
})

test('checkStore takes stores, refuses Workers KV with the reason, and anything else', async () => {
  checkStore(memoryStore())
  const f = async () => {}
  const kv = { get: f, put: f, list: f, delete: f, getWithMetadata: f }
  assert.throws(
    () => checkStore(kv),
    (error) => code('store.unsupported')(error) && /eventually consistent/.test(error.message),
  )
  for (const wrong of [undefined, null, 1, {}, new Map(), { read: f, commit: f, events: f }]) {
    assert.throws(() => checkStore(wrong), code('options.invalid'))
  }
})

test('a scripted model plays its script, keeps the requests, and ends', async () => {
  const calls = []
  const search = defineTool({
    description: 'Searches',
    inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
    execute: (args) => calls.push(args),
  })
  const model = scriptedModel([{ call: 'search', args: { q: 'tides' } }, 'High tide is at noon.'])
  const options = { model, messages: [{ role: 'user', content: 'When?' }], tools: { search } }
  const result = await runTurn(options).result
  assert.deepEqual([result.status, result.text], ['complete', 'High tide is at noon.'])
  assert.deepEqual(calls, [{ q: 'tides' }])
  assert.equal(model.requests.length, 2)
  const more = await runTurn(options).result
  assert.equal(more.status, 'failed')

  const deltas = [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ]
  const other = scriptedModel([deltas, (request) => `${request.messages.length} messages`])
  const texts = []
  for (let n = 0; n < 2; n++) {
    texts.push((await runTurn({ ...options, tools: {}, model: other }).result).text)
  }
  assert.deepEqual(texts, ['ab', '1 messages'])
})
