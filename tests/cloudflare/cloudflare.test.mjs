import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test, { after, before, beforeEach } from 'node:test'
import { fileURLToPath } from 'node:url'
import { withTurnlock } from 'turnlock/cloudflare'
import { until } from '../patience.mjs'
import { Gate, startObjects, whole } from './objects.mjs'

let objects

before(async () => {
  const entry = fileURLToPath(new URL('worker.mjs', import.meta.url))
  objects = await startObjects(entry, ['Chat', 'Hasty', 'Broken', 'Wrong'])
})
after(() => objects?.dispose())
beforeEach(() => void (objects.gate = new Gate()))

const ask = (...args) => objects.ask(...args)

test('run: a turn with a tool, stored in the object', async () => {
  const requestId = await ask('Chat/run', 'run', 'pay', { tenant: 'ann' })
  const events = await ask('Chat/run', 'events', 'ann', requestId)
  whole(events)
  assert.equal(events.at(-1).type, 'complete')
  assert.equal(objects.gate.count('pay'), 1)
  assert.deepEqual(await ask('Chat/run', 'list', { tenant: 'ann' }), [])
})

test('socket: approval of a call by the tenant that owns the turn', async () => {
  const path = 'Chat/approve'
  const requestId = await ask(path, 'run', 'send', { tenant: 'ann', requestId: 'r' })
  const [ann, bob] = [
    await objects.socket(`${path}?user=ann&requestId=r`),
    await objects.socket(`${path}?user=bob&requestId=r`),
  ]
  const { approvals } = await ann.event('paused')
  assert.equal((await bob.event('error')).code, 'turn.not_found')
  const resume = {
    type: 'turnlock:resume',
    requestId,
    approvals: approvals.map(({ signature }) => ({ signature, approved: true })),
  }
  bob.send(resume)
  assert.equal(await bob.error(), 'turn.not_found')
  assert.equal(objects.gate.count('send'), 0)
  ann.send(resume)
  await ann.event('complete')
  assert.equal(objects.gate.count('send'), 1)
  whole(ann.events())
  // A second decision comes too late.
  ann.send(resume)
  assert.equal(await ann.error(), 'turn.conflict')
  assert.equal(objects.gate.count('send'), 1)
})

test('socket: stop of a running turn', async () => {
  objects.gate.hold('answer')
  const path = 'Chat/stop'
  await ask(path, 'run', 'pay', { tenant: 'ann', requestId: 'r' })
  const [ann, bob] = [
    await objects.socket(`${path}?user=ann&requestId=r`),
    await objects.socket(`${path}?user=bob`),
  ]
  await until(async () => objects.gate.count('answer') === 1)
  bob.send({ type: 'turnlock:stop', requestId: 'r' })
  assert.equal(await bob.error(), 'turn.not_found')
  ann.send({ type: 'turnlock:stop', requestId: 'r' })
  await ann.event('cancelled')
  whole(ann.events())
  objects.gate.open('answer')
})

test('socket: strangers and messages of another form are refused', async () => {
  assert.equal((await objects.socket('Chat/refused')).status, 401)
  const ann = await objects.socket('Chat/refused?user=ann')
  for (const message of [
    { type: 'turnlock:resume', requestId: 'r', approvals: 7 },
    { type: 'turnlock:resume' },
    { type: 'turnlock:follow', requestId: 'r', after: 'x' },
    { type: 'turnlock:else', requestId: 'r' },
  ]) {
    ann.got.length = 0
    ann.send(message)
    assert.equal(await ann.error(), 'options.invalid', JSON.stringify(message))
  }
})

