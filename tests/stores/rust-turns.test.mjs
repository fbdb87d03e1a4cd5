// A turn that one driver paused, or was closed in the middle of, the other goes on with: the package's
// and the crate's, over one database.
import assert from 'node:assert/strict'
import test from 'node:test'
import { until } from '../patience.mjs'
import { browser, openPage } from './database.mjs'

/** Calls a function of `tests/stores/turns.mjs` in a page. */
const turns = (page, what, ...args) =>
  page.evaluate(async ([what, args]) => (await bench.turns())[what](...args), [what, args])

/** Two pages over one database, for a turn that `from` begins and `to` goes on with. */
async function between(t, from, to) {
  const where = await browser.newContext()
  t.after(() => where.close())
  const [one, other] = [await openPage(where, [from, to]), await openPage(where, [to, from])]
  const spec = { name: 'turns', requestId: `${from} to ${to}` }
  const play = async (page, kind, what, more) => {
    await turns(page, 'play', kind, what, { ...spec, ...more })
    return turns(page, 'ended', spec.requestId)
  }
  return { ...spec, one, other, play, spec }
}

const seqs = (events) => events.map(({ seq }) => seq)
const terminal = ({ events }) => events.at(-1)

/** Both read the same of a turn that is over, and no event was lost or doubled. */
async function settled({ one, other, name, requestId }, shown) {
  const kept = []
  for (const page of [one, other].filter((page) => !page.isClosed())) {
    for (const kind of ['ts', 'rust']) kept.push(await turns(page, 'kept', kind, name, requestId))
  }
  for (const each of kept) {
    assert.deepEqual({ ...each, idleMs: 0 }, { ...kept[0], idleMs: 0 })
    assert.equal(each.open, false)
  }
  const events = kept[0].groups.flatMap(({ text }) => JSON.parse(text))
  assert.deepEqual(
    seqs(events),
    Array.from(events, (_, at) => at + 1),
  )
  assert.deepEqual(seqs(shown), seqs(events))
}

for (const [from, to] of [
  ['ts', 'rust'],
  ['rust', 'ts'],
]) {
  test(`${from} pauses for an approval, ${to} goes on with it`, async (t) => {
    const bed = await between(t, from, to)
    const { one, other, play, spec } = bed
    const first = await play(one, from, 'run', { call: 'send' })
    assert.equal(first.result.status, 'paused')
    const [waiting] = terminal(first).approvals
    assert.deepEqual([waiting.name, waiting.args], ['send', { of: 'é😀', n: 1.5 }])
    assert.deepEqual(await turns(one, 'starts'), [])
    // Another signature is no approval of this call.
    const wrong = [{ signature: '0'.repeat(64), approved: true }]
    const still = await play(other, to, 'resume', { call: 'send', approvals: wrong })
    assert.equal(still.result.error?.code, 'tool.no_approval')
    assert.deepEqual(await turns(other, 'starts'), [])
    const approvals = [{ signature: waiting.signature, approved: true }]
    const last = await play(other, to, 'resume', { call: 'send', approvals })
    assert.equal(last.result.status, 'complete', JSON.stringify(last.result))
    assert.equal(last.result.text, 'There it is.')
    const results = last.result.toolResults.map(({ name, status, result }) => [
      name,
      status,
      result.args,
    ])
    assert.deepEqual(results, [['send', 'ok', { of: 'é😀', n: 1.5 }]])
    const starts = await turns(other, 'starts')
    assert.deepEqual(
      starts.map(({ name, args, requestId }) => [name, args, requestId]),
      [['send', { of: 'é😀', n: 1.5 }, spec.requestId]],
    )
    assert.match(starts[0].idempotencyKey, /^[0-9a-f]{64}$/)
    assert.deepEqual(await turns(one, 'starts'), [])
    await settled(bed, [...first.events, ...last.events])
    // Over is over, for either.
    for (const [page, kind] of [
      [one, from],
      [other, to],
    ]) {
      const again = await play(page, kind, 'resume', { call: 'send', approvals })
      assert.equal(again.result.error.code, 'turn.conflict')
    }
  })

  test(`${from} pauses for an approval, ${to} is told that it is refused`, async (t) => {
    const bed = await between(t, from, to)
    const { one, other, play } = bed
    const first = await play(one, from, 'run', { call: 'send' })
    const [{ signature }] = terminal(first).approvals
    const approvals = [{ signature, approved: false }]
    const last = await play(other, to, 'resume', { call: 'send', approvals })
    assert.equal(last.result.status, 'complete', JSON.stringify(last.result))
    assert.deepEqual(last.result.blockedSignatures, [signature])
    const refused = last.events.find(({ type }) => type === 'refused')
    assert.equal(refused.reason, 'not_approved')
    for (const page of [one, other]) assert.deepEqual(await turns(page, 'starts'), [])
    await settled(bed, [...first.events, ...last.events])
  })

  test(`${from} pauses behind the tool results, ${to} answers from them`, async (t) => {
    const bed = await between(t, from, to)
    const { one, other, play } = bed
    const policy = { pauseAfterTools: true }
    const first = await play(one, from, 'run', { call: 'pay', policy })
    assert.equal(first.result.status, 'paused')
    const last = await play(other, to, 'resume', { call: 'pay' })
    assert.equal(last.result.status, 'complete', JSON.stringify(last.result))
    assert.equal(last.result.text, 'There it is.')
    assert.deepEqual(
      last.result.toolResults.map(({ name, result }) => [name, result]),
      [['pay', { done: 'pay', args: { of: 'é😀', n: 1.5 } }]],
    )
    assert.equal((await turns(one, 'starts')).length, 1)
    assert.deepEqual(await turns(other, 'starts'), [])
    await settled(bed, [...first.events, ...last.events])
  })

  for (const [tool, again] of [
    ['pay', false],
    ['look', true],
  ]) {
    const named = again ? 'runs its read-only tool again' : 'does not know what came of its tool'
    test(`${from} is closed while a tool runs, ${to} goes on and ${named}`, async (t) => {
      const bed = await between(t, from, to)
      const { one, other, play, spec } = bed
      await turns(one, 'play', from, 'run', { ...spec, call: tool, hangs: tool })
      await until(async () => (await turns(one, 'starts')).length === 1)
      const [begun] = await turns(one, 'starts')
      const shown = await turns(one, 'seen', spec.requestId)
      // The owner is alive, as the other one sees.
      const early = await play(other, to, 'resume', { call: tool })
      assert.equal(early.result.error.code, 'turn.conflict')
      await one.close()
      let last
      // That its lock was let go takes the browser a moment; its lease is long.
      await until(async () => {
        last = await play(other, to, 'resume', { call: tool })
        return last.result.error?.code !== 'turn.conflict'
      })
      assert.equal(last.result.status, 'complete', JSON.stringify(last.result))
      assert.equal(last.result.text, 'There it is.')
      const starts = await turns(other, 'starts')
      assert.deepEqual(starts, again ? [begun] : [])
      assert.deepEqual(
        last.result.toolResults.map(({ name, status }) => [name, status]),
        [[tool, again ? 'ok' : 'unknown']],
      )
      await settled(bed, [...shown, ...last.events])
    })
  }

  test(`${from} runs, ${to} stops it`, async (t) => {
    const bed = await between(t, from, to)
    const { one, other, name, requestId, spec } = bed
    await turns(one, 'play', from, 'run', { ...spec, call: 'pay', hangs: 'model' })
    const shows = async (part) =>
      (await turns(one, 'seen', requestId)).some(({ chunk }) => chunk === part)
    await until(() => shows('There '))
    assert.equal(await turns(other, 'cancel', to, name, requestId), 'cancelled')
    const { result } = await turns(one, 'ended', requestId)
    assert.equal(result.status, 'cancelled')
    for (const kind of ['ts', 'rust']) {
      assert.equal((await turns(one, 'kept', kind, name, requestId)).open, false)
      assert.equal(await turns(other, 'cancel', kind, name, requestId), 'cancelled')
    }
  })
}

