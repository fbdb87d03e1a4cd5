// Inputs beyond every limit, in Node and workerd: a typed error or success, the core and the isolate
// alive, neighbours unharmed, and no memory kept. The table of limits is docs/limits.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inflateRawSync } from 'node:zlib'
import { Miniflare } from 'miniflare'
import { sizes } from './limits/memories.mjs'
import { play } from './limits/cases.mjs'
import { LONGEST, serveStreams } from './limits/streams.mjs'
import { collectGarbage } from '../../tests/garbage.mjs'
import { inspect } from '../../tests/inspector.mjs'
import { bundleWorker } from '../../tests/server/bundle.mjs'

const MiB = 2 ** 20
let streams
before(async () => (streams = await serveStreams()))
after(() => streams?.close())

let worker
let inspector
async function ask(what) {
  if (!worker) {
    const entry = fileURLToPath(new URL('./limits/worker.mjs', import.meta.url))
    worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      modules: await bundleWorker(entry),
      compatibilityFlags: ['enable_weak_ref'],
      inspectorPort: 0,
      bindings: { STREAMS: streams.url },
    })
    inspector = await inspect(worker, () => ask({}))
  }
  const init = { method: 'POST', body: JSON.stringify(what) }
  const response = await worker.dispatchFetch('http://worker/', init)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text)
}
after(() => {
  inspector?.close()
  return worker?.dispose()
})

/** Runtime → how it plays a case, and the bytes of each memory of wasm that is then still held. */
const RUNTIMES = {
  Node: {
    play: (name) => play(name, streams.url),
    async sizes() {
      await collectGarbage()
      return sizes()
    },
  },
  workerd: {
    play: (name) => ask({ name }),
    async sizes() {
      await inspector.collect()
      return (await ask({})).sizes
    },
  },
}

/** What has to come of each case. */
const LIMITS = {
  'one event of a gigabyte fails the turn after some megabytes': [
    'one-event',
    (told) => {
      assert.deepEqual(told, { status: 'failed', code: 'model.stream' })
      assert.ok(streams.sent['one-event'] < 64 * MiB, `${streams.sent['one-event']} bytes`)
    },
  ],
  'a gigabyte of events fails the turn at what one response may have': [
    'gigabyte',
    (told) => {
      assert.deepEqual(told, { status: 'failed', code: 'model.stream' })
      assert.ok(streams.sent.gigabyte < 32 * MiB, `${streams.sent.gigabyte} bytes`)
    },
  ],
  ...Object.fromEntries(
    ['prose', 'quotes'].map((kind) => [
      `a response as long as one may be, of ${kind}, takes less memory than an isolate has`,
      [
        `longest-${kind}`,
        ({ largest, ...told }) => {
          assert.deepEqual(told, { status: 'complete', characters: LONGEST })
          assert.ok(largest < 100 * MiB, `${largest} bytes`)
        },
      ],
    ]),
  ),
  '100 000 tiny events are a text of as many characters': [
    'tiny',
    (told) => assert.deepEqual(told, { status: 'complete', text: 'x'.repeat(100_000) }),
  ],
  'a flood of comments and empty events is no text, and ends with the stream': [
    'comments',
    (told) => assert.deepEqual(told, { status: 'complete', text: 'so' }),
  ],
  'JSON that is nested 200 000 times, in an event and in arguments': [
    'nested',
    ({ event, arguments: { status }, runs, ...refused }) => {
      assert.deepEqual(event, { status: 'failed', code: 'model.stream' })
      assert.equal(runs, 0)
      assert.ok(['complete', 'failed'].includes(status))
      assert.equal(refused.canonicalize, 'json.too_deep')
      assert.match(refused.diagnose, /^[a-z]+\.[a-z_]+$/)
    },
  ],
  '100 000 calls in one response': [
    'calls',
    ({ status, runs }) => {
      assert.ok(['complete', 'failed'].includes(status))
      assert.ok(runs <= 2, `${runs} calls`)
    },
  ],
  '100 000 messages are a history, which can be too many parts to be converted': [
    'messages',
    ({ plain, called, converted }, runtime) => {
      // The core of a worker, which has every capability, converts any history.
      const wanted = {
        Node: { status: 'complete', text: 'so' },
        workerd: { status: 'failed', code: 'message.too_many_parts' },
      }[runtime]
      assert.deepEqual([plain, called], [wanted, wanted])
      assert.deepEqual(converted, ['message.too_many_parts', 'message.too_many_parts'])
    },
  ],
  '100 000 fields of each replicate are compared': [
    'fields',
    ({ confidence }) => assert.equal(confidence, 1),
  ],
  'bodies that are bombs: the handler answers with a code, the proxy passes or refuses': [
    'bodies',
    ({ handler, proxy }) => {
      assert.deepEqual([handler.length, proxy.length], [3, 9])
      for (const { status, text } of handler) {
        assert.ok(status < 500, text.slice(0, 200))
        if (status === 200) assert.match(text, /"type":"error"/)
      }
      for (const { mode, path, status, passed } of proxy) {
        // `bound` refuses what it does not read.
        const isRight = mode === 'bound' ? status === 400 : status < 500 && passed
        assert.ok(isRight, `${mode} ${path}: ${status}`)
      }
    },
  ],
}

let isolate
for (const [runtime, { play, sizes }] of Object.entries(RUNTIMES)) {
  for (const [name, [plays, check]] of Object.entries(LIMITS)) {
    test(`${name} (${runtime})`, async () => {
      const { told, neighbour, behind, isolate: own } = await play(plays)
      check(told, runtime)
      assert.deepEqual([neighbour, behind], ['I am fine.', '{"a":2,"b":1}'])
      if (runtime === 'workerd') assert.equal(own, (isolate ??= own), 'another isolate')
      // What was large is given back; what was not may stay.
      for (const size of await sizes()) assert.ok(size <= 64 * MiB, `${size} bytes are held`)
    })
  }
}

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
