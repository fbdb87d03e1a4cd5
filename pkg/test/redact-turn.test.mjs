// A turn whose readers are given redacted events: no cut of the model's stream shows more, numbers
// and names stay, and what the next turn is made of is whole.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { createChat } from 'turnlock/chat'
import {
  ANSWER,
  MAIL,
  messages,
  model,
  redact,
  SECRETS,
  SHOWN,
  texts,
  tools,
  VALUE,
} from './secrets.mjs'

const collect = async (events) => {
  const all = []
  for await (const event of events) all.push(event)
  return all
}
for (const size of [1, 2, 7, 1000]) {
  test(`events are redacted, in parts of ${size}`, async () => {
    const seen = []
    const turn = runTurn({ model: model(size), messages, tools: tools(seen), redact })
    const [events, again] = await Promise.all([collect(turn), collect(turn)])
    assert.deepEqual(again, events)
    const all = JSON.stringify(events)
    for (const secret of SECRETS) assert.ok(!all.includes(secret), secret)
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    )
    assert.equal(texts(events), `Looking for [redacted:email]. ${SHOWN}`)
    const of = (type) => events.find((event) => event.type === type)
    const [call] = of('tool_calls').toolCalls
    assert.deepEqual([call.name, call.args], ['find', { who: '[redacted:email]' }])
    assert.match(call.signature, /^[0-9a-f]{64}$/)
    const [result] = of('tool_results').toolResults
    assert.deepEqual(result.result, {
      mail: '[redacted:email]',
      value: '[redacted:value]',
      password: '[redacted:field]',
      n: 1,
    })
    assert.deepEqual(of('tool_progress').data, { at: '[redacted:email]' })
    assert.equal(of('complete').fullContent.endsWith(SHOWN), true)
    // The tool ran with what the model wrote, and the next turn is made of it.
    assert.deepEqual(seen, [{ who: MAIL }])
    const { text, messages: added } = await turn.result
    assert.equal(text, ANSWER)
    assert.ok(JSON.stringify(added).includes(MAIL))
  })
}

test('so are texts alone, streams and responses', async () => {
  const run = () => runTurn({ model: model(), messages, tools: tools(), redact })
  assert.equal((await collect(run().textStream)).join(''), `Looking for [redacted:email]. ${SHOWN}`)
  assert.equal(
    texts(await collect(run().toReadableStream())),
    `Looking for [redacted:email]. ${SHOWN}`,
  )
  const body = await run().toResponse().text()
  assert.ok(body.includes('[redacted:email]') && !body.includes(MAIL) && !body.includes('2671'))
})

test('a failure is redacted', async () => {
  const failing = customModel(async function* () {
    yield { type: 'text', text: `half of ada@exam` }
    throw new Error(`no mail to ${MAIL}`)
  })
  const events = await collect(runTurn({ model: failing, messages, redact }))
  const last = events.at(-1)
  assert.equal(last.type, 'error')
  assert.ok(!JSON.stringify(events).includes(MAIL))
  // It may have been going on.
  assert.equal(texts(events), 'half of [redacted:email]')
})

test('leaving, and a stream that is cancelled while it waits, cancel the turn', async () => {
  const silent = customModel(async function* (_, { signal }) {
    yield { type: 'text', text: 'a b ' }
    yield { type: 'text', text: 'c d ' }
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const left = runTurn({ model: silent, messages, redact })
  for await (const event of left) if (event.type === 'text') break
  assert.equal((await left.result).status, 'cancelled')
  const cancelled = runTurn({ model: silent, messages, redact })
  const reader = cancelled.toReadableStream().getReader()
  await reader.read()
  await reader.read()
  const waiting = reader.read()
  await reader.cancel()
  await waiting
  assert.equal((await cancelled.result).status, 'cancelled')
  const returned = runTurn({ model: silent, messages, redact })
  const events = returned[Symbol.asyncIterator]()
  await events.next()
  await events.next()
  const asked = events.next()
  await events.return()
  assert.equal((await asked).done, true)
  assert.equal((await returned.result).status, 'cancelled')
})

test('a resumed turn is redacted, too; the store has all', async () => {
  const store = memoryStore()
  const given = { model: model(), tools: tools(), store, requestId: 'r', redact }
  const paused = runTurn({ ...given, messages, policy: { pauseAfterTools: true } })
  await collect(paused)
  assert.equal((await paused.result).status, 'paused')
  const resumed = resumeTurn(given)
  assert.equal(texts(await collect(resumed)).endsWith(SHOWN), true)
  assert.equal((await resumed.result).text, ANSWER)
})

test('what is no redactor is refused', () => {
  for (const wrong of [(text) => text, {}, 7]) {
    assert.throws(() => runTurn({ model: model(), messages, redact: wrong }), {
      code: 'options.invalid',
    })
  }
})

test('a pause between two halves of a secret: a resumed turn shows no rest of it', async () => {
  const [head, tail] = [VALUE.slice(0, 9), VALUE.slice(9)]
  let asks = 0
  const halves = customModel(async function* () {
    if (asks++ > 0) {
      yield { type: 'text', text: `${tail}, more.` }
      yield { type: 'finish', reason: 'stop', raw: 'stop' }
      return
    }
    yield { type: 'text', text: `Of ${head}` }
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'find' }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
    yield { type: 'finish', reason: 'tool_calls', raw: 'tool_calls' }
  })
  const given = { model: halves, tools: tools(), store: memoryStore(), requestId: 'r', redact }
  const policy = { pauseAfterTools: true }
  const paused = await collect(runTurn({ ...given, messages, policy }))
  const resumed = resumeTurn(given)
  const [one, two] = await Promise.all([collect(resumed), collect(resumed)])
  assert.deepEqual(one, two)
  assert.equal(texts([...paused, ...one]), 'Of [redacted:value], more.')
})

test('a chat shows no half of what a call divides', async () => {
  let asks = 0
  const model = customModel(async function* () {
    if (asks++ > 0) return yield { type: 'text', text: `${VALUE.slice(9)}, more.` }
    yield { type: 'text', text: `Of ${VALUE.slice(0, 9)}` }
    yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'find' }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const run = (own) => runTurn({ model, tools: tools(), redact, ...own })
  const chat = createChat({ turns: { run } })
  chat.send('go')
  await new Promise((resolve) => {
    chat.subscribe(() => chat.getSnapshot().status === 'complete' && resolve())
  })
  const all = JSON.stringify(chat.getSnapshot())
  assert.ok(all.includes('Of [redacted:value]') && all.includes(', more.'), all)
  for (const half of [VALUE.slice(0, 9), JSON.stringify(VALUE.slice(9)).slice(1, -1)]) {
    assert.ok(!all.includes(half), all)
  }
})
