// What the result of a remote turn says: that of the whole turn, wherever its reader began.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRedactor } from 'turnlock/redact'
import {
  defineTool,
  diagnoseHistory,
  memoryStore,
  normalizeHistory,
  resumeTurn,
  runTurn,
} from 'turnlock'
import { createChat } from 'turnlock/chat'
import { remoteTurns } from 'turnlock/remote'
import { createHandler } from 'turnlock/server'
import { scriptedModel } from 'turnlock/testing'

const inputSchema = { type: 'object' }
const tools = {
  look: defineTool({ description: 'L', inputSchema, readOnly: true, execute: () => 'r' }),
  send: defineTool({ description: 'S', inputSchema, needsApproval: true, execute: () => 'sent' }),
}
const SCRIPT = [
  [
    { type: 'text', text: 'I look.' },
    { type: 'tool_call_start', index: 0, id: 'call_1', name: 'look' },
    { type: 'tool_call_arguments', index: 0, text: '{}' },
    { type: 'tool_call_end', index: 0 },
    { type: 'usage', usage: { inputTokens: 20, outputTokens: 4 } },
  ],
  { call: 'send', args: { to: 'ann' } },
  'Done.',
]
const user = { role: 'user', content: 'go' }
const next = { role: 'user', content: 'and now?' }

/** Turns of a handler, and what was asked of it. */
function edge({ script = SCRIPT, tenant = () => 'ann', ...more } = {}) {
  const asked = []
  const handler = createHandler({
    store: memoryStore(),
    tools,
    authorize: (request) => ({ tenant: tenant(request) }),
    model: scriptedModel(script),
    twoStage: { maxTools: 2 },
    ...more,
  })
  const turnsOf = (who = 'ann') =>
    remoteTurns({
      url: 'https://edge.example/api/chat',
      headers: { authorization: who },
      fetch: (url, init) => {
        asked.push(`${init.method} ${new URL(url).pathname}`)
        return handler(new Request(url, init))
      },
    })
  return { turnsOf, asked }
}

const eventsOf = async (turn) => {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}
const yes = ({ approvals }) => approvals.map(({ signature }) => ({ signature, approved: true }))

/** The ways to run a turn that pauses for an approval, and to go on with it. */
const WAYS = {
  'in the page': () => {
    const own = { model: scriptedModel(SCRIPT), tools, store: memoryStore() }
    const policy = { maxTools: 2 }
    return {
      run: (given) => runTurn({ ...own, policy, ...given }),
      resume: (given) => resumeTurn({ ...own, ...given }),
    }
  },
  'at a handler': () => edge().turnsOf(),
  'at a handler, resumed by another page': () => {
    const { turnsOf } = edge()
    return { run: (given) => turnsOf().run(given), resume: (given) => turnsOf().resume(given) }
  },
}

/** What the guides say: the messages of a turn are appended once, when it has ended. */
async function asGuided({ run, resume }) {
  const messages = [user]
  let turn = run({ messages: [...messages], requestId: 'r' })
  let last
  for (;;) {
    for await (const event of turn) last = event
    if (last.type !== 'paused') break
    turn = resume({ ...last.resume, approvals: yes(last) })
  }
  const result = await turn.result
  messages.push(...result.messages)
  return { messages, result }
}

const spentOf = ({ usage, totalUsage, inferences }) => ({ usage, totalUsage, inferences })

for (const [name, way] of Object.entries(WAYS)) {
  test(`behind a pause, the result has the messages of the whole turn: ${name}`, async () => {
    const { messages, result } = await asGuided(way())
    assert.equal(result.status, 'complete')
    assert.equal(result.fullContent, 'I look.Done.')
    const here = await asGuided(WAYS['in the page']())
    assert.deepEqual(messages, here.messages)
    assert.deepEqual(spentOf(result), spentOf(here.result))
    assert.deepEqual([result.inferences, result.usage.totalTokens], [3, 24])
    assert.deepEqual(
      messages.map(
        ({ role, content, toolCalls }) => toolCalls?.map((call) => call.name) ?? [role, content],
      ),
      [['user', 'go'], ['look'], ['tool', 'r'], ['send'], ['tool', 'sent'], ['assistant', 'Done.']],
    )
    assert.deepEqual(
      result.toolResults.map(({ name: tool, result: value }) => [tool, value]),
      [
        ['look', 'r'],
        ['send', 'sent'],
      ],
    )
    for (const dialect of ['openai-chat', 'anthropic', 'gemini', 'mistral']) {
      const { messages: sent, repairs } = normalizeHistory([...messages, next], { dialect })
      assert.deepEqual(diagnoseHistory(sent, { dialect }), [])
      const changed = repairs.filter(({ action }) => action !== 'converted')
      assert.deepEqual(changed, [], dialect)
    }
  })
}

