// Inputs beyond every limit: a typed error or success, the core alive, neighbours unharmed, and no
// memory kept. The table of limits is docs/limits.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import test from 'node:test'
import { inflateRawSync } from 'node:zlib'
import {
  canonicalize,
  customModel,
  defineTool,
  diagnose,
  init,
  memoryStore,
  normalize,
  openaiChat,
  runBundle,
  runTurn,
} from 'turnlock'
import { createProxy } from 'turnlock/proxy'
import { createHandler } from 'turnlock/server'
import { partsOf } from './parts.mjs'

const messages = [{ role: 'user', content: 'go' }]
const MiB = 2 ** 20
// Every part of the core is there.
await init()

/** A server that answers with a stream that `write` makes; `sent` counts its bytes. */
async function served(write) {
  const told = { sent: 0 }
  const server = createServer(async (request, response) => {
    request.resume()
    let go
    for (const event of ['drain', 'close', 'error']) response.on(event, () => go?.())
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of write()) {
      if (response.destroyed) return
      told.sent += piece.length
      if (!response.write(piece)) await new Promise((resolve) => (go = resolve))
    }
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { told, close, model: openaiChat({ baseURL, model: 'm', apiKey: 'k', maxRetries: 0 }) }
}

const chunk = (delta, finish_reason = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const call = (text) =>
  chunk({ tool_calls: [{ index: 0, id: 'c0', function: { name: 'look', arguments: text } }] })

/** Another turn that is under way meanwhile, which has to end well. */
function neighbour() {
  let go
  const gate = new Promise((resolve) => (go = resolve))
  const model = customModel(async function* () {
    yield { type: 'text', text: 'I ' }
    await gate
    yield { type: 'text', text: 'am fine.' }
  })
  const turn = runTurn({ model, messages })
  return async () => {
    go()
    assert.equal((await turn.result).text, 'I am fine.')
    // The core is alive, and has given back what was large.
    assert.equal(canonicalize('{ "b":1,"a":2}'), '{"a":2,"b":1}')
    const { parts } = await partsOf('../dist')
    for (const name of ['turn', 'signature', 'history', 'evidence']) {
      const { byteLength } = parts[name].core().glue.memory.buffer
      assert.ok(byteLength <= 64 * MiB, `${name} keeps ${byteLength} bytes`)
    }
  }
}

/** Runs a turn on a stream; its result, and how many bytes were sent. */
async function turnOn(write, more) {
  const fine = neighbour()
  const { told, close, model } = await served(write)
  const { status, error, text } = await runTurn({ model, messages, ...more }).result
  close()
  await fine()
  return { status, code: error?.code, text, sent: told.sent }
}

test('one event of a gigabyte fails the turn after some megabytes', async () => {
  const piece = 'x'.repeat(MiB)
  const { status, code, sent } = await turnOn(function* () {
    yield 'data: {"choices":[{"delta":{"content":"'
    for (let n = 0; n < 1024; n++) yield piece
    yield '"}}]}\n\n'
  })
  assert.deepEqual([status, code], ['failed', 'model.stream'])
  assert.ok(sent < 64 * MiB, `${sent} bytes`)
})

test('a gigabyte of events fails the turn at what one response may have', async () => {
  const piece = chunk({ content: 'x'.repeat(MiB) })
  const { status, code, sent } = await turnOn(function* () {
    for (let n = 0; n < 1024; n++) yield piece
  })
  assert.deepEqual([status, code], ['failed', 'model.stream'])
  assert.ok(sent < 128 * MiB, `${sent} bytes`)
})

test('100 000 tiny events are a text of as many characters', async () => {
  const one = chunk({ content: 'x' })
  const { status, text } = await turnOn(function* () {
    for (let n = 0; n < 1000; n++) yield one.repeat(100)
    yield `${chunk({}, 'stop')}data: [DONE]\n\n`
  })
  assert.deepEqual([status, text], ['complete', 'x'.repeat(100_000)])
})

test('a flood of comments and empty events is no text, and ends with the stream', async () => {
  const { status, text } = await turnOn(function* () {
    for (let n = 0; n < 1000; n++) yield ': ping\n\ndata:\n\nevent: x\n\n\n\n'.repeat(100)
    yield `${chunk({ content: 'so' })}${chunk({}, 'stop')}data: [DONE]\n\n`
  })
  assert.deepEqual([status, text], ['complete', 'so'])
})

test('JSON that is nested 200 000 times, in an event and in arguments', async () => {
  const bomb = '['.repeat(200_000) + ']'.repeat(200_000)
  const event = await turnOn(function* () {
    yield `data: {"choices":[{"delta":{"content":${bomb}}}]}\n\n`
    yield `${chunk({ content: 'so' })}${chunk({}, 'stop')}data: [DONE]\n\n`
  })
  assert.deepEqual([event.status, event.code], ['failed', 'model.stream'])
  let runs = 0
  const look = defineTool({ inputSchema: { type: 'object' }, execute: () => ++runs })
  const args = await turnOn(
    function* () {
      yield `${call(`{"a":${bomb}}`)}${chunk({}, 'tool_calls')}data: [DONE]\n\n`
    },
    { tools: { look } },
  )
  assert.equal(runs, 0)
  assert.ok(['complete', 'failed'].includes(args.status))
  const fine = neighbour()
  assert.throws(() => canonicalize(bomb), { code: 'json.too_deep' })
  assert.throws(
    () => diagnose([{ role: 'user', content: JSON.parse(bomb) }], { dialect: 'anthropic' }),
    {
      name: 'TurnlockError',
    },
  )
  await fine()
})

test('100 000 calls in one response', async () => {
  let runs = 0
  const look = defineTool({ inputSchema: { type: 'object' }, execute: () => ++runs })
  const { status } = await turnOn(
    function* () {
      for (let n = 0; n < 100_000; n++) {
        const own = { index: n, id: `c${n}`, function: { name: 'look', arguments: `{"n":${n}}` } }
        yield chunk({ tool_calls: [own] })
      }
      yield `${chunk({}, 'tool_calls')}data: [DONE]\n\n`
    },
    { tools: { look }, policy: { freeze: 'batch', maxTools: 2 } },
  )
  assert.ok(['complete', 'failed'].includes(status))
  assert.ok(runs <= 2, `${runs} calls`)
})

test('100 000 messages are a history, which can be too many parts to be converted', async () => {
  const text = (n) => ({ role: n % 2 ? 'assistant' : 'user', content: `message number ${n}` })
  const called = (n) =>
    n % 2
      ? { role: 'tool', tool_call_id: `c${n - 1}`, content: `result number ${n}` }
      : {
          ...{ role: 'assistant', content: null },
          tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'f', arguments: '{}' } }],
        }
  const many = (make) => [...Array.from({ length: 100_000 }, (_, n) => make(n)), text(0)]
  const answer = () => [chunk({ content: 'so' }), chunk({}, 'stop')]
  const plain = await turnOn(answer, { messages: many(text) })
  assert.deepEqual([plain.status, plain.text], ['complete', 'so'])
  const { status, text: said } = await turnOn(answer, { messages: many(called) })
  assert.deepEqual([status, said], ['complete', 'so'])
  // What converts them keeps them all in the core's memory.
  const fine = neighbour()
  for (const dialect of ['openai-chat', 'anthropic']) {
    assert.throws(() => normalize(many(called), { dialect }), { code: 'message.too_many_parts' })
  }
  await fine()
})

