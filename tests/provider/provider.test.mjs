// The scripted provider is itself tested: every behaviour, over real HTTP.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { gzipSync } from 'node:zlib'
import { until } from '../patience.mjs'
import { collectGarbage } from '../garbage.mjs'
import { BEHAVIOURS } from '../../pkg/dist/testing/provider/behaviours.js'
import { fetchUpToTheCut } from './cut.mjs'
import { createProvider, createScriptedProvider, loadScenarios } from './server.mjs'
import { WIRES as ALL_WIRES } from '../../pkg/dist/testing/provider/wire/index.js'
import { frame } from '../../pkg/dist/testing/provider/wire/bedrock.js'

let provider
before(async () => (provider = await createProvider()))
after(() => provider.close())

const CHAT = 'chat/completions'
const WIRES = [CHAT, 'messages']
const offer = (name) => ({ type: 'function', function: { name, parameters: {} } })
const tools = [offer('list_files'), offer('read_file')]
const messages = [{ role: 'user', content: 'go' }]

let sessions = 0
function ask(script, { body = { messages, tools }, wire = CHAT, session = fresh(), ...own } = {}) {
  const url = `${provider.url}/s/${session}/${encodeURIComponent(script)}/v1/${wire}`
  const { send = fetch, ...init } = own
  return send(url, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify({ stream: true, ...body }),
    headers: { 'content-type': 'application/json', authorization: 'Bearer sk-secret' },
    ...init,
  })
}
const fresh = () => `t${sessions++}`
const events = (text) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)))

/** What a client makes of a stream of either wire. */
function read(text) {
  const said = { text: '', calls: [], finish: null }
  for (const event of events(text)) {
    const { delta = {}, finish_reason } = event.choices?.[0] ?? event
    said.text += delta.content ?? delta.text ?? ''
    for (const { id, function: own } of delta.tool_calls ?? []) {
      if (id) said.calls.push({ name: own.name, args: '' })
      said.calls.at(-1).args += own.arguments
    }
    const block = event.content_block
    if (block?.type === 'tool_use') said.calls.push({ name: block.name, args: '' })
    if (delta.partial_json) said.calls.at(-1).args += delta.partial_json
    said.finish = finish_reason ?? delta.stop_reason ?? said.finish
  }
  return said
}
const say = async (script, own) => read(await (await ask(script, own)).text())
const box = (result, tool = 'list_files') => ({
  role: 'user',
  content: `TOOL RESULT ${'0'.repeat(32)}\n${JSON.stringify({ tool, status: 'ok', result })}\nEND TOOL RESULT ${'0'.repeat(32)}`,
})
const notice = { role: 'user', content: 'The call to list_files did not run: no more.' }

test('what a behaviour says of itself is one sentence or two', () => {
  for (const { about } of Object.values(BEHAVIOURS)) assert.match(about, /^[A-Z].*\.$/)
})

