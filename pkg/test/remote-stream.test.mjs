// The event stream of a handler, as a page reads it: in any pieces, in linear time. Sources:
// assistant-ui/assistant-ui#7257 (2026-09-12), denoland/deno#35881 (2026-07-08) and Soju06/codex-lb#1242
// (2026-07-12): readers that scan an unfinished event again with each chunk. Read on 2026-11-29.
import assert from 'node:assert/strict'
import test from 'node:test'
import { remoteTurns } from 'turnlock/remote'

const about = { phase: 'unified', requestId: 'r', projectId: null, toolBatchId: 0 }
const encode = (text) => new TextEncoder().encode(text)

/** The events that a page reads of a response in these pieces. */
async function eventsOf(pieces) {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
  const headers = { 'content-type': 'text/event-stream' }
  const fetch = async () => new Response(body, { headers })
  const turns = remoteTurns({ url: 'https://edge.example/api/chat', fetch, maxRetries: 0 })
  const events = []
  for await (const event of turns.run({ messages: [{}], requestId: 'r' })) events.push(event)
  return events
}

const TEXTS = ['é', '\u2028', 'a\n\nb', '🙂']
const EVENTS = [
  ...TEXTS.map((chunk, at) => ({ type: 'text', ...about, seq: at + 1, chunk })),
  { type: 'cancelled', ...about, seq: TEXTS.length + 1, reason: 'end' },
]

for (const [name, lineBreak] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
]) {
  test(`event stream: every cut of a stream with ${name} gives the same events`, async () => {
    const blocks = EVENTS.map((event) => [`id: ${event.seq}`, `data: ${JSON.stringify(event)}`])
    const lines = [':', '', '', ...blocks.flatMap((block) => [...block, '', ': keep-alive', ''])]
    const bytes = encode(lines.map((line) => line + lineBreak).join(''))
    for (let cut = 0; cut <= bytes.length; cut++) {
      const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)]
      assert.deepEqual(await eventsOf(pieces), EVENTS, `cut at ${cut}`)
    }
    const single = Array.from(bytes, (byte) => Uint8Array.of(byte))
    assert.deepEqual(await eventsOf(single), EVENTS)
  })
}

test('event stream: each character of a long event is searched a fixed number of times', async () => {
  const chunk = 'x'.repeat(2_000_000)
  const [first, last] = [
    { type: 'text', ...about, seq: 1, chunk },
    { type: 'cancelled', ...about, seq: 2, reason: 'end' },
  ]
  const bytes = encode([first, last].map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''))
  const pieces = []
  for (let at = 0; at < bytes.length; at += 2000) pieces.push(bytes.subarray(at, at + 2000))
  let searched = 0
  const originals = {}
  const METHODS = ['split', 'replace', 'replaceAll', 'indexOf', 'lastIndexOf', 'search', 'match']
  for (const name of METHODS) {
    const original = (originals[name] = String.prototype[name])
    String.prototype[name] = function (...args) {
      searched += this.length
      return Reflect.apply(original, this, args)
    }
  }
  let events
  try {
    events = await eventsOf(pieces)
  } finally {
    Object.assign(String.prototype, originals)
  }
  assert.deepEqual([events.length, events[0].chunk.length], [2, chunk.length])
  // It was 500 times with 1000 pieces.
  assert.ok(searched <= 6 * bytes.length, `${searched / bytes.length} times`)
})
