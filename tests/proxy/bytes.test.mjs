// What passes, passes byte for byte: every recording, cut anywhere; every request, in any writing.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { createProxy } from 'turnlock/proxy'
import { data } from '../data.mjs'
import { loadTape } from '../provider/tapes.mjs'
import { looped, WIRES } from './wires.mjs'

const TAPES = { chat: 'openai-chat', messages: 'anthropic', responses: 'openai-responses' }

/** The recorded bodies of a wire; whole responses too. */
function recordings(wire) {
  const listed = JSON.parse(readFileSync(new URL(`../wires/${TAPES[wire]}.json`, import.meta.url)))
  return listed.map(([path]) => {
    const events = loadTape(path, wire === 'messages')
    const bytes = events ? Buffer.from(events.join('')) : readFileSync(data(path))
    return { path, bytes }
  })
}

/** Small numbers, the same in every run. */
function random(seed) {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const cut = (bytes, next, most) => {
  const pieces = []
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + next(most)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

/** Each when it is asked for: thousands in a queue take Node longer than the proxy. */
const streamOf = (pieces) => {
  const left = pieces.values()
  return new ReadableStream({
    pull(controller) {
      const { value, done } = left.next()
      if (done) controller.close()
      else controller.enqueue(new Uint8Array(value))
    },
  })
}

/** A proxy whose provider answers with these pieces, whatever it says of their type. */
function proxyOf(options, pieces, type = 'text/event-stream') {
  const seen = []
  const proxy = createProxy({
    upstream: 'https://provider.example',
    authorize: () => ({ tenant: 'me' }),
    onReport: (report) => seen.push(report),
    fetch: async (url, init) => {
      seen.push({ url, body: new Uint8Array(init.body) })
      return new Response(streamOf(pieces), { headers: { 'content-type': type } })
    },
    ...options,
  })
  return { proxy, seen }
}

const ask = (proxy, wire, body) =>
  proxy(new Request(`https://edge.example${WIRES[wire].path}`, { method: 'POST', body }))

const MODES = ['observe', 'repair', 'bound']

for (const wire of Object.keys(WIRES)) {
  test(`every recording of ${wire} passes byte for byte, at random cuts, in every mode`, async () => {
    const all = recordings(wire)
    assert.ok(all.length > 100)
    const body = JSON.stringify(WIRES[wire].body(looped(1)))
    let calls = 0
    let usage = 0
    for (const [at, { path, bytes }] of all.entries()) {
      const next = random(at + 1)
      for (const mode of MODES) {
        for (const most of [7, 300, bytes.length]) {
          const { proxy, seen } = proxyOf(
            { mode, policy: { maxTools: 999 } },
            cut(bytes, next, most),
          )
          const response = await ask(proxy, wire, body)
          const came = Buffer.from(await response.arrayBuffer())
          assert.ok(came.equals(bytes), `${path}, ${mode}, pieces of ${most}`)
          const report = seen.at(-1)
          assert.deepEqual([report.outcome, report.error], ['complete', undefined], path)
          usage += report.usage.length
          calls += report.blocked.length
        }
      }
    }
    assert.ok(usage > all.length * 3, `${usage}`)
    assert.equal(calls, 0)
  })

  test(`every recording of ${wire} is judged the same, however it is cut`, async () => {
    const body = JSON.stringify(WIRES[wire].body(looped(1)))
    let judged = 0
    for (const [at, { path, bytes }] of recordings(wire).entries()) {
      const next = random(at + 7)
      const told = []
      for (const most of [[5, 40, 211][next(3)], bytes.length]) {
        const { proxy, seen } = proxyOf({ policy: { maxTools: 1 } }, cut(bytes, next, most))
        await (await ask(proxy, wire, body)).arrayBuffer()
        told.push(seen.at(-1).blocked)
      }
      for (const blocked of told) assert.deepEqual(blocked, told[0], path)
      judged += told[0].length
    }
    assert.ok(judged > 20, `${judged}`)
  })
}

test('a request of any writing reaches the provider byte for byte, if nothing is to be mended', async () => {
  const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
  await fc.assert(
    fc.asyncProperty(
      ...[
        fc.constantFrom(...Object.keys(WIRES)),
        fc.json({ maxDepth: 3 }),
        fc.array(space, { minLength: 6, maxLength: 6 }),
      ],
      async (wire, own, [a, b, c, d, e, f]) => {
        const { stream: _, ...body } = WIRES[wire].body(looped(2))
        const members = Object.entries(body).map(
          ([name, value]) => `"${name}"${a}:${b}${JSON.stringify(value)}`,
        )
        const json = `${c}{${d}"own":${own},"n":1.0,"big":12345678901234567890,${members.join(`${e},`)}${f}}\n`
        for (const mode of MODES) {
          const { proxy, seen } = proxyOf({ mode }, ['data: [DONE]\n\n'].map(Buffer.from))
          await (await ask(proxy, wire, json)).text()
          assert.equal(Buffer.from(seen[0].body).toString(), json)
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('a budget that is spent changes `tool_choice` and no other byte', async () => {
  for (const wire of Object.keys(WIRES)) {
    for (const own of [
      '',
      ',"tool_choice":"auto"',
      ' , "tool_choice" : {"type":"auto","x":[1,"}"]} ',
    ]) {
      const plain = JSON.stringify(WIRES[wire].body(looped(2)), null, 1)
      const json = `${plain.slice(0, -1)}${own}}`
      const { proxy, seen } = proxyOf({ mode: 'bound', policy: { maxTools: 2 } }, [])
      await (await ask(proxy, wire, json)).text()
      const sent = Buffer.from(seen[0].body).toString()
      const none = wire === 'messages' ? '{"type":"none"}' : '"none"'
      const expected = own
        ? json.replace(/("tool_choice" ?: ?)("auto"|\{[^]*?\]\})/, `$1${none}`)
        : `${plain.slice(0, -1)},"tool_choice":${none}}`
      assert.equal(sent, expected)
      JSON.parse(sent)
    }
  }
})

test('bodies that lie about their type are watched for what they are', async () => {
  const whole = Buffer.from(JSON.stringify(WIRES.chat.whole({ text: 'Hi.' })))
  const events = Buffer.from(`: hello\n\ndata: {"choices":[],"usage":{"prompt_tokens":1}}\n\n`)
  for (const [bytes, type, usage] of [
    [whole, 'text/event-stream', 1],
    [events, 'application/json', 1],
    [Buffer.from('<html>no JSON</html>'), 'text/event-stream', 0],
    [Buffer.from(''), 'text/event-stream', 0],
    [Buffer.from('{"choices": broken'), 'application/json', 0],
    [Buffer.from('data: {"choices": broken\n\ndata: 7\n\ndata: null\n\n'), 'text/event-stream', 0],
  ]) {
    for (const mode of MODES) {
      const { proxy, seen } = proxyOf({ mode }, [bytes], type)
      const response = await ask(proxy, 'chat', JSON.stringify(WIRES.chat.body(looped(2))))
      assert.ok(Buffer.from(await response.arrayBuffer()).equals(bytes))
      assert.equal(seen.at(-1).usage.length, usage)
    }
  }
})