test('100 000 fields of each replicate are compared', async () => {
  const fine = neighbour()
  const data = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`f${n}`, n]))
  const replicate = async () => ({ data })
  const { summary } = await runBundle({ task: 't', replicate }).result
  assert.equal(summary.confidence, 1)
  await fine()
})

test('bodies that are bombs: the handler answers with a code, the proxy passes or refuses', async () => {
  const fine = neighbour()
  const bomb = '['.repeat(400_000) + ']'.repeat(400_000)
  const model = customModel(async function* () {
    yield { type: 'text', text: 'so' }
  })
  const authorize = () => ({ tenant: 't' })
  const limits = { bodyBytes: 4 * MiB }
  const handler = createHandler({ model, store: memoryStore(), authorize, limits })
  const post = (url, body) =>
    new Request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  for (const body of [
    bomb,
    `{"messages":${bomb}}`,
    `{"messages":[{"role":"user","content":${bomb}}]}`,
  ]) {
    const response = await handler(post('https://edge.example/api/chat/messages', body))
    const text = await response.text()
    assert.ok(response.status < 500, text.slice(0, 200))
    if (response.status === 200) assert.match(text, /"type":"error"/)
  }
  for (const mode of ['observe', 'repair', 'bound']) {
    const proxy = createProxy({
      ...{ upstream: 'https://provider.example', authorize, mode },
      fetch: async () => new Response(`data: {"choices":[{"delta":{"tool_calls":${bomb}}}]}\n\n`),
    })
    for (const path of ['chat/completions', 'messages', 'responses']) {
      const name = path === 'responses' ? 'input' : 'messages'
      const body = `{"model":"m","tools":[{}],"${name}":[{"role":"user","content":${bomb}}]}`
      const response = await proxy(post(`https://edge.example/v1/${path}`, body))
      assert.ok(response.status < 500, `${mode} ${path}: ${response.status}`)
      assert.match(await response.text(), /tool_calls/)
    }
  }
  await fine()
})

/** The most bytes that a module's memory may have: the maximum of its memory section. */
function mostOf(wasm) {
  let at = 8
  const number = () => {
    let [value, scale] = [0, 1]
    for (;;) {
      const byte = wasm[at++]
      value += (byte & 127) * scale
      scale *= 128
      if (byte < 128) return value
    }
  }
  while (at < wasm.length) {
    const [id, length] = [wasm[at++], number()]
    if (id === 5) {
      assert.equal(number(), 1, 'one memory')
      const hasMost = number() & 1
      number()
      return hasMost ? number() * 65_536 : Infinity
    }
    at += length
  }
  return Infinity
}

test('no core can have all 4 GiB: a stack that runs over its beginning traps', async () => {
  const names = 'signature stream history turn durable planning evidence plans chain tools'.split(
    ' ',
  )
  for (const name of names) {
    const { bytes } = await import(`../dist/wasm/${name}.js`)
    assert.equal(mostOf(inflateRawSync(Buffer.from(bytes, 'base64'))), 3 * 2 ** 30, name)
  }
  const whole = readFileSync(new URL('../dist/turnlock.wasm', import.meta.url))
  assert.equal(mostOf(whole), 3 * 2 ** 30)
})
