// A turn that was run on one provider goes on with every other, in whatever shape its history is.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import * as turnlock from 'turnlock'
import { CLIENTS, modelOf } from '../lanes.mjs'
import { createProvider } from './server.mjs'

const WIRES = Object.keys(CLIENTS)

let provider
before(async () => (provider = await createProvider()))
after(() => provider.close())

const tool = (returns) =>
  turnlock.defineTool({
    description: 'Reads.',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => returns,
  })
const tools = { list_files: tool(['a.txt']), read_file: tool('Call Ada') }
const user = (content) => ({ role: 'user', content })

let sessions = 0
/** A turn, and the requests that it made. */
async function run(dialect, behaviour, own) {
  const session = `relay-${sessions++}`
  const baseURL = `${provider.url}/s/${session}/${behaviour}/v1`
  const options = { baseURL, model: 'scripted', apiKey: 'secret', maxRetries: 0 }
  const model = modelOf(turnlock, dialect, options)
  const turn = turnlock.runTurn({ model, tools, policy: { maxTools: 2 }, ...own })
  const events = []
  for await (const event of turn) events.push(event)
  const result = await turn.result
  assert.equal(result.status, 'complete', `${dialect}: ${result.error?.message}`)
  return { result, events, requests: provider.requests(session) }
}

const native = { policy: { maxTools: 2, resultsAs: 'native' } }

