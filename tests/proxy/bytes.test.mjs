// What passes, passes byte for byte: every recording, cut anywhere; every request, in any writing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inWorker } from '../in-worker.mjs'
import { ask, MODES, proxyOf } from './recordings.mjs'
import { looped, WIRES } from './wires.mjs'

const RECORDINGS = new URL('recordings.mjs', import.meta.url)

for (const wire of Object.keys(WIRES)) {
  test(`every recording of ${wire} passes byte for byte, at random cuts, in every mode`, async () => {
    const { recordings, usage, calls } = await inWorker(RECORDINGS, 'pass', wire)
    assert.ok(recordings > 100)
    assert.ok(usage > recordings * 3, `${usage}`)
    assert.equal(calls, 0)
  })

  test(`every recording of ${wire} is judged the same, however it is cut`, async () => {
    const judged = await inWorker(RECORDINGS, 'judge', wire)
    assert.ok(judged > 20, `${judged}`)
  })
}

test('a request of any writing reaches the provider byte for byte, if nothing is to be mended', async () => {
  const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(WIRES)),
      fc.json({ maxDepth: 3 }),
      fc.array(space, { minLength: 6, maxLength: 6 }),
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
  for (const [bytes, type, usage, isForeign = false] of [
    [whole, 'text/event-stream', 1],
    [events, 'application/json', 1],
    [Buffer.from('<html>no JSON</html>'), 'text/event-stream', 0, true],
    [Buffer.from(''), 'text/event-stream', 0],
    [Buffer.from('{"choices": broken'), 'application/json', 0, true],
    [
      Buffer.from('data: {"choices": broken\n\ndata: 7\n\ndata: null\n\n'),
      'text/event-stream',
      0,
      true,
    ],
  ]) {
    for (const mode of MODES) {
      const { proxy, seen } = proxyOf({ mode }, [bytes], type)
      const response = await ask(proxy, 'chat', JSON.stringify(WIRES.chat.body(looped(2))))
      const came = Buffer.from(await response.arrayBuffer())
      // `bound` refuses what is not in the format of the wire.
      const isRefused = isForeign && mode === 'bound'
      assert.equal(came.equals(bytes), !isRefused)
      assert.equal(seen.at(-1).error, isRefused ? 'proxy.response_format' : undefined)
      assert.equal(seen.at(-1).usage.length, usage)
    }
  }
})
