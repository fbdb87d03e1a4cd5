// Every function of the core traps once, runs out of stack and runs out of memory, in the part that it
// is in and in the whole core: what called it ends with `core.fault`, everything else is as ever, no
// tool runs twice, and the next call is right. Needs the test build (`--trap`).
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import * as turnlock from '../../.cache/trap/dist/browser.js'
import { demoteInstructions } from '../../.cache/trap/dist/turn/turn.js'
import { callNotice, callSignature, GuardMachine } from '../../.cache/trap/dist/guard/machine.js'
import { repairRequest } from '../../.cache/trap/dist/history/repair.js'
import { Gate } from '../../.cache/trap/dist/proxy/gate.js'
import { exhaust, nearTheEnd } from './exhaust.mjs'
import { partsOf } from './parts.mjs'

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))

const { customModel, defineTool, memoryStore } = turnlock
await turnlock.init()
const { parts } = await partsOf('../../.cache/trap/dist')
const messages = [{ role: 'user', content: 'go' }]
const bytes = (text) => new TextEncoder().encode(text)
const inputSchema = { type: 'object' }

/** A model that calls `pay` once, and a tool that counts. */
function paying() {
  const told = { runs: 0 }
  const model = customModel(async function* ({ messages: seen }) {
    if (JSON.stringify(seen).includes('paid')) return yield { type: 'text', text: 'done' }
    yield { type: 'tool_call_start', index: 0, id: 'c', name: 'pay' }
    yield { type: 'tool_call_end', index: 0 }
    yield { type: 'finish', reason: 'tool_calls', raw: '' }
  })
  const pay = defineTool({ inputSchema, execute: () => (told.runs++, 'paid') })
  return { told, model, tools: { pay } }
}
const ended = ({ status, error }) => error?.code ?? status
const once = (told) => assert.ok(told.runs <= 1, `${told.runs} runs`)

const says = (text) =>
  customModel(async function* () {
    yield { type: 'text', text }
  })
/** A model behind a wire, of which the core reads the bytes. */
function spoken() {
  const chunk = '{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}'
  const fetch = async () => new Response(`data: ${chunk}\n\n`)
  return turnlock.openaiChat({ baseURL: 'https://x.example', model: 'm', fetch })
}

const PLAN = JSON.stringify({
  pattern: 'sequential',
  steps: [{ id: 1, type: 'search', query: 'x' }],
})

