// The driver against real HTTP: what the tables cannot say.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import test, { after, before } from 'node:test'
import {
  anthropic,
  customModel,
  defineTool,
  diagnoseHistory,
  memoryStore,
  normalizeHistory,
  openaiChat,
  runTurn,
  threadId,
} from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { z } from 'zod'
import { partsOf } from './parts.mjs'
import { until } from '../../tests/patience.mjs'
import { createProvider } from '../../tests/provider/server.mjs'

let provider
before(async () => (provider = await createProvider()))
after(() => provider.close())

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))

let sessions = 0
const scripted = (script, make = openaiChat, own = {}) => {
  const session = `turn-${sessions++}`
  const baseURL = `${provider.url}/s/${session}/${encodeURIComponent(script)}/v1`
  const requests = async () => (await fetch(`${provider.url}/s/${session}/requests`)).json()
  return { model: make({ baseURL, model: 'm', apiKey: 'sk-secret', ...own }), requests }
}
const user = [{ role: 'user', content: 'go' }]
const list = (own = {}) =>
  defineTool({
    description: 'lists',
    inputSchema: { type: 'object' },
    execute: () => ['a.txt'],
    ...own,
  })
const collect = async (turn) => {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}

for (const make of [openaiChat, anthropic]) {
  test(`a looping model executes one call and answers (${make.name})`, async () => {
    for (const script of ['loop', 'loop-reordered']) {
      let executed = 0
      const { model } = scripted(script, make)
      const turn = runTurn({
        model,
        messages: user,
        tools: { list_files: list({ execute: () => (executed++, ['a.txt']) }) },
      })
      const result = await turn.result
      assert.equal(executed, 1)
      assert.equal(result.status, 'complete')
      assert.ok(result.text.includes('a.txt'))
      assert.equal(result.blockedSignatures.length, 1)
    }
  })
}

test('freezing at the first call closes the connection', async () => {
  const { model, requests } = scripted('parallel')
  const policy = { readMode: 'first_call' }
  const turn = runTurn({ model, messages: user, tools: { list_files: list() }, policy })
  assert.equal((await turn.result).usage.incomplete, true)
  await until(async () => (await requests())[0].closedEarly)
})

test('signatures are made of what the validator returns, where that is JSON', async () => {
  const jsonSchema = { input: () => ({ type: 'object' }) }
  const standard = (validate) => ({
    '~standard': { version: 1, vendor: 'test', jsonSchema, validate },
  })
  const calls = [{ path: 'a/' }, { path: 'a', deep: false }, { path: 'b' }]
  const model = customModel(async function* ({ messages }) {
    if (messages.some(({ role }) => role === 'system')) return yield { type: 'text', text: 'ok' }
    for (const [index, args] of calls.entries()) {
      yield { type: 'tool_call_start', index, id: `c${index}`, name: 'find' }
      yield { type: 'tool_call_arguments', index, text: JSON.stringify(args) }
      yield { type: 'tool_call_end', index }
    }
  })
  const run = async (value) => {
    const ran = []
    const inputSchema = standard((args) => ({ value: value(args) }))
    const find = defineTool({
      description: '',
      inputSchema,
      execute: (args) => void ran.push(args),
    })
    const events = []
    const turn = runTurn({ model, messages: user, tools: { find }, policy: { maxTools: 3 } })
    for await (const event of turn) events.push(event)
    const shown = events.flatMap(({ type, toolCalls }) => (type === 'tool_calls' ? toolCalls : []))
    return { ran, shown, result: await turn.result }
  }
  const plain = await run(({ path, deep = false }) => ({ path: path.replace(/\/$/, ''), deep }))
  assert.deepEqual(plain.ran, [
    { path: 'a', deep: false },
    { path: 'b', deep: false },
  ])
  assert.deepEqual(
    plain.shown.map(({ args }) => args),
    plain.ran,
  )
  assert.deepEqual(plain.result.blockedSignatures, [plain.shown[0].signature])
  assert.deepEqual(plain.result.repeats, { [plain.shown[0].signature]: 1 })
  // What is no JSON has no signature: that of the raw arguments is used.
  const dates = await run(({ path }) => ({ path, at: new Date(0) }))
  assert.deepEqual(
    dates.shown.map(({ args }) => args),
    calls,
  )
  assert.equal(dates.ran.length, 3)
})

