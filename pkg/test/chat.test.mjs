// The store of `turnlock/chat`, without a user interface.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, defineTool, memoryStore, resumeTurn, runTurn } from 'turnlock'
import { createChat, isChat } from 'turnlock/chat'

const say = (text) => ({ type: 'text', text })

function* called(name, args, id) {
  yield { type: 'tool_call_start', index: 0, id, name }
  yield { type: 'tool_call_arguments', index: 0, text: JSON.stringify(args) }
  yield { type: 'tool_call_end', index: 0 }
}

/** The next state that `wanted` accepts. */
const reach = (chat, wanted) =>
  new Promise((resolve) => {
    const look = () => {
      const state = chat.getSnapshot()
      if (!wanted(state)) return
      leave()
      resolve(state)
    }
    const leave = chat.subscribe(look)
    queueMicrotask(look)
  })
const ended = (chat) => reach(chat, ({ status }) => status !== 'running')

test('the history is that of the results, also of batches that use an id again', async () => {
  const note = defineTool({
    description: 'd',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: ({ n }) => (n === 2 ? Promise.reject(new Error('no')) : { noted: n }),
  })
  let inference = 0
  const model = customModel(async function* () {
    inference++
    yield say(`look ${inference} `)
    if (inference < 4) yield* called('note', { n: inference === 3 ? 1 : inference }, 'same')
  })
  const results = []
  const policy = { maxTools: 3 }
  const run = (own) => {
    const turn = runTurn({ model, tools: { note }, policy, ...own })
    void turn.result.then((result) => results.push(result))
    return turn
  }
  const chat = createChat({ turns: { run }, messages: [{ role: 'assistant', content: 'hello' }] })
  assert.equal(isChat(chat), true)
  chat.send('go')
  const { messages, status } = await ended(chat)
  assert.equal(status, 'complete')
  const [result] = results
  assert.ok(result.toolResults.length >= 2)
  // The core tells ids apart that a model uses twice.
  const plain = (list) =>
    list.map(({ role, content, toolCalls, isError }) => ({
      role,
      content,
      isError,
      calls: toolCalls?.map(({ name, args }) => ({ name, args })),
    }))
  assert.deepEqual(plain(chat.history().slice(2)), plain(result.messages))
  assert.deepEqual(
    messages.map(({ role, text }) => [role, text]),
    [
      ['assistant', 'hello'],
      ['user', 'go'],
      ['assistant', result.fullContent],
    ],
  )
})

test('the answer of a schema is a value, until the next turn begins', async () => {
  const model = customModel(async function* ({ messages }) {
    const asked = messages.findLast(({ role }) => role === 'user').content
    yield say(asked === 'badly' ? 'no JSON' : `{"asked":${JSON.stringify(asked)}}`)
  })
  const answerSchema = { type: 'object', required: ['asked'] }
  const run = (own) => runTurn({ model, answerSchema, ...own })
  const chat = createChat({ turns: { run } })
  assert.equal(chat.getSnapshot().object, undefined)
  chat.send('one')
  const { object, messages } = await ended(chat)
  assert.deepEqual(object, { asked: 'one' })
  assert.equal(messages.at(-1).text, '{"asked":"one"}')
  chat.send('badly')
  assert.equal(chat.getSnapshot().object, undefined)
  const { object: none, error, phase } = await ended(chat)
  assert.deepEqual([none, error.code], [undefined, 'answer.invalid'])
  assert.notEqual(phase, undefined)
  chat.regenerate()
  assert.equal(chat.getSnapshot().phase, undefined, 'of the turn that runs')
  await ended(chat)
})

/** A turn whose events are given. */
function told(events, requestId = 'r') {
  const common = { phase: 'tool_phase', requestId, projectId: null, toolBatchId: 1 }
  const whole = events.map((event, at) => ({ ...common, seq: at + 1, ...event }))
  return {
    requestId,
    cancel() {},
    [Symbol.asyncIterator]: () => ReadableStream.from(whole).values(),
  }
}

