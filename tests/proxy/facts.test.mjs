// What clients were seen to insist on, fact by fact, over real HTTP in Node, workerd, Deno and Bun.
import assert from 'node:assert/strict'
import { request as rawRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import * as zlib from 'node:zlib'
import OpenAI from 'openai'
import { createHost } from './hosts.mjs'
import { frames, LOOP, looped, model, post, WIRES } from './wires.mjs'

const BOUND = { mode: 'bound' }
const OTHER = { id: 'call_other', name: 'ls', args: { path: '/other' } }
const json =
  (value, status = 200) =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof value === 'string' ? value : JSON.stringify(value))
  }
const raw = (bytes) => (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(bytes)
}
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends what `fetch` cannot. */
const send = (url, { method = 'GET', headers = {}, body } = {}) =>
  new Promise((resolve, reject) => {
    const sent = rawRequest(url, { method, headers }, async (response) => {
      const pieces = []
      for await (const piece of response) pieces.push(piece)
      const { statusCode: status, headers: had } = response
      resolve({ status, headers: had, body: Buffer.concat(pieces) })
    })
    sent.on('error', reject)
    sent.on('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('upgraded'))
    })
    sent.end(body)
  })

for (const runtime of ['node', 'workerd', 'deno', 'bun']) {
  describe(`facts (${runtime})`, () => {
    let host
    before(async () => (host = await createHost(runtime)))
    after(() => host.close())

    test('1: Claude Code: the path decides, its query goes on; HEAD / is answered; models pass', async () => {
      const upstream = host.script(json('{"data": [ ]}'))
      const key = upstream.key(BOUND)
      await (await post(host, '/v1/messages?beta=true', key, WIRES.messages.body([]))).text()
      const [report] = await host.reports()
      assert.equal(report.route, 'messages')
      const models = await fetch(`${host.url}/v1/models?limit=1000`, {
        headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
      })
      assert.deepEqual([models.status, await models.text()], [200, '{"data": [ ]}'])
      assert.deepEqual(
        upstream.requests.map(({ method, path }) => [method, path]),
        [
          ['POST', '/v1/messages?beta=true'],
          ['GET', '/v1/models?limit=1000'],
        ],
      )
      assert.equal((await fetch(host.url, { method: 'HEAD' })).status, 200)
    })

    test('2: Codex: a WebSocket upgrade is answered with 426', async () => {
      const { status, body } = await send(`${host.url}/v1/responses`, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      })
      assert.equal(status, 426)
      assert.equal(JSON.parse(body).error.code, 'request.upgrade')
    })

    test('3: unknown paths, methods and parameters pass', async () => {
      const upstream = host.script((asked, response) => {
        response.writeHead(207, { 'x-own': 'yes' })
        response.end(asked.body)
      })
      const bytes = Buffer.from([0, 255, 1, 254])
      for (const [method, path] of [
        ['PUT', '/v1/files/a%2Fb?x=%20'],
        ['DELETE', '/v9/x'],
        ['POST', '/v1/embeddings'],
      ]) {
        const response = await fetch(host.url + path, {
          method,
          body: bytes,
          headers: { authorization: `Bearer ${upstream.key()}` },
        })
        assert.deepEqual([response.status, response.headers.get('x-own')], [207, 'yes'])
        assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes))
        const asked = upstream.requests.at(-1)
        assert.deepEqual([asked.method, asked.path], [method, path])
      }
      const body = { ...WIRES.chat.body([]), own_parameter: { a: [1] } }
      await (await post(host, WIRES.chat.path, upstream.key(BOUND), body)).text()
      assert.deepEqual(JSON.parse(upstream.requests.at(-1).text), body)
      await host.reports()
    })

    test('4: count_tokens gets every byte; its 404 passes; usage is never falsified', async () => {
      const upstream = host.script(
        json('{"type":"error", "error":{"type":"not_found_error"}}', 404),
      )
      const body = JSON.stringify(WIRES.messages.body(looped(3)), null, 2)
      const response = await post(
        host,
        '/v1/messages/count_tokens?beta=true',
        upstream.key(BOUND),
        body,
      )
      assert.deepEqual([response.status, upstream.requests[0].text], [404, body])
      const counted = host.script(model(WIRES.messages, [LOOP, OTHER]))
      const answer = await post(
        host,
        '/v1/messages',
        counted.key(BOUND),
        WIRES.messages.body(looped(2)),
      )
      const all = frames(await answer.text()).map(({ data }) => JSON.parse(data))
      const { usage } = all.find(({ type }) => type === 'message_delta')
      const [report] = await host.reports()
      assert.equal(report.usage[0].output_tokens, usage.output_tokens)
      assert.equal(all[0].message.usage.input_tokens, report.usage[0].input_tokens)
    })

    test('5: anthropic-version and anthropic-beta pass byte for byte, and so do open bodies', async () => {
      const upstream = host.script(json({}))
      const body = `{"system":[{"type":"text","text":"x-anthropic-billing-header: a=b;"}, {"type":"text","text":"You are."}],\n "context_management": {"edits":[{"type":"new"}]},"messages":[ {"role":"user","content":"hi"} ],"x":1e0}`
      const headers = {
        'anthropic-version': '2023-06-01',
        'anthropic-beta': 'a-2025-01-01,b-2099-12-31, c',
        'x-api-key': upstream.key({ mode: 'repair' }),
      }
      await (await fetch(`${host.url}/v1/messages`, { method: 'POST', headers, body })).text()
      const [asked] = upstream.requests
      assert.equal(asked.text, body)
      assert.equal(asked.headers['anthropic-beta'], headers['anthropic-beta'])
      assert.equal(asked.headers['anthropic-version'], headers['anthropic-version'])
      assert.equal(asked.headers['x-api-key'], 'edge-key')
      await host.reports()
    })

    test('6: either header holds a key; the client is still known by its own headers', async () => {
      const upstream = host.script(json({}))
      const key = upstream.key()
      const own = { 'user-agent': 'claude-cli/9.9', 'x-stainless-lang': 'js', 'x-app': 'cli' }
      for (const auth of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }]) {
        const headers = { ...own, ...auth, cookie: 'a=b', 'proxy-authorization': 'Basic x' }
        const asking = { method: 'POST', headers, body: '{"messages":[]}' }
        const { status } = await send(`${host.url}/v1/chat/completions`, asking)
        assert.equal(status, 200)
        const { headers: had } = upstream.requests.at(-1)
        for (const [name, value] of Object.entries(own)) assert.equal(had[name], value)
        // The client's key stays at the edge, and the provider's is there.
        assert.equal(had.authorization, 'Bearer edge-key')
        assert.ok(!JSON.stringify(had).includes(key))
        for (const name of ['x-api-key', 'cookie', 'proxy-authorization'])
          assert.equal(had[name], undefined)
      }
      const { status } = await send(`${host.url}/v1/chat/completions`, {
        method: 'POST',
        body: '{}',
      })
      assert.equal(status, 401)
      assert.equal(upstream.requests.length, 2)
      await host.reports(2)
    })

    test('6: curl asks before it sends a long body (`expect`), and is answered', async () => {
      const upstream = host.script(json({}))
      const body = JSON.stringify(WIRES.chat.body(looped(1)))
      for (const path of ['/v1/embeddings', WIRES.chat.path]) {
        const { status } = await send(host.url + path, {
          method: 'POST',
          body,
          headers: {
            authorization: `Bearer ${upstream.key()}`,
            expect: '100-continue',
            'content-length': Buffer.byteLength(body),
          },
        })
        assert.deepEqual([status, upstream.requests.at(-1).text], [200, body])
        assert.equal(upstream.requests.at(-1).headers.expect, undefined)
      }
      await host.reports()
    })

    test("7: the session is that of the client's headers", async () => {
      const upstream = host.script(json({}))
      const session = {
        'x-claude-code-session-id': 's1',
        'x-claude-code-agent-id': 'a1',
        'x-claude-code-parent-agent-id': 'p1',
      }
      await (
        await post(host, '/v1/messages', upstream.key(), WIRES.messages.body([]), session)
      ).text()
      assert.deepEqual((await host.reports())[0].session, session)
      for (const [name, value] of Object.entries(session)) {
        assert.equal(upstream.requests[0].headers[name], value)
      }
    })

    test('8: a repair changes no byte but its own (see bytes and history)', async () => {
      const upstream = host.script(json({}))
      const text =
        '{ "messages" : [ {"role":"user", "content":"a"} , {"role":"tool","tool_call_id":"x","content":"1"} , {"role":"user","content" : "b"} ] , "n":1.0}'
      await (await post(host, WIRES.chat.path, upstream.key({ mode: 'repair' }), text)).text()
      assert.equal(upstream.requests[0].text, text.replace(/ , \{"role":"tool".*?\}/, ''))
      assert.equal((await host.reports())[0].repairs[0].code, 'TOOL_RESULT_ORPHAN')
    })

    test('9: compressed bodies are decoded within a limit, and their header goes', async () => {
      const upstream = host.script(json({}))
      const body = JSON.stringify(WIRES.responses.body(looped(1)))
      const codes = { gzip: gzipSync(body), fake: Buffer.from(body).map((byte) => byte ^ 1) }
      if (runtime === 'node' && zlib.zstdCompressSync) codes.zstd = zlib.zstdCompressSync(body)
      for (const [encoding, bytes] of Object.entries(codes)) {
        const headers = { 'content-encoding': encoding }
        const key = upstream.key(BOUND)
        const response = await post(host, WIRES.responses.path, key, new Uint8Array(bytes), headers)
        assert.equal(response.status, 200)
        const asked = upstream.requests.at(-1)
        assert.deepEqual([asked.text, asked.headers['content-encoding']], [body, undefined])
      }
      const bomb = gzipSync(Buffer.alloc(13_000_000))
      const big = await post(host, WIRES.chat.path, upstream.key(), bomb, {
        'content-encoding': 'gzip',
      })
      assert.deepEqual([big.status, (await big.json()).error.code], [413, 'request.too_large'])
      const wrong = await post(host, WIRES.chat.path, upstream.key(), '{}', {
        'content-encoding': 'gzip',
      })
      assert.deepEqual(
        [wrong.status, (await wrong.json()).error.code],
        [400, 'request.content_encoding'],
      )
      // What cannot be read passes as it came; `bound` cannot bound it.
      const unknown = { 'content-encoding': 'x-unknown' }
      const passed = await post(host, WIRES.chat.path, upstream.key(), body, unknown)
      assert.equal(passed.status, 200)
      assert.equal(upstream.requests.at(-1).headers['content-encoding'], 'x-unknown')
      assert.equal(
        (await host.reports(Object.keys(codes).length + 1)).at(-1).error,
        'request.content_encoding',
      )
      const refused = await post(host, WIRES.chat.path, upstream.key(BOUND), body, unknown)
      assert.equal(refused.status, 415)
    })

    test('10: a compressed response is decoded, and no header says otherwise', async () => {
      const bytes = Buffer.from(
        'data: {"choices":[{"delta":{"content":"hi"}}]}\n\ndata: [DONE]\n\n',
      )
      const upstream = host.script((asked, response) => {
        const packed = gzipSync(bytes)
        response.writeHead(200, {
          'content-type': 'text/event-stream',
          'content-encoding': 'gzip',

          'content-length': packed.length,
          connection: 'close, x-hop',
          'x-hop': '1',
          'x-own': '2',
          'set-cookie': 'provider=1',
        })
        response.end(packed)
      })
      const headers = { authorization: `Bearer ${upstream.key(BOUND)}`, 'accept-encoding': 'x-odd' }
      const body = JSON.stringify(WIRES.chat.body([]))
      const answer = await send(`${host.url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body,
      })
      assert.ok(
        (answer.headers['content-encoding'] ? gunzipSync(answer.body) : answer.body).equals(bytes),
      )
      for (const name of ['content-encoding', 'content-length', 'x-hop', 'set-cookie']) {
        // Bun itself says the length of a stream that it has whole.
        const own =
          runtime === 'bun' && name === 'content-length' ? `${answer.body.length}` : undefined
        assert.equal(answer.headers[name], own, name)
      }
      assert.equal(answer.headers['x-own'], '2')
      assert.ok(!String(upstream.requests[0].headers['accept-encoding']).includes('x-odd'))
      await host.reports()
    })

    /** The frames of a rewritten stream: of two calls, the first is refused. */
    const rewritten = async (wire, calls = [LOOP, OTHER], more = {}) => {
      const upstream = host.script(model(WIRES[wire], calls, more))
      const body = { ...WIRES[wire].body(looped(2)), ...more.body }
      const response = await post(host, WIRES[wire].path, upstream.key(BOUND), body)
      assert.equal(response.status, 200)
      const text = await response.text()
      await host.reports()
      // A slow machine has pings between them.
      const isPing = ({ data }) => data === undefined || data === '{"type":"ping"}'
      return { all: frames(text).filter((frame) => !isPing(frame)), upstream }
    }

    test('11, 13, 14: a rewritten message has its event lines, usage, end, and blocks from 0', async () => {
      for (const [calls, types] of [
        [
          [LOOP, OTHER],
          ['text', 'tool_use'],
        ],
        [
          [OTHER, LOOP, { ...OTHER, id: 'c3', args: { n: 3 } }],
          ['text', 'tool_use', 'tool_use'],
        ],
        [[LOOP], ['text', 'text']],
      ]) {
        const { all } = await rewritten('messages', calls, { text: 'Well. ' })
        const data = all.map((frame) => {
          const parsed = JSON.parse(frame.data)
          assert.equal(frame.event, parsed.type)
          return parsed
        })
        assert.equal(typeof data[0].message.usage.input_tokens, 'number')
        assert.equal(data.at(-1).type, 'message_stop')
        assert.equal(data.filter(({ type }) => type === 'message_start').length, 1)
        const open = data.filter(({ type }) => type === 'content_block_start')
        assert.deepEqual(
          open.map(({ content_block }) => content_block.type),
          types,
        )
        // One block at a time, in order.
        const edges = data.filter(({ type }) => /^content_block_st(art|op)$/.test(type))
        assert.deepEqual(
          edges.map(({ index }) => index),
          types.flatMap((_, at) => [at, at]),
        )
        assert.ok(data.every(({ index }) => index === undefined || index < types.length))
      }
    })

    test('12, 15: while a call is held there are pings, between frames only', async () => {
      for (const [wire, ping] of [
        ['messages', 'event: ping\ndata: {"type":"ping"}'],
        ['chat', ': keep-alive'],
        ['responses', ': keep-alive'],
      ]) {
        const whole = WIRES[wire]
          .stream({ text: ['Well. '], calls: [LOOP] }, { n: 1, body: WIRES[wire].body([]) })
          .join('')
        let go
        const upstream = host.script(async (_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          // In the middle of a frame of the call.
          const at = whole.indexOf('deep')
          const seen = new Promise((resolve) => (go = resolve))
          response.write(whole.slice(0, at))
          await seen
          response.end(whole.slice(at))
        })
        const body = WIRES[wire].body(looped(1))
        const response = await post(host, WIRES[wire].path, upstream.key(BOUND), body)
        const count = (text) => text.split(`${ping}\n\n`).length - 1
        const decoder = new TextDecoder()
        let text = ''
        for await (const piece of response.body) {
          text += decoder.decode(piece, { stream: true })
          // One more than the provider's own.
          if (count(text) > count(whole)) go()
        }
        const without = (stream) => stream.replaceAll(`${ping}\n\n`, '')
        assert.equal(without(text), without(whole))
        for (const { frame } of frames(text))
          assert.ok(frame === ping || !frame.includes(ping), frame)
        await host.reports()
      }
    })

    test('13: what a client tolerates or refuses passes as the provider wrote it', async () => {
      const bytes = Buffer.from(
        'event: own\ndata: {"type":"own"}\n\nevent: message_start\ndata: {"type":"message_start","message":{"content":[]}}\n\ndata: [DONE]\n\n',
      )
      const upstream = host.script(raw(bytes))
      const response = await post(
        host,
        '/v1/messages',
        upstream.key(BOUND),
        WIRES.messages.body(looped(2)),
      )
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes))
      await host.reports()
    })

    test('16, 17, 18, 19: a rewritten chat stream has a role, an end, calls from 0, its usage alone', async () => {
      for (const include_usage of [true, false]) {
        for (const calls of [
          [LOOP, OTHER],
          [OTHER, LOOP, { ...OTHER, id: 'c3', args: { n: 3 } }],
          [LOOP],
        ]) {
          const body = include_usage ? { stream_options: { include_usage } } : {}
          const { all } = await rewritten('chat', calls, { body })
          assert.ok(
            all.every(({ event }) => event === undefined),
            'no named events',
          )
          assert.equal(all.at(-1).data, '[DONE]')
          const chunks = all.slice(0, -1).map(({ data }) => JSON.parse(data))
          assert.ok(chunks.every(({ choices }) => Array.isArray(choices)))
          assert.equal(new Set(chunks.map(({ id }) => id)).size, 1)
          assert.equal(chunks[0].choices[0].delta.role, 'assistant')
          const ends = chunks.filter(({ choices }) => choices[0]?.finish_reason)
          const kept = calls.filter((call) => call !== LOOP)
          assert.deepEqual(
            ends.map(({ choices }) => choices[0].finish_reason),
            [kept.length ? 'tool_calls' : 'stop'],
          )
          const indexes = chunks.flatMap(
            ({ choices }) => choices[0]?.delta.tool_calls?.map(({ index }) => index) ?? [],
          )
          assert.deepEqual(
            [...new Set(indexes)],
            kept.map((_, at) => at),
          )
          assert.ok(!JSON.stringify(chunks).includes(LOOP.id))
          const counted = chunks.filter(({ usage }) => usage)
          assert.deepEqual(
            counted.map(({ choices }) => choices),
            include_usage ? [[]] : [],
          )
        }
      }
    })

    test('20: a rewritten response keeps the order, the numbers and the whole texts', async () => {
      for (const [calls, kept] of [
        [[LOOP, OTHER], 1],
        [[OTHER, LOOP], 1],
        [[LOOP], 0],
      ]) {
        const { all } = await rewritten('responses', calls, { text: 'Well. ' })
        const data = all.map(({ event, data: text }) => {
          const parsed = JSON.parse(text)
          assert.equal(parsed.type, event)
          return parsed
        })
        const numbers = data.map(({ sequence_number }) => sequence_number)
        assert.deepEqual(
          numbers,
          numbers.map((_, at) => numbers[0] + at),
        )
        assert.equal(data[0].type, 'response.created')
        assert.equal(data.filter(({ type }) => type === 'response.created').length, 1)
        const { type, response } = data.at(-1)
        assert.equal(type, 'response.completed')
        assert.equal(response.id, data[0].response.id)
        const done = data.filter((one) => one.type === 'response.output_item.done')
        assert.deepEqual(
          response.output,
          done.map(({ item }) => item),
        )
        assert.deepEqual(
          done.map(({ output_index }) => output_index),
          done.map((_, at) => at),
        )
        const called = response.output.filter((item) => item.type === 'function_call')
        assert.equal(called.length, kept)
        assert.ok(!JSON.stringify(data).includes(LOOP.id))
      }
    })

    test('21: errors are in the form of their route; those of the provider pass unmodified', async () => {
      const missing = { authorization: 'Bearer nobody' }
      const asked = { method: 'POST', body: '{}', headers: missing }
      const chat = await fetch(host.url + WIRES.chat.path, asked)
      const { error } = await chat.json()
      assert.deepEqual(
        [chat.status, error.type, error.code, error.param],
        [401, 'authentication_error', 'auth.required', null],
      )
      const messages = await fetch(host.url + WIRES.messages.path, asked)
      const own = await messages.json()
      assert.deepEqual(
        [messages.status, own.type, own.error.type],
        [401, 'error', 'authentication_error'],
      )
      const words = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"} }'
      const upstream = host.script((_, response) => {
        response.writeHead(529, {
          'content-type': 'application/json',
          'retry-after': '7',
          'x-should-retry': 'true',
        })
        response.end(words)
      })
      const busy = await post(
        host,
        '/v1/messages',
        upstream.key(BOUND),
        WIRES.messages.body(looped(5)),
      )
      assert.deepEqual([busy.status, await busy.text()], [529, words])
      assert.deepEqual(
        [busy.headers.get('retry-after'), busy.headers.get('x-should-retry')],
        ['7', 'true'],
      )
      await host.reports()
    })

    test('22: a loop is answered with 200, and the client asks once', async () => {
      for (const wire of Object.keys(WIRES)) {
        const upstream = host.script(model(WIRES[wire], [LOOP], { stream: false }))
        const body = WIRES[wire].body(looped(7), { stream: false })
        const response = await post(host, WIRES[wire].path, upstream.key(BOUND), body)
        assert.equal(response.status, 200)
        assert.equal(WIRES[wire].said(await response.json()), 'Here is the answer.')
        assert.equal(upstream.requests.length, 2)
        const [report] = await host.reports()
        assert.deepEqual(
          report.blocked.map(({ reason, repeats }) => [reason, repeats]),
          [['duplicate', 7]],
        )
        assert.equal(report.usage.length, 2)
      }
    })

    test("23: a client that leaves ends the provider's response", async () => {
      const upstream = host.script(async ({ text }, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const event of WIRES.chat
          .stream({ text: ['a ', 'b '] }, { n: 1, body: JSON.parse(text) })
          .slice(0, 3))
          response.write(event)
        // Never ends by itself.
        const more = setInterval(
          () => response.write('data: {"choices":[{"index":0,"delta":{"content":"c "}}]}\n\n'),
          20,
        )
        response.on('close', () => clearInterval(more))
      })
      const client = new OpenAI({ baseURL: `${host.url}/v1`, apiKey: upstream.key(BOUND) })
      const stream = await client.chat.completions.create(WIRES.chat.body(looped(2)))
      for await (const chunk of stream) {
        if (chunk.choices[0].delta.content) break
      }
      while (upstream.closed.length === 0) await wait(10)
      assert.deepEqual(upstream.closed, [false])
      assert.equal((await host.reports())[0].outcome, 'cancelled')
    })

    test('24: the first frame does not wait for the next', async () => {
      const first = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'
      let go
      const upstream = host.script(async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(first)
        await new Promise((resolve) => (go = resolve))
        response.end('data: [DONE]\n\n')
      })
      for (const mode of ['observe', 'bound']) {
        const response = await post(
          host,
          WIRES.chat.path,
          upstream.key({ mode }),
          WIRES.chat.body(looped(2)),
        )
        const reader = response.body.getReader()
        const { value } = await reader.read()
        assert.equal(Buffer.from(value).toString(), first)
        go()
        while (!(await reader.read()).done);
        await host.reports()
      }
    })

    test('25: no call is shown that the provider did not make; a model that calls for ever gets a notice', async () => {
      for (const wire of Object.keys(WIRES)) {
        for (const stream of [true, false]) {
          const upstream = host.script(async ({ text }, response) => {
            const own = { ...WIRES[wire], none: () => false }
            return model(own, [LOOP], { stream })({ text }, response)
          })
          const body = WIRES[wire].body(looped(2), { stream })
          const response = await post(host, WIRES[wire].path, upstream.key(BOUND), body)
          const text = await response.text()
          assert.ok(!text.includes(LOOP.id), text)
          assert.match(
            text,
            /The call to ls did not run: the result of the same call is already at hand\./,
          )
          assert.equal(upstream.requests.length, 2)
          await host.reports()
        }
      }
    })

    describe('trust', () => {
      /** How often a call was repeated, as `bound` sees it; `undefined` if it may run. */
      const judged = async (wire, body) => {
        const upstream = host.script(model(WIRES[wire], [LOOP]))
        const response = await post(host, WIRES[wire].path, upstream.key(BOUND), body)
        await response.text()
        return (await host.reports())[0].blocked[0]?.repeats
      }

      test('(d) observe reports and changes nothing', async () => {
        for (const wire of Object.keys(WIRES)) {
          const upstream = host.script(model(WIRES[wire], [LOOP]))
          const key = upstream.key({ mode: 'observe', policy: { maxTools: 1 } })
          const body = JSON.stringify(WIRES[wire].body(looped(4)))
          const response = await post(host, WIRES[wire].path, key, body)
          const direct = WIRES[wire]
            .stream({ calls: [LOOP] }, { n: 1, body: JSON.parse(body) })
            .join('')
          assert.equal(await response.text(), direct)
          assert.equal(upstream.requests[0].text, body)
          const [report] = await host.reports()
          assert.deepEqual([report.forced, report.blocked.length], ['budget', 1])
          const header = JSON.parse(response.headers.get('x-turnlock-report'))
          assert.deepEqual(
            [header.mode, header.applied, header.forced],
            ['observe', false, 'budget'],
          )
        }
      })

      test('(f) a repeat needs the same result; what the user says begins anew; nothing is counted twice', async () => {
        for (const wire of Object.keys(WIRES)) {
          const { body, user } = WIRES[wire]
          assert.equal(await judged(wire, body(looped(1))), undefined)
          assert.equal(await judged(wire, body(looped(2))), 2)
          // Asked again with the same history: still the same count.
          assert.equal(await judged(wire, body(looped(2))), 2)
          // A healthy poll.
          assert.equal(await judged(wire, body(looped(9, (n) => `at ${n}`))), undefined)
          // Results that differ reset.
          assert.equal(
            await judged(wire, body(looped(5, (n) => (n < 4 ? 'old' : 'new')))),
            undefined,
          )
          // Another call between them does not.
          const between = [...looped(1), ['ls', { path: 'x' }, 'y'], ...looped(1)]
          assert.equal(await judged(wire, body(between)), 2)
          // The user says something: old repeats are over.
          assert.equal(
            await judged(wire, body(looped(6), { more: [user('Go on, please.')] })),
            undefined,
          )
          // What a coding agent adds is not the user's.
          const reminder = '<system-reminder>\nThe file changed.\n</system-reminder>'
          assert.equal(await judged(wire, body(looped(3), { more: [user(reminder)] })), 3)
        }
      })

      test('(f) Claude Code: reminders stand beside results, cache marks move, the user may add words', async () => {
        const turn = (n, more) => [
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: `c${n}`, name: 'ls', input: LOOP.args }],
          },
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: `c${n}`,
                content: [
                  {
                    type: 'text',
                    text: 'same',
                    ...(n === 1 && { cache_control: { type: 'ephemeral' } }),
                  },
                ],
              },
              ...more,
            ],
          },
        ]
        const body = (more) => ({
          ...WIRES.messages.body([]),
          messages: [{ role: 'user', content: 'go' }, ...turn(0, []), ...turn(1, more)],
        })
        const reminder = {
          type: 'text',
          text: '<system-reminder>Todos are empty.</system-reminder>',
        }
        assert.equal(await judged('messages', body([])), 2)
        assert.equal(await judged('messages', body([reminder])), 2)
        assert.equal(
          await judged('messages', body([{ type: 'text', text: 'Try it again.' }])),
          undefined,
        )
      })

      test('(g) fails open: what cannot be read passes, and `bound` says so', async () => {
        for (const body of [
          'no JSON',
          '[1]',
          '{"messages": 7}',
          '',
          '{"messages":[{"role":"user","content":{}}],"tools":[1]}',
        ]) {
          for (const mode of ['observe', 'repair']) {
            const upstream = host.script(json({ ok: true }))
            const response = await post(host, WIRES.chat.path, upstream.key({ mode }), body)
            assert.deepEqual([response.status, upstream.requests[0].text], [200, body])
            await host.reports()
          }
        }
        const upstream = host.script(json({ ok: true }))
        for (const wire of Object.keys(WIRES)) {
          const response = await post(host, WIRES[wire].path, upstream.key(BOUND), 'no JSON')
          assert.equal(response.status, 400)
          assert.equal((await response.json()).error.code, 'request.json')
        }
        assert.equal(upstream.requests.length, 0)
      })

      test('(h) deep nesting: bound passes no call without a verdict, observe passes every byte', async () => {
        const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`
        for (const wire of Object.keys(WIRES)) {
          const isValue = wire === 'messages'
          const nested = (text) =>
            text.replace(
              isValue ? '"DEEP"' : '\\"DEEP\\"',
              isValue ? deep : JSON.stringify(deep).slice(1, -1),
            )
          const history = [['deep', 'DEEP', 'x'], ...looped(2)]
          const body = nested(JSON.stringify(WIRES[wire].body(history)))
          const calls = [LOOP, { ...OTHER, args: 'DEEP' }]
          const sent = WIRES[wire].whole({ calls })
          const answer = nested(JSON.stringify(sent))
          for (const mode of ['observe', 'repair', 'bound']) {
            const upstream = host.script(({ text }, response) => {
              response.writeHead(200, { 'content-type': 'application/json' })
              response.end(WIRES[wire].none(JSON.parse(text)) ? '{}' : answer)
            })
            const response = await post(host, WIRES[wire].path, upstream.key({ mode }), body)
            const text = await response.text()
            assert.equal(upstream.requests[0].text, body)
            if (mode === 'bound') assert.doesNotMatch(text, /call_again|call_other/)
            else assert.ok(text === answer)
            const [report] = await host.reports()
            assert.notEqual(report.outcome, 'cancelled')
            assert.deepEqual(mode === 'bound' ? report.calls : [], [])
          }
        }
      })

      test('(k) a provider that redirects, or is not there, is a typed error; nothing is sent twice', async () => {
        const upstream = host.script((_, response) => {
          response.writeHead(307, { location: '/elsewhere' })
          response.end()
        })
        for (const wire of Object.keys(WIRES)) {
          const response = await post(
            host,
            WIRES[wire].path,
            upstream.key(BOUND),
            WIRES[wire].body([]),
          )
          const { error } = await response.json()
          assert.deepEqual([response.status, error.code], [502, 'model.redirected'])
        }
        assert.equal(upstream.requests.length, 3)
        const gone = host.script((_, response) => response.destroy())
        const response = await post(
          host,
          WIRES.messages.path,
          gone.key(BOUND),
          WIRES.messages.body([]),
        )
        const { type, error } = await response.json()
        assert.deepEqual([response.status, type, error.code], [502, 'error', 'model.unreachable'])
        // Deno's own `fetch` asks once more where a connection broke before an answer.
        assert.equal(gone.requests.length, runtime === 'deno' ? 2 : 1)
        await host.reports(4)
      })

      test('responses without a body pass; a status that no response can have is a typed error', async () => {
        const upstream = host.script(({ path }, response) => {
          const status = Number(path.slice(-3))
          response.writeHead(status, 'Größe', { 'x-own': 'yes' })
          // What is never ended is closed.
          if (status < 600) return void response.end()
          response.write('x')
        })
        const headers = { authorization: `Bearer ${upstream.key()}` }
        for (const [method, status] of [
          ['GET', 204],
          ['GET', 205],
          ['GET', 304],
          ['HEAD', 200],
          ['GET', 200],
        ]) {
          const response = await fetch(`${host.url}/v1/${status}`, { method, headers })
          const got = [response.status, response.headers.get('x-own'), await response.text()]
          assert.deepEqual(got, [status, 'yes', ''])
        }
        for (const status of [600, 999]) {
          const response = await fetch(`${host.url}/v1/${status}`, { headers })
          assert.equal(response.status, 502)
          assert.match((await response.json()).error.code, /^model\.(status|unreachable)$/)
          while (upstream.closed.at(-1)) await wait(10)
          assert.equal(upstream.closed.pop(), false)
        }
      })

      test('addresses of the client and credentials of gateways stay here', async () => {
        const upstream = host.script(json({}))
        const dropped = [
          'via',
          'x-client-ip',
          'true-client-ip',
          'helicone-auth',
          'x-portkey-api-key',
        ]
        const headers = Object.fromEntries([...dropped, 'x-own'].map((name) => [name, 'client']))
        for (const path of ['/v1/models', WIRES.chat.path]) {
          await (await post(host, path, upstream.key(BOUND), '{"messages":[]}', headers)).text()
          const { headers: had } = upstream.requests.at(-1)
          assert.deepEqual(
            [had['x-own'], ...dropped.map((name) => had[name])],
            ['client', ...dropped.map(() => undefined)],
          )
        }
        await host.reports()
      })

      test('a path cannot leave the upstream', async () => {
        const upstream = host.script(json({}))
        const headers = { authorization: `Bearer ${upstream.key()}` }
        for (const path of [
          '/..%2f..%2fadmin',
          '/v1/%2e%2e%2fx',
          '/v1/..%252fx',
          '/a/..;/b',
          '/v1/..%5cx',
          '/%2e%2e/%2e%2e/h',
          '/v1/%c0%ae%c0%ae/admin',
          '/v1/caf%e9',
          '//evil.example/v1',
        ]) {
          const { status, body } = await send(host.url + path, { headers, method: 'GET', path })
          const seen = upstream.requests.splice(0)
          if (/%2f|%c0|%e9/.test(path)) assert.equal(status, 400, path)
          if (status === 400) {
            assert.equal(seen.length, 0)
            assert.equal(JSON.parse(body).error.code, 'request.path')
          }
          // What the client's own address normalized stays below the upstream.
          else
            for (const { path: got } of seen)
              assert.ok(!/\.\.|admin/.test(decodeURIComponent(got)), got)
        }
      })

      test('a stream is held back by nobody between: its headers say so, of other kinds they do not', async () => {
        for (const [type, cache, expected] of [
          ['text/event-stream; charset=utf-8', undefined, ['no-transform', 'no']],
          ['text/event-stream', 'no-cache', ['no-cache, no-transform', 'no']],
          ['application/x-ndjson', 'No-Transform', ['No-Transform', 'no']],
          ['application/json', undefined, [undefined, undefined]],
        ]) {
          const upstream = host.script((_, response) => {
            response.writeHead(200, {
              'content-type': type,
              ...(cache && { 'cache-control': cache }),
            })
            response.end()
          })
          for (const path of [WIRES.chat.path, '/v1/other']) {
            const body = WIRES.chat.body([])
            const { headers } = await post(host, path, upstream.key({ mode: 'observe' }), body)
            const had = ['cache-control', 'x-accel-buffering'].map((name) => headers.get(name))
            assert.deepEqual(
              had.map((value) => value ?? undefined),
              expected,
              `${type} ${path}`,
            )
          }
        }
        await host.reports()
      })

      test('a history of 10 MB is read, mended and passed', async () => {
        const upstream = host.script(json({}))
        const text = 'x'.repeat(1000)
        const messages = Array.from({ length: 9_500 }, (_, n) => ({
          role: n % 2 ? 'assistant' : 'user',
          content: text,
        }))
        messages.splice(1, 0, { role: 'tool', tool_call_id: 'gone', content: 'x' })
        const body = JSON.stringify({ model: 'm', messages })
        const key = upstream.key({ mode: 'repair' })
        assert.equal((await post(host, WIRES.chat.path, key, body)).status, 200)
        const gone = JSON.stringify(messages[1])
        assert.equal(upstream.requests[0].text, body.replace(`,${gone}`, ''))
        await host.reports()
      })
    })
  })
}
