// Which part of the core runs a turn: a page whose histories are plain loads the small one alone.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import test from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs turns in a process of their own: the parts that were loaded, and what was sent. */
async function turns(list) {
  const script = `
    import { anthropic, defineTool, openaiChat, runTurn } from '${new URL('../dist/index.js', import.meta.url)}'
    import { partsOf } from '${new URL('parts.mjs', import.meta.url)}'
    const { parts } = await partsOf('${new URL('../dist', import.meta.url)}')
    const loaded = () => ['turn', 'durable'].filter((name) => parts[name].isReady)
    const line = (data) => 'data: ' + JSON.stringify(data) + '\\n\\n'
    const chat = (delta, reason) => line({ choices: [{ index: 0, delta, finish_reason: reason }] })
    const call = { index: 0, id: 'c1', type: 'function', function: { name: 'look', arguments: '{"q":1}' } }
    const answers = {
      text: chat({ content: 'Two.' }, 'stop'),
      call: chat({ tool_calls: [call] }, 'tool_calls'),
    }
    const bodies = []
    const all = []
    for (const { model, messages, script = ['text'], ...options } of ${JSON.stringify(list)}) {
      const left = [...script]
      const fetch = async (_, { body }) => {
        bodies.push(JSON.parse(body).messages)
        const type = { 'content-type': 'text/event-stream' }
        return new Response(answers[left.shift() ?? 'text'], { headers: type })
      }
      const made = { openaiChat, anthropic }[model ?? 'openaiChat']
      const tools = { look: defineTool({ description: '', inputSchema: { type: 'object' }, readOnly: true, execute: () => 'cats' }) }
      const settings = { model: 'm', apiKey: 'k', baseURL: 'http://x/v1', fetch, maxRetries: 0 }
      const turn = runTurn({ model: made(settings), messages, tools, ...options })
      const events = []
      for await (const { type, code } of turn) events.push(code ?? type)
      const { text, status } = await turn.result
      all.push({ text, status, events, loaded: loaded() })
    }
    console.log(JSON.stringify({ all, bodies }))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  return JSON.parse(stdout)
}

const asked = { role: 'user', content: 'cats?' }
const called = {
  role: 'assistant',
  content: '',
  toolCalls: [{ id: 'c0', name: 'look', args: { q: 0 } }],
}
const found = { role: 'tool', content: '"cats"', toolCallId: 'c0', name: 'look' }
const said = { role: 'assistant', content: 'Two.' }
const inEvents = [
  { type: 'user_message', text: 'cats?' },
  { type: 'tool_call_start', toolCallId: 'c0', toolName: 'look', args: { q: 0 } },
  { type: 'tool_call_result', toolCallId: 'c0', result: '"cats"' },
  { type: 'assistant_message', text: 'Two.' },
  { type: 'user_message', text: 'and dogs?' },
]
const next = { role: 'user', content: 'and dogs?' }

test('turns with plain histories load the small part alone', async () => {
  const { all, bodies } = await turns([
    { messages: [asked], script: ['call', 'text'] },
    { messages: [asked, called, found, said, next], script: ['call', 'text'] },
    { messages: [asked], mode: 'unified', script: ['call', 'text'] },
    { messages: [asked], policy: { resultsAs: 'native' }, script: ['call', 'text'] },
  ])
  for (const one of all) {
    assert.deepEqual([one.text, one.status, one.loaded], ['Two.', 'complete', ['turn']])
  }
  assert.deepEqual(
    bodies[2].map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'user'],
  )
  assert.deepEqual(bodies[2][1], {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c0', type: 'function', function: { name: 'look', arguments: '{"q":0}' } }],
  })
})

test('any other history loads the other part, and sends the same', async () => {
  const messages = [asked, called, found, said, next]
  const { all, bodies } = await turns([{ messages }, { messages: inEvents }])
  assert.deepEqual(bodies[1], bodies[0])
  assert.deepEqual(
    all.map(({ loaded }) => loaded),
    [['turn'], ['turn', 'durable']],
  )
  assert.deepEqual(all[0].events, all[1].events)
  // Known without a look at the elements' content: the small part is not loaded in vain.
  const events = await turns([{ messages: inEvents }])
  assert.deepEqual(events.all[0].loaded, ['durable'])
  const parts = await turns([
    { messages: [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }] },
  ])
  assert.deepEqual(parts.all[0].loaded, ['durable'])
})

test('what the small part leaves to the other one is the same turn', async () => {
  // A call without a result: a repair.
  const { all } = await turns([{ messages: [asked, called, next] }, { messages: [asked] }])
  assert.deepEqual(all[0].events, all[1].events)
  assert.deepEqual(all[0].loaded, ['turn', 'durable'])
  const unknown = await turns([{ messages: [{ role: 'nobody' }] }])
  assert.deepEqual(unknown.all[0].events, ['message.unknown_shape'])
})

test('other providers load the other part', async () => {
  const { all } = await turns([{ model: 'anthropic', messages: [asked] }])
  assert.deepEqual(all[0].loaded, ['durable'])
})