for (const wire of WIRES) {
  const speak = (script, own) => say(script, { wire, ...own })
  const names = async (script, own) => (await speak(script, own)).calls.map(({ name }) => name)
  const withBoxes = (...results) => ({ messages: [...messages, ...results.map((r) => box(r))] })

  test(`answers without a call (${wire})`, async () => {
    for (const script of ['answer', 'slow']) {
      const said = await speak(script)
      assert.deepEqual([said.calls, said.text.length > 10], [[], true], script)
      assert.match(said.finish, /^(stop|end_turn)$/)
    }
  })

  test(`one call, then the answer from its result (${wire})`, async () => {
    for (const script of ['one-call', 'parallel', 'echo', 'loop-then-answer']) {
      const first = await speak(script)
      assert.equal(first.calls.length, script === 'parallel' ? 3 : 1, script)
      assert.match(first.finish, /^tool_(calls|use)$/)
      const then = await speak(script, { body: withBoxes(['a.txt']) })
      assert.deepEqual(then.calls, [], script)
      assert.match(then.text, /\["a\.txt"\]/, script)
    }
  })

  test(`the second call is chosen from the first result (${wire})`, async () => {
    const body = { ...withBoxes(['deep/other.md', 'a.txt']), tools }
    const { calls } = await speak('list-then-read', { body })
    assert.deepEqual(calls, [{ name: 'read_file', args: '{"path":"deep/other.md"}' }])
    assert.deepEqual(await names('list-then-read'), ['list_files'])
    const both = { ...withBoxes(['a.txt'], 'hello'), tools }
    assert.match((await speak('list-then-read', { body: both })).text, /"hello"/)
  })

  test(`a note is sent only where its tool is offered (${wire})`, async () => {
    const send = [offer('send_note')]
    assert.deepEqual(await names('read-then-note'), ['read_file'])
    const one = withBoxes('Call Ada')
    assert.deepEqual(await names('read-then-note', { body: { ...one, tools: send } }), [
      'send_note',
    ])
    assert.deepEqual(await names('read-then-note', { body: one }), [])
  })

  test(`loops: with tools, without tools, told so or not (${wire})`, async () => {
    const bodies = [
      { messages, tools },
      { ...withBoxes(['a.txt']), tools },
      { ...withBoxes(['a.txt']), tools, tool_choice: wire === CHAT ? 'none' : { type: 'none' } },
      { messages: [...messages, box(['a.txt']), notice] },
    ]
    const loops = Object.keys(BEHAVIOURS).filter((name) => name.startsWith('loop'))
    assert.equal(loops.length, 5)
    for (const script of loops) {
      const session = fresh()
      const said = []
      for (const body of bodies) said.push(await speak(script, { body, session }))
      const calls = said.map((one) => one.calls.length)
      const gives = { 'loop-then-answer': [1, 1, 0, 0], 'loop-text': [1, 1, 1, 1] }
      gives['loop-silent'] = [1, 1, 1, 1]
      assert.deepEqual(calls, gives[script] ?? [1, 1, 1, 0], script)
      const texts = said.map((one) => one.text !== '')
      const always = script === 'loop-text'
      assert.deepEqual(
        texts,
        calls.map((count) => always || count === 0),
        script,
      )
      const asked = said.flatMap((one) => one.calls.map(({ args }) => args))
      assert.equal(new Set(asked).size, script === 'loop-reordered' ? 2 : 1, script)
      const [one] = asked
      for (const args of asked) assert.deepEqual(JSON.parse(args), JSON.parse(one))
    }
  })

  test(`failures: status, in-stream, bytes that are no stream (${wire})`, async () => {
    const always = { 'always-401': 401, 'always-429': 429, 'server-error': 500 }
    for (const [script, status] of Object.entries(always)) {
      const response = await ask(script, { wire })
      assert.equal(response.status, status)
      assert.ok((await response.json()).error.message)
    }
    const session = fresh()
    const busy = await ask('rate-limited', { wire, session })
    assert.deepEqual([busy.status, busy.headers.get('retry-after')], [429, '1'])
    assert.equal((await ask('rate-limited', { wire, session })).status, 200)
    const once = fresh()
    assert.equal((await ask('fails-once', { wire, session: once })).status, 500)
    assert.equal((await say('fails-once', { wire, session: once })).calls[0].name, 'read_file')
    const error = events(await (await ask('error-event', { wire })).text()).at(-1)
    assert.equal(error.error.type, 'overloaded_error')
    await assert.rejects(say('malformed', { wire }), SyntaxError)
  })

  test(`a broken connection is broken, in the middle of the arguments (${wire})`, async () => {
    const { body } = await ask('cut-arguments', { wire, send: fetchUpToTheCut })
    let text = ''
    const decoder = new TextDecoder()
    await assert.rejects(async () => {
      for await (const piece of body) text += decoder.decode(piece, { stream: true })
    })
    assert.equal(read(text).text, 'Let me see. ')
    const [{ args }] = read(text).calls
    assert.ok(args.length > 0)
    assert.throws(() => JSON.parse(args))
    // Whoever cannot say what was read is cut off as well.
    const plain = await ask('cut-arguments', { wire })
    await assert.rejects(plain.text())
  })

  test(`a client that leaves is seen to leave (${wire})`, async () => {
    const [session, left] = [fresh(), new AbortController()]
    const { body } = await ask('stall', { wire, session, signal: left.signal })
    const reader = body.getReader()
    await reader.read()
    assert.equal(provider.requests(session)[0].closedEarly, false)
    // Also where nothing but the connection still holds the request.
    await collectGarbage()
    left.abort()
    await until(() => provider.requests(session)[0].closedEarly)

    const [other, gone] = [fresh(), new AbortController()]
    const pending = ask('stall-head', { wire, session: other, signal: gone.signal })
    await until(() => provider.requests(other).length === 1)
    gone.abort()
    await assert.rejects(pending, { name: 'AbortError' })
    await until(() => provider.requests(other)[0].closedEarly)
  })

  test(`every entry of every scenario can be sent (${wire})`, async () => {
    const offline = createScriptedProvider()
    for (const [name, { model }] of loadScenarios()) {
      for (const entry of model) {
        const left = new AbortController()
        const script = encodeURIComponent(`scenario:${name}`)
        const address = `http://x/s/${encodeURIComponent(name)}/${script}/v1/${wire}`
        const body = JSON.stringify({ messages, stream: true })
        const own = { method: 'POST', body, signal: left.signal }
        const response = offline.handle(new Request(address, own))
        if (entry.then === 'stall_head') left.abort()
        const answer = await response
        assert.equal(answer.status, entry.status ?? 200, name)
        await (entry.then ? answer.body.cancel() : answer.text())
      }
    }
  })
}

