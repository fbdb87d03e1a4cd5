// Conversations of clients that name none: which requests belong together, told by how the scripted
// model answers a turn that is run again, changed, or run twice at once.
import assert from 'node:assert/strict'
import test from 'node:test'
import * as turnlock from 'turnlock'
import { CLIENTS, modelOf } from '../lanes.mjs'
import { createConversations } from './conversations.mjs'
import { createSessions } from './sessions.mjs'

const { defineTool, runTurn } = turnlock

/** A provider whose address is a behaviour. `asked`: the statuses of its answers, in order. */
function provider() {
  const sessions = createSessions()
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
      const response = await sessions.answer(request, at)
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
    for (const behaviour of [
      'loop-then-answer',
      'loop',
      'list-then-read',
      'answer',
      'fails-once',
    ]) {
      for (const mode of ['two_stage', 'unified']) {
        const one = open(behaviour, dialect)
        const first = await turn(one, { mode })
        for (const again of [1, 2]) {
          assert.deepEqual(await turn(one, { mode }), first, `${behaviour}, ${mode}, ${again}`)
        }
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

test('what nobody can read is no conversation', async () => {
  const sessions = createSessions()
  const sessionOf = createConversations(sessions.requests)
  const names = ['{', '[]', '{"messages":7}', ''].map((text) =>
    sessionOf('answer', 'chat/completions', text),
  )
  assert.equal(new Set(names).size, 4)
  assert.equal(new Set([sessionOf('answer', 'nowhere', '{}'), ...names]).size, 5)
})

test('conversations are bounded', () => {
  const sessionOf = createConversations(() => [])
  const ask = (content) =>
    sessionOf(
      ...['answer', 'chat/completions'],
      JSON.stringify({ messages: [{ role: 'user', content }] }),
    )
  const names = Array.from({ length: 5000 }, (_, at) => ask(`question ${at}`))
  assert.equal(new Set(names).size, names.length)
})