/** Uses of the package, each of which ends as `fine` or with the code of an error. */
const USES = {
  canonicalize: () => turnlock.canonicalize('1.0'),
  signature: () => turnlock.signature({ tool: 't', args: {} }),
  guard() {
    const call = { name: 'a', args: {} }
    const guard = turnlock.createCallGuard({ tools: { a: { inputSchema } } })
    guard.judge(call)
    guard.settle(call, 'x')
    assert.equal(guard.judge(call).action, 'block')
    guard.begin('user_turn')
    assert.equal(guard.isOpen, true)
    return guard.state()
  },
  'guard, machine'() {
    const machine = new GuardMachine({ repeatBy: 'result' })
    machine.record([{ name: 'a', signatures: [callSignature({ tool: 'a', args: '{}' })] }])
    machine.free()
  },
  'guard, notice': () => callNotice('budget', ['a'], true),
  stream() {
    const decoder = turnlock.decodeStream('openai-chat')
    decoder.feed(bytes('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'))
    return decoder.end()
  },
  normalize: () => turnlock.normalizeHistory(messages, { dialect: 'anthropic' }),
  diagnose: () => turnlock.diagnoseHistory(messages, { dialect: 'anthropic' }),
  history() {
    const history = turnlock.openHistory({ dialect: 'anthropic' })
    history.append(messages[0])
    history.request()
    history.free()
  },
  fit: () => turnlock.trimHistory(messages, { dialect: 'openai-chat', maxTokens: 100 }),
  threadId: () => turnlock.threadId('a'),
  explainProviderError: () =>
    turnlock.explainProviderError('messages: at least one message is required'),
  async turn() {
    const { told, ...options } = paying()
    const result = await turnlock.runTurn({ ...options, messages }).result
    once(told)
    return ended(result)
  },
  wire: async () => ended(await turnlock.runTurn({ model: spoken(), messages }).result),
  'kept, wire': async () =>
    ended(await turnlock.runTurn({ model: spoken(), messages, store: memoryStore() }).result),
  'pass, wire': () => turnlock.runPlanning({ model: spoken(), input: {} }),
  replicates: () =>
    turnlock.runBundle({
      task: 't',
      replicate: turnlock.replicateByModel({ model: says('{"a":1}'), prompt: 'p' }),
    }).result,
  combine: () => turnlock.combineOutputs(['{"a":1}']),
  async kept() {
    const { told, ...options } = paying()
    const store = memoryStore()
    const own = { ...options, store, requestId: 'r' }
    const result = await turnlock.runTurn({ ...own, messages, keep: { leaseMs: 100 } }).result
    once(told)
    if (result.status === 'complete') return ended(result)
    // It goes on behind the trap, and nothing runs twice.
    let next
    do {
      next = await turnlock.resumeTurn(own).result
    } while (next.error?.code === 'turn.conflict')
    once(told)
    return ended(result)
  },
  async resumed() {
    const store = memoryStore()
    const broken = customModel(async function* () {
      yield { type: 'text', text: 'a' }
      throw new Error('gone')
    })
    const own = { store, requestId: 'r' }
    const first = await turnlock.runTurn({ ...own, model: broken, messages }).result
    if (first.error.code === 'core.fault') return 'core.fault'
    return ended(await turnlock.resumeTurn({ ...own, model: says('b') }).result)
  },
  pass: () => turnlock.runPlanning({ model: says('plan'), input: {} }),
  bundle: () =>
    turnlock.runBundle({ task: 't', replicate: async () => ({ data: { a: 1 } }) }).result,
  distance: () => turnlock.distance({ a: 1 }, { a: 2 }),
  summarize: () => turnlock.summarizeReplicates([{ data: { a: 1 } }, { data: { a: 2 } }]),
  classify: () => turnlock.classifyQuery('compare x and y'),
  plan: () => turnlock.parsePlan(PLAN),
  chain: async () =>
    ended(
      await turnlock.runChain({
        query: 'Compare x and y.',
        classify: () => 'complex',
        answer: () => 'simple',
        plan: () => JSON.parse(PLAN),
        search: ({ query }) => [query],
        synthesize: () => 'x',
      }).result,
    ),
  patterns: () =>
    turnlock.patternStats().record({ pattern: 'sequential', ms: 1, status: 'complete' }),
  request: () => turnlock.parseToolRequest('{"tool_calls":[]}', { allow: [] }),
  lint: () => turnlock.lintPrompt('x'),
  prompts: () => turnlock.planningPrompts(),
  inventory: () => turnlock.inventoryTools({}),
  expand: () =>
    turnlock.expandBundle({
      replicates: [
        { base: true, data: { a: 1 } },
        { delta: [{ op: 'replace', path: '/a', value: 2 }] },
      ],
    }),
  cite: () => turnlock.citedDisagreements('x', { summary: { disagreements: [] } }),
  demote: () => demoteInstructions([{ role: 'system', content: 'x' }]),
  gate() {
    const call = { index: 0, id: 'c', function: { name: 'a', arguments: '{}' } }
    const choice = (holder) => ({
      index: 0,
      [holder]: { tool_calls: [call] },
      finish_reason: 'stop',
    })
    const json = (holder) => JSON.stringify({ choices: [choice(holder)] })
    const gate = new Gate({
      wire: { name: 'chat' },
      report: { calls: [], blocked: [], usage: [] },
      judge: () => undefined,
      onTerminal: () => {},
      holds: true,
      most: 1000,
      choices: 1,
    })
    gate.push(bytes(`data: ${json('delta')}\n\ndata: [DONE]\n\n`))
    gate.pass(bytes(': ping\n\n'), true)
    gate.end()
    gate.again()
    const text = new TextDecoder().decode(gate.withoutAnswer())
    assert.match(text, /did not run/)
    gate.giveUp()
    const whole = gate.whole(bytes(json('message')), false)
    assert.match(whole.without([0], 'form'), /did not run/)
    gate.free()
  },
  repair() {
    const said = { role: 'user', content: 'go' }
    const body = JSON.stringify({ messages: [said, said] })
    const repaired = repairRequest('openai-chat', body, 'roles must alternate user/assistant')
    assert.equal(JSON.parse(repaired.list).length, 1)
  },
  diagnoseTools: () =>
    turnlock.diagnoseTools(
      { pay: defineTool({ inputSchema, execute: () => 1 }) },
      { dialect: 'gemini' },
    ),
}