test('slow really is one byte at a time', async () => {
  const { body } = await createScriptedProvider().handle(post('answer', 'slow'))
  for await (const piece of body) assert.equal(piece.length, 1)
})

const post = (session, script, body = { messages }) =>
  new Request(`http://x/s/${session}/${script}/v1/${CHAT}`, {
    method: 'POST',
    body: JSON.stringify({ stream: true, ...body }),
  })

test('usage comes where it is asked for', async () => {
  const body = { messages, stream_options: { include_usage: true } }
  const counted = events(await (await ask('answer', { body })).text())
  assert.deepEqual(counted.at(-1).usage, {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
  })
  assert.ok(counted.slice(0, -1).every((event) => event.usage === null))
  assert.ok(events(await (await ask('answer')).text()).every((event) => !('usage' in event)))
})

test('histories that a provider refuses are refused in its words', async () => {
  const refusal = async (history, wire) => {
    const response = await ask('answer', { body: { messages: history }, wire })
    return [response.status, (await response.json()).error?.message]
  }
  const refused = async (history, words, wire) => {
    const [status, message] = await refusal(history, wire)
    assert.equal(status, 400)
    assert.match(message, words)
  }
  const [go] = messages
  const asks = (...ids) => ({ role: 'assistant', tool_calls: ids.map((id) => ({ id })) })
  const tool = (id) => ({ role: 'tool', tool_call_id: id, content: '' })
  await refused([tool('x')], /must be a response to a preceeding message/)
  await refused([go, asks('c', 'd'), tool('c'), go], /did not have response messages: d$/)
  await refused([go, asks('c')], /did not have response messages: c$/)
  await refused([go, asks('c'), tool('c'), tool('c')], /of 'c', in messages\[2\] and messages\[3\]/)
  assert.equal(
    (await ask('answer', { body: { messages: [go, asks('c'), tool('c')] } })).status,
    200,
  )

  const uses = (...ids) => ({
    role: 'assistant',
    content: ids.map((id) => ({ type: 'tool_use', id })),
  })
  const gives = (...ids) => ({
    role: 'user',
    content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: '' })),
  })
  const bad = [
    [[{ role: 'assistant', content: 'x' }], /first message must use the "user" role/],
    [[{ role: 'system', content: 'x' }, go], /Unexpected role "system"/],
    [[go, uses('c'), go], /^messages\.1: `tool_use` ids were found without .* after: c\./],
    [[go, gives('c')], /^messages\.1\.content\.0: unexpected `tool_use_id`/],
    [[go, uses('c', 'c'), gives('c')], /`tool_use` ids must be unique/],
    [[go, uses('c'), gives('c', 'c')], /Found multiple `tool_result` blocks with id: c/],
  ]
  for (const [history, words] of bad) await refused(history, words, 'messages')
  const good = { messages: [go, uses('c', 'd'), gives('d', 'c')] }
  assert.equal((await ask('answer', { body: good, wire: 'messages' })).status, 200)
  assert.equal((await ask('answer', { body: 'no json' })).status, 400)
})

