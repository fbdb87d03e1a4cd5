// A handler whose clients are given redacted events: at the first request, wherever they attach again,
// and in each format.
import assert from 'node:assert/strict'
import test from 'node:test'
import { customModel, defineTool, memoryStore, TurnlockError } from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { createRedactor } from 'turnlock/redact'
import { createHandler } from 'turnlock/server'
import { ANSWER, MAIL, model, redact, SECRETS, SHOWN, texts, tools, VALUE } from './secrets.mjs'

const authorize = (request) => ({ tenant: request.headers.get('x-tenant') ?? 'ann' })
const handlerOf = (options) =>
  createHandler({ model: model(2), tools: tools(), store: memoryStore(), authorize, ...options })

const request = (path, body, headers) =>
  new Request(`http://app.example/api/chat${path}`, {
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
const messages = [{ role: 'user', content: 'go' }]

/** The events of a response; its bytes have no secret. */
async function eventsOf(response) {
  const body = await response.text()
  for (const secret of SECRETS) assert.ok(!body.includes(secret), `${secret} in ${body}`)
  return [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data))
}

test('clients get redacted events, and the same wherever they attach again', async () => {
  const ended = []
  const heard = []
  const handler = handlerOf({
    redact,
    onEnd: (result) => ended.push(result.text),
    onEvent: (event) => heard.push(event),
  })
  const start = request('/messages_two_stage', { messages, requestId: 'r' })
  const events = await eventsOf(await handler(start))
  assert.equal(texts(events), `Looking for [redacted:email]. ${SHOWN}`)
  assert.equal(events.at(-1).type, 'complete')
  for (const { seq } of events.slice(0, -1)) {
    const rest = await eventsOf(await handler(request(`/r/events?after=${seq}`)))
    assert.deepEqual(
      rest,
      events.filter((event) => event.seq > seq),
    )
  }
  const after = { 'last-event-id': String(events.at(-1).seq) }
  assert.equal((await handler(request('/r/events', undefined, after))).status, 204)
  // What is the host's is whole.
  assert.deepEqual(ended, [ANSWER])
  assert.ok(JSON.stringify(heard).includes(MAIL))
})

test('a turn that a client resumes is redacted, too', async () => {
  const handler = handlerOf({ redact })
  const policy = { pauseAfterTools: true }
  const start = request('/messages_two_stage', { messages, requestId: 'r', policy })
  const paused = await eventsOf(await handler(start))
  const { resume } = paused.at(-1)
  const rest = await eventsOf(await handler(request('/resume', resume)))
  assert.ok(texts(rest).endsWith(SHOWN))
})

for (const format of ['ai-sdk', 'ag-ui']) {
  test(`so do clients of ${format}`, async () => {
    const handler = handlerOf({ redact, format })
    const parts = [{ type: 'text', text: 'go' }]
    const body =
      format === 'ai-sdk'
        ? { id: 'chat', messages: [{ id: 'm', role: 'user', parts }] }
        : {
            threadId: 't',
            runId: 'r',
            state: {},
            tools: [],
            context: [],
            forwardedProps: {},
            messages: [{ id: 'm', role: 'user', content: 'go' }],
          }
    const text = await (await handler(request('', body))).text()
    for (const secret of SECRETS) assert.ok(!text.includes(secret), `${secret} in ${text}`)
    assert.match(text, /\[redacted:email\]/)
  })
}

test('each session may have a redactor of its own', async () => {
  const of = {
    ann: createRedactor({ kinds: ['email'] }),
    bob: createRedactor({ kinds: ['phone'] }),
  }
  const handler = handlerOf({ redact: (_, { tenant }) => of[tenant] })
  const shown = async (tenant) => {
    const start = request('/messages', { messages }, { 'x-tenant': tenant })
    const body = await (await handler(start)).text()
    return [MAIL, '555 2671'].map((secret) => body.includes(secret))
  }
  assert.deepEqual(await shown('ann'), [false, true])
  assert.deepEqual(await shown('bob'), [true, false])
})

test('what is no redactor is refused', () => {
  for (const wrong of [{}, 7, 'mail', null]) {
    assert.throws(() => handlerOf({ redact: wrong }), { code: 'options.invalid' })
  }
})

test('so are passes with their trace, bundles and chains', async () => {
  const asks = customModel(async function* ({ messages }) {
    const isPlan = JSON.stringify(messages).includes('TOOL RESULT')
    const call = { tool_name: 'find', params: { who: MAIL, password: 'xyz' }, reason: `of ${MAIL}` }
    const text = JSON.stringify(isPlan ? { mail: MAIL } : { tool_calls: [call] })
    yield { type: 'text', text }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })
  const find = defineTool({
    description: 'finds',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => ({ mail: MAIL, value: VALUE, password: 'xyz' }),
  })
  const steps = [{ id: '1', type: 'search', query: MAIL, focus: MAIL, depends_on: [] }]
  const plan = { reasoning: VALUE, pattern: 'sequential', steps, stopping_criteria: MAIL }
  const handler = handlerOf({
    redact,
    passes: {
      plan: () => runPlanning({ model: asks, input: { q: 1 }, tools: { find }, planId: 'p' }),
    },
    bundles: {
      three: () =>
        runBundle({
          task: MAIL,
          replicate: ({ id }) => ({
            data: { mail: MAIL, password: 'xyz', id: id === 'r2' ? VALUE : 1 },
          }),
        }),
    },
    chains: {
      search: () =>
        runChain({
          query: 'compare a and b',
          classify: () => ({ complexity: 'complex' }),
          answer: () => MAIL,
          plan: () => JSON.stringify(plan),
          search: () => ({ title: VALUE, mail: MAIL }),
          async *synthesize() {
            for (const one of ANSWER.match(/.{1,3}/gsu)) yield one
          },
        }),
    },
  })
  const run = async (path) => eventsOf(await handler(request(path, {})))
  const pass = await run('/passes/plan')
  assert.deepEqual(pass.at(-1).plan, { mail: '[redacted:email]' })
  const trace = await (await handler(request('/agents/events?plan_id=p'))).text()
  for (const secret of SECRETS) assert.ok(!trace.includes(secret), `${secret} in ${trace}`)
  assert.match(trace, /\[redacted:email\]/)
  const bundle = await run('/bundles/three')
  assert.match(JSON.stringify(bundle.at(-1)), /\[redacted:email\]/)
  assert.equal(texts(await run('/chains/search')), SHOWN)
})

const OWN = 'hunter2-registered-value'
const hides = createRedactor({ values: [OWN] })
const said = (parts) =>
  customModel(async function* () {
    for (const [type, text] of parts) yield { type, text }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })
const joined = (events) =>
  events
    .map((event) => (/^(text|TEXT)/.test(event.type) ? (event.chunk ?? event.delta ?? '') : ''))
    .join('')
const asked = {
  'ai-sdk': {
    id: 'chat',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  },
  'ag-ui': {
    threadId: 't',
    runId: 'r',
    state: {},
    tools: [],
    context: [],
    forwardedProps: {},
    messages: [{ id: 'm', role: 'user', content: 'go' }],
  },
}
const read = async (response) =>
  Array.from((await response.text()).matchAll(/^data: (\{.*)$/gm), ([, data]) => JSON.parse(data))

for (const format of [undefined, 'ai-sdk', 'ag-ui']) {
  test(`reasoning between two halves of a secret shows neither: ${format ?? 'own events'}`, async () => {
    for (let at = 1; at < OWN.length; at++) {
      const model = said([
        ['text', `Key ${OWN.slice(0, at)}`],
        ['reasoning', 'hm'],
        ['text', `${OWN.slice(at)}, and ada.lov`],
        ['reasoning', '.'],
        ['text', 'elace@example.com.'],
      ])
      const handler = handlerOf({ redact: hides, model, ...(format && { format }) })
      const body = format ? asked[format] : { messages }
      const events = await read(await handler(request(format ? '' : '/messages', body)))
      assert.equal(joined(events), 'Key [redacted:value], and [redacted:email].')
    }
  })
}

test('a pause between two halves of a secret: the rest is not shown, nor to who attaches', async () => {
  let asks = 0
  const model = customModel(async function* () {
    if (asks++ === 0) {
      yield { type: 'text', text: `Key ${OWN.slice(0, 12)}` }
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'pay' }
      yield { type: 'tool_call_arguments', index: 0, text: '{}' }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'finish', reason: 'tool_calls', raw: 'tool_calls' }
      return
    }
    yield { type: 'text', text: `${OWN.slice(12)} and more.` }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })
  const pay = defineTool({
    description: 'pays',
    inputSchema: { type: 'object' },
    needsApproval: true,
    execute: () => 1,
  })
  const store = memoryStore()
  const handler = handlerOf({ redact: hides, model, store, tools: { pay } })
  const start = request('/messages', { messages, requestId: 'r' })
  const paused = await read(await handler(start))
  const [{ signature }] = paused.at(-1).approvals
  const body = { requestId: 'r', approvals: [{ signature, approved: true }] }
  const resumed = await read(await handler(request('/resume', body)))
  assert.equal(joined([...paused, ...resumed]), 'Key [redacted:value] and more.')
  const all = [...paused, ...resumed]
  for (let at = 0; at < all.length - 1; at++) {
    const rest = await read(await handler(request(`/r/events?after=${all[at].seq}`)))
    assert.deepEqual(rest, all.slice(at + 1))
  }
})

test('what functions of the host throw is redacted where it is told', async () => {
  const fails = () => {
    throw new TurnlockError('json.own', `no ${OWN}`)
  }
  const handler = handlerOf({
    redact: hides,
    passes: { p: fails },
    bundles: { b: fails },
    prepare: fails,
  })
  for (const path of ['/passes/p', '/bundles/b', '/messages']) {
    const response = await handler(request(path, { messages }))
    assert.equal(response.status, 400)
    assert.equal((await response.json()).error.message, 'no [redacted:value]')
  }
})