test('void text goes, and a revised result replaces the first', async () => {
  const call = { id: 'c', name: 'note', args: {}, signature: 's' }
  const settled = { toolCallId: 'c', name: 'note', args: {}, signature: 's', status: 'ok' }
  const events = [
    { type: 'text', chunk: 'stays ' },
    { type: 'tool_calls', toolCalls: [call] },
    { type: 'tool_progress', toolCallId: 'c', name: 'note', data: { at: 1 } },
    { type: 'tool_results', toolResults: [{ ...settled, result: 'first' }] },
    { type: 'text', chunk: 'is void ' },
    { type: 'phase_start', resumed: true, voidFrom: 5 },
    { type: 'tool_results', toolResults: [{ ...settled, result: 'second', revised: true }] },
    { type: 'text', chunk: 'answer' },
    { type: 'text', chunk: ' twice', seq: 8 },
    { type: 'complete', done: true },
  ]
  const chat = createChat({ turns: { run: () => told(events) } })
  chat.send('go')
  const { messages } = await ended(chat)
  const [, answer] = messages
  assert.equal(answer.text, 'stays answer')
  const [, shown, last] = answer.parts
  assert.deepEqual([shown.result.result, shown.progress], ['second', { at: 1 }])
  assert.deepEqual([last.text, answer.parts.length], ['answer', 3])
  assert.deepEqual(
    chat.history().map(({ role, content }) => [role, content]),
    [
      ['user', 'go'],
      ['assistant', 'stays '],
      ['tool', 'second'],
      ['assistant', 'answer'],
    ],
  )
})

test('what throws is state, and the message of the user stays', async () => {
  const run = () => runTurn({})
  const chat = createChat({ turns: { run } })
  assert.equal(chat.send('go'), true)
  const { status, error, messages } = chat.getSnapshot()
  assert.deepEqual([status, error.code, messages.length], ['failed', 'options.invalid', 1])
  const endless = createChat({ turns: { run: () => told([{ type: 'text', chunk: 'a' }]) } })
  endless.send('go')
  assert.equal((await ended(endless)).error.code, 'chat.failed')
  assert.equal(endless.attach('r'), true)
  assert.equal(endless.getSnapshot().error.code, 'options.invalid')
})

test('two pages approve one call: it runs once, and the other one says why', async () => {
  const runs = []
  const careful = defineTool({
    description: 'd',
    inputSchema: { type: 'object' },
    needsApproval: true,
    execute: (args) => runs.push(args),
  })
  const model = customModel(async function* ({ messages }) {
    if (messages.some(({ content }) => String(content).includes('TOOL RESULT'))) yield say('done')
    else yield* called('careful', {}, 'c')
  })
  const host = { model, tools: { careful }, store: memoryStore() }
  const turns = {
    run: (own) => runTurn({ ...host, ...own }),
    resume: (own) => resumeTurn({ ...host, ...own }),
  }
  const one = createChat({ turns })
  one.send('go')
  const { approvals, requestId } = await ended(one)
  const paused = { type: 'paused', resume: { requestId, toolBatchId: 1 }, approvals }
  const other = createChat({ turns: { ...turns, follow: () => told([paused], requestId) } })
  other.attach(requestId)
  await ended(other)
  for (const chat of [one, other]) chat.approve(approvals[0].signature)
  const ends = [await ended(one), await ended(other)]
  assert.equal(runs.length, 1)
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['complete', 'failed'])
  assert.equal(ends.find(({ status }) => status === 'failed').error.code, 'turn.conflict')
})

test('a denial of a chat carries its reason', async () => {
  const call = (id) => ({ id, name: 'pay', args: {}, signature: id.repeat(64) })
  const paused = { type: 'paused', resume: { requestId: 'r', toolBatchId: 1 } }
  const approvals = [call('a'), call('b')]
  const given = []
  const turns = {
    run: () => told([{ ...paused, approvals }]),
    resume: (own) => {
      given.push(own.approvals)
      return told([{ type: 'complete', seq: 2, done: true }], own.requestId)
    },
  }
  const chat = createChat({ turns })
  chat.send('go')
  await ended(chat)
  chat.approve(approvals[0].signature)
  chat.approve(approvals[1].signature, { approved: false, reason: 'in euros, please' })
  assert.equal((await ended(chat)).status, 'complete')
  assert.deepEqual(given, [
    [
      { signature: approvals[0].signature, approved: true },
      { signature: approvals[1].signature, approved: false, reason: 'in euros, please' },
    ],
  ])
})

