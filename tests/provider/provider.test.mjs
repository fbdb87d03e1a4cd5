// The scripted provider is itself tested: every behaviour, over real HTTP.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { BEHAVIOURS } from './behaviours.mjs'
import { createProvider } from './server.mjs'

let provider
before(async () => (provider = await createProvider()))
after(() => provider.close())

let sessions = 0
const tools = [{ type: 'function', function: { name: 'list_files', parameters: {} } }]
const messages = [{ role: 'user', content: 'go' }]
function ask(
  script,
  body = { messages, tools },
  kind = 'chat/completions',
  session = `t${sessions++}`,
) {
  const url = `${provider.url}/s/${session}/${encodeURIComponent(script)}/v1/${kind}`
  return fetch(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
}
const data = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))

test('every behaviour answers on both wires', async () => {
  const breaks = ['cut-arguments', 'stall', 'stall_head', 'malformed']
  for (const name of Object.keys(BEHAVIOURS).filter((name) => !breaks.includes(name))) {
    for (const kind of ['chat/completions', 'messages']) {
      const response = await ask(name, undefined, kind)
      const text = await response.text()
      const failing = ['rate-limited', 'always-429', 'server-error'].includes(name)
      assert.equal(response.ok, !failing, name)
      if (failing) assert.ok(JSON.parse(text).error.message, name)
      else assert.ok(data(text).length > 1, name)
    }
  }
})

test('the looping model answers only when it is offered nothing, late', async () => {
  const session = 'loop'
  const calls = async (body) =>
    data(await (await ask('loop', body, undefined, session)).text()).some(
      (event) => event.choices?.[0]?.delta?.tool_calls,
    )
  const box = `TOOL RESULT ${'0'.repeat(32)}\n{"tool":"list_files","result":["a.txt"]}\nEND TOOL RESULT ${'0'.repeat(32)}`
  const boxed = [...messages, { role: 'system', content: box }]
  assert.deepEqual(
    [
      await calls({ messages, tools }),
      await calls({ messages: boxed }),
      await calls({ messages: boxed }),
    ],
    [true, true, false],
  )
})

test('a broken connection is broken', async () => {
  const response = await ask('cut-arguments')
  await assert.rejects(response.text())
})

test('histories that a provider refuses are refused in its words', async () => {
  const orphan = await ask('answer', {
    messages: [{ role: 'tool', tool_call_id: 'x', content: '' }],
  })
  assert.match((await orphan.json()).error.message, /must be a response to a preceeding message/)
  const open = { role: 'assistant', tool_calls: [{ id: 'c' }] }
  const unanswered = await ask('answer', { messages: [...messages, open, ...messages] })
  assert.match((await unanswered.json()).error.message, /did not have response messages: c/)
  const first = await ask('answer', { messages: [{ role: 'assistant', content: 'x' }] }, 'messages')
  assert.match((await first.json()).error.message, /first message must use the "user" role/)
})

test('requests are kept by session', async () => {
  await (await ask('answer', undefined, undefined, 'kept')).text()
  const kept = await (await fetch(`${provider.url}/s/kept/requests`)).json()
  assert.deepEqual(
    kept.map((one) => one.body.messages),
    [messages],
  )
  assert.deepEqual(await (await fetch(`${provider.url}/s/other/requests`)).json(), [])
})

test('tapes are replayed as recorded, and nothing else is served', async () => {
  const tape = await ask('tape:streams-vercel-ai/files/deepseek/deepseek-text.chunks.txt')
  assert.ok(data(await tape.text()).length > 10)
  assert.equal((await ask('tape:../../../etc/passwd')).status, 500)
})
