// What `turnlock/testing` offers for tests of an application.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { defineTool, init, openaiChat, runTurn } from 'turnlock'
import { fakeClock, scriptedModel, tapeFetch } from 'turnlock/testing'

const messages = [{ role: 'user', content: 'go' }]
const look = (execute) =>
  defineTool({ description: '', inputSchema: { type: 'object' }, readOnly: true, execute })
const sse = (...events) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const delta = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] })
const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
const calling = sse(delta({ tool_calls: [call] }), delta({}, 'tool_calls'))
const answer = sse(delta({ content: 'Buy ' }), delta({ content: 'milk.' }, 'stop'))
const chat = (fetch, more) => openaiChat({ baseURL: 'http://x/v1', model: 'm', fetch, ...more })

test('a tape answers with recorded bytes, whole and in pieces, and keeps what was asked', async () => {
  for (const chunkBytes of [undefined, 1, 7]) {
    const fetch = tapeFetch([
      { body: calling, ...(chunkBytes && { chunkBytes }) },
      Buffer.from(answer),
    ])
    const tools = { look: look(() => 'milk') }
    const result = await runTurn({ model: chat(fetch, { apiKey: 'k' }), messages, tools }).result
    assert.deepEqual([result.status, result.text], ['complete', 'Buy milk.'])
    assert.equal(fetch.requests.length, 2)
    const [{ url, method, headers, body }] = fetch.requests
    assert.deepEqual([url, method], ['http://x/v1/chat/completions', 'POST'])
    assert.equal(headers.authorization, 'Bearer k')
    assert.deepEqual(body.messages, messages)
  }
})

test('a recording of a provider', async () => {
  const folder = new URL('../../tests/data/streams-vercel-ai/', import.meta.url)
  const name = 'files/deepseek/deepseek-text.chunks.txt'
  const lines = readFileSync(new URL(name, folder), 'utf8').split('\n').filter(Boolean)
  const body = lines.map((line) => `data: ${line}\n\n`).join('')
  const result = await runTurn({ model: chat(tapeFetch([body])), messages }).result
  assert.equal(result.status, 'complete')
  assert.ok(result.text.length > 10)
})

test('statuses, broken connections, and the end of the tape', async () => {
  const failed = async (...tape) =>
    (await runTurn({ model: chat(tapeFetch(tape), { maxRetries: 0 }), messages }).result).error.code
  assert.equal(await failed({ body: { error: { message: 'no' } }, status: 401 }), 'model.status')
  assert.equal(await failed({ body: answer.slice(0, 90), breaks: true }), 'model.truncated')
  assert.equal(await failed(), 'model.unreachable')
  const gone = new AbortController()
  gone.abort()
  await assert.rejects(tapeFetch([answer])('http://x', { signal: gone.signal }), /abort/i)
})

test('time limits pass without waiting', async () => {
  await init()
  const clock = fakeClock()
  try {
    const tools = { look: look(() => new Promise(() => {})) }
    const model = scriptedModel([{ call: 'look' }, 'late'])
    const policy = { toolTimeoutMs: 20_000 }
    const turn = runTurn({ model, messages, tools, policy })
    let ended = false
    const results = []
    const read = (async () => {
      for await (const event of turn) {
        if (event.type === 'tool_results') results.push(...event.toolResults)
      }
      ended = true
    })()
    await clock.advance(19_999)
    assert.deepEqual([ended, clock.now], [false, 19_999])
    await clock.advance(1)
    await read
    assert.deepEqual([results[0].status, (await turn.result).text], ['timeout', 'late'])
    assert.equal(results[0].durationMs, 20_000)
  } finally {
    clock.restore()
  }
  assert.ok(await new Promise((resolve) => setTimeout(() => resolve(true), 1)))
})

test('a clock runs its timers in order, each at its own time', async () => {
  const clock = fakeClock()
  const ran = []
  const say = (name) => ran.push([name, clock.now])
  const late = setTimeout(() => say('never'), 5)
  setTimeout(say, 20, 'b')
  setTimeout(() => {
    say('a')
    setTimeout(() => say('of a'), 3)
  }, 10)
  clearTimeout(late)
  const before = Date.now()
  await clock.advance(15)
  assert.deepEqual(ran, [
    ['a', 10],
    ['of a', 13],
  ])
  assert.equal(Date.now() - before, 15)
  await clock.advance(5)
  clock.restore()
  assert.deepEqual(ran[2], ['b', 20])
})
