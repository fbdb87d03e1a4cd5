// Callbacks, stores and responses that do what they must not: each turn, pass, bundle and chain ends
// with a typed outcome, and nothing is left over. The high classes are in hostile.test.mjs.
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  anthropic,
  bedrock,
  cohere,
  customModel,
  defineTool,
  gemini,
  memoryStore,
  ollama,
  openaiChat,
  openaiResponses,
  resumeTurn,
  runTurn,
} from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { createHandler } from 'turnlock/server'
import { until } from '../../tests/patience.mjs'

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))
/** What every object, list and function inherits. */
const inherited = () =>
  [Object, Array, Function, String].map(({ prototype }) =>
    Object.getOwnPropertyDescriptors(prototype),
  )
const INHERITED = inherited()
test.afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(unhandled.splice(0), [])
  assert.deepEqual(inherited(), INHERITED)
})

const messages = [{ role: 'user', content: 'go' }]
const inputSchema = { type: 'object' }
const says = (...texts) =>
  customModel(async function* () {
    for (const text of texts) yield { type: 'text', text }
  })
/** A model that calls `name` with a text in place of arguments, and then answers. */
const calls = (name, args, seen = []) =>
  customModel(async function* ({ messages: sent }) {
    seen.push(sent)
    if (seen.length > 1) return yield { type: 'text', text: 'Done.' }
    yield { type: 'tool_call_start', index: 0, id: 'c', name }
    yield { type: 'tool_call_arguments', index: 0, text: args }
    yield { type: 'tool_call_end', index: 0 }
  })

test('a delta that no turn can take fails the turn, and is not left out', async () => {
  const text = 'x'.repeat(65 * 1024 * 1024)
  const { status, error } = await runTurn({ model: says('a', text, 'b'), messages }).result
  assert.deepEqual([status, error.code], ['failed', 'json.too_large'])
})

test('a text in place of arguments is told in part, however long it is', async () => {
  const text = 'x'.repeat(3 * 1024 * 1024)
  for (const mode of ['two_stage', 'unified']) {
    const [seen, events] = [[], []]
    const tools = { look: defineTool({ inputSchema, execute: () => 'a' }) }
    const turn = runTurn({ model: calls('look', text, seen), messages, tools, mode })
    for await (const event of turn) events.push(event)
    const { status } = await turn.result
    assert.ok(status === 'complete' && seen.length > 1, mode)
    assert.ok(events.some(({ type }) => type === 'refused'))
    for (const said of [...events, ...seen, await turn.result]) {
      const { length } = JSON.stringify(said)
      assert.ok(length < 200_000, `${mode} ${said.type}: ${length}`)
    }
    const refused = events.find(({ type }) => type === 'refused')
    assert.match(JSON.stringify(refused), /"x{65536}… \(3145728 bytes\)"/)
  }
})

/** A store with a failed turn `r`, of which `change` is read. */
async function failed(change) {
  const store = memoryStore()
  const model = customModel(async function* () {
    yield { type: 'text', text: 'Hel' }
    throw new Error('gone')
  })
  const { status } = await runTurn({ model, messages, store, requestId: 'r' }).result
  assert.equal(status, 'failed')
  return {
    ...store,
    read: async (turn) => {
      const kept = await store.read(turn)
      return kept && change(kept)
    },
  }
}

test('what another version kept, or nobody can have kept, is refused', async () => {
  const later = (text) => text.replace('"v":1', '"v":99')
  const changed = {
    state: (kept) => ({ ...kept, state: later(kept.state) }),
    'the record of the options': (kept) => ({
      ...kept,
      records: kept.records.map(([name, text]) => [name, name === 'turn' ? later(text) : text]),
    }),
    ...Object.fromEntries(
      ['epoch', 'seq', 'keptEvents', 'toolsMs'].map((name) => [
        name,
        (kept) => ({
          ...kept,
          state: kept.state.replace(new RegExp(`"${name}":\\d+`), `"${name}":${2n ** 63n}`),
        }),
      ]),
    ),
    ...Object.fromEntries(
      [2 ** 53, 2 ** 63].map((revision) => [String(revision), (kept) => ({ ...kept, revision })]),
    ),
  }
  for (const [what, change] of Object.entries(changed)) {
    const store = await failed(change)
    const { status, error } = await resumeTurn({ model: says('x'), store, requestId: 'r' }).result
    assert.deepEqual([status, error.code], ['failed', 'store.version'], what)
  }
  const store = await failed((kept) => kept)
  const { status } = await resumeTurn({ model: says('x'), store, requestId: 'r' }).result
  assert.equal(status, 'complete')
})