test('both keep a turn in records of the same names and forms', async (t) => {
  const forms = {}
  for (const kind of ['ts', 'rust']) {
    const where = await browser.newContext()
    t.after(() => where.close())
    const page = await openPage(where, [kind, kind === 'ts' ? 'rust' : 'ts'])
    const spec = { name: 'forms', requestId: 'the same', call: 'pay' }
    await turns(page, 'play', kind, 'run', spec)
    assert.equal((await turns(page, 'ended', spec.requestId)).result.status, 'complete')
    const kept = await turns(page, 'kept', kind, spec.name, spec.requestId)
    // Times and what was drawn at random differ; everything else is the same.
    const chance = /^(?:\d+|[0-9a-f]{32,64})$/
    const form = (value, key = '') => {
      if (Array.isArray(value)) return value.map((one) => form(one))
      if (value && typeof value === 'object') {
        return Object.entries(value).map(([key, one]) => [key, form(one, key)])
      }
      // The digits of a duration are bytes of an event.
      if (/Ms$|^at$|^keptBytes$/.test(key) && typeof value === 'number') return 'time'
      return typeof value === 'string' && chance.test(value) ? 'chance' : value
    }
    const [[first, begun], ...records] = kept.records
    assert.equal(first, 'turn')
    // What the host left out, one of the drivers leaves out as well, and the other spells out.
    const { v, dialect, messages } = JSON.parse(begun)
    forms[kind] = {
      begun: { v, dialect, messages },
      records: records.map(([name, text]) => [name, form(JSON.parse(text))]),
      state: form(JSON.parse(kept.state)),
      events: kept.groups.flatMap(({ text }) => form(JSON.parse(text))),
    }
  }
  assert.deepEqual(
    forms.ts.records.map(([name]) => name),
    ['batch/1', 'claim/1/1/call_1', 'outcome/1/call_1'],
  )
  assert.ok(forms.ts.begun.dialect && forms.ts.begun.messages.length === 1)
  assert.deepEqual(forms.rust, forms.ts)
})