test('leaving the iteration cancels the turn and its request', async () => {
  const { model, requests } = scripted('stall')
  const turn = runTurn({ model, messages: user })
  for await (const event of turn) if (event.type === 'text') break
  const result = await turn.result
  assert.equal(result.status, 'cancelled')
  assert.ok(result.text.startsWith('This '))
  await until(async () => (await requests())[0].closedEarly)
})

test('an AbortSignal cancels, also one that is aborted before', async () => {
  const controller = new AbortController()
  const { model } = scripted('stall')
  const turn = runTurn({ model, messages: user, signal: controller.signal })
  const events = []
  for await (const event of turn) {
    events.push(event)
    if (event.type === 'text') controller.abort('enough')
  }
  assert.deepEqual([events.at(-1).type, events.at(-1).reason], ['cancelled', 'enough'])
  const late = runTurn({ model, messages: user, signal: AbortSignal.abort('before') })
  assert.equal((await late.result).status, 'cancelled')
})

test('a cancelled turn tells its tools', async () => {
  const { model } = scripted('one-call')
  const told = Promise.withResolvers?.() ?? {}
  if (!told.promise) told.promise = new Promise((resolve) => (told.resolve = resolve))
  const execute = (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        told.resolve()
        reject(signal.reason)
      })
    })
  const turn = runTurn({ model, messages: user, tools: { list_files: list({ execute }) } })
  for await (const event of turn) if (event.type === 'tool_calls') turn.cancel()
  await told.promise
  const result = await turn.result
  assert.deepEqual([result.status, result.toolResults[0].status], ['cancelled', 'cancelled'])
})

test('every kind of tool value has a typed outcome', async () => {
  const cycle = {}
  cycle.self = cycle
  const hostile = {
    get secret() {
      throw new Error('no')
    },
  }
  const kinds = {
    undefined: [() => undefined, 'ok'],
    cycle: [() => cycle, 'error', 'tool.unserializable'],
    bigint: [() => ({ n: 1n }), 'error', 'tool.unserializable'],
    function: [() => () => 1, 'error', 'tool.unserializable'],
    symbol: [() => Symbol('x'), 'error', 'tool.unserializable'],
    getter: [() => hostile, 'error', 'tool.unserializable'],
    throws: [
      () => {
        throw new Error('sync')
      },
      'error',
      'tool.threw',
    ],
    rejects: [() => Promise.reject(new Error('async')), 'error', 'tool.threw'],
    'throws nothing': [
      () => {
        throw undefined
      },
      'error',
      'tool.threw',
    ],
    'throws a trap': [
      () => {
        throw {
          toString() {
            throw new Error('x')
          },
        }
      },
      'error',
      'tool.threw',
    ],
    thenable: [() => ({ then: (resolve) => resolve(7) }), 'ok'],
    surrogate: [() => 'half \ud83d', 'ok'],
  }
  for (const [kind, [execute, status, code]] of Object.entries(kinds)) {
    const { model } = scripted('one-call')
    const result = await runTurn({
      model,
      messages: user,
      tools: { list_files: list({ execute }) },
    }).result
    assert.equal(result.status, 'complete', kind)
    assert.deepEqual(
      [result.toolResults[0].status, result.toolResults[0].error?.code],
      [status, code],
      kind,
    )
  }
})