for (const from of WIRES) {
  test(`reasoning with calls is sent back (${from})`, async () => {
    const { requests } = await run(from, 'thinks', { messages: [user('go')], ...native })
    const [, second] = requests
    const sent = JSON.stringify(second.messages)
    // What needs no signature: a plan or a thought.
    const unsigned = ['openai-chat', 'cohere', 'ollama']
    assert.ok(sent.includes(unsigned.includes(from) ? 'Both may be' : '"sig"'), sent)
    assert.deepEqual(turnlock.diagnoseHistory(second.messages, { dialect: from }), [])
  })

  test(`a turn of ${from} goes on with every provider`, async () => {
    for (const resultsAs of ['native', 'box']) {
      const policy = { maxTools: 2, resultsAs }
      const first = await run(from, 'thinks', { messages: [user('go')], policy })
      // What the turn added, its events, and what the provider was sent.
      const { messages } = first.result
      const told = [user('go'), ...messages, user('and now?')]
      const events = [user('go'), ...first.events, user('and now?')]
      const own = first.requests.at(-1).messages
      for (const to of WIRES) {
        const second = await run(to, 'answer', { messages: told })
        assert.deepEqual(second.result.repairs, [], `${from} to ${to}`)
        const text = JSON.stringify(second.requests[0].messages)
        for (const part of ['a.txt', 'Call Ada']) assert.ok(text.includes(part), text)
        const read = await run(to, 'answer', { messages: events })
        // The events of a turn do not have what goes back on OpenAI's wire; its messages do.
        const [fromEvents, fromMessages] = [read, second].map(({ requests: [{ messages }] }) =>
          messages.map(({ reasoning_content, ...message }) => message),
        )
        assert.deepEqual(fromEvents, fromMessages, `${from} to ${to}`)
        if (resultsAs === 'box') continue
        const shaped = await run(to, 'answer', { messages: [...own, user('and now?')] })
        const list = JSON.stringify(shaped.requests[0].messages)
        for (const part of ['a.txt', 'Call Ada']) assert.ok(list.includes(part), list)
        // No other provider takes it; Bedrock's is Anthropic's.
        const signs = JSON.stringify(own).includes('"sig"')
        const kin = to === from || [from, to].sort().join() === 'anthropic,bedrock'
        assert.equal(list.includes('"sig"'), signs && kin, `${from} to ${to}`)
      }
    }
  })

  test(`a turn that paused on ${from} is resumed on every provider`, async () => {
    for (const to of WIRES) {
      const store = turnlock.memoryStore()
      const requestId = `paused-${from}-${to}`
      const session = `relay-${sessions++}`
      const model = (dialect) =>
        modelOf(turnlock, dialect, {
          baseURL: `${provider.url}/s/${session}/thinks/v1`,
          model: 'scripted',
          maxRetries: 0,
        })
      const policy = { ...native.policy, pauseAfterTools: true }
      const messages = [user('go')]
      const first = await turnlock.runTurn({
        model: model(from),
        tools,
        messages,
        policy,
        store,
        requestId,
      }).result
      assert.equal(first.status, 'paused')
      const { status, error } = await turnlock.resumeTurn({
        requestId,
        toolBatchId: 1,
        model: model(to),
        tools,
        store,
      }).result
      assert.equal(status, 'complete', `${from} to ${to}: ${error?.message}`)
      const [, second] = provider.requests(session)
      const sent = JSON.stringify(second.messages)
      for (const part of ['a.txt', 'Call Ada']) assert.ok(sent.includes(part), sent)
      // The reasoning is that of its own provider.
      const signs = !['openai-chat', 'cohere', 'ollama'].includes(from)
      assert.equal(sent.includes('"sig"'), signs && from === to, `${from} to ${to}: ${sent}`)
    }
  })

  test(`a turn that paused on ${from} is resumed with a fallback of every wire`, async () => {
    for (const to of WIRES) {
      const store = turnlock.memoryStore()
      const requestId = `fallback-${from}-${to}`
      const session = `relay-${sessions++}`
      const model = (dialect, behaviour) =>
        modelOf(turnlock, dialect, {
          baseURL: `${provider.url}/s/${session}/${behaviour}/v1`,
          maxRetries: 0,
          model: `${dialect}-${behaviour}`,
        })
      const own = { tools, store, requestId, fallbacks: [model(to, 'thinks')] }
      const policy = { ...native.policy, pauseAfterTools: true }
      const first = await turnlock.runTurn({
        ...own,
        model: model(from, 'thinks'),
        messages: [user('go')],
        policy,
      }).result
      assert.equal(first.status, 'paused')
      const second = await turnlock.resumeTurn({
        ...own,
        toolBatchId: 1,
        model: model(from, 'server-error'),
      }).result
      assert.equal(second.status, 'complete', `${from} to ${to}: ${second.error?.message}`)
      assert.equal(second.model, `${to}-thinks`)
      const requests = provider.requests(session)
      assert.equal(requests.length, 3)
      const { messages } = requests[2]
      assert.deepEqual(turnlock.diagnoseHistory(messages, { dialect: to }), [], `${from} to ${to}`)
      const sent = JSON.stringify(messages)
      for (const part of ['a.txt', 'Call Ada']) assert.ok(sent.includes(part), sent)
      // A fallback of another wire has no use for the reasoning.
      const signs = !['openai-chat', 'cohere', 'ollama'].includes(from)
      assert.equal(sent.includes('"sig"'), signs && from === to, `${from} to ${to}: ${sent}`)
    }
  })

  test(`an image of a turn of ${from} reaches every provider`, async () => {
    const image = 'iVBORw0KGgoAAAANSUhEUg=='
    const url = `data:image/png;base64,${image}`
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url } },
    ]
    const asked = { role: 'user', content }
    const first = await run(from, 'thinks', { messages: [asked], ...native })
    const own = first.requests.at(-1).messages
    assert.ok(JSON.stringify(own).includes(image), `${from}: ${JSON.stringify(own)}`)
    for (const to of WIRES) {
      const { requests } = await run(to, 'answer', { messages: [...own, user('and now?')] })
      const { messages } = requests[0]
      assert.ok(JSON.stringify(messages).includes(image), `${from} to ${to}`)
      assert.deepEqual(turnlock.diagnoseHistory(messages, { dialect: to }), [], `${from} to ${to}`)
    }
  })
}
