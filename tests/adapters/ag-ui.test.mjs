// Every event log of the scenario tables as AG-UI over HTTP, read by the clients of 0.0.59 and 1.0.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test, { after, before } from 'node:test'
import * as client1 from '@ag-ui/client'
import * as client0 from 'ag-ui-client0'
import { AgUiStream } from '../../pkg/dist/adapters/ag-ui/stream.js'
import { defineTool, memoryStore, normalizeHistory, openaiChat } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { createProvider } from '../provider/server.mjs'
import { scenarioLogs, standingText } from './logs.mjs'

let [logs, server, url, body] = []
before(async () => {
  logs = await scenarioLogs()
  server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${server.address().port}/`
})
after(() => server?.close())

/** The messages and interrupts of an agent behind the legs of a turn, a run each. */
async function runLegs({ HttpAgent }, legs) {
  const agent = new HttpAgent({ url, threadId: 'thread' })
  agent.messages = [{ id: 'u', role: 'user', content: 'go' }]
  let [failed, interrupts] = []
  let asked = 0
  for (const [at, leg] of legs.entries()) {
    const runId = `run-${at}`
    const stream = new AgUiStream({ requestId: leg[0].requestId, threadId: 'thread', runId })
    stream.seen(legs.slice(0, at).flat())
    const events = [...leg.flatMap((event) => stream.take(event)), ...stream.finish()]
    body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    interrupts = events.at(-1)?.outcome?.interrupts ?? []
    asked += interrupts.length
    failed = undefined
    const told = {
      onRunErrorEvent: ({ event }) => void (failed = event),
      onRunFailed: ({ error }) => void (failed ??= error),
    }
    const resume = agent.pendingInterrupts?.map(({ id }) => ({
      interruptId: id,
      status: 'resolved',
      payload: { approved: true },
    }))
    await agent.runAgent({ runId, ...(resume?.length && { resume }) }, told).catch((error) => {
      failed ??= error
    })
    // What a client adds for the calls that its page has run.
    const { requestId, calls = [] } = leg.at(-1)
    const open = (id) => !agent.messages.some(({ toolCallId }) => toolCallId === id)
    const ids = calls.map(({ id }) => `${requestId}:${id}`).filter(open)
    if (at < legs.length - 1) {
      agent.addMessages(
        ids.map((id) => ({ id: `own ${id}`, role: 'tool', toolCallId: id, content: '1' })),
      )
    }
  }
  return { messages: agent.messages.slice(1), failed, interrupts, asked }
}

const textOf = (messages) =>
  messages.map(({ role, content }) => (role === 'assistant' ? (content ?? '') : '')).join('')

for (const [name, client] of Object.entries({ '0.0.59': client0, '1.0.0': client1 })) {
  test(`the client of ${name} reads every turn of the scenario tables`, async () => {
    assert.ok(logs.length > 150, `${logs.length} scenarios`)
    let [waited, reasoned] = [0, 0]
    for (const { name: scenario, legs } of logs) {
      if (legs.length === 0) continue
      const events = legs.flat()
      const last = events.at(-1)
      const { messages, failed, interrupts, asked } = await runLegs(client, legs)
      const where = `${scenario}\n${JSON.stringify(messages)}\n${failed?.stack ?? ''}`
      if (last.type === 'error') {
        assert.equal(failed?.code, last.code, where)
        continue
      }
      // A turn whose process died has no last event.
      assert.equal(failed, undefined, where)
      if (last.type !== 'complete' && last.type !== 'paused') continue
      const isVoid = events.some(({ voidFrom }) => voidFrom)
      if (!isVoid) assert.equal(textOf(messages), standingText(events), where)
      const told = events.flatMap((one) => (one.type === 'tool_results' ? one.toolResults : []))
      const revised = told.some((result) => result.revised)
      const results = messages.filter(({ role }) => role === 'tool')
      if (!revised) assert.ok(results.length >= told.length, where)
      assert.equal(interrupts.length, last.approvals?.length ?? 0, where)
      waited += asked
      reasoned += messages.filter(({ role }) => role === 'reasoning').length
      // What the client has is a history.
      const history = messages.filter(({ role }) => role !== 'reasoning')
      normalizeHistory([...history, { role: 'user', content: 'and now?' }], {
        dialect: 'anthropic',
      })
    }
    assert.ok(waited > 3 && reasoned > 3, `${waited} interrupts, ${reasoned} of reasoning`)
  })
}

/** A handler before the scripted provider. */
async function site(behaviour, { page, ...more } = {}) {
  const provider = await createProvider()
  const runs = []
  const baseURL = `${provider.url}/s/one/${behaviour}/v1`
  const handler = createHandler({
    model: openaiChat({ baseURL, model: 'scripted', apiKey: 'secret', maxRetries: 0 }),
    tools: {
      list_files: defineTool({
        description: 'd',
        inputSchema: { type: 'object' },
        readOnly: true,
        ...more,
        ...(!page && { execute: (args) => (runs.push(args), ['notes.txt']) }),
      }),
    },
    store: memoryStore(),
    authorize: () => ({ tenant: 't' }),
    format: 'ag-ui',
  })
  const listener = createServer(toNodeListener(handler)).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const close = async () => {
    listener.closeAllConnections()
    listener.close()
    await provider.close()
  }
  return { url: `http://127.0.0.1:${listener.address().port}/api/chat`, runs, close }
}

for (const [name, { HttpAgent }] of Object.entries({ '0.0.59': client0, '1.0.0': client1 })) {
  test(`an HttpAgent of ${name} asks, and asks again`, async () => {
    const { url, runs, close } = await site('one-call')
    const agent = new HttpAgent({ url, threadId: 'thread-1' })
    agent.messages = [{ id: 'u1', role: 'user', content: 'list' }]
    await agent.runAgent()
    assert.deepEqual(
      agent.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
    assert.match(
      agent.messages[3].content,
      /^From the tool results .*notes\.txt.* That answers it\.$/,
    )
    assert.deepEqual(JSON.parse(agent.messages[2].content), ['notes.txt'])
    const before = agent.messages.length
    agent.addMessage({ id: 'u2', role: 'user', content: 'again' })
    await agent.runAgent()
    assert.ok(agent.messages.length > before + 1)
    assert.deepEqual(runs, [{ path: '.', recursive: true }])
    await close()
  })

  for (const approved of [true, false]) {
    test(`an HttpAgent of ${name}: an interrupt is ${approved ? 'approved' : 'denied'}`, async () => {
      const { url, runs, close } = await site('one-call', { needsApproval: true })
      const agent = new HttpAgent({ url, threadId: 'thread-1' })
      agent.messages = [{ id: 'u1', role: 'user', content: 'list' }]
      let outcome
      await agent.runAgent(
        {},
        { onRunFinishedEvent: ({ event }) => void (outcome = event.outcome) },
      )
      assert.equal(outcome.type, 'interrupt')
      const [{ id, reason, toolCallId, responseSchema }] = outcome.interrupts
      assert.deepEqual([reason, runs.length], ['tool_call', 0])
      assert.deepEqual(Object.keys(responseSchema.properties), ['approved', 'reason'])
      const call = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls)
      assert.equal(call[0].id, toolCallId)
      const resume = [{ interruptId: id, status: 'resolved', payload: { approved } }]
      await agent.runAgent({ resume })
      assert.equal(runs.length, approved ? 1 : 0)
      const answered = agent.messages.find((message) => message.toolCallId === toolCallId)
      assert.match(answered.content, approved ? /notes\.txt/ : /not approved/)
      assert.equal(agent.messages.at(-1).role, 'assistant')
      await close()
    })
  }

  test(`an HttpAgent of ${name}: a tool of the page`, async () => {
    const { url, close } = await site('one-call', { page: true, readOnly: false })
    const agent = new HttpAgent({ url, threadId: 'thread-1' })
    agent.messages = [{ id: 'u1', role: 'user', content: 'where?' }]
    // What a client says of its tools is not used: the host has their definitions.
    const tools = [{ name: 'list_files', description: 'x', parameters: { type: 'object' } }]
    let status
    const told = { onRunFinishedEvent: ({ event }) => void (status = event.result?.status) }
    await agent.runAgent({ tools }, told)
    assert.equal(status, 'paused')
    const [call, ...more] = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls)
    assert.deepEqual([call.function.name, more], ['list_files', []])
    assert.equal(agent.messages.at(-1).role, 'assistant')
    const other = new HttpAgent({ url, threadId: 'thread-1' })
    other.messages = structuredClone(agent.messages)
    const answer = (content) => ({ id: 't1', role: 'tool', toolCallId: call.id, content })
    agent.addMessage(answer('{"at":"home"}'))
    await agent.runAgent({ tools }, told)
    assert.equal(status, 'complete')
    assert.deepEqual(
      agent.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
    assert.match(agent.messages.at(-1).content, /From the tool results .*home.* That answers it\.$/)
    // Another tab is late: the first answer stands, and no turn begins.
    other.addMessage(answer('{"at":"work"}'))
    let refused
    await other
      .runAgent({ tools }, { onRunFailed: ({ error }) => void (refused = error) })
      .catch((error) => (refused ??= error))
    assert.match(String(refused?.message), /409/)
    agent.addMessage({ id: 'u2', role: 'user', content: 'thanks' })
    await agent.runAgent()
    assert.equal(agent.messages.at(-1).role, 'assistant')
    await close()
  })

  test(`an HttpAgent of ${name}: results that are no answer begin a turn, as before`, async () => {
    const { url, close } = await site('answer')
    const agent = new HttpAgent({ url, threadId: 'thread-1' })
    const id = `${crypto.randomUUID()}:c1`
    const toolCalls = [{ id, type: 'function', function: { name: 'list_files', arguments: '{}' } }]
    agent.messages = [
      { id: 'u1', role: 'user', content: 'list' },
      { id: 'a1', role: 'assistant', toolCalls },
      { id: 't1', role: 'tool', toolCallId: id, content: '[]' },
    ]
    await agent.runAgent()
    assert.equal(agent.messages.at(-1).role, 'assistant')
    await close()
  })

  test(`an HttpAgent of ${name}: refusals and failures`, async () => {
    const { url, close } = await site('no-such')
    const agent = new HttpAgent({ url, threadId: 'thread-1' })
    agent.messages = [{ id: 'u1', role: 'user', content: 'list' }]
    let failure
    await agent
      .runAgent({}, { onRunErrorEvent: ({ event }) => void (failure = event) })
      .catch((error) => (failure ??= error))
    assert.equal(failure.code, 'model.status')
    const resume = [{ interruptId: 'no interrupt', status: 'resolved' }]
    const post = (body) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ threadId: 't', runId: 'r', messages: [], ...body }),
      })
    for (const body of [{ resume }, { messages: [] }, { messages: 'none' }]) {
      const response = await post(body)
      assert.deepEqual(
        [response.status, (await response.json()).error.code],
        [400, 'request.invalid'],
      )
    }
    const unknown = [{ interruptId: `gone:${'0'.repeat(64)}`, status: 'resolved' }]
    assert.equal((await post({ resume: unknown })).status, 404)
    await close()
  })
}