async function used() {
  const all = {}
  for (const [name, use] of Object.entries(USES)) {
    try {
      const value = await use()
      all[name] = value === 'core.fault' ? value : 'fine'
    } catch (error) {
      if (error.name === 'AssertionError') throw error
      all[name] = error.code ?? String(error.stack)
    }
  }
  return all
}

const PLAIN = await used()

test('all of them work', () => {
  for (const [name, how] of Object.entries(PLAIN)) assert.equal(how, 'fine', name)
})

/** What is asked only of an instance that is large, and what tests trap with. */
const APART = ['live_handles', 'trap', 'memory']
const named = (glue) => Object.keys(glue).filter((name) => !APART.includes(name))

/** How a call does not return. With a little of the stack, or with what memory is left, it may. */
const ENDS = {
  traps(glue, real) {
    glue.trap()
    return real()
  },
  'has a little of the stack': (_, real) => nearTheEnd(30, real),
  'has no memory'(glue, real) {
    exhaust(glue)
    return real()
  },
}

/** The first call of this function, on whichever of these instances, ends in this way. */
async function broken(glues, name, end) {
  const told = { hits: 0 }
  for (const glue of glues) {
    const real = glue[name]
    if (!real) continue
    let isOver = false
    glue[name] = (...given) => {
      // An instance that has trapped is never called again.
      assert.ok(!isOver, 'it is called again')
      if (told.hits++ > 0) return real(...given)
      told.glue = glue
      try {
        return end(glue, () => real(...given))
      } catch (error) {
        isOver = true
        throw error
      }
    }
  }
  const all = await used()
  const failed = Object.entries(all).filter(([, how]) => how !== 'fine')
  assert.ok(failed.length <= 1, JSON.stringify(failed))
  for (const [, how] of failed) assert.equal(how, 'core.fault')
  assert.deepEqual(await used(), PLAIN)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(unhandled.splice(0), [])
  return { ...told, failed: failed.length }
}

for (const [how, end] of Object.entries(ENDS)) {
  for (const [part, one] of Object.entries(parts)) {
    for (const name of named(one.core().glue)) {
      test(`${part}: ${name} ${how}`, async () => {
        const { hits, glue, failed } = await broken([one.core().glue], name, end)
        assert.ok(hits > 0, 'nothing uses it')
        if (how !== 'traps') return
        // A machine that is given back has ended: nobody waits for it.
        if (!name.endsWith('_free')) assert.equal(failed, 1)
        assert.notEqual(one.core().glue, glue)
      })
    }
  }
}

test('an instance that traps when it is asked whether it is in use is gone, and its result is not', () => {
  const { glue } = parts.signature.core()
  let asked = 0
  for (const name of named(glue)) {
    const real = glue[name]
    glue[name] = (...given) => {
      const result = real(...given)
      // Large within the call; a large one gets no new ones.
      if (glue.memory.buffer.byteLength < 2 ** 26) glue.memory.grow(1100)
      return result
    }
  }
  glue.live_handles = () => (asked++, glue.trap())
  assert.equal(turnlock.canonicalize('1.0'), '1')
  assert.equal(asked, 1)
  assert.notEqual(parts.signature.core().glue, glue)
  assert.equal(turnlock.canonicalize('2.0'), '2')
})

test('the same of the whole core', async (t) => {
  const wasm = new URL('../../.cache/trap/dist/turnlock.wasm', import.meta.url)
  await turnlock.init(await readFile(wasm))
  assert.deepEqual(await used(), PLAIN)
  // Its memory is taken away in its parts alone, which takes a quarter of a second each time.
  for (const how of ['traps', 'has a little of the stack']) {
    const end = ENDS[how]
    const glues = () => Object.values(parts).map((one) => one.core().glue)
    for (const name of named(glues()[0])) {
      await t.test(`${name} ${how}`, async () => {
        const { hits, failed } = await broken(glues(), name, end)
        assert.ok(hits > 0, 'nothing uses it')
        if (how === 'traps' && !name.endsWith('_free')) assert.equal(failed, 1)
      })
    }
  }
})