test('clients that merely leave are no errors of the server', async () => {
  const told = []
  let open
  const gate = new Promise((resolve) => (open = resolve))
  let [asked, ended] = [0, 0]
  const model = customModel(async function* () {
    asked++
    try {
      yield { type: 'text', text: 'a' }
      await gate
      yield { type: 'text', text: 'b' }
    } finally {
      ended++
    }
  })
  {
    const handler = createHandler({
      model,
      store: memoryStore(),
      authorize: () => ({ tenant: 'ann' }),
      onError: (error) => told.push(error),
    })
    for (let read = 0; read < 4; read++) {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify({ messages }) }
      const response = await handler(new Request('http://app.example/api/chat/messages', init))
      assert.equal(response.status, 200)
      const reader = response.body.getReader()
      for (let count = 0; count < Math.min(read, 2); count++) await reader.read()
      await reader.cancel()
    }
  }
  open()
  await until(() => asked > 0 && ended === asked)
  assert.deepEqual(told, [])
})

test('no secret of a call is in the trace or the result of a pass', async () => {
  const canary = 'sk-live-4f9a4f9a4f9a'
  const tools = { quote: defineTool({ readOnly: true, inputSchema, execute: () => 1 }) }
  {
    const reason = `use ${canary}`
    const request = {
      tool_calls: [
        { tool_name: `find_${canary}`, params: {}, reason },
        { tool_name: 'quote', params: { q: reason }, reason },
        { tool_name: canary, params: 1, reason, [canary]: 1 },
      ],
    }
    let asked = 0
    const model = customModel(async function* () {
      yield { type: 'text', text: asked++ ? '{"plan":1}' : JSON.stringify(request) }
    })
    const trace = []
    const redact = (text) => text.replaceAll(canary, '[key]')
    const onTrace = (event) => trace.push(event)
    await runPlanning({ model, input: { goal: 'go' }, tools, onTrace, redact })
    assert.ok(trace.length > 0)
    assert.doesNotMatch(JSON.stringify(trace), /sk-live/)
    assert.match(JSON.stringify(trace), /find_\[key\]/)
  }
})

test('a secret that a cut divides is redacted whole', async () => {
  const canary = 'sk-live-4f9a4f9a4f9a'
  const redact = (text) => text.replaceAll(canary, '[key]')
  // Where texts are cut: reasons, names, names of members of results, arguments as JSON.
  for (const most of [200, 64, 40, 2048]) {
    for (let before = most - canary.length - 12; before <= most; before += 3) {
      const text = `${'é'.repeat(before % 2)}${'x'.repeat(before - 2 * (before % 2))}${canary} and on ${'y'.repeat(3000)}`
      const named = text.slice(0, before + canary.length + 20)
      const request = {
        tool_calls: [
          { tool_name: 'quote', params: { q: text }, reason: text },
          { tool_name: 'quote', params: {}, reason: '', [named]: 1 },
          { tool_name: named, params: {}, reason: '' },
        ],
      }
      const tools = {
        quote: defineTool({ readOnly: true, inputSchema, execute: () => ({ [named]: 1 }) }),
      }
      let asked = 0
      const model = customModel(async function* () {
        yield { type: 'text', text: asked++ ? '{"plan":1}' : JSON.stringify(request) }
      })
      const shown = []
      const onTrace = (event) => shown.push(event)
      const running = runPlanning({ model, input: { goal: 'go' }, tools, onTrace, redact })
      for await (const event of running) shown.push(event)
      const told = JSON.stringify(shown)
      assert.doesNotMatch(told, /sk-l/, `${most}, behind ${before}`)
      const asks = shown.find(({ type }) => type === 'strategist_tool_request')
      assert.equal(asks.tool_calls[0].reason.length, 200)
      assert.match(asks.tool_calls[0].reason, /…$/)
      assert.match(asks.tool_calls[0].params, /… \[cut: \d+ bytes\]$/)
      const names = [...asks.rejected, ...asks.notes].map(
        ({ tool_name: one, detail }) => one ?? detail,
      )
      for (const name of names) assert.ok(Buffer.byteLength(name) <= 64, name)
      const { calls } = await running
      assert.ok(calls.every(({ reason }) => reason.length <= 200))
    }
  }
})

