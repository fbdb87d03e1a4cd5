// A core that traps: every turn on it settles, and the next one works. Needs the test build
// (`node scripts/build.mjs --tests`), a copy of the package whose core can be told to trap.
import assert from 'node:assert/strict'
import test from 'node:test'
import { partsOf } from './parts.mjs'
import {
  canonicalize,
  customModel,
  decodeStream,
  defineTool,
  memoryStore,
  resumeTurn,
  runBundle,
  runTurn,
  runPlanning,
} from '../../.cache/trap/dist/browser.js'

const user = [{ role: 'user', content: 'go' }]
const stalling = customModel(async function* (_, { signal }) {
  yield { type: 'text', text: 'shown before' }
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
})
const answering = customModel(async function* () {
  yield { type: 'text', text: 'fine' }
})
const shown = async (turn) => {
  for await (const event of turn) if (event.type === 'text') return turn
}
const { parts } = await partsOf('../../.cache/trap/dist')
const trap = (name = 'turn') =>
  assert.throws(() => parts[name].call((glue) => glue.trap()), { code: 'core.fault' })

test('every turn of the instance settles with core.fault, and the next one works', async () => {
  const turns = [1, 2, 3].map(() => runTurn({ model: stalling, messages: user, requestId: 'r' }))
  const events = turns.map(async (turn) => {
    const all = []
    for await (const event of turn) {
      all.push(event)
      if (all.length === 2) ready.push(turn)
    }
    return all
  })
  const ready = []
  while (ready.length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
  trap()
  for (const turn of turns) {
    const result = await turn.result
    assert.deepEqual(
      [result.status, result.error.code, result.text],
      ['failed', 'core.fault', 'shown before'],
    )
  }
  for (const all of await Promise.all(events)) {
    assert.deepEqual(
      all.map((event) => event.seq),
      [1, 2, 3],
    )
    assert.deepEqual([all[2].type, all[2].code, all[2].requestId], ['error', 'core.fault', 'r'])
  }
  assert.equal((await runTurn({ model: answering, messages: user }).result).text, 'fine')
  assert.equal(canonicalize('{ }'), '{}')
})

test('requests and tools of the lost turns are told', async () => {
  let told = 0
  const waits = (_, { signal }) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(told++)))
  const calls = customModel(async function* () {
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'wait' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const tools = {
    wait: defineTool({ description: '', inputSchema: { type: 'object' }, execute: waits }),
  }
  const turn = runTurn({ model: calls, messages: user, tools })
  for await (const event of turn) if (event.type === 'tool_calls') setTimeout(() => trap())
  await turn.result
  assert.equal(told, 1)
})

test('a kept turn goes on behind a trap, and its tool is not started again', async () => {
  let runs = 0
  const store = memoryStore()
  let asked = 0
  const model = customModel(async function* (_, { signal }) {
    if (++asked === 1) {
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'pay' }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'finish', reason: 'tool_calls', raw: '' }
    } else if (asked === 2) {
      yield { type: 'text', text: 'half an ' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    } else yield { type: 'text', text: 'the whole answer' }
  })
  const execute = () => `payment ${++runs}`
  const tools = { pay: defineTool({ description: '', inputSchema: { type: 'object' }, execute }) }
  const keep = { leaseMs: 100 }
  const options = { model, tools, store, requestId: 'r' }
  const turn = runTurn({ ...options, messages: user, keep })
  for await (const event of turn) if (event.type === 'text') setTimeout(() => trap('durable'))
  assert.equal((await turn.result).error.code, 'core.fault')
  let result
  do {
    // Its owner counts as alive until the lease has run out.
    result = await resumeTurn(options).result
  } while (result.error?.code === 'turn.conflict')
  assert.deepEqual([result.status, result.text, runs], ['complete', 'the whole answer', 1])
  assert.equal(result.fullContent, 'the whole answer')
  assert.deepEqual(
    result.toolResults.map((one) => [one.status, one.result]),
    [['ok', 'payment 1']],
  )
})

test('an instance is replaced as often as needed', async () => {
  for (let i = 0; i < 20; i++) {
    trap()
    assert.equal((await runTurn({ model: answering, messages: user }).result).status, 'complete')
  }
})

test('a decoder of a lost instance says so', async () => {
  const decoder = decodeStream('openai-chat')
  trap('stream')
  // Its instance is poisoned, not the package.
  assert.equal(canonicalize('1.0'), '1')
  assert.ok(await shown(runTurn({ model: answering, messages: user })))
  assert.doesNotThrow(() => decodeStream('openai-chat').end())
  void decoder
})

test('a bundle of a lost instance ends with core.fault, and the next one works', async () => {
  let told = 0
  const replicate = ({ signal }) =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve({ data: told++ })))
  const errors = []
  const eventManager = { on_error: ({ code }) => errors.push(code) }
  const running = runBundle({ task: 't', replicate, eventManager })
  const events = running[Symbol.asyncIterator]()
  for (let n = 0; n < 2; n++) assert.equal((await events.next()).value.type, 'replicate_started')
  trap('evidence')
  await assert.rejects(running.result, { code: 'core.fault' })
  await assert.rejects(events.next(), { code: 'core.fault' })
  assert.deepEqual([told, errors], [2, ['core.fault']])
  const next = await runBundle({ task: 't', replicate: async () => ({ data: 1 }) }).result
  assert.equal(next.summary.confidence, 1)
})

test('a pass on the lost instance rejects with core.fault, and its tools are told', async () => {
  let told = false
  const tools = {
    slow: defineTool({
      description: 'slow',
      inputSchema: { type: 'object' },
      readOnly: true,
      execute: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (told = true))
          queueMicrotask(() => trap('planning'))
        }),
    }),
  }
  const asking = customModel(async function* () {
    yield {
      type: 'text',
      text: '{"tool_calls":[{"tool_name":"slow","params":{},"reason":"r"}]}',
    }
  })
  const pass = runPlanning({ model: asking, input: {}, tools })
  await assert.rejects(pass, { code: 'core.fault' })
  assert.ok(told)
  assert.equal((await runPlanning({ model: answering, input: {} })).plan, 'fine')
})

test('a runtime without deflate-raw inflates by itself', async () => {
  const { compileLater } = await import('../dist/core/module.js')
  const { bytes } = await import('../dist/wasm/signature.js')
  const native = globalThis.DecompressionStream
  try {
    globalThis.DecompressionStream = class {
      constructor(format) {
        throw new TypeError(`no ${format}`)
      }
    }
    assert.ok((await compileLater(bytes)) instanceof WebAssembly.Module)
    globalThis.DecompressionStream = undefined
    assert.ok((await compileLater(bytes)) instanceof WebAssembly.Module)
  } finally {
    globalThis.DecompressionStream = native
  }
})