test('the events before are asked for with the result, and not without it', async () => {
  const { turnsOf, asked } = edge()
  const turns = turnsOf()
  const events = await eventsOf(turns.run({ messages: [user], requestId: 'r' }))
  const turn = turns.resume({ ...events.at(-1).resume, approvals: yes(events.at(-1)) })
  const rest = await eventsOf(turn)
  assert.equal(rest[0].seq, events.length + 1)
  assert.deepEqual(asked, ['POST /api/chat', 'POST /api/chat/resume'])
  assert.equal((await turn.result).messages.length, 5)
  assert.deepEqual(asked.slice(2), ['GET /api/chat/r/events'])
})

test('a turn that is followed behind an event has the whole result, and the events behind it', async () => {
  const { turnsOf } = edge({ script: [SCRIPT[0], 'Done. ', 'Done.'] })
  const turn = turnsOf().run({ messages: [user], requestId: 'r' })
  const events = await eventsOf(turn)
  const whole = await turn.result
  assert.equal(whole.status, 'complete')
  for (let after = 0; after <= events.length; after++) {
    const late = turnsOf().follow({ requestId: 'r', after })
    assert.deepEqual(await eventsOf(late), events.slice(after))
    assert.deepEqual(await late.result, whole, `behind ${after}`)
  }
})

test('a turn that pauses, fails or is cancelled says what it has used', async () => {
  const busy = { type: 'error', class: 'auth', retryable: false, message: 'no', raw: null }
  const broken = [...SCRIPT.slice(0, 1), [busy]]
  const never = { ...tools.look, execute: () => new Promise(() => {}) }
  const ends = { paused: {}, failed: { script: broken }, cancelled: { tools: { look: never } } }
  for (const [status, given] of Object.entries(ends)) {
    const { turnsOf } = edge(given)
    const turn = turnsOf().run({ messages: [user] })
    const events = []
    for await (const event of turn) {
      events.push(event)
      if (status === 'cancelled' && event.type === 'tool_calls') turn.cancel('enough')
    }
    const result = await turn.result
    assert.equal(result.status, status)
    assert.equal(result.usage.totalTokens, 24)
    assert.ok(result.inferences >= 1)
    assert.deepEqual(spentOf(events.at(-1)), spentOf(result))
  }
})

const say = (text) => ({ type: 'text', text })
const calls = (...names) =>
  names.flatMap((name, index) => [
    { type: 'tool_call_start', index, id: `${name}_${index}`, name },
    { type: 'tool_call_arguments', index, text: '{}' },
    { type: 'tool_call_end', index },
  ])

/** Turns of which the events and the result of a page say things in different order, or more. */
const SAME = {
  'refused calls of unified mode': {
    mode: 'unified',
    script: [[say('One.'), ...calls('gone', 'look')], [say('Two.'), ...calls('gone')], 'Done.'],
  },
  'text beside refused calls': { script: [[say('One.'), ...calls('gone')], 'Not shown.', 'Done.'] },
  'the first call settles last': { script: [calls('slow', 'look'), 'Done.'] },
  'a failure before the answer': { script: [[say('I look.'), ...calls('look')]], maxTools: 1 },
  'a failure in the answer': {
    script: [
      [say('I look.'), ...calls('look')],
      [say('Half'), 'broken'],
    ],
    maxTools: 1,
  },
}