/** What a callback may do, beside what it is asked to do. `again` calls back into the library. */
const DEEDS = {
  throws: () => () => {
    throw new Error('no')
  },
  'throws nothing': () => () => {
    throw undefined
  },
  rejects: () => () => Promise.reject(new Error('no')),
  'rejects with a trap': () => () => Promise.reject(trap()),
  'gives a trap': () => () => trap(),
  'gives a getter that throws': () => () => ({
    get value() {
      throw new Error('a member')
    },
  }),
  'gives a thenable that throws': () => () => ({
    get then() {
      throw new Error('then')
    },
  }),
  'gives a thenable that never settles twice': () => () => ({
    then(resolve, reject) {
      resolve({})
      reject(new Error('late'))
      throw new Error('later')
    },
  }),
  'gives a cycle': () => () => {
    const all = {}
    return Object.assign(all, { all })
  },
  'gives a BigInt': () => () => 1n,
  'gives a symbol': () => () => Symbol('s'),
  'gives a function': () => () => () => {},
  'gives nothing': () => () => undefined,
  'gives NaN': () => () => NaN,
  'gives half a character': () => () => '\ud800',
  'gives a deep value': () => () => JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`),
  'gives an iterator that throws': () =>
    async function* () {
      yield 'a'
      throw trap()
    },
  'gives an iterator of no texts': () =>
    async function* () {
      yield* [1n, null, {}]
    },
  'calls back and leaves': (again) => () => {
    again()
    return 'x'
  },
  'never ends': () => () => new Promise(() => {}),
}
const trap = () =>
  new Proxy(new Error('x'), {
    get() {
      throw new Error('a member')
    },
    getPrototypeOf() {
      throw new Error('a prototype')
    },
    ownKeys() {
      throw new Error('keys')
    },
  })

/** Cancels what has not settled once `deed` was done and all that could follow has had its time. */
async function settled(name, running, done) {
  let over = false
  const ends = running.result.then((value) => {
    over = true
    return value
  })
  if (name === 'never ends') {
    await until(() => over || done())
    running.cancel('enough')
  }
  return ends
}

test('whatever a callback of a chain does, the chain ends', async () => {
  const plan = {
    reasoning: 'both',
    pattern: 'conditional',
    stopping_criteria: '',
    steps: [
      { id: 1, type: 'search', query: 'x', focus: '', depends_on: [] },
      { id: 2, type: 'refine', query: 'y $1', focus: '', depends_on: [1], when: '$1 is not empty' },
    ],
  }
  const names = [
    'classify',
    'plan',
    'answer',
    'search',
    'refine',
    'synthesize',
    'quality',
    'assess',
    'enhance',
    'summarizeResult',
    'condition',
    'replan',
    'get',
    'set',
  ]
  let reached = new Set()
  for (const name of names) {
    for (const [deed, make] of Object.entries(DEEDS)) {
      let [did, chain] = [false, undefined]
      const bad = make(() => {
        chain?.cancel('from inside')
        void runChain({ query: 'x', ...good }).result
      })
      const hook = (...all) => {
        did = true
        reached.add(name)
        return bad(...all)
      }
      const good = {
        classify: () => 'complex',
        plan: () => plan,
        answer: () => 'simple',
        search: () => ['found'],
        refine: () => ['finer'],
        synthesize: () => 'both',
        quality: () => 1,
        assess: () => ({ completeness: 0.1 }),
        enhance: () => 'q',
        summarizeResult: () => 's',
        condition: () => true,
        replan: () => null,
      }
      const cache = { get: () => undefined, set: () => {} }
      const query = 'Compare the economies of France and Germany over ten years'
      const host =
        name in cache
          ? { ...good, cache: { ...cache, [name]: hook } }
          : { ...good, cache, [name]: hook }
      // An answer is asked for on the simple path.
      if (name === 'answer') host.classify = () => 'simple'
      chain = runChain({ query, ...host })
      const result = await settled(deed, chain, () => did)
      assert.ok(['complete', 'failed', 'cancelled'].includes(result.status), `${name} ${deed}`)
      if (result.status === 'failed') assert.match(result.error.code, /^[a-z_]+\.[a-z_]+$/)
    }
  }
  const unreached = names.filter((name) => !reached.has(name))
  assert.deepEqual(
    unreached,
    ['assess', 'replan'].filter((name) => unreached.includes(name)),
  )
})

test('whatever a callback of a bundle does, the bundle ends', async () => {
  for (const name of ['replicate', 'redact', 'eventManager']) {
    for (const [deed, make] of Object.entries(DEEDS)) {
      let [did, bundle] = [false, undefined]
      const bad = make(() => {
        bundle?.cancel('from inside')
        void runBundle({ task: 't', replicate: () => ({ data: 1 }) }).result
      })
      const hook = (...all) => {
        did = true
        return bad(...all)
      }
      const own =
        name === 'eventManager'
          ? { eventManager: { on_start: hook, on_delta: hook, on_complete: hook, on_error: hook } }
          : { [name]: hook }
      const replicate = () => ({ data: { a: 1 } })
      bundle = runBundle({ task: 't', k: 2, replicate, ...own })
      const result = await settled(deed, bundle, () => did)
      const text = JSON.stringify(result)
      assert.ok(Array.isArray(result.replicates) && text.length < 1_000_000, `${name} ${deed}`)
    }
  }
})

test('whatever a callback of a turn does, the turn ends', async () => {
  const store = memoryStore()
  for (const name of ['execute', 'needsApproval', 'action', 'onTrace', 'commit', 'read', 'watch']) {
    for (const [deed, make] of Object.entries(DEEDS)) {
      let [did, turn] = [false, undefined]
      const bad = make(() => {
        turn?.cancel('from inside')
        void runTurn({ model: says('x'), messages }).result
      })
      const hook = (...all) => {
        did = true
        return bad(...all)
      }
      const inTool = ['execute', 'needsApproval', 'action'].includes(name)
      const look = defineTool({
        inputSchema,
        execute: () => 'a',
        ...(inTool && { [name]: hook }),
      })
      const own = {
        ...(name === 'onTrace' && { onTrace: hook }),
        ...(['commit', 'read', 'watch'].includes(name) && { store: { ...store, [name]: hook } }),
      }
      const about = `${name} ${deed}`
      // A store that never answers has its own limits of time, of many seconds.
      if (name === 'commit' && deed === 'never ends') continue
      if (name === 'needsApproval') own.store = store
      turn = runTurn({ model: calls('look', '{}'), messages, tools: { look }, ...own })
      const result = await settled(deed, turn, () => did || name === 'read')
      assert.ok(['complete', 'failed', 'cancelled', 'paused'].includes(result.status), about)
      if (result.error) assert.match(result.error.code, /^[a-z_]+\.[a-z_]+$/, about)
    }
  }
})

test('whatever a model server answers, a turn on any wire ends with an outcome', async () => {
  const where = { baseURL: 'http://model.example', model: 'm', apiKey: 'k', maxRetries: 0 }
  const wires = { anthropic, bedrock, cohere, gemini, ollama, openaiChat, openaiResponses }
  const bytes = (text) => new TextEncoder().encode(text)
  const sse = (...events) => bytes(events.map((event) => `data: ${event}\n\n`).join(''))
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const frame = new Uint8Array(1000)
  frame.set([0, 0, 0, 200, 255, 255, 255, 255])
  const bodies = {
    empty: bytes(''),
    space: bytes(' '.repeat(1_000_000)),
    zeros: new Uint8Array(100_000),
    'a frame that lies': frame,
    'a frame of 4 GiB': new Uint8Array([255, 255, 255, 255, 0, 0, 0, 0]),
    'half characters': new Uint8Array(10_000).fill(0xed),
    page: bytes(`<!doctype html>${'<p>'.repeat(10_000)}`),
    null: sse('null'),
    'numbers and texts': sse('1', '"a"', 'true', '[]', '1e999'),
    deep: sse(deep, `{"choices":${deep}}`, `{"candidates":${deep}}`),
    'deep, whole': bytes(deep),
    'types that are none': sse(
      '{"choices":1,"candidates":"a","type":{},"message":[],"delta":0,"error":false}',
      '{"choices":[null,1,[]],"candidates":[null],"type":"content_block_delta","index":-1}',
      '{"type":"response.output_item.added","output_index":1e300,"item":{"type":"function_call"}}',
      '{"contentBlockDelta":{"contentBlockIndex":"x","delta":{"toolUse":{"input":{}}}}}',
      '{"type":"tool-call-delta","index":9007199254740993,"delta":{"message":{"tool_calls":[]}}}',
      '{"message":{"content":1,"tool_calls":{}},"done":"yes"}',
    ),
    'a name of 1 MB': sse(
      `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"${'i'.repeat(1e6)}","function":{"name":"${'n'.repeat(1e6)}","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
      `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"${'i'.repeat(1e6)}","name":"${'n'.repeat(1e6)}","input":{}}}`,
    ),
    // A name in brackets: without them it is no member.
    ['__proto__']: sse(
      '{"__proto__":{"choices":[]},"constructor":{"prototype":{"polluted":1}}}',
      '{"choices":[{"__proto__":{"polluted":1},"delta":{"__proto__":{"content":"a"}}}]}',
    ),
    'an error of everything': sse(`{"error":{"message":${JSON.stringify('e'.repeat(100_000))}}}`),
    'line ends': bytes('\r\n'.repeat(100_000)),
    'fields without data': bytes('event: x\nid: y\nretry: 0\n\n'.repeat(10_000)),
  }
  for (const [wire, model] of Object.entries(wires)) {
    for (const [body, content] of Object.entries(bodies)) {
      for (const step of [content.length || 1, 4093]) {
        const fetch = async () => {
          let at = 0
          return new Response(
            new ReadableStream({
              pull(controller) {
                if (at >= content.length) return controller.close()
                controller.enqueue(content.subarray(at, (at += step)))
              },
            }),
          )
        }
        const options = { ...where, fetch }
        if (wire === 'bedrock') Object.assign(options, { region: 'r' })
        const turn = runTurn({ model: model(options), messages })
        const { status, error } = await turn.result
        const about = `${wire}: ${body}`
        assert.ok(['complete', 'failed'].includes(status), about)
        if (status === 'failed') {
          assert.match(error.code, /^model\./, about)
          assert.ok(error.message.length < 2000, `${about}: ${error.message.length}`)
        }
      }
    }
  }
})