for (const [when, held, run] of [
  ['after its tool has run', 'answer', 'run'],
  ['while its tool runs', 'pay', 'run'],
  ['and that another caller began', 'answer', 'runBeside'],
]) {
  test(`alarm: resumes a turn whose object ends ${when}; the tool runs once`, async () => {
    const path = `Chat/${held}-${run}-evicted`
    objects.gate.hold(held)
    await ask(path, run, 'pay', { tenant: 'ann', requestId: 'r' })
    await until(async () => objects.gate.count(held) === 1)
    const made = await ask(path, 'made')
    await objects.end(path)
    objects.gate.open(held)
    // Nobody asks the object meanwhile: its alarm makes it anew.
    await until(async () => objects.gate.count('answer') >= (held === 'answer' ? 2 : 1))
    await objects.has(path, 'ann', 'r', 'complete')
    assert.notEqual(await ask(path, 'made'), made)
    assert.equal(objects.gate.count('pay'), 1)
    const events = await ask(path, 'events', 'ann', 'r')
    whole(events)
    const outcomes = events.flatMap(({ toolResults = [] }) => toolResults)
    assert.deepEqual(
      outcomes.map((one) => one.status),
      [held === 'pay' ? 'unknown' : 'ok'],
    )
  })
}

test('alarm: a turn that ends its object each time is given up', async () => {
  await ask('Broken/x', 'run', 'pay', { requestId: 'r' }).catch(() => {})
  await objects.has('Broken/x', '', 'r', 'cancelled').catch((error) => Promise.reject(error))
  assert.equal(objects.gate.count('pay'), 1)
  assert.equal(objects.gate.count('answer'), 6)
})

test('alarm: a turn that waits for approvals for too long is cancelled', async () => {
  await ask('Hasty/x', 'run', 'send', { requestId: 'r' })
  await objects.has('Hasty/x', '', 'r', 'cancelled')
  assert.equal(objects.gate.count('send'), 0)
})

test('alarm: the class keeps its own', async () => {
  const path = 'Chat/own'
  const storage = (...args) => ask(path, 'storage', ...args)
  const later = Date.now() + 3_600_000
  await storage('setAlarm', later)
  objects.gate.hold('answer')
  await ask(path, 'run', 'pay', { tenant: 'ann', requestId: 'r' })
  await until(async () => objects.gate.count('answer') === 1)
  // Ours comes, and comes again, without calling that of the class.
  await objects.end(path)
  await until(async () => objects.gate.count('answer') === 2)
  assert.equal(await storage('getAlarm'), later)
  assert.equal(await storage('get', 'rung'), undefined)
  await storage('setAlarm', Date.now())
  await until(async () => (await storage('get', 'rung')) === 1)
  assert.equal(await storage('getAlarm'), null)
  await storage('setAlarm', later)
  await storage('deleteAlarm')
  assert.equal(await storage('getAlarm'), null)
  objects.gate.open('answer')
  await objects.has(path, 'ann', 'r', 'complete')
  assert.equal(await storage('get', 'rung'), 1)
})

test('alarm: one in a class that extends the mixin is refused', async () => {
  assert.match(await ask('Wrong/x', 'run'), /`alarm`: an own alarm belongs/)
})

test('hibernation: a socket reads on where it was', async () => {
  const path = 'Chat/asleep'
  await ask(path, 'run', 'send', { tenant: 'ann', requestId: 'r' })
  const ann = await objects.socket(`${path}?user=ann&requestId=r`)
  const { approvals } = await ann.event('paused')
  const made = await ask(path, 'made')
  await ask(`${path}/hibernate`)
  assert.notEqual(await ask(path, 'made'), made)
  const decided = approvals.map(({ signature }) => ({ signature, approved: true }))
  ann.send({ type: 'turnlock:resume', requestId: 'r', approvals: decided })
  await ann.event('complete')
  whole(ann.events())
  assert.equal(objects.gate.count('send'), 1)
})

test('guardTools: a call of another loop runs once, with the store of the object', async () => {
  const [first, second] = await ask('Chat/guarded', 'guarded')
  assert.equal(objects.gate.count('pay'), 1)
  assert.equal(first, 'did pay')
  assert.notEqual(second, undefined)
})

test('withTurnlock: refuses times that are none', () => {
  for (const alarmMs of [0, -1, 1.5, '1']) {
    assert.throws(() => withTurnlock(class {}, { alarmMs }), { code: 'options.invalid' })
  }
})

test('what callers write compiles, and what they may not write does not', () => {
  const here = fileURLToPath(new URL('.', import.meta.url))
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', here], { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})