test('50 MB are cut before they reach anybody', async () => {
  const { model, requests } = scripted('one-call')
  const execute = () => 'é'.repeat(25_000_000)
  const result = await runTurn({ model, messages: user, tools: { list_files: list({ execute }) } })
    .result
  const [only] = result.toolResults
  assert.ok(only.truncated && only.result.endsWith('[cut: the first 65536 of 50000002 bytes]'))
  assert.ok(JSON.stringify(await requests()).length < 200_000)
})

test('a result that comes late changes nothing', async () => {
  let finish, turn, result
  const execute = () => new Promise((resolve) => (finish = resolve))
  // A machine that is too busy to start the tool within its limit has longer.
  for (let timeoutMs = 1000; !finish; timeoutMs *= 2) {
    const { model } = scripted('one-call')
    turn = runTurn({ model, messages: user, tools: { list_files: list({ execute, timeoutMs }) } })
    result = await turn.result
  }
  finish(['late'])
  await new Promise((resolve) => setTimeout(resolve))
  assert.equal(result.toolResults[0].status, 'timeout')
  assert.ok(!JSON.stringify(await collect(turn)).includes('late'))
})

test('a Standard Schema checks and transforms', async () => {
  const seen = []
  const tool = defineTool({
    description: 'lists',
    inputSchema: z.object({
      path: z.string().transform((path) => path.length),
      recursive: z.boolean().default(false),
    }),
    execute: (args) => void seen.push(args),
  })
  const { model } = scripted('one-call')
  await runTurn({ model, messages: user, tools: { list_files: tool } }).result
  assert.deepEqual(seen, [{ path: 1, recursive: true }])
  const strict = defineTool({
    description: '',
    inputSchema: z.object({ path: z.number() }),
    execute: () => 1,
  })
  const again = scripted('one-call')
  const result = await runTurn({
    model: again.model,
    messages: user,
    tools: { list_files: strict },
  }).result
  assert.equal(result.toolResults.length, 0)
  assert.equal(result.blockedSignatures.length, 1)
})

test('a schema that is none is refused at once', () => {
  for (const inputSchema of [
    null,
    7,
    [],
    { type: 'dict' },
    { $ref: '#/nowhere' },
    // Of the AI SDK: the schema is within.
    { jsonSchema: { type: 'object' }, validate() {} },
    { pattern: '(', type: 'string' },
  ]) {
    if (inputSchema?.pattern) continue // Patterns are compiled when a string comes.
    assert.throws(() => defineTool({ description: '', inputSchema, execute() {} }), {
      code: 'tool.invalid_schema',
    })
  }
})

test('misuse throws at the call', async () => {
  const model = customModel(async function* () {})
  const wrong = [
    [{ model, messages: [] }, 'options.invalid'],
    [{ messages: user }, 'options.invalid'],
    [{ model, messages: user, policy: { maxCycles: 3 } }, 'options.invalid'],
    [{ model, messages: user, policy: { maxTool: 3 } }, 'options.invalid'],
    [{ model, messages: user, tools: { 'a b': list() } }, 'tool.invalid_name'],
    [{ model, messages: user, tools: { a: list(), A: list() } }, 'tool.invalid_name'],
    [{ model, messages: user, tools: { a: {} } }, 'options.invalid'],
  ]
  for (const [options, code] of wrong) assert.throws(() => runTurn(options), { code })
  // What only the core reads is the terminal event.
  const turn = runTurn({ model, messages: [{ hello: 1 }] })
  const events = []
  for await (const event of turn) events.push(event)
  assert.deepEqual(
    events.map(({ type, code, seq }) => [type, code, seq]),
    [['error', 'message.unknown_shape', 1]],
  )
  const { status, error } = await turn.result
  assert.deepEqual([status, error.code], ['failed', 'message.unknown_shape'])
})

