// Conversations of clients that name none: which requests belong together, told by how the scripted
// model answers a turn that is run again, changed, or run twice at once.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as turnlock from 'turnlock'
import { scriptedProvider } from 'turnlock/testing'
import { CLIENTS, modelOf } from '../lanes.mjs'
import { createConversations } from '../../pkg/dist/local-server.js'

const { defineTool, runTurn } = turnlock

/** A provider whose address is a behaviour. `asked`: the statuses of its answers, in order. */
function provider() {
  const sessions = scriptedProvider()
  const sessionOf = createConversations(sessions.requests)
  const used = new Map()
  const open = (behaviour, dialect = 'openai-chat') => {
    const asked = []
    const fetch = async (url, init) => {
      const path = url.slice('http://model/v1/'.length)
      const session = sessionOf(behaviour, path.split('?')[0], init.body)
      used.set(session, (used.get(session) ?? 0) + 1)
      const request = new Request(url, init)
      const at = `/s/${session}/${behaviour}/v1/${path.split('?')[0]}`
      const response = await sessions.handle(request, at)
      asked.push(response.status)
      return response
    }
    const baseURL = 'http://model/v1'
    const model = modelOf(turnlock, dialect, { baseURL, model: 'm', apiKey: 'k', fetch })
    return { model, asked }
  }
  return { open, used }
}

const execute = () => ['notes.txt']
const tools = {
  list_files: defineTool({ description: 'x', inputSchema: {}, readOnly: true, execute }),
}
const messages = [{ role: 'user', content: 'what?' }]

/** Runs a turn: what it was answered with, its text and its end. */
async function turn({ model, asked }, options) {
  const from = asked.length
  const { text, status } = await runTurn({ model, messages, tools, ...options }).result
  return { asked: asked.slice(from), text, status }
}

for (const dialect of Object.keys(CLIENTS)) {
  test(`a turn that is run again gets the same answers: ${dialect}`, async () => {
    const { open } = provider()
    for (const behaviour of ['loop-then-answer', 'list-then-read']) {
      for (const mode of ['two_stage', 'unified']) {
        const one = open(behaviour, dialect)
        const first = await turn(one, { mode })
        assert.deepEqual(await turn(one, { mode }), first, `${behaviour}, ${mode}`)
      }
    }
  })
}

test('who fails once, fails once in each run, also in one that was changed', async () => {
  const { open } = provider()
  for (const [behaviour, status] of [
    ['rate-limited', 429],
    ['fails-once', 500],
  ]) {
    const one = open(behaviour)
    for (const options of [{}, {}, { system: 'Be brief.' }, { system: 'Be briefer.' }]) {
      const { asked, status: ended } = await turn(one, options)
      assert.equal(ended, 'complete')
      assert.deepEqual([asked[0], asked[1]], [status, 200], JSON.stringify(options))
    }
  }
})

test('turns that run at once do not disturb one another', async () => {
  const { open } = provider()
  for (const behaviour of ['loop', 'loop-then-answer', 'list-then-read']) {
    const alone = await turn(open(behaviour))
    const both = await Promise.all([turn(open(behaviour)), turn(open(behaviour))])
    assert.deepEqual(both, [alone, alone], behaviour)
  }
})

test('a request that comes again and again is one of its own each time', async () => {
  const { open, used } = provider()
  const one = open('answer')
  for (let at = 0; at < 20; at++) await turn(one, { tools: undefined })
  assert.equal(Math.max(...used.values()), 1)
})

test('what nobody can read is a conversation of its own', () => {
  const sessionOf = createConversations(() => [])
  const asked = [
    '{',
    '[]',
    '{"messages":7}',
    '',
    '{"messages":[null]}',
    // What the provider writes around results, with something else in it.
    bodyOf(`TOOL RESULT ${'0'.repeat(32)}\nno JSON\nEND TOOL RESULT`),
  ]
  const names = asked.map((text) => sessionOf('answer', 'chat/completions', text))
  assert.equal(new Set([sessionOf('answer', 'nowhere', '{}'), ...names]).size, 7)
})

const bodyOf = (content, ...more) =>
  JSON.stringify({ messages: [{ role: 'user', content }, ...more] })
const result = { role: 'tool', tool_call_id: 'c', content: '1' }

test('conversations are bounded: the oldest question begins anew', () => {
  const sessionOf = createConversations(() => [])
  const ask = (...said) => sessionOf('answer', 'chat/completions', bodyOf(...said))
  const first = ask('question 0')
  assert.equal(ask('question 0', result), first)
  for (let at = 1; at < 200; at++) ask(`question ${at}`)
  assert.equal(ask('question 0', result, result), first)
  for (let at = 201; at < 401; at++) ask(`question ${at}`)
  assert.notEqual(ask('question 0', result, result, result), first)
})

test('who fails always is asked in one conversation a few times, then in another', () => {
  const sessionOf = createConversations(() => [{ failed: true }])
  const names = Array.from({ length: 100 }, () =>
    sessionOf('always-429', 'chat/completions', bodyOf('a')),
  )
  const counts = names.reduce((all, name) => all.set(name, (all.get(name) ?? 0) + 1), new Map())
  assert.ok(counts.size > 1)
  assert.ok(Math.max(...counts.values()) <= 21)
})

test('a request of Responses goes on with the response that it names', async () => {
  const sessions = scriptedProvider()
  const sessionOf = createConversations(sessions.requests)
  const ask = async (body) => {
    const text = JSON.stringify({ model: 'm', ...body })
    const session = sessionOf('list-then-read', 'responses', text)
    const request = new Request('http://model/v1/responses', { method: 'POST', body: text })
    const answer = await sessions.handle(request, `/s/${session}/list-then-read/v1/responses`)
    return [answer.status, await answer.json()]
  }
  const tools = [{ type: 'function', name: 'list_files', parameters: {} }]
  const [, { id, output }] = await ask({ input: 'what?', tools })
  const { call_id } = output.find(({ type }) => type === 'function_call')
  const next = [{ type: 'function_call_output', call_id, output: '["notes.txt"]' }]
  const [status] = await ask({ input: next, tools, previous_response_id: id })
  assert.equal(status, 200)
})

test('the provider forgets what was asked longest ago, by sessions and by characters', async () => {
  const sessions = scriptedProvider({ maxSessions: 3, maxCharacters: 2000 })
  const ask = async (session, content) => {
    const init = { method: 'POST', body: bodyOf(content) }
    const path = `/s/${session}/answer/v1/chat/completions`
    await sessions.handle(new Request('http://model/v1', init), path)
  }
  const kept = () => ['a', 'b', 'c', 'd'].filter((name) => sessions.requests(name).length)
  for (const name of ['a', 'b', 'c', 'a', 'd']) await ask(name, 'x')
  assert.deepEqual(kept(), ['a', 'c', 'd'])
  await ask('b', 'x'.repeat(1700))
  assert.deepEqual(kept(), ['a', 'b', 'd'])
  await ask('d', 'x'.repeat(1000))
  assert.deepEqual(kept(), ['d'])
  await ask('d', 'x'.repeat(2000))
  assert.deepEqual(kept(), [])
})
