// The trace events that a handler keeps: bounded, fair, and listed page by page.
import assert from 'node:assert/strict'
import test from 'node:test'
import { auditToolUse, runPlanning } from 'turnlock/planning'
import { createHandler, memoryPassEvents, storePassEvents } from 'turnlock/server'
import { memoryStore, TurnlockError } from 'turnlock'
import { scriptedModel } from 'turnlock/testing'

const event = (plan_id, size = 0) => ({
  type: 'llm_call',
  plan_id,
  run_id: `run of ${plan_id}`,
  filler: 'x'.repeat(size),
})
const plansOf = (events) => events.map(({ plan_id }) => plan_id)
const all = { limit: 1000 }
const LOGS = {
  memory: memoryPassEvents,
  store: (options) => storePassEvents(memoryStore(), options),
}

for (const [name, make] of Object.entries(LOGS)) {
  test(`${name}: a tenant has its last events, and every one of them a greater id`, async () => {
    const log = make({ maxEvents: 3 })
    for (const plan of 'abcde') await log.append('ann', event(plan))
    const list = await log.list('ann', all)
    assert.deepEqual(plansOf(list), ['c', 'd', 'e'])
    const ids = list.map(({ id }) => id)
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    )
    assert.equal(new Set(ids).size, 3)
    const plans = async (query, tenant = 'ann') => plansOf(await log.list(tenant, query))
    assert.deepEqual(await plans({ limit: 2 }), ['d', 'e'])
    assert.deepEqual(await plans({ after: ids[0], limit: 1 }), ['d'])
    assert.deepEqual(await plans({ after: ids[2], limit: 1 }), [])
    assert.deepEqual(await plans({ planId: 'd', limit: 9 }), ['d'])
    assert.deepEqual(await plans({ runId: 'run of e', limit: 9 }), ['e'])
    assert.deepEqual(await plans({ planId: 'd', runId: 'run of e', limit: 9 }), [])
    assert.deepEqual(await plans(all, 'bob'), [])
    assert.deepEqual(await plans(all, '__proto__'), [])
  })

  test(`${name}: what is listed is a copy`, async () => {
    const log = make()
    const own = event('a')
    const appended = log.append('ann', own)
    own.plan_id = 'b'
    await appended
    ;(await log.list('ann', all))[0].plan_id = 'c'
    assert.deepEqual(plansOf(await log.list('ann', all)), ['a'])
  })

  test(`${name}: a client that has read some events reads the later ones, each once`, async () => {
    const log = make()
    const seen = []
    for (let at = 0; at < 30; at++) {
      await log.append('ann', event(`p${at}`))
      if (at % 4) continue
      for (let page = ['']; page.length;) {
        page = await log.list('ann', { after: seen.at(-1)?.id ?? 0, limit: 3 })
        seen.push(...page)
      }
    }
    assert.deepEqual(
      plansOf(seen),
      Array.from({ length: 29 }, (_, at) => `p${at}`),
    )
  })
}

test('no tenant drops the events of the others', () => {
  const log = memoryPassEvents({ maxCharacters: 10_000 })
  for (const plan of ['a', 'b']) log.append('ann', event(plan, 100))
  for (let at = 0; at < 500; at++) log.append('loud', event(`p${at}`, 1000))
  assert.deepEqual(plansOf(log.list('ann', all)), ['a', 'b'])
  const loud = log.list('loud', all)
  assert.equal(loud.at(-1).plan_id, 'p499')
  assert.ok(JSON.stringify(loud).length < 11_000)
  // One that has no room at all is not kept, and drops nothing.
  log.append('loud', event('huge', 10_000))
  assert.deepEqual(log.list('loud', all), loud)
  assert.deepEqual(plansOf(log.list('ann', all)), ['a', 'b'])
})

test('its limits are whole numbers', () => {
  for (const bad of [{ maxEvents: 0 }, { maxCharacters: 1.5 }, { maxEvents: '9' }, { most: 9 }]) {
    assert.throws(() => memoryPassEvents(bad), { code: 'options.invalid' })
  }
  for (const bad of [{ maxEvents: 0 }, { ttlMs: 1.5 }, { ttlMs: '9' }, { maxCharacters: 9 }]) {
    assert.throws(() => storePassEvents(memoryStore(), bad), { code: 'options.invalid' })
  }
  for (const store of [undefined, {}, memoryPassEvents()]) {
    assert.throws(() => storePassEvents(store), { code: 'options.invalid' })
  }
})

test('in a store, events survive a restart, and ids go on', async () => {
  const store = memoryStore()
  const before = storePassEvents(store)
  await before.append('ann', event('a'))
  const [{ id }] = await before.list('ann', all)
  const after = storePassEvents(store)
  await after.append('ann', event('b'))
  assert.deepEqual(plansOf(await after.list('ann', all)), ['a', 'b'])
  assert.deepEqual(plansOf(await after.list('ann', { after: id, limit: 9 })), ['b'])
  // The tenant has no turn of it.
  assert.deepEqual(await store.list('ann', 9), [])
})