test('an unreachable model is a typed failure with its address, without a key', async () => {
  const model = openaiChat({
    baseURL: 'http://127.0.0.1:9/v1?key=sk-1',
    model: 'm',
    apiKey: 'sk-2',
    maxRetries: 0,
  })
  const { error, status } = await runTurn({ model, messages: user }).result
  assert.deepEqual([status, error.code], ['failed', 'model.unreachable'])
  // `fetch` blocks this port, which has no code.
  assert.match(
    error.message,
    /at http:\/\/127\.0\.0\.1:9\/v1\/chat\/completions failed \(bad port\)/,
  )
  assert.doesNotMatch(error.message, /sk-/)
  for (const [said, shown] of [
    ['no route to https://u:sk-3@host', ''],
    ['x'.repeat(41), ''],
    ['sk_live_51H', ''],
    ['secret', ''],
    ['other side closed', ' (other side closed)'],
    [{ toString: () => 'never' }, ''],
  ]) {
    const cause = Object.assign(new Error(), { message: said })
    const fetch = async () => {
      throw new TypeError('fetch failed', { cause })
    }
    const given = openaiChat({ baseURL: 'http://model/v1', model: 'm', maxRetries: 0, fetch })
    const { error } = await runTurn({ model: given, messages: user }).result
    assert.equal(error.message.split('failed')[1], shown)
  }
})

test('failures of an endpoint name the cure', async () => {
  const failure = async (own) => {
    const model = openaiChat({ baseURL: 'https://a.example/v1', model: 'm', maxRetries: 0, ...own })
    return (await runTurn({ model, messages: user }).result).error
  }
  for (const make of [openaiChat, anthropic]) {
    for (const baseURL of ['api.openai.com/v1', './v1', 'https://', 7]) {
      const misused = {
        code: 'options.invalid',
        message: /^`baseURL`: expected an absolute address/,
      }
      assert.throws(() => make({ baseURL, model: 'm' }), misused)
    }
  }
  const relative = await failure({ baseURL: '/api/v1' })
  assert.equal(relative.code, 'model.unreachable')
  assert.match(relative.message, /an address without a host needs a page: \/api\/v1/)
  const named = await failure({ baseURL: 'http://ann:pw@127.0.0.1:9/v1' })
  assert.match(named.message, /at http:\/\/127\.0\.0\.1:9\/v1\/chat\/completions failed/)
  assert.doesNotMatch(named.message, /ann|pw/)
  const missing = await failure({ fetch: async () => new Response('{}', { status: 404 }) })
  assert.equal(missing.message, 'the model answered 404 (POST /chat/completions)')
  const page = { headers: { 'content-type': 'text/html; charset=utf-8' } }
  const html = await failure({ fetch: async () => new Response('<p>Log in</p>', page) })
  assert.equal(html.code, 'model.stream')
  assert.match(html.message, /a stream was expected, the content type is text\/html/)
})

