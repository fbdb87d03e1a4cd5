// The trace events that a handler keeps: bounded, fair, and listed page by page.
import assert from 'node:assert/strict'
import test from 'node:test'
import { auditToolUse, runPlanning } from 'turnlock/planning'
import { createHandler, memoryPassEvents } from 'turnlock/server'
import { memoryStore } from 'turnlock'
import { scriptedModel } from 'turnlock/testing'

const event = (plan_id, size = 0) => ({ type: 'llm_call', plan_id, filler: 'x'.repeat(size) })
const plansOf = (events) => events.map(({ plan_id }) => plan_id)
const all = { limit: 1000 }

test('a tenant has its last events, and every one of them a greater id', () => {
  const log = memoryPassEvents({ maxEvents: 3 })
  for (const plan of 'abcde') log.append('ann', event(plan))
  const list = log.list('ann', all)
  assert.deepEqual(plansOf(list), ['c', 'd', 'e'])
  const ids = list.map(({ id }) => id)
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(ids).size, 3)
  assert.deepEqual(plansOf(log.list('ann', { limit: 2 })), ['d', 'e'])
  assert.deepEqual(plansOf(log.list('ann', { after: ids[0], limit: 1 })), ['d'])
  assert.deepEqual(log.list('ann', { after: ids[2], limit: 1 }), [])
  assert.deepEqual(plansOf(log.list('ann', { planId: 'd', limit: 9 })), ['d'])
  assert.deepEqual(log.list('bob', all), [])
  assert.deepEqual(log.list('__proto__', all), [])
})

test('what is listed is a copy', () => {
  const log = memoryPassEvents()
  const own = event('a')
  log.append('ann', own)
  own.plan_id = 'b'
  log.list('ann', all)[0].plan_id = 'c'
  assert.deepEqual(plansOf(log.list('ann', all)), ['a'])
})

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
