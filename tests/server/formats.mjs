// The formats of other clients, in every runtime: each is loaded with the first request.
import assert from 'node:assert/strict'
import { Client, fresh } from './client.mjs'

/** The frames of a stream, without comments and its end mark. */
async function framesOf(response) {
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type'), /^text\/event-stream/)
  const lines = (await response.text()).split('\n').filter((line) => /^data: \{/.test(line))
  return lines.map((line) => JSON.parse(line.slice(6)))
}
const typesOf = (frames) =>
  frames.map(({ type }) => type).filter((type) => !type.startsWith('data-'))

export const formats = {
  'a chat of the AI SDK: asked, replayed, approved, over': async (host) => {
    const chat = fresh('chat')
    const client = new Client(host.url, { base: '/ai-sdk', script: 'one-call' })
    const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'list' }] }
    const body = { id: chat, trigger: 'submit-message' }
    const response = await client.post('', { ...body, messages: [user] })
    assert.equal(response.headers.get('x-vercel-ai-ui-message-stream'), 'v1')
    const asked = await framesOf(response)
    const types = typesOf(asked)
    assert.deepEqual(
      types.filter((type, at) => type !== types[at - 1]),
      [
        'start',
        'start-step',
        'text-start',
        'text-delta',
        'text-end',
        'tool-input-available',
        'tool-approval-request',
        'finish-step',
        'finish',
      ],
    )
    const again = await framesOf(await client.fetch(`/${chat}/stream`))
    assert.deepEqual(again, asked, 'a reloaded page sees the same')
    assert.equal((await client.fetch('/another/stream')).status, 204)
    const { messageId } = asked[0]
    const { approvalId, toolCallId } = asked.find(({ approvalId }) => approvalId)
    const approval = { id: approvalId, approved: true }
    const part = { type: 'tool-list_files', toolCallId, state: 'approval-responded', approval }
    const assistant = { id: messageId, role: 'assistant', parts: [part] }
    const rest = await framesOf(await client.post('', { ...body, messages: [user, assistant] }))
    assert.equal(rest[0].messageId, messageId)
    const output = rest.find(({ type }) => type === 'tool-output-available')
    assert.deepEqual([output.toolCallId, output.output], [toolCallId, ['notes.txt', 'readme.md']])
    assert.deepEqual(rest.at(-1), { type: 'finish', finishReason: 'stop' })
    assert.equal((await client.fetch(`/${chat}/stream`)).status, 204)
    const twice = await client.post('', { ...body, messages: [user, assistant] })
    assert.equal(twice.status, 409)
    await twice.body?.cancel()
  },

  'a chat of the AI SDK: a denial, whose reason reaches the model': async (host) => {
    const client = new Client(host.url, { base: '/ai-sdk', script: 'one-call' })
    const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'list' }] }
    const body = { id: fresh('chat'), trigger: 'submit-message' }
    const asked = await framesOf(await client.post('', { ...body, messages: [user] }))
    const { messageId } = asked[0]
    const { approvalId, toolCallId } = asked.find(({ approvalId }) => approvalId)
    const approval = { id: approvalId, approved: false, reason: 'only the drafts' }
    const part = { type: 'tool-list_files', toolCallId, state: 'approval-responded', approval }
    const assistant = { id: messageId, role: 'assistant', parts: [part] }
    const rest = await framesOf(await client.post('', { ...body, messages: [user, assistant] }))
    assert.deepEqual(
      rest.filter(({ type }) => /^tool-output/.test(type)),
      [{ type: 'tool-output-denied', toolCallId }],
    )
    const [last] = host.provider.requests(client.session).slice(-1)
    assert.ok(JSON.stringify(last.body).includes('only the drafts'))
  },

  'a run of AG-UI: asked, denied, over': async (host) => {
    const client = new Client(host.url, { base: '/ag-ui', script: 'one-call' })
    const body = { threadId: fresh('thread'), runId: 'run-1', tools: [], context: [] }
    const messages = [{ id: 'u1', role: 'user', content: 'list' }]
    const asked = await framesOf(await client.post('', { ...body, messages }))
    assert.deepEqual(asked[0], { type: 'RUN_STARTED', threadId: body.threadId, runId: 'run-1' })
    const { outcome } = asked.at(-1)
    const [{ id }] = outcome.interrupts
    const payload = { approved: false, reason: 'only the drafts' }
    const resume = [{ interruptId: id, status: 'resolved', payload }]
    const rest = await framesOf(
      await client.post('', { ...body, runId: 'run-2', messages, resume }),
    )
    assert.equal(rest[0].runId, 'run-2')
    assert.ok(rest.some(({ type, content }) => /RESULT$/.test(type) && /did not run/.test(content)))
    assert.deepEqual(rest.at(-1).result, { status: 'complete' })
    const [last] = host.provider.requests(client.session).slice(-1)
    assert.ok(JSON.stringify(last.body).includes('only the drafts'))
  },

  'answers in JSON, in both formats: whole, behind what is said before a call': async (host) => {
    const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'list' }] }]
    const chat = new Client(host.url, { base: '/json-ai-sdk', script: 'json-answer' })
    const frames = await framesOf(await chat.post('', { id: fresh('chat'), messages }))
    const deltas = frames.filter(({ type }) => type === 'text-delta')
    const textOf = (id) => deltas.filter((one) => one.id === id).map(({ delta }) => delta)
    const said = [...new Set(deltas.map(({ id }) => id))].map((id) => textOf(id).join(''))
    assert.deepEqual(said, ['Let me look at the files. ', '{"files":2}'])
    const told = frames.filter(({ type }) => type.startsWith('data-')).map(({ data }) => data)
    assert.deepEqual(told.find(({ type }) => type === 'complete')?.object, { files: 2 })
    const refused = new Client(host.url, { base: '/json-ai-sdk', script: 'one-call' })
    const failed = await framesOf(await refused.post('', { id: fresh('chat'), messages }))
    assert.match(failed.find(({ type }) => type === 'error').errorText, /answer.*schema|JSON/i)

    const run = { threadId: fresh('thread'), runId: 'run-1', tools: [], context: [] }
    const asked = [{ id: 'u1', role: 'user', content: 'list' }]
    const agent = new Client(host.url, { base: '/json-ag-ui', script: 'json-answer' })
    const events = await framesOf(await agent.post('', { ...run, messages: asked }))
    const deltasOf = events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
    assert.equal(
      deltasOf.map(({ delta }) => delta).join(''),
      'Let me look at the files. {"files":2}',
    )
    assert.deepEqual(events.at(-1).result, { status: 'complete', object: { files: 2 } })
  },
}