test('the model and the host hear which argument was wrong, and why', async () => {
  const requests = []
  const model = customModel(async function* (request) {
    requests.push(JSON.stringify(request.messages))
    if (requests.length > 1) return yield { type: 'text', text: 'done' }
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'read' }
    yield { type: 'tool_call_arguments', index: 0, text: '{"path":7}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } }
  const read = defineTool({ description: '', inputSchema, execute: () => 1 })
  const notices = []
  for await (const event of runTurn({ model, messages: user, tools: { read } })) {
    if (event.type === 'refused') notices.push(event.notice)
  }
  assert.equal(notices.length, 1)
  assert.match(notices[0], / read: ".*#\/path: .*string/)
  assert.match(requests[1], /#\/path: /)
})

test('status failures carry the status and the provider’s words', async () => {
  const { model } = scripted('always-429', openaiChat, { maxRetries: 1 })
  const { error } = await runTurn({ model, messages: user }).result
  assert.deepEqual([error.code, error.details.status], ['model.status', 429])
  assert.ok(error.message.includes('scripted failure'))
})

test('a history that the provider would refuse is repaired, and the result says how', async () => {
  const messages = [{ role: 'tool', tool_call_id: 'x', content: 'orphan' }, ...user]
  const { model } = scripted('answer')
  const { status, repairs } = await runTurn({ model, messages }).result
  assert.equal(status, 'complete')
  assert.deepEqual(
    repairs.map(({ code, action, index, toolCallId }) => [code, action, index, toolCallId]),
    [['TOOL_RESULT_ORPHAN', 'dropped', 0, 'x']],
  )
})

test('the events of a turn, however it ended, are a history', async () => {
  const tools = {
    look: defineTool({ description: 'look', inputSchema: {}, execute: () => ({ seen: 1 }) }),
  }
  const ask = (messages) =>
    customModel(async function* () {
      yield { type: 'text', text: 'Let me see.' }
      yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'look' }
      yield { type: 'tool_call_arguments', index: 0, text: '{}' }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'finish', reason: 'tool_calls', raw: messages }
    })
  const ends = {
    paused: { policy: { pauseAfterTools: true }, store: memoryStore() },
    cancelled: { stopAt: 'tool_calls' },
    complete: {},
  }
  for (const [status, { stopAt, ...own }] of Object.entries(ends)) {
    const history = [{ type: 'user_message', text: 'look' }]
    const turn = runTurn({ model: ask(status), messages: history, tools, ...own })
    for await (const event of turn) {
      history.push(event)
      if (event.type === stopAt) turn.cancel()
    }
    assert.equal((await turn.result).status, status)
    history.push({ type: 'user_message', text: 'and now?' })
    for (const dialect of ['openai-chat', 'anthropic', 'gemini', 'mistral']) {
      const { messages } = normalizeHistory(history, { dialect })
      assert.deepEqual(diagnoseHistory(messages, { dialect }), [])
      const text = JSON.stringify(messages)
      for (const part of ['Let me see.', 'look', 'and now?']) assert.ok(text.includes(part), text)
      if (status !== 'cancelled') assert.ok(text.includes('seen'), text)
    }
  }
})

test('a custom model: deltas, a throw, a stall, nonsense', async () => {
  const run = (generate, own) =>
    runTurn({ model: customModel(generate), messages: user, ...own }).result
  const plain = await run(async function* ({ messages }) {
    yield { type: 'text', text: `${messages.length} message` }
  })
  assert.equal(plain.text, '1 message')
  const silent = await run(async function* () {})
  assert.deepEqual([silent.error.code, silent.text], ['model.empty', ''])
  const broken = await run(async function* () {
    yield { type: 'text', text: 'half' }
    yield { type: 'finish', reason: 'error', raw: 'lost the GPU' }
  })
  assert.deepEqual([broken.error.code, broken.text], ['model.stream', 'half'])
  assert.match(broken.error.message, /lost the GPU/)
  const thrown = await run(async function* () {
    yield { type: 'text', text: 'half' }
    throw new Error('GPU lost')
  })
  assert.deepEqual([thrown.error.code, thrown.text], ['model.failed', 'half'])
  const stalled = await run(
    async function* (_, { signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
    { policy: { modelFirstByteMs: 30 } },
  )
  assert.equal(stalled.error.code, 'model.timeout')
  const nonsense = await run(async function* () {
    yield { type: 'telepathy' }
  })
  assert.equal(nonsense.error.code, 'model.stream')
})

test('events over HTTP: one line each, ids in order', async () => {
  const { model } = scripted('one-call')
  const response = runTurn({ model, messages: user, tools: { list_files: list() } }).toResponse()
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const blocks = (await response.text()).trim().split('\n\n')
  blocks.forEach((block, at) => {
    const [id, data, ...more] = block.split('\n')
    assert.equal(id, `id: ${at + 1}`)
    assert.equal(more.length, 0)
    assert.equal(JSON.parse(data.slice('data: '.length)).seq, at + 1)
  })
  assert.equal(JSON.parse(blocks.at(-1).split('data: ')[1]).type, 'complete')
})

test('cancelling the response cancels the turn', async () => {
  const { model } = scripted('stall')
  const turn = runTurn({ model, messages: user })
  const reader = turn.toResponse().body.getReader()
  await reader.read()
  await reader.cancel()
  assert.equal((await turn.result).status, 'cancelled')
})

test('a late reader misses nothing, and two readers see the same', async () => {
  const { model } = scripted('one-call')
  const turn = runTurn({ model, messages: user, tools: { list_files: list() } })
  await turn.result
  const [one, two] = await Promise.all([collect(turn), collect(turn)])
  assert.deepEqual(one, two)
  assert.equal(one[0].seq, 1)
})

test('slow bytes and bytes cut anywhere are one stream', async () => {
  const { model } = scripted('slow')
  assert.equal(
    (await runTurn({ model, messages: user }).result).text,
    'Slow but steady wins the race. ',
  )
})

test('recorded tapes drive a turn', async () => {
  const tapes = [
    ['streams-vercel-ai/files/deepseek/deepseek-tool-call.chunks.txt', openaiChat, 'weather'],
    [
      'streams-vercel-ai/files/anthropic/anthropic-tool-no-args.chunks.txt',
      anthropic,
      'updateIssueList',
    ],
  ]
  for (const [path, make, name] of tapes) {
    const { model } = scripted(`tape:${path}`, make)
    const result = await runTurn({ model, messages: user, tools: { [name]: list() } }).result
    assert.equal(result.toolResults[0]?.name, name)
    assert.equal(result.toolResults.filter((one) => !one.replayed).length, 1)
    assert.equal(result.status, 'complete')
  }
})

test('trace events share the request id and name no content', async () => {
  const trace = []
  const { model } = scripted('loop')
  const execute = () => ['top-secret.txt']
  const tools = { list_files: list({ execute }) }
  await runTurn({
    model,
    messages: user,
    tools,
    requestId: 'r',
    onTrace: (event) => trace.push(event),
  }).result
  const types = new Set(trace.map((event) => event.type))
  for (const type of [
    'tool_registration',
    'orchestration_phase_start',
    'orchestration_phase_end',
    'tool_call',
    'tool_result',
    'llm_call',
  ]) {
    assert.ok(types.has(type), type)
  }
  assert.ok(trace.every((event) => event.requestId === 'r' && event.details.phase))
  assert.ok(!JSON.stringify(trace).includes('secret'))
})

test('a sink that throws does not end the turn', async () => {
  const { model } = scripted('answer')
  const onTrace = () => {
    throw new Error('full disk')
  }
  assert.equal((await runTurn({ model, messages: user, onTrace }).result).status, 'complete')
})

test('a hundred turns at once, and nothing stays behind', async () => {
  const turns = Array.from({ length: 100 }, () => {
    const { model } = scripted('one-call')
    return runTurn({ model, messages: user, tools: { list_files: list() } }).result
  })
  for (const result of await Promise.all(turns)) assert.equal(result.status, 'complete')
  const { live } = await partsOf('../dist')
  await until(() => live() <= 1)
})

test("bodies are the model, the host's members and what the core decides, in this order", async () => {
  const sent = async (make, own) => {
    let init
    const fetch = async (url, given) => (
      (init = { url, ...given }),
      new Response('', { status: 400 })
    )
    const model = make({ baseURL: 'http://x/v1/', model: 'm', apiKey: 'k', fetch, ...own })
    await runTurn({ model, messages: user }).result
    return init
  }
  const messages = '"messages":[{"role":"user","content":"go"}]}'
  const usage = '"stream_options":{"include_usage":true}'
  for (const dialect of ['openai-chat', 'deepseek', 'groq', 'xai', 'chat-template']) {
    const { body } = await sent(openaiChat, { dialect })
    assert.equal(body, `{"model":"m","stream":true,${usage},${messages}`, dialect)
  }
  const { url, headers, body } = await sent(openaiChat, {
    dialect: 'mistral',
    headers: { accept: '*/*', 'x-own': '1' },
    body: { temperature: 0.5, stream: null, model: 'n', messages: 'no' },
  })
  assert.equal(url, 'http://x/v1/chat/completions')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: '*/*',
    authorization: 'Bearer k',
    'x-own': '1',
  })
  assert.equal(body, `{"model":"n","stream":null,"temperature":0.5,${messages}`)

  const list = openaiChat({ baseURL: 'http://x', model: 'm', body: [1] })
  const wrong = { code: 'options.invalid', message: '`body`: expected an object' }
  assert.throws(() => runTurn({ model: list, messages: user }), wrong)

  const claude = await sent(anthropic, { maxTokens: 5, body: { top_k: 2 } })
  assert.equal(claude.url, 'http://x/v1/messages')
  assert.equal(claude.headers['anthropic-version'], '2023-06-01')
  assert.ok(
    claude.body.startsWith('{"model":"m","max_tokens":5,"stream":true,"top_k":2,'),
    claude.body,
  )
})

test('a server that speaks something else is a typed failure', async () => {
  const server = createServer((_, response) => response.end('<html>login</html>'))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`
  const result = await runTurn({
    model: openaiChat({ baseURL, model: 'm', maxRetries: 0 }),
    messages: user,
  }).result
  assert.equal(result.status, 'failed')
  assert.ok(['model.truncated', 'model.stream'].includes(result.error.code))
  server.close()
})

test('no promise was left unhandled', async () => {
  // They are told when a task has ended.
  await new Promise((resolve) => setTimeout(resolve))
  assert.deepEqual(unhandled, [])
})

test('a stream that is read slowly holds the model back, and nothing is lost', async () => {
  let made = 0
  const model = customModel(async function* () {
    for (; made < 5000; made++) yield { type: 'text', text: `${made} ` }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })
  const turn = runTurn({ model, messages: [{ role: 'user', content: 'go' }] })
  const reader = turn.toReadableStream().getReader()
  let { value: event } = await reader.read()
  // As far as it gets with nobody reading.
  for (let before = -1; before !== made;) {
    before = made
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.ok(made < 1000, `${made} were made`)
  let text = ''
  for (let done = false; !done; { done, value: event = event } = await reader.read()) {
    if (event.type === 'text') text += event.chunk
  }
  assert.equal(made, 5000)
  assert.equal(text, Array.from({ length: 5000 }, (_, n) => `${n} `).join(''))
  assert.equal((await turn.result).text, text)
})

test('a reader that is left lying about does not hold the turn', async () => {
  const model = customModel(async function* () {
    for (let n = 0; n < 2000; n++) yield { type: 'text', text: 'x' }
  })
  const turn = runTurn({ model, messages: [{ role: 'user', content: 'go' }] })
  await turn[Symbol.asyncIterator]().next()
  assert.equal((await turn.result).text.length, 2000)
})

test('a store whose watch gives nothing that ends it does not keep a turn from ending', async () => {
  const model = customModel(async function* () {
    yield { type: 'text', text: 'done' }
  })
  for (const watch of [async () => () => {}, () => 5, () => () => thrown()]) {
    const store = { ...memoryStore(), watch }
    const { status } = await runTurn({ model, messages: user, store }).result
    assert.equal(status, 'complete')
  }
})

function thrown() {
  throw new Error('unwatch')
}

test('options are read once: one that throws later is not asked again', async () => {
  let reads = 0
  const options = {
    task: 't',
    replicate: async () => ({ data: 1 }),
    get redact() {
      if (++reads > 1) throw new Error('redact')
      return undefined
    },
  }
  const { meta } = await runBundle(options).result
  assert.deepEqual([meta.stopped, reads], ['early', 1])
  assert.throws(() => runBundle(options), { code: 'options.invalid', message: /^`redact`: / })
})

test('the conversation is known to events, trace, tools, result and thread', async () => {
  const [requests, traced, told] = [[], [], []]
  const model = customModel(
    async function* (request) {
      requests.push(request)
      if (requests.length > 1) return yield { type: 'text', text: 'done' }
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'look' }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
    },
    { threads: true },
  )
  const look = defineTool({
    description: '',
    inputSchema: { type: 'object' },
    execute(_, { conversationId, reportUsage }) {
      told.push(conversationId)
      reportUsage({ inputTokens: 5, outputTokens: 2 })
      return 'seen'
    },
  })
  const messages = [{ role: 'user', content: 'go' }]
  const options = { model, messages, tools: { look }, conversationId: 'chat', strategy: 'thread' }
  const turn = runTurn({ ...options, onTrace: (event) => traced.push(event.conversationId) })
  const events = []
  for await (const event of turn) events.push(event.conversationId)
  const { conversationId, totalUsage } = await turn.result
  assert.deepEqual([...new Set([...events, ...traced, ...told, conversationId])], ['chat'])
  assert.equal(totalUsage.totalTokens - (await turn.result).usage.totalTokens, 7)
  assert.equal(requests[0].threadId, threadId('chat'))
  assert.equal(requests[1].messages.filter(({ role }) => role === 'user').length, 0)
  const misused = (changes) =>
    assert.throws(() => runTurn({ ...options, ...changes }), { code: 'options.invalid' })
  misused({ conversationId: undefined })
  misused({ strategy: 'text_only' })
  misused({ model: { ...model, threads: undefined } })
  assert.throws(() => customModel(async function* () {}, { threads: 'yes' }), /threads/)
})

test('phase_end says which limit ended the tools', async () => {
  const model = (calls) =>
    customModel(async function* ({ tools }) {
      if (!tools?.length || calls-- <= 0) return yield { type: 'text', text: 'Done.' }
      yield { type: 'tool_call_start', index: 0, id: `c${calls}`, name: 'look' }
      yield { type: 'tool_call_arguments', index: 0, text: `{"at":${calls}}` }
      yield { type: 'tool_call_end', index: 0 }
    })
  const look = defineTool({ description: '', inputSchema: {}, execute: ({ at }) => at })
  const ends = async (calls, policy) => {
    const ended = []
    const messages = [{ role: 'user', content: 'hi' }]
    for await (const event of runTurn({ model: model(calls), messages, tools: { look }, policy })) {
      if (event.type === 'phase_end') ended.push(event.ended)
    }
    return ended
  }
  assert.deepEqual(await ends(1), ['max_tools', undefined])
  assert.deepEqual(await ends(1, { maxTools: 2 }), [undefined, undefined])
  assert.deepEqual(await ends(0), [undefined])
})

test('a model of the host counts its calls as it likes: each has its own arguments', async () => {
  const ran = []
  const model = customModel(async function* ({ messages }) {
    if (messages.length > 1) return yield { type: 'text', text: 'done' }
    for (const index of [1, 7]) {
      yield { type: 'tool_call_start', index, id: `c${index}`, name: 'look' }
      yield { type: 'tool_call_arguments', index, text: `{"n":${index}}` }
    }
    for (const index of [7, 1]) yield { type: 'tool_call_end', index }
    // The same number again is another call.
    yield { type: 'tool_call_start', index: 1, id: 'again', name: 'look' }
    yield { type: 'tool_call_arguments', index: 1, text: '{"n":8}' }
    yield { type: 'tool_call_end', index: 1 }
    yield { type: 'finish', reason: 'tool_calls', raw: 'tool_use' }
  })
  const look = defineTool({
    description: 'd',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: ({ n }) => void ran.push(n),
  })
  const messages = [{ role: 'user', content: 'go' }]
  const { status } = await runTurn({ model, messages, tools: { look }, policy: { maxTools: 3 } })
    .result
  assert.deepEqual([status, ran.toSorted()], ['complete', [1, 7, 8]])
})