test('a turn that waits is cancelled by another message, and by stop', async () => {
  const paused = { type: 'paused', resume: { requestId: 'r', toolBatchId: 1 } }
  const cancelled = []
  const turns = { run: () => told([paused]), cancel: async (own) => cancelled.push(own) }
  const chat = createChat({ turns })
  chat.send('one')
  const { requestId } = await ended(chat)
  chat.send('two')
  await ended(chat)
  chat.stop('enough')
  assert.equal(chat.getSnapshot().status, 'cancelled')
  assert.deepEqual(
    [cancelled[0].requestId, cancelled[1].reason, cancelled.length],
    [requestId, 'enough', 2],
  )
})

test('misuse is refused at the call', () => {
  const refused = { code: 'options.invalid' }
  const turns = { run() {} }
  for (const options of [
    undefined,
    {},
    { turns: {} },
    { turns, messages: 'x' },
    { turns, throttleMs: -1 },
    { turns, throttle: 1 },
  ]) {
    assert.throws(() => createChat(options), refused)
  }
  for (const value of [undefined, null, {}, 7]) assert.equal(isChat(value), false)
})

/** A place for chats. */
const place = (texts = new Map()) => ({
  texts,
  persist: (key, text) => (text === undefined ? texts.get(key) : void texts.set(key, text)),
})
const answering = { run: (own) => runTurn({ model: customModel(() => [say('yes')]), ...own }) }
const loaded = (chat, count) => reach(chat, ({ messages }) => messages.length === count)

test('a chat of thousands of rounds is kept and read', async () => {
  const { persist, texts } = place()
  const said = [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: 'a' },
  ]
  const messages = Array.from({ length: 10_000 }, (_, at) => said[at % 2])
  const chat = createChat({ turns: answering, messages, persist })
  await loaded(chat, 10_000)
  assert.equal(await until(() => chat.send('more')), true)
  const { error } = await ended(chat)
  assert.equal(error, undefined)
  await until(() => JSON.parse(texts.get('turnlock:chat:') ?? '{}').rounds && !isOpen(texts))
  const again = createChat({ turns: answering, persist })
  await loaded(again, 10_002)
  assert.deepEqual(again.history(), chat.history())
})

const isOpen = (texts) => 'open' in JSON.parse(texts.get('turnlock:chat:'))
/** Waits until `look` is true. */
async function until(look) {
  while (!look()) await new Promise((resolve) => setTimeout(resolve))
  return true
}

test('what cannot be kept or read throws nothing, and hides no failure of a turn', async () => {
  const messages = [{ role: 'user', content: 'q' }]
  const deaf = { run: (own) => answering.run({ ...own, messages }) }
  const chat = createChat({ turns: deaf, persist: place().persist })
  await until(() => chat.send({ role: 'user', content: 'q', at: 1n }))
  const { error } = await reach(chat, ({ error }) => error)
  assert.equal(error.code, 'store.unavailable')
  const full = () => {
    throw new Error('no room')
  }
  const failing = { run: () => assert.fail('no turn') }
  const both = createChat({ turns: failing, persist: (_, text) => text && full() })
  await until(() => both.send('q'))
  assert.equal((await reach(both, ({ status }) => status === 'failed')).error.code, 'ERR_ASSERTION')
  for (const text of ['{', '[]', '{"v":1,"rounds":[{}]}', '{"v":1,"rounds":[]}', '{"v":2}']) {
    const { persist } = place(new Map([['turnlock:chat:', text]]))
    const chat = createChat({
      turns: answering,
      messages: [{ role: 'user', content: 'q' }],
      persist,
    })
    await until(() => chat.send('next'))
    assert.equal((await ended(chat)).messages.length, 3, text)
  }
})
