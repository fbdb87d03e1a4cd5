// A handler whose clients are given redacted events: at the first request, wherever they attach again,
// and in each format.
import assert from 'node:assert/strict'
import test from 'node:test'
import { memoryStore } from 'turnlock'
import { createRedactor } from 'turnlock/redact'
import { createHandler } from 'turnlock/server'
import { ANSWER, MAIL, model, redact, SECRETS, SHOWN, texts, tools } from './secrets.mjs'

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
            ...{ threadId: 't', runId: 'r', state: {}, tools: [], context: [], forwardedProps: {} },
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