test('requests that the later wires refuse', () => {
  const bad = {
    'openai-responses': [
      [{ input: [] }, /^Missing required parameter/],
      [{ input: [messages[0]], messages }, /^Unknown parameter: 'messages'/],
      [{ input: [{ type: 'function_call_output', call_id: 'c' }] }, /^No tool call found/],
      [
        { input: [{ type: 'function_call', call_id: 'c', arguments: '{}' }] },
        /^No tool output found for function call c/,
      ],
      [{ input: [{ type: 'reasoning', id: 'rs_1' }] }, /was not persisted/],
      [{ input: [{ role: 'tool', content: 'x' }] }, /^Invalid value: 'input\[0\]'/],
    ],
    gemini: [
      [{ contents: [] }, /contents is not specified/],
      [{ contents: [{ role: 'user', parts: [] }] }, /parts must not be empty/],
      [{ contents: [{ role: 'user', parts: [{ text: 'x', id: 1 }] }] }, /Unknown name "id"/],
      [{ contents: [{ role: 'model', parts: [{ text: 'x' }] }] }, /end with a user role/],
      [
        { contents: [{ role: 'user', parts: [{ functionResponse: { response: {} } }] }] },
        /function response turn comes immediately after/,
      ],
      [{ contents: [], stream: true }, /Unknown name "stream"/],
    ],
    bedrock: [
      [{ messages: [] }, /must start with a user message/],
      [{ messages: [{ role: 'user', content: [{ text: ' ' }] }] }, /is blank/],
      [
        { messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 'c' } }] }] },
        /toolConfig field must be defined/,
      ],
      [
        {
          messages: [1, 2].map(() => ({ role: 'user', content: [{ text: 'x' }] })),
        },
        /must alternate/,
      ],
      [{ messages, tool_choice: 'none' }, /unknown member: tool_choice/],
    ],
    cohere: [
      [{ messages: [] }, /empty array/],
      [{ messages, strict: true }, /parameter 'strict'/],
      [{ messages, tools: [] }, /tools must not be empty/],
    ],
    ollama: [
      [{ messages: [] }, /messages is required/],
      [{ messages: [{ role: 'user', content: [] }] }, /cannot unmarshal array/],
      [
        { messages: [{ role: 'assistant', tool_calls: [{ function: { arguments: '{}' } }] }] },
        /cannot unmarshal string/,
      ],
      [{ messages, tool_choice: 'none' }, /unknown member: tool_choice/],
    ],
  }
  for (const [wire, refused] of Object.entries(bad)) {
    for (const [body, words] of refused) assert.match(ALL_WIRES[wire].violation(body) ?? '', words)
  }
  const good = { contents: [{ role: 'user', parts: [{ text: 'x' }] }] }
  assert.equal(ALL_WIRES.gemini.violation(good), undefined)
  assert.match(ALL_WIRES.gemini.violation(good, { search: '' }), /SSE only/)
})

// A gzip ends with the CRC of what was compressed; `zlib.crc32` is not in every Node.
const crc32 = (bytes) => gzipSync(bytes).readUInt32LE(gzipSync(bytes).length - 8)

test('a frame is one that an outside reader of CRCs takes', () => {
  const bytes = Buffer.from(frame({ ':event-type': 'x' }, '{"a":1}'))
  assert.equal(bytes.readUInt32BE(0), bytes.length)
  assert.equal(bytes.readUInt32BE(8), crc32(bytes.subarray(0, 8)))
  assert.equal(bytes.readUInt32BE(bytes.length - 4), crc32(bytes.subarray(0, -4)))
})

test('requests are kept by session, without keys, until they are forgotten', async () => {
  const kept = async (session) => (await fetch(`${provider.url}/s/${session}/requests`)).json()
  await (await ask('answer', { session: 'kept' })).text()
  await (await ask('one-call', { session: 'kept', wire: 'messages' })).text()
  const list = await kept('kept')
  assert.deepEqual(
    list.map(({ script, wire, closedEarly, body }) => [script, wire, closedEarly, body.messages]),
    [
      ['answer', 'openai-chat', false, messages],
      ['one-call', 'anthropic', false, messages],
    ],
  )
  assert.equal(list[0].headers['content-type'], 'application/json')
  assert.ok(!JSON.stringify(list).includes('sk-secret'))
  assert.deepEqual(await kept('other'), [])
  await fetch(`${provider.url}/s/kept`, { method: 'DELETE' })
  assert.deepEqual(await kept('kept'), [])
})

test('any page may ask', async () => {
  const preflight = await fetch(`${provider.url}/s/a/answer/v1/${CHAT}`, { method: 'OPTIONS' })
  assert.equal(preflight.headers.get('access-control-allow-headers'), '*')
  const answer = await ask('answer')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
})

test('unknown scripts and paths are told, tapes stay in their folder', async () => {
  const unknown = ['nothing', 'constructor', 'scenario:nothing', 'tape:nothing.sse']
  unknown.push(
    'tape:../../../etc/passwd',
    'tape:../data.mjs',
    'tape:../elsewhere/x.txt',
    'tape:a\0.txt',
  )
  for (const script of unknown) assert.equal((await ask(script)).status, 404, script)
  assert.equal((await fetch(`${provider.url}/elsewhere`)).status, 404)
  const session = fresh()
  const once =
    'scenario:' + [...loadScenarios().values()].find((one) => one.model.length === 1).name
  await (await ask(once, { session })).body?.cancel()
  assert.equal((await ask(once, { session })).status, 404)
})

test('tapes are replayed as recorded, in pieces of any size', async () => {
  const name = 'tape:streams-vercel-ai/files/deepseek/deepseek-text.chunks.txt'
  const whole = await (await ask(name)).text()
  assert.ok(events(whole).length > 10)
  assert.equal(await (await ask(`${name}?chunk=997`)).text(), whole)
  const path = encodeURIComponent(`${name}?chunk=997`)
  const { body } = await createScriptedProvider().handle(post('t', path))
  const sizes = []
  for await (const piece of body) sizes.push(piece.length)
  assert.ok(sizes.slice(0, -1).every((size) => size === 997))
})
