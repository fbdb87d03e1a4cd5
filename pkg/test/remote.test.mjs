// Turns of a handler over real HTTP, through a proxy that cuts connections.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test from 'node:test'
import { customModel, defineTool, memoryStore, normalizeHistory } from 'turnlock'
import { remoteTurns } from 'turnlock/remote'
import { createHandler, toNodeListener } from 'turnlock/server'
import { breaking } from '../../tests/breaking.mjs'

const messages = [{ role: 'user', content: 'go' }]
const say = (text) => ({ type: 'text', text })

function* called(name, args, index = 0) {
  yield { type: 'tool_call_start', index, id: `c${index}`, name }
  yield { type: 'tool_call_arguments', index, text: JSON.stringify(args) }
  yield { type: 'tool_call_end', index }
}

/** A handler behind HTTP, and a proxy before it that `cut` closes. */
async function edge(own = {}) {
  const runs = []
  const tool = (more) =>
    defineTool({
      description: 'd',
      inputSchema: { type: 'object' },
      ...more,
      execute: (args) => (runs.push(args), { done: args }),
    })
  const model = customModel(async function* ({ messages: seen }) {
    const over = seen.some(({ content }) => String(content).includes('TOOL RESULT'))
    if (!over) {
      yield say('I look. ')
      return yield* called(own.tool ?? 'note', { n: 1 })
    }
    for (let n = 0; n < 20; n++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      yield say(`word ${n} `)
    }
  })
  const handler = createHandler({
    model,
    store: memoryStore(),
    authorize: () => ({ tenant: 't' }),
    tools: { note: tool(), asks: tool({ needsApproval: true }) },
    ...own.handler,
  })
  const requests = []
  const server = createServer(
    toNodeListener((request) => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`)
      return handler(request)
    }),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  // Each connection may carry so many bytes back, then it is broken.
  const proxy = await breaking(server.address().port, own.budgets ?? [])
  const url = `${proxy.url}/api/chat`
  const close = () => {
    server.closeAllConnections()
    server.close()
    proxy.close()
  }
  const closing = { connection: 'close' }
  return { url, runs, requests, close, turns: remoteTurns({ url, headers: closing }) }
}

const all = async (turn) => {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}
const seqs = (events) => events.map(({ seq }) => seq)
const upTo = (n, from = 1) => Array.from({ length: n }, (_, at) => at + from)

test('a page that was reloaded finds what is open', async () => {
  const { turns, close } = await edge({ tool: 'asks' })
  assert.deepEqual(await turns.list(), [])
  const paused = await turns.run({ messages, conversationId: 'k' }).result
  assert.equal(paused.status, 'paused')
  assert.equal(paused.resume.requestId, paused.requestId)
  await turns.run({ messages, conversationId: 'other' }).result
  assert.equal((await turns.list()).length, 2)
  const [open, ...more] = await turns.list({ conversationId: 'k' })
  assert.deepEqual(more, [])
  assert.deepEqual([open.requestId, open.status, open.toolBatchId], [paused.requestId, 'paused', 0])
  const [last] = await all(turns.follow({ requestId: open.requestId, after: open.seq - 1 }))
  assert.equal(last.type, 'paused')
  await turns.cancel({ requestId: open.requestId })
  assert.deepEqual(await turns.list({ conversationId: 'k' }), [])
  close()
})

test('answers in JSON, and the text alone', async () => {
  const { turns, close } = await edge({
    tool: 'note',
    handler: {
      answerSchema: { type: 'object', required: ['n'] },
      model: customModel(async function* ({ messages: seen }) {
        const text = JSON.stringify(seen)
        if (!text.includes('TOOL RESULT')) {
          yield say('I look. ')
          return yield* called('note', { n: 1 })
        }
        yield say(text.includes('was refused') ? '{"n":' : 'No. ')
        yield say(text.includes('was refused') ? '7}' : 'Or yes.')
      }),
    },
  })
  const turn = turns.run({ messages })
  const texts = async () => {
    const chunks = []
    for await (const chunk of turn.textStream) chunks.push(chunk)
    return chunks
  }
  assert.deepEqual(await texts(), ['I look. ', '{"n":7}'])
  const { status, object, text } = await turn.result
  assert.deepEqual([status, object, text], ['complete', { n: 7 }, '{"n":7}'])
  assert.deepEqual(await texts(), ['I look. ', '{"n":7}'], 'each reader from the first one')
  close()
})

test('a turn of a handler is the turn that runTurn gives', async () => {
  const { turns, runs, close } = await edge()
  const turn = turns.run({ messages, conversationId: 'k' })
  const events = await all(turn)
  const result = await turn.result
  close()
  assert.deepEqual(seqs(events), upTo(events.length))
  assert.deepEqual([result.status, runs], ['complete', [{ n: 1 }]])
  const words = upTo(20, 0).map((n) => `word ${n} `)
  assert.equal(result.text, words.join(''))
  assert.equal(result.fullContent, `I look. ${words.join('')}`)
  assert.equal(result.conversationId, 'k')
  assert.deepEqual(result.toolResults[0].result, { done: { n: 1 } })
  const made = [...messages, ...result.messages, { role: 'user', content: 'and now?' }]
  for (const dialect of ['openai-chat', 'anthropic', 'gemini', 'mistral']) {
    const { repairs } = normalizeHistory(made, { dialect })
    const changed = repairs.filter(({ action }) => action !== 'converted')
    assert.deepEqual(changed, [], dialect)
  }
})

test('wherever connections break, no event is lost or repeated and nothing runs twice', async () => {
  const whole = await edge()
  const size = JSON.stringify(await all(whole.turns.run({ messages }))).length
  whole.close()
  let broken = 0
  for (let at = 1; at < size + 600; at += 211) {
    const budgets = [at, 400, at >> 1, 700]
    const { turns, runs, requests, close } = await edge({ budgets })
    const turn = turns.run({ messages })
    const events = await all(turn)
    close()
    assert.deepEqual(seqs(events), upTo(events.length), `cut at ${at}`)
    const { status, text, error } = await turn.result
    assert.deepEqual([status, error], ['complete', undefined], `cut at ${at}`)
    assert.match(text, /^word 0 .*word 19 $/)
    assert.deepEqual(runs, [{ n: 1 }], `cut at ${at}`)
    if (requests.length > 1) broken++
  }
  assert.ok(broken > 5)
})

test('a turn pauses for an approval, and is resumed behind the last event', async () => {
  const { turns, runs, close } = await edge({ tool: 'asks', budgets: [Infinity, 60] })
  const turn = turns.run({ messages })
  const events = await all(turn)
  const { status } = await turn.result
  const paused = events.at(-1)
  assert.deepEqual([status, paused.type, runs.length], ['paused', 'paused', 0])
  const approvals = paused.approvals.map(({ signature }) => ({ signature, approved: true }))
  const resumed = turns.resume({ ...paused.resume, approvals })
  const rest = await all(resumed)
  close()
  assert.deepEqual(seqs(rest), upTo(rest.length, paused.seq + 1))
  assert.deepEqual([(await resumed.result).status, runs], ['complete', [{ n: 1 }]])
})

test('another page follows a turn from the beginning, and its leaving ends nothing', async () => {
  const { url, turns, close } = await edge()
  const turn = turns.run({ messages })
  const mine = all(turn)
  for await (const event of turn) if (event.type === 'text') break
  const other = remoteTurns({ url })
  for await (const event of other.follow({ requestId: turn.requestId })) {
    assert.equal(event.seq, 1)
    break
  }
  const events = await mine
  const read = await all(other.follow({ requestId: turn.requestId }))
  const late = await all(other.follow({ requestId: turn.requestId, after: 5 }))
  close()
  // `break` of an own turn's iteration cancels it, so that it may have ended so.
  assert.deepEqual(read, events)
  assert.deepEqual(late, events.slice(5))
})

test('a stream that is left far behind holds nothing back', async (t) => {
  const model = customModel(async function* () {
    for (let n = 0; n < 1500; n++) yield say(`${n} `)
  })
  for (const following of [false, true]) {
    const { turns, close } = await edge({ handler: { model } })
    t.after(close)
    const first = turns.run({ messages })
    if (following) await first.result
    const turn = following ? turns.follow({ requestId: first.requestId }) : first
    const reader = turn.toReadableStream().getReader()
    const { value } = await reader.read()
    assert.equal(value.seq, 1)
    // As far as it goes with a stream that reads no more.
    await new Promise((resolve) => setTimeout(resolve, 100))
    await reader.cancel()
    const { status } = await turn.result
    const seen = seqs(await all(turn))
    // The handler may have had the end before it was asked to cancel.
    if (!following) assert.ok(['complete', 'cancelled'].includes(status))
    else assert.deepEqual([status, seen.length < 1500], ['cancelled', true])
    const numbers = following ? seen.slice(0, -1) : seen
    assert.deepEqual(numbers, upTo(numbers.length))
  }
})

test('readers of every kind see every event, each at its own pace', async () => {
  const { turns, close } = await edge()
  const turn = turns.run({ messages })
  const slow = []
  const slowly = async () => {
    for await (const event of turn) {
      slow.push(event)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const streamed = async () => {
    const events = []
    const reader = turn.toReadableStream().getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return events
      events.push(value)
    }
  }
  const [events, texts] = await Promise.all([streamed(), turn.toResponse().text(), slowly()])
  assert.equal((await turn.result).status, 'complete')
  assert.deepEqual(slow, events)
  assert.deepEqual(await all(turn), events)
  assert.equal(texts.match(/^data: /gm).length, events.length)
  close()
})

test('a result whose code cannot be loaded is a failure, and the events are not', async () => {
  const { url, close } = await edge()
  const page = `
    import { register } from 'node:module'
    const hooks = 'export const resolve = (name, context, next) => name === "./result.js" ' +
      '? { url: "data:text/javascript,throw%20new%20Error()", shortCircuit: true } : next(name, context)'
    register('data:text/javascript,' + encodeURIComponent(hooks))
    const { remoteTurns } = await import('turnlock/remote')
    const turn = remoteTurns({ url: ${JSON.stringify(url)} }).run({ messages: [{ role: 'user', content: 'go' }] })
    let last
    for await (const event of turn) last = event
    const { status, error, text, messages } = await turn.result
    console.log(JSON.stringify([last.type, status, error.code, text, messages]))
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', page], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said = (await child.stdout.toArray()).join('')
  assert.deepEqual(JSON.parse(said), ['complete', 'failed', 'core.unavailable', '', []])
  close()
})

test('cancel and pause reach the handler', async () => {
  const model = customModel(async function* (_, { signal }) {
    yield say('one')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const { turns, close } = await edge({ handler: { model } })
  const turn = turns.run({ messages })
  for await (const event of turn) {
    if (event.type !== 'text') continue
    turn.cancel('enough')
    break
  }
  const { status } = await turn.result
  const events = await all(turn)
  assert.deepEqual([status, events.at(-1).reason], ['cancelled', 'enough'])
  const state = await turns.cancel({ requestId: turn.requestId })
  assert.equal(state.status, 'cancelled')
  await assert.rejects(turns.pause({ requestId: 'nobody' }), { code: 'turn.not_found' })
  const never = turns.run({ messages, signal: AbortSignal.abort() })
  assert.equal((await never.result).status, 'cancelled')
  close()
})

test('what a handler refuses is the last event, with its code', async () => {
  const { turns, url, close } = await edge({ handler: { twoStage: { enabled: false } } })
  const first = turns.run({ messages, requestId: 'same' })
  await first.result
  const cases = [
    [turns.run({ messages, requestId: 'same' }), 'turn.conflict', 409],
    [turns.run({ messages: [] }), 'request.invalid', 400],
    [turns.follow({ requestId: 'nobody' }), 'turn.not_found', 404],
    [remoteTurns({ url: `${url}/messages_two_stage` }).run({ messages }), 'route.disabled', 404],
    [remoteTurns({ url: `${url}/nowhere` }).run({ messages }), 'route.not_found', 404],
  ]
  for (const [turn, code, status] of cases) {
    const [event, ...more] = await all(turn)
    assert.deepEqual([event.type, event.code, event.details, more], ['error', code, { status }, []])
    assert.deepEqual((await turn.result).error, {
      code,
      message: event.message,
      details: { status },
    })
  }
  close()
})

test('a handler that is not there, silent, or no handler', async () => {
  const gone = remoteTurns({ url: 'http://127.0.0.1:9/api/chat', maxRetries: 1 })
  assert.equal((await gone.run({ messages }).result).error.code, 'remote.unreachable')
  let asked = 0
  const server = createServer((request, response) => {
    asked++
    if (request.url.startsWith('/html')) return response.end('<h1>hello</h1>')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const at = `http://127.0.0.1:${server.address().port}`
  const html = remoteTurns({ url: `${at}/html`, maxRetries: 1 }).run({ messages })
  assert.equal((await html.result).error.code, 'remote.invalid')
  const silent = remoteTurns({ url: `${at}/silent`, maxRetries: 1, idleMs: 20 }).run({ messages })
  assert.equal((await silent.result).error.code, 'remote.unreachable')
  assert.equal(asked, 4)
  server.closeAllConnections()
  server.close()
})

test('misuse is refused at the call', () => {
  const refused = { code: 'options.invalid' }
  for (const url of [undefined, 'edge.example/api', 7]) {
    assert.throws(() => remoteTurns({ url }), refused)
  }
  const turns = remoteTurns({ url: '/api/chat' })
  for (const options of [{}, { messages: 'x' }, { messages, mesages: [] }]) {
    assert.throws(() => turns.run(options), refused)
  }
  assert.throws(() => turns.follow({ requestId: 'r', after: -1 }), refused)
  // They would lead to another path, or no handler takes them.
  for (const requestId of ['.', '.hidden', 'a/b', 'a b', '?', 'x'.repeat(129), 'é', 7, '..']) {
    assert.throws(() => turns.follow({ requestId }), refused, String(requestId))
    assert.throws(() => turns.run({ messages, requestId }), refused, String(requestId))
    assert.throws(() => turns.resume({ requestId, toolBatchId: 0 }), refused, String(requestId))
  }
  assert.throws(() => turns.resume({ requestId: '' }), refused)
})

test('headers may be Headers, and the history is that of the call', async () => {
  const sent = []
  const turns = remoteTurns({
    url: 'https://edge.example/api/chat',
    headers: new Headers({ authorization: 'Bearer t' }),
    fetch: async (_, { headers, body }) => {
      sent.push([headers.authorization, JSON.parse(body).messages])
      throw new TypeError('fetch failed')
    },
    maxRetries: 1,
  })
  const messages = [{ role: 'user', content: 'first' }]
  const turn = turns.run({ messages })
  messages.push({ role: 'user', content: 'second' })
  assert.equal((await turn.result).error.code, 'remote.unreachable')
  const one = ['Bearer t', [{ role: 'user', content: 'first' }]]
  assert.deepEqual(sent, [one, one])
})

test('what has no JSON is misuse, and so is a signal that is none', () => {
  const turns = remoteTurns({ url: '/api/chat', fetch: () => assert.fail('nothing is sent') })
  const misuse = (call, name) =>
    assert.throws(call, { code: 'options.invalid', message: new RegExp(`^\`${name}\``) })
  const [requestId, user] = ['r', { role: 'user', content: 'x' }]
  misuse(() => turns.run({ messages: [{ ...user, at: 1n }] }), 'messages')
  const outcomes = [{ toolCallId: 'c', result: 1n }]
  misuse(() => turns.resume({ requestId, toolBatchId: 1, outcomes }), 'outcomes')
  misuse(() => turns.run({ messages: [user], requestId: 5 }), 'requestId')
  misuse(() => turns.run({ messages: [user], signal: {} }), 'signal')
  misuse(() => turns.resume({ requestId, signal: 5 }), 'signal')
  misuse(() => turns.follow({ requestId, signal: 'x' }), 'signal')
})

test('what a handler cannot be asked rejects with a code', async () => {
  const lost = () => Promise.reject(new TypeError('fetch failed'))
  const page = async () => new Response('<html>')
  for (const [fetch, code] of [
    [lost, 'remote.unreachable'],
    [page, 'remote.invalid'],
  ]) {
    const turns = remoteTurns({ url: 'https://edge.example/api/chat', fetch, maxRetries: 0 })
    for (const name of ['list', 'pause', 'cancel']) {
      const asked = turns[name]({ requestId: 'r' })
      await assert.rejects(asked, { name: 'TurnlockError', code })
    }
  }
  const turns = remoteTurns({ url: 'https://edge.example/api/chat', fetch: lost })
  for (const name of ['pause', 'cancel']) {
    await assert.rejects(turns[name](), { code: 'options.invalid' })
  }
})