test('members named as prototypes are members, wherever they come from', async () => {
  const POLLUTES = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}'
  const polluting = () => JSON.parse(POLLUTES)
  const seen = []
  const look = defineTool({
    inputSchema,
    execute(args) {
      seen.push(args)
      return polluting()
    },
  })
  const past = { role: 'user', content: 'a', ...polluting() }
  const turn = runTurn({ model: calls('look', POLLUTES), messages: [past], tools: { look } })
  assert.equal((await turn.result).status, 'complete')
  assert.deepEqual(Object.keys(seen[0]), ['__proto__', 'constructor', 'a'])
  assert.equal(seen[0].polluted, undefined)

  const bundle = runBundle({ task: 't', replicate: async () => ({ data: polluting() }), k: 2 })
  const [replicate] = (await bundle.result).replicates
  assert.equal(JSON.stringify(replicate.data), POLLUTES)
  const asked = `{"tool_calls":[{"tool_name":"look","params":${POLLUTES}}]}`
  const tools = { look: { ...look, readOnly: true } }
  const answers = [asked, 'the plan']
  const model = customModel(async function* () {
    yield { type: 'text', text: answers.shift() }
  })
  const pass = await runPlanning({ model, input: polluting(), tools })
  assert.deepEqual(Object.keys(seen[1]), ['__proto__', 'constructor', 'a'])
  assert.equal(pass.calls.length, 1)
  const plan = `{"pattern":"sequential","__proto__":{"polluted":1},"steps":[{"id":1,"type":"search","query":"x","__proto__":{"polluted":1}}]}`
  const chain = runChain({
    query: 'Compare a and b, then c.',
    classify: () => 'complex',
    plan: () => JSON.parse(plan),
    search: () => [polluting()],
    answer: () => 'a',
    synthesize: () => 'b',
  })
  assert.ok((await chain.result).status)
})
