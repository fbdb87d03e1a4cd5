// Connections of providers that break: the client's connection breaks too, and its library raises the
// error that it raises without a proxy. No frame is invented.
// Reports: open-webui/open-webui#29628 (2026-09-04) and preloop/preloop#117 (2026-07-29), whose gateways
// break the connection and want an error frame in its place. The clients below raise for a break;
// `openai` resolves a response at `response.failed`. theopenco/llmgateway#3616 (2026-08-14): an error that is no event
// ends a stream. cloudflare/workerd#6818 (2026-06-16) and oven-sh/bun#36477 (2026-07-30): servers that
// end a broken body as if it were whole.
import assert from 'node:assert/strict'
import { createServer, request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import * as ai from 'ai'
import * as ai6 from 'ai6'
import { createOpenAICompatible as createCompatible6 } from 'ai6-compatible'
import OpenAI from 'openai'
import { createProxy, toNodeListener } from 'turnlock/proxy'
import { breaking } from '../breaking.mjs'
import { createHost } from './hosts.mjs'
import { LOOP, model, post, WIRES } from './wires.mjs'

const MODES = ['observe', 'repair', 'bound']
const TYPES = { true: 'text/event-stream', false: 'application/json' }

/** The whole body of a response with a text and a call. */
const bodyOf = (wire, stream) =>
  stream
    ? WIRES[wire].stream({ text: ['Well. '], calls: [LOOP] }, { n: 1, body: {} }).join('')
    : JSON.stringify(WIRES[wire].whole({ text: 'Well. ', calls: [LOOP] }))

/** A body without what keeps its connection alive while a call is held. */
const withoutPings = (body) =>
  body.replaceAll(': keep-alive\n\n', '').replaceAll('event: ping\ndata: {"type":"ping"}\n\n', '')

/** Where a body is cut: before its first byte, in the text, in the arguments of the call. */
const CUTS = [() => 0, (body) => body.indexOf('Well'), (body) => body.indexOf('deep')]

/** A provider that sends the beginning of a body, and then breaks the connection. */
const cutting =
  (wire, cut, how = 'destroy') =>
  ({ text }, response) => {
    const stream = JSON.parse(text).stream === true
    const body = bodyOf(wire, stream)
    response.writeHead(200, { 'content-type': TYPES[stream] })
    response.flushHeaders()
    const start = body.slice(0, cut(body))
    if (start) response.write(start)
    // The bytes before the break have arrived.
    setTimeout(() => (how === 'reset' ? response.socket.resetAndDestroy() : response.destroy()), 50)
  }

/** Posts on a connection of its own, and reads until the response ends or breaks. */
const readUntilBreak = (url, key, body) =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` }
    const request = httpRequest(url, { method: 'POST', headers, agent: false }, (response) => {
      const { statusCode: status } = response
      const pieces = []
      const end = (isBroken) =>
        resolve({ status, text: Buffer.concat(pieces).toString(), isBroken })
      response.on('data', (piece) => pieces.push(piece))
      response.on('end', () => end(false))
      response.on('error', () => end(true))
    })
    // Bun sends the head of a response with the first bytes of its body.
    request.on('error', () => resolve({ status: 200, text: '', isBroken: true }))
    request.end(JSON.stringify(body))
  })

for (const runtime of ['node', 'workerd', 'deno', 'bun']) {
  describe(`broken connections (${runtime})`, () => {
    let host
    before(async () => (host = await createHost(runtime)))
    after(() => host.close())

    test('the client receives what the provider sent and then a break', async () => {
      for (const mode of MODES) {
        for (const wire of Object.keys(WIRES)) {
          for (const stream of [true, false]) {
            for (const cut of CUTS) {
              const upstream = host.script(cutting(wire, cut))
              const body = WIRES[wire].body([], { stream })
              const about = `${mode} ${wire} ${stream} ${cut}`
              const whole = bodyOf(wire, stream)
              const sent = whole.slice(0, cut(whole))
              const got = await readUntilBreak(
                host.url + WIRES[wire].path,
                upstream.key({ mode }),
                body,
              )
              // workerd's HTTP server ends a broken body without a length as if it were whole.
              if (runtime !== 'workerd') assert.ok(got.isBroken, about)
              // `bound` withholds bytes that it has not judged; Bun's server, at a break, those that it
              // has not written.
              if (mode === 'bound' || runtime === 'bun')
                assert.ok(withoutPings(sent).startsWith(withoutPings(got.text)), about)
              else assert.equal(got.text, sent, about)
              const [{ outcome, error, status }] = await host.reports()
              assert.deepEqual([outcome, error, status], ['failed', 'model.stream', 200], about)
            }
          }
        }
      }
    })

    test('a break after the terminal event is a break, of a complete response', async () => {
      for (const wire of Object.keys(WIRES)) {
        const upstream = host.script(cutting(wire, (body) => body.length))
        const body = WIRES[wire].body([])
        const got = await readUntilBreak(host.url + WIRES[wire].path, upstream.key({}), body)
        if (runtime !== 'bun') assert.equal(got.text, bodyOf(wire, true))
        if (runtime !== 'workerd') assert.ok(got.isBroken, wire)
        const [{ outcome, error }] = await host.reports()
        assert.deepEqual([outcome, error], ['complete', 'model.stream'])
      }
    })

    test('an unframed error at the end of a stream passes byte for byte, except in bound', async () => {
      const tail =
        '{\n  "error": { "code": 503, "message": "high demand", "status": "UNAVAILABLE" }\n}'
      for (const mode of MODES) {
        for (const wire of Object.keys(WIRES)) {
          const text = WIRES[wire]
            .stream({ text: ['Well. '] }, { n: 1, body: {} })
            .slice(0, 2)
            .join('')
          const upstream = host.script((_, response) => {
            response.writeHead(200, { 'content-type': 'text/event-stream' })
            response.end(text + tail)
          })
          const key = upstream.key({ mode })
          const got = await readUntilBreak(host.url + WIRES[wire].path, key, WIRES[wire].body([]))
          // `bound` refuses what is not an event: some client could read a call in it.
          const passes = mode !== 'bound'
          assert.deepEqual([got.text.startsWith(text), got.isBroken], [true, false])
          assert.equal(got.text === text + tail, passes, `${mode} ${wire}`)
          const [{ error }] = await host.reports()
          assert.equal(error, passes ? undefined : 'proxy.response_format')
        }
      }
    })

    if (runtime === 'workerd') {
      test('a worker that reads the response sees the break', async () => {
        for (const wire of Object.keys(WIRES)) {
          const upstream = host.script(cutting(wire, CUTS[1]))
          const body = WIRES[wire].body([])
          const inside = `/inside${WIRES[wire].path}`
          const got = await (await post(host, inside, upstream.key({}), body)).json()
          const whole = bodyOf(wire, true)
          assert.deepEqual(got, { text: whole.slice(0, CUTS[1](whole)), isBroken: true })
          await host.reports()
        }
      })
    }
  })
}

const ls = { name: 'ls', description: 'Lists files.' }
const user = { role: 'user', content: 'go' }
const schema = { type: 'object', properties: {} }

/** Client libraries with their own way to run a turn; each rejects when it cannot. */
const CLIENTS = {
  'openai, chat': [
    'chat',
    async (url, apiKey, stream) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey })
      const answer = await client.chat.completions.create(WIRES.chat.body([], { stream }))
      if (stream) for await (const chunk of answer) assert.ok(chunk.choices)
    },
  ],
  'openai, tool runner': [
    'chat',
    (url, apiKey, stream) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey })
      const run = { parse: JSON.parse, function: () => 'notes.txt' }
      const tools = [{ type: 'function', function: { ...ls, parameters: schema, ...run } }]
      return client.chat.completions
        .runTools({ model: 'm', stream, messages: [user], tools })
        .finalContent()
    },
  ],
  'openai, responses': [
    'responses',
    (url, apiKey, stream) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey })
      const body = WIRES.responses.body([], { stream })
      return stream ? client.responses.stream(body).finalResponse() : client.responses.create(body)
    },
  ],
  anthropic: [
    'messages',
    (url, apiKey, stream) => {
      const client = new Anthropic({ baseURL: url, apiKey })
      const { stream: _, ...body } = WIRES.messages.body([])
      return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body)
    },
  ],
  'anthropic, tool runner': [
    'messages',
    (url, apiKey, stream) => {
      const client = new Anthropic({ baseURL: url, apiKey })
      const tools = [
        {
          ...ls,
          type: 'custom',
          input_schema: schema,
          parse: (input) => input,
          run: () => 'notes.txt',
        },
      ]
      return client.beta.messages
        .toolRunner({ model: 'm', max_tokens: 99, stream, messages: [user], tools })
        .runUntilDone()
    },
  ],
  'ai 7': ['chat', (url, apiKey, stream) => runAi(ai, createOpenAICompatible, url, apiKey, stream)],
  'ai 6': ['chat', (url, apiKey, stream) => runAi(ai6, createCompatible6, url, apiKey, stream)],
}

async function runAi({ generateText, streamText }, createProvider, url, apiKey, stream) {
  const provider = createProvider({ name: 'p', baseURL: `${url}/v1`, apiKey })
  const options = { model: provider('m'), prompt: 'go', maxRetries: 1, onError() {} }
  if (!stream) return (await generateText(options)).text
  let text = ''
  for await (const part of streamText(options).fullStream) {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-delta') text += part.text
  }
  return text
}

/** The classes and messages of an error and its causes; only the socket's own words differ. */
function classesOf(error) {
  const classes = []
  for (let cause = error; cause; cause = cause.cause ?? cause.lastError) {
    const isSocket = /ECONNRESET|other side closed/.test(cause.message)
    classes.push(isSocket ? 'socket' : `${cause.constructor.name}: ${cause.message}`)
  }
  return classes
}

describe('clients of broken connections', () => {
  let host
  before(async () => (host = await createHost('node')))
  after(() => host.close())

  for (const [name, [wire, run]] of Object.entries(CLIENTS)) {
    for (const stream of [true, false]) {
      test(`${name}, ${stream ? 'stream' : 'whole'}: the error, and the attempts, are those without a proxy`, async () => {
        // Retries of whole responses take seconds.
        const isSlow = name.startsWith('ai') && !stream
        for (const how of isSlow ? ['destroy'] : ['destroy', 'reset']) {
          for (const cut of CUTS.slice(isSlow ? 2 : 1)) {
            const attempt = async (mode) => {
              const upstream = host.script(cutting(wire, cut, how))
              const url = mode ? host.url : `${host.upstream}/h/${upstream.name}`
              const error = await run(url, upstream.key({ mode }), stream).then(
                (value) => assert.fail(`${mode}: resolved with ${JSON.stringify(value)}`),
                (thrown) => thrown,
              )
              const { length } = upstream.requests
              if (mode) await host.reports(length)
              return { classes: classesOf(error), attempts: length }
            }
            const direct = await attempt(undefined)
            for (const mode of MODES) assert.deepEqual(await attempt(mode), direct, mode)
          }
        }
      })
    }
  }

  test('a client that retries after a break gets its answer', async () => {
    // `generateText` of both versions retries a body that breaks, each client a missing response.
    const attempts = [
      ...['ai 7', 'ai 6'].map((client) => [client, false, false]),
      ...Object.keys(CLIENTS).flatMap((client) => [
        [client, true, true],
        [client, true, false],
      ]),
    ]
    for (const mode of MODES) {
      await Promise.all(
        attempts.map(async ([name, isEarly, stream]) => {
          const [wire, run] = CLIENTS[name]
          const upstream = host.script(async (asked, response, attempt) => {
            if (attempt === 1 && isEarly) return response.socket.resetAndDestroy()
            if (attempt === 1) return cutting(wire, CUTS[1])(asked, response)
            return model({ ...WIRES[wire], none: () => true }, [], { stream })(asked, response)
          })
          await run(host.url, upstream.key({ mode }), stream)
          assert.equal(upstream.requests.length, 2, `${mode} ${name}`)
        }),
      )
      const outcomes = (await host.reports(attempts.length * 2)).map(({ outcome }) => outcome)
      assert.equal(outcomes.filter((outcome) => outcome === 'failed').length, attempts.length)
      assert.equal(outcomes.filter((outcome) => outcome === 'complete').length, attempts.length)
    }
  })

  test('a connection that is reset after any number of bytes never yields more than the provider sent', async () => {
    const provider = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of WIRES.messages.stream(
        { text: ['Well. '], calls: [LOOP] },
        { n: 1, body: {} },
      )) {
        response.write(event)
      }
      response.end()
    })
    await new Promise((resolve) => provider.listen(0, '127.0.0.1', resolve))
    const whole = bodyOf('messages', true)
    const budgets = Array.from({ length: 25 }, (_, at) => 100 + at * Math.floor(whole.length / 26))
    const count = budgets.length
    const line = await breaking(provider.address().port, budgets)
    const reports = []
    const server = createServer(
      toNodeListener(
        createProxy({
          upstream: line.url,
          authorize: () => ({ tenant: 'me' }),
          onReport: (report) => reports.push(report),
        }),
        { onError() {} },
      ),
    )
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${server.address().port}/v1/messages`
    for (let at = 0; at < count; at++) {
      const got = await readUntilBreak(url, '', WIRES.messages.body([]))
      const report = reports.pop()
      if (got.status === 502) assert.equal(report.error, 'model.unreachable')
      else {
        assert.ok(got.isBroken && whole.startsWith(got.text), got.text)
        assert.equal(report.error, 'model.stream')
      }
    }
    assert.equal(line.broken(), count)
    for (const one of [provider, server]) one.closeAllConnections()
    for (const one of [provider, server, line]) one.close()
  })
})