for (const [name, { script, mode = 'two_stage', maxTools = 2 }] of Object.entries(SAME)) {
  test(`the result is that of a turn in the page: ${name}`, async () => {
    const slow = defineTool({
      description: 'W',
      inputSchema,
      execute: () => new Promise((resolve) => setTimeout(resolve, 20, 'late')),
    })
    const own = { tools: { ...tools, slow }, policy: { readMode: 'batch', maxTools } }
    const parts = { ...own, model: scriptedModel(script), store: memoryStore() }
    const here = await runTurn({ ...parts, messages: [user], mode }).result
    const handler = createHandler({
      ...parts,
      model: scriptedModel(script),
      twoStage: { maxTools },
      authorize: () => ({ tenant: 'ann' }),
    })
    const path = mode === 'unified' ? '/api/chat/messages' : '/api/chat'
    const turns = remoteTurns({
      url: 'https://edge.example/api/chat',
      fetch: (url, init) => {
        const { pathname } = new URL(url)
        const at = pathname === '/api/chat' ? path : pathname
        return handler(new Request(new URL(at, url), init))
      },
    })
    const { chat, there } = await new Promise((resolve) => {
      const chat = createChat({
        turns: {
          run: (given) => {
            const turn = turns.run(given)
            void turn.result.then((there) => resolve({ chat, there }))
            return turn
          },
        },
      })
      chat.send('go')
    })
    const seen = ({ status, text, fullContent, messages, toolResults }) => ({
      status,
      text,
      fullContent,
      messages,
      results: toolResults.map(({ toolCallId, status: ended }) => [toolCallId, ended]),
    })
    assert.deepEqual(seen(there), seen(here))
    // A chat knows no inferences: it divides no text.
    const plain = (list) =>
      list.map((one) => ({ ...one, content: one.content.replace('\n\n', '') }))
    assert.deepEqual(plain(chat.history().slice(1)), plain(here.messages))
  })
}

test('a result without the events before is marked as partial', async () => {
  const { turnsOf } = edge()
  const turn = turnsOf().run({ messages: [user], requestId: 'r' })
  const events = await eventsOf(turn)
  const lost = remoteTurns({
    url: 'https://edge.example/api/chat',
    maxRetries: 0,
    fetch: async (_, { headers }) => {
      const after = Number(headers['last-event-id'])
      if (after === 0)
        return Response.json({ error: { code: 'turn.events_gone' } }, { status: 410 })
      const text = events.slice(after).map((event) => `data: ${JSON.stringify(event)}\n\n`)
      return new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  const from = events.findIndex(({ type }) => type === 'tool_results') + 1
  const result = await lost.follow({ requestId: 'r', after: from }).result
  assert.deepEqual([result.status, result.partial, result.messages], ['paused', true, []])
  assert.equal('partial' in (await turn.result), false)
})

for (const redact of [undefined, createRedactor()]) {
  const how = redact ? 'with redaction' : 'without redaction'
  test(`an unknown turn and another tenant’s are turn.not_found at once, ${how}`, async () => {
    const tenant = (request) => request.headers.get('authorization')
    const { turnsOf, asked } = edge({ tenant, ...(redact && { redact }) })
    await turnsOf('ann').run({ messages: [user], requestId: 'r' }).result
    asked.splice(0)
    const told = []
    for (const [requestId, after] of [
      ['r', 0],
      ['nobody', 0],
      ['r', 3],
      ['nobody', 3],
    ]) {
      const [event, ...more] = await eventsOf(turnsOf('bob').follow({ requestId, after }))
      assert.deepEqual([event.type, event.code, more], ['error', 'turn.not_found', []])
      const { requestId: _, ...rest } = event
      told.push(rest)
    }
    // One request each, and nothing that tells the one from the other.
    assert.equal(asked.length, 4)
    assert.deepEqual(told[0], told[1])
    assert.deepEqual(told[2], told[3])
  })
}

test('a turn that pauses tells its repeats as its owner does', async () => {
  const call = (index, name) => [
    { type: 'tool_call_start', index, id: `call_${index}`, name },
    { type: 'tool_call_arguments', index, text: '{}' },
    { type: 'tool_call_end', index },
  ]
  /** Without what no event tells, and without times. */
  const told = ({ repairs, finishReason, rawFinishReason, model, resume, ...rest }) =>
    JSON.parse(JSON.stringify(rest, (name, value) => (name === 'durationMs' ? 0 : value)))

  // Two calls alike: the second has the result of the first, which is no refusal.
  const alike = [[...call(0, 'look'), ...call(1, 'look')], 'Enough.', 'Done.']
  const pausing = { policy: { pauseAfterTools: true }, twoStage: { maxTools: 3 } }
  const here = await runTurn({
    model: scriptedModel(alike),
    tools,
    store: memoryStore(),
    requestId: 'r',
    messages: [user],
    policy: { maxTools: 3, pauseAfterTools: true },
  }).result
  const there = await edge({ script: alike, ...pausing })
    .turnsOf()
    .run({ messages: [user], requestId: 'r' }).result
  assert.equal(here.blockedSignatures.length, 1)
  assert.deepEqual(told(there), told(here))
})
