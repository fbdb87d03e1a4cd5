// A core whose stack or memory is exhausted: typed errors, other turns settled, a fresh instance, and
// no tool run again.
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  canonicalize,
  customModel,
  defineTool,
  init,
  memoryStore,
  resumeTurn,
  runTurn,
} from 'turnlock'
import { exhaust, nearTheEnd } from './exhaust.mjs'
import { partsOf } from './parts.mjs'

// Imports the parts of every entry, which `init` then loads.
const { parts } = await partsOf('../dist')
await init()
const messages = [{ role: 'user', content: 'go' }]

test('an instance that is exhausted gets no page more, in each part', () => {
  for (const [name, part] of Object.entries(parts)) {
    const { memory } = part.core().glue
    exhaust({ memory })
    assert.throws(() => memory.grow(1), RangeError, name)
  }
})

test('a stack that is exhausted within a call leaves no instance that is half changed', () => {
  const text = `${'['.repeat(100)}{ "b":1,"a":2}${']'.repeat(100)}`
  const want = `${'['.repeat(100)}{"a":2,"b":1}${']'.repeat(100)}`
  const told = { failed: 0, fine: 0 }
  for (let n = 0; n < 3000; n++) {
    try {
      nearTheEnd(n % 600, () => canonicalize(text))
      told.fine++
    } catch {
      told.failed++
    }
    // The next call is right, whatever the one before left behind.
    assert.equal(canonicalize(text), want)
  }
  // Both sides of the place where it is enough were met.
  assert.ok(told.failed > 100 && told.fine > 100, JSON.stringify(told))
})

/** Until a text was shown; the turn goes on, as another reader holds it. */
async function shown(turn) {
  const events = turn[Symbol.asyncIterator]()
  while ((await events.next()).value.type !== 'text');
}

test('without memory, the turns of the instance settle, and the next ones run', async () => {
  let go
  const gate = new Promise((resolve) => (go = resolve))
  const large = customModel(async function* () {
    yield { type: 'text', text: 'a' }
    await gate
    yield { type: 'text', text: 'x'.repeat(3 * 2 ** 20) }
  })
  const waiting = customModel(async function* (_, { signal }) {
    yield { type: 'text', text: 'b' }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const turns = [large, waiting].map((model) => runTurn({ model, messages }))
  for (const turn of turns) await shown(turn)
  exhaust(parts.turn.core().glue)
  go()
  const results = await Promise.all(turns.map(({ result }) => result))
  assert.deepEqual(
    results.map(({ status, error, text }) => [status, error.code, text]),
    [
      ['failed', 'core.fault', 'a'],
      ['failed', 'core.fault', 'b'],
    ],
  )
  const fine = customModel(async function* () {
    yield { type: 'text', text: 'fine' }
  })
  assert.equal((await runTurn({ model: fine, messages }).result).text, 'fine')
  assert.ok(parts.turn.core().glue.memory.buffer.byteLength < 32 * 2 ** 20)
})

test('a kept turn goes on behind it, and its tool is not run again', async () => {
  let [runs, asked] = [0, 0]
  const model = customModel(async function* () {
    if (++asked === 1) {
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'pay' }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'finish', reason: 'tool_calls', raw: '' }
    } else if (asked === 2) {
      exhaust(parts.durable.core().glue)
      yield { type: 'text', text: 'x'.repeat(3 * 2 ** 20) }
    } else yield { type: 'text', text: 'the answer' }
  })
  const pay = defineTool({ inputSchema: { type: 'object' }, execute: () => `payment ${++runs}` })
  const options = { model, tools: { pay }, store: memoryStore(), requestId: 'r' }
  const first = await runTurn({ ...options, messages, keep: { leaseMs: 100 } }).result
  assert.equal(first.error.code, 'core.fault')
  let result
  do {
    // Its owner counts as alive until the lease has run out.
    result = await resumeTurn(options).result
  } while (result.error?.code === 'turn.conflict')
  assert.deepEqual([result.status, result.text, runs], ['complete', 'the answer', 1])
})