test('in a store, processes that append at the same time lose no event', async () => {
  const store = memoryStore()
  const logs = Array.from({ length: 4 }, () => storePassEvents(store))
  const plans = Array.from({ length: 40 }, (_, at) => `p${at}`)
  await Promise.all(plans.map((plan, at) => logs[at % 4].append('ann', event(plan))))
  const list = await logs[0].list('ann', all)
  assert.deepEqual(plansOf(list).sort(), plans.toSorted())
  assert.equal(new Set(list.map(({ id }) => id)).size, 40)
  // Those of one process are in its order.
  const own = plansOf(list).filter((plan) => plan.slice(1) % 4 === 1)
  assert.deepEqual(
    own,
    plans.filter((plan) => plan.slice(1) % 4 === 1),
  )
})

test('in a store, a failed append is reported, and the next one goes on', async () => {
  const inner = memoryStore()
  let fails = false
  const store = {
    ...inner,
    commit: async (...args) => {
      if (fails) throw new TurnlockError('store.unavailable', 'down')
      return inner.commit(...args)
    },
  }
  for (const name of ['read', 'events', 'recall']) store[name] = inner[name].bind(inner)
  const log = storePassEvents(store)
  await log.append('ann', event('a'))
  fails = true
  await assert.rejects(log.append('ann', event('b')), { code: 'store.unavailable' })
  fails = false
  await log.append('ann', event('c'))
  assert.deepEqual(plansOf(await log.list('ann', all)), ['a', 'c'])
})

test('in a store, a log that has expired begins again behind its old ids', async (t) => {
  let now = 1_000_000
  t.mock.method(Date, 'now', () => now)
  const log = storePassEvents(memoryStore({ now: () => now }), { ttlMs: 1000 })
  await log.append('ann', event('a'))
  const [{ id }] = await log.list('ann', all)
  now += 5000
  assert.deepEqual(await log.list('ann', all), [])
  await log.append('ann', event('b'))
  assert.deepEqual(plansOf(await log.list('ann', { after: id, limit: 9 })), ['b'])
})

test('a handler lists events of a run from its store, also after a restart', async () => {
  const store = memoryStore()
  const authorize = () => ({ tenant: 'ann' })
  const handlerOf = (model) =>
    createHandler({
      ...{ model, store, authorize, passEvents: storePassEvents(store) },
      passes: { plan: ({ runId }) => runPlanning({ model, input: {}, planId: 'p', runId }) },
    })
  const at = 'http://app.example/api/chat'
  for (const runId of ['first', 'second']) {
    const handler = handlerOf(scriptedModel(['{"tool_calls":[]}', '{}']))
    const body = JSON.stringify({ runId })
    const headers = { 'content-type': 'application/json' }
    const response = await handler(
      new Request(`${at}/passes/plan`, { method: 'POST', body, headers }),
    )
    assert.match(await response.text(), /"type":"complete"/)
  }
  const list = async (query) => {
    const response = await handlerOf(scriptedModel([]))(new Request(`${at}/agents/events?${query}`))
    return { status: response.status, ...(await response.json()) }
  }
  const runsOf = ({ events }) => [...new Set(events.map(({ run_id }) => run_id))]
  assert.deepEqual(runsOf(await list('plan_id=p')), ['first', 'second'])
  for (const runId of ['first', 'second']) {
    const { events } = await list(`plan_id=p&run_id=${runId}`)
    assert.deepEqual([events.length, runsOf({ events })], [3, [runId]])
    assert.equal(auditToolUse(events, 'p', runId).inferences.length, 2)
  }
  assert.deepEqual((await list('run_id=third')).events, [])
  assert.equal((await list(`run_id=${'x'.repeat(257)}`)).status, 400)
})

test('a host adds the events of passes that it runs by itself', async () => {
  const passEvents = memoryPassEvents()
  const store = memoryStore()
  const authorize = () => ({ tenant: 'ann' })
  const model = scriptedModel(['{"tool_calls":[]}', '{}'])
  const handler = createHandler({ model, store, authorize, passEvents })
  const onTrace = (traced) => passEvents.append('ann', traced)
  const { planId } = await runPlanning({ model, input: {}, onTrace })
  const url = `http://app.example/api/chat/agents/events?plan_id=${planId}`
  const { events } = await (await handler(new Request(url))).json()
  assert.equal(auditToolUse(events, planId).inferences.length, 2)
})

test('ids go on behind events that others dropped', (t) => {
  t.mock.method(Date, 'now', () => 1000)
  const log = memoryPassEvents({ maxCharacters: 1000 })
  for (const plan of 'ab') log.append('ann', event(plan))
  log.append('ann', event('c', 700))
  const seen = log.list('ann', all).at(-1).id
  log.append('bob', event('d', 500))
  assert.deepEqual(log.list('ann', all), [], 'all of them are dropped')
  log.append('ann', event('i', 10))
  assert.deepEqual(plansOf(log.list('ann', { after: seen, limit: 9 })), ['i'])
})
