// Every public function refuses options that do not exist, with their path, and takes `undefined` for
// those that do.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import * as turnlock from 'turnlock'
import {
  runBundle,
  replayBundle,
  bundleTool,
  distance,
  summarizeReplicates,
  combineOutputs,
  replicateByModel,
  replicateByTurn,
  runLints,
} from 'turnlock/evidence'
import { runPlanning, auditToolUse } from 'turnlock/planning'
import { runChain, classifyQuery, parsePlan, patternStats, chainBreaker } from 'turnlock/chain'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { mcpTools } from 'turnlock/mcp'
import { openTelemetry } from 'turnlock/otel'
import { createChat } from 'turnlock/chat'
import { createProxy } from 'turnlock/proxy'
import { createRedactor } from 'turnlock/redact'
import { guardFetch, guardTools } from 'turnlock/guard'
import { remoteTurns } from 'turnlock/remote'
import {
  createHandler,
  memoryPassEvents,
  memoryTraces,
  storePassEvents,
  toNodeListener,
} from 'turnlock/server'
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import { d1Store } from 'turnlock/stores/d1'
import { postgresStore } from 'turnlock/stores/postgres'
import { redisStore } from 'turnlock/stores/redis'
import { scriptedProvider, storeConformance } from 'turnlock/testing'
import * as rows from '../dist/generated/rows.js'
import { readOptions } from '../dist/options.js'

const { customModel, defineTool, memoryStore, openaiChat, runTurn } = turnlock
const { diagnoseHistory, normalizeHistory, openHistory } = turnlock
const model = customModel(async function* () {
  yield { type: 'text', text: '{"tool_calls":[]}' }
})
const messages = [{ role: 'user', content: 'go' }]
const store = memoryStore()
const tool = { description: 'd', inputSchema: { type: 'object' }, execute: () => 1 }
const replicate = () => ({ data: 1 })
const requestId = 'r'
const text = () => 'text'
const calls = { answer: text, plan: text, search: text, synthesize: text }
const http = { baseURL: 'http://x/v1', model: 'm' }
const remote = remoteTurns({ url: '/api', maxRetries: 0, fetch: async () => new Response() })
const mcp = { listTools: async () => ({ tools: [] }), callTool: text }
const meter = { createHistogram() {}, createCounter() {} }
const api = { trace: { getTracer() {} }, metrics: { getMeter: () => meter } }
const handled = { model, store, authorize: () => null }

/** Function → options that it takes, how it is called, and names of objects in them. */
const FUNCTIONS = {
  runTurn: [{ model, messages, store }, turnlock.runTurn, ['policy', 'keep']],
  localTurns: [
    { model, store },
    (own) => turnlock.localTurns(own).run({ messages }),
    ['policy', 'keep'],
  ],
  resumeTurn: [{ requestId, model, store }, turnlock.resumeTurn],
  cancelTurn: [{ requestId, store }, turnlock.cancelTurn],
  pauseTurn: [{ requestId, store }, turnlock.pauseTurn],
  claimCalls: [{ requestId, store, toolBatchId: 0, toolCallIds: [] }, turnlock.claimCalls],
  listTurns: [{ store }, turnlock.listTurns],
  createRedactor: [{}, createRedactor],
  createChat: [{ turns: { run() {} } }, createChat],
  customModel: [{}, (options) => turnlock.customModel(async function* () {}, options)],
  followTurn: [{ requestId, store }, turnlock.followTurn],
  openaiChat: [http, turnlock.openaiChat],
  providerModel: [{ model: 'm', dialect: 'groq' }, turnlock.providerModel],
  anthropic: [{ model: 'm' }, turnlock.anthropic],
  openaiResponses: [{ model: 'm' }, turnlock.openaiResponses],
  gemini: [{ model: 'm' }, turnlock.gemini],
  bedrock: [{ model: 'm', region: 'eu-west-1', apiKey: 'k' }, turnlock.bedrock],
  cohere: [{ model: 'm' }, turnlock.cohere],
  ollama: [{ model: 'm' }, turnlock.ollama],
  defineTool: [tool, turnlock.defineTool],
  createCallGuard: [{}, turnlock.createCallGuard],
  guardTools: [{}, (options) => guardTools({}, options), ['policy']],
  guardFetch: [{}, (options) => guardFetch(undefined, options), ['policy', 'limits']],
  normalizeHistory: [
    { dialect: 'gemini' },
    (options) => turnlock.normalizeHistory(messages, options),
  ],
  diagnoseHistory: [
    { dialect: 'gemini' },
    (options) => turnlock.diagnoseHistory(messages, options),
  ],
  openHistory: [{ dialect: 'gemini' }, turnlock.openHistory],
  trimHistory: [{ dialect: 'gemini' }, (options) => turnlock.trimHistory(messages, options)],
  runBundle: [{ task: 't', replicate }, runBundle, ['limits', 'perReplicate', 'budget']],
  replayBundle: [{}, (options) => replayBundle(recording, options)],
  bundleTool: [{ name: 't', replicate }, bundleTool, ['limits', 'perReplicate', 'budget']],
  distance: [{}, (options) => distance(1, 2, options)],
  summarizeReplicates: [{}, (options) => summarizeReplicates([], options), ['limits']],
  combineOutputs: [{}, (options) => combineOutputs(['a'], options), ['limits']],
  replicateByModel: [{ model, prompt: 'p' }, replicateByModel],
  replicateByTurn: [{ model, messages }, replicateByTurn, ['policy']],
  runLints: [{ lints: {}, input: 1 }, runLints],
  runPlanning: [{ model, input: {} }, runPlanning, ['policy', 'prompts', 'prompts.request']],
  runChain: [{ query: 'q', ...calls }, runChain, ['limits', 'costs', 'classifier']],
  classifyQuery: [{}, (options) => classifyQuery('q', options)],
  parsePlan: [{}, (options) => parsePlan(PLAN, options)],
  patternStats: [{}, patternStats],
  chainBreaker: [{}, chainBreaker],
  memoryStore: [{}, turnlock.memoryStore],
  indexedDbStore: [{}, indexedDbStore],
  redisStore: [{}, (options) => redisStore(async () => 0, options)],
  postgresStore: [{}, (options) => postgresStore(async () => [], options)],
  d1Store: [{}, (options) => d1Store({ prepare() {}, async batch() {} }, options)],
  createHandler: [
    handled,
    createHandler,
    ['policy', 'keep', 'cors', 'limits', 'twoStage', 'twoStage.headers'],
  ],
  createProxy: [
    { upstream: 'http://x/v1', authorize: () => null },
    createProxy,
    ['policy', 'limits'],
  ],
  memoryPassEvents: [{}, memoryPassEvents],
  memoryTraces: [{}, memoryTraces],
  storePassEvents: [{}, (options) => storePassEvents(memoryStore(), options)],
  remoteTurns: [{ url: '/api' }, remoteTurns],
  'remoteTurns().run': [{ messages }, remote.run, ['policy']],
  'remoteTurns().resume': [{ requestId }, remote.resume],
  'remoteTurns().follow': [{ requestId }, remote.follow],
  toNodeListener: [{}, (options) => toNodeListener(text, options)],
  turnlockMiddleware: [{}, turnlockMiddleware],
  mcpTools: [{ allow: [] }, (options) => mcpTools(mcp, options)],
  openTelemetry: [{ api }, openTelemetry],
  scriptedProvider: [{}, scriptedProvider],
  storeConformance: [{}, (options) => storeConformance(memoryStore, options)],
}
const PLAN = JSON.stringify({ pattern: 'sequential', steps: [{ id: 1, query: 'q' }] })
const recorded = runBundle({ task: 't', replicate, record: true })
await recorded.result
const { recording } = recorded

/** The objects around a member, of a path such as `policy.readMode`. */
const nested = (path, value) =>
  path.split('.').reduceRight((inner, name) => ({ [name]: inner }), value)

async function refusal(call, options) {
  try {
    await call(options)
  } catch (error) {
    return error
  }
  return undefined
}

for (const [name, [options, call, inner = []]] of Object.entries(FUNCTIONS)) {
  test(`${name} refuses options that do not exist, with their path`, async () => {
    const taken = await refusal(call, { ...options, misspelt: undefined })
    assert.notEqual(taken?.code, 'options.invalid', taken?.message)
    const paths = ['misspelt', 'toString', 'constructor', ...inner.map((at) => `${at}.misspelt`)]
    for (const path of paths) {
      const error = await refusal(call, { ...options, ...nested(path, 1) })
      assert.equal(error?.code, 'options.invalid', path)
      assert.match(error.message, new RegExp(`^\`${path}\`: expected a known option`))
    }
    for (const path of inner) {
      const taken = await refusal(call, { ...options, ...nested(path, undefined) })
      assert.notEqual(taken?.code, 'options.invalid', taken?.message)
    }
  })
}

test('these are all functions that take options', () => {
  const docs = readFileSync(new URL('../../docs/options.md', import.meta.url), 'utf8')
  const [operations] = docs.split('\n# Objects in options')
  const named = [...operations.matchAll(/^## (.+)$/gm)].flatMap(([, names]) => names.split(', '))
  assert.deepEqual(named.sort(), Object.keys(FUNCTIONS).sort())
})

/** The tables, each by its functions. */
const tables = {
  normalizeHistory: 'HISTORY',
  diagnoseHistory: 'HISTORY',
  openHistory: 'HISTORY',
  openaiChat: 'OPEN_AI_CHAT',
  openaiResponses: 'OPEN_AI_RESPONSES',
  defineTool: 'TOOL',
  summarizeReplicates: 'BUNDLE',
  replicateByModel: 'MODEL_REPLICATE',
  replicateByTurn: 'TURN_REPLICATE',
  combineOutputs: 'COMBINE',
  runPlanning: 'PLANNING',
  trimHistory: 'TRIM',
  classifyQuery: 'CLASSIFIER',
  createHandler: 'HANDLER',
  storeConformance: 'CONFORMANCE',
  toNodeListener: 'NODE_LISTENER',
  'remoteTurns().run': 'REMOTE_RUN',

  turnlockMiddleware: 'AI_SDK_MIDDLEWARE',
  createProxy: 'PROXY',
  openTelemetry: 'OTEL',
  createChat: 'CHAT',
  createRedactor: 'REDACT',
  'remoteTurns().resume': 'REMOTE_RESUME',
  'remoteTurns().follow': 'REMOTE_FOLLOW',
}

/** The names of the options of a function. */
function optionsOf(name) {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
  const others = { parsePlan: 'PLAN_LIMITS', createCallGuard: 'GUARD_POLICY' }
  const table = others[name] ?? `${tables[name] ?? snake}_OPTIONS`
  return rows[table] ?? assert.fail(table)
}

test('`undefined` is a value of every option that may be missing', async () => {
  for (const [name, [options, call]] of Object.entries(FUNCTIONS)) {
    const all = Object.keys(optionsOf(name)).map((one) => [one, undefined])
    const error = await refusal(call, { ...Object.fromEntries(all), ...options })
    assert.notEqual(error?.code, 'options.invalid', `${name}: ${error?.message}`)
  }
  const { limits } = (await runBundle({ task: 't', replicate }).result).meta
  assert.equal(limits, undefined)
  const made = bundleTool({ name: 't', replicate, task: undefined, compact: undefined })
  const { meta } = await made.execute({}, { signal: new AbortController().signal })
  assert.deepEqual([meta.task, meta.encoding], ['t', 'delta'])
  assert.equal(meta.limits.max_bytes, 32_768)
})

/** An object, or a function, whose every use throws. */
function untouchable(of) {
  const no = () => {
    throw new Error('a trap of the host')
  }
  const traps = Object.getOwnPropertyNames(Reflect).map((name) => [name, no])
  return new Proxy(of, Object.fromEntries(traps))
}

/** The paths of a table's options. */
const paths = (table, at = '') =>
  Object.entries(table).flatMap(([name, inner]) => [
    at + name,
    ...(inner ? paths(inner, `${at}${name}.`) : []),
  ])

test('options that cannot be read are typed errors, with their path', async () => {
  const refused = new Set(['options.invalid'])
  for (const [name, [options, call]] of Object.entries(FUNCTIONS)) {
    /** What a call came to, as its error; whatever it is, it is a typed one. */
    const tried = async (given, what) => {
      const error = await refusal(async (own) => {
        const made = await call(own)
        await made?.result
        return made
      }, given)
      if (error === undefined) return 'taken'
      assert.equal(error.name, 'TurnlockError', `${name}, ${what}: ${error.stack}`)
      return error.code
    }
    for (const path of paths(optionsOf(name))) {
      const names = path.split('.')
      const last = names.pop()
      const given = { ...options }
      let inner = given
      for (const one of names) inner = inner[one] = {}
      Object.defineProperty(inner, last, {
        enumerable: true,
        get() {
          throw new RangeError('a getter of the host')
        },
      })
      assert.ok(refused.has(await tried(given, path)), `${name}: ${path}`)
    }
    for (const one of Object.keys(optionsOf(name))) {
      for (const of of [{}, [], () => 1]) {
        await tried({ ...options, [one]: untouchable(of) }, `${one} that cannot be used`)
      }
    }
    for (const given of [untouchable({}), untouchable([]), untouchable(new (class Own {})())]) {
      assert.ok(refused.has(await tried(given, 'all of it')), name)
    }
  }
})

test('a name that is close is suggested', () => {
  const meant = (name) => {
    try {
      openaiChat({ ...http, [name]: 1 })
    } catch ({ message }) {
      return /did you mean `(\w+)`/.exec(message)?.[1]
    }
  }
  assert.deepEqual(
    ['apikey', 'baseUrl', 'modle', 'bodyy', 'dialekt', 'retries', 'temperature', 'x'].map(meant),
    ['apiKey', 'baseURL', 'model', 'body', 'dialect', undefined, undefined, undefined],
  )
  const wrong = { model, messages, sginal: 1 }
  const message = '`sginal`: expected a known option; did you mean `signal`?'
  assert.throws(() => runTurn(wrong), { name: 'TurnlockError', message })
})

test('what other libraries call the schema of a tool is known', () => {
  const message = '`parameters`: expected a known option; did you mean `inputSchema`?'
  const parameters = { type: 'object' }
  assert.throws(() => defineTool({ description: 'x', parameters }), { message })
})

test('what a tool says of itself is checked where it is defined', () => {
  const good = { description: 'x', inputSchema: { type: 'object' }, execute() {} }
  defineTool({ ...good, readOnly: null, dedupe: undefined, needsApproval: () => true })
  for (const [name, value] of [
    ['readOnly', 'yes'],
    ['idempotent', 1],
    ['dedupe', 'skip'],
    ['timeoutMs', 0],
    ['maxResultBytes', -1],
    ['maxCalls', 0],
    ['reuseMs', '5'],
    // It would need none.
    ['needsApproval', 'always'],
    ['needsApproval', 1],
  ]) {
    const error = { name: 'TurnlockError', code: 'options.invalid', message: new RegExp(name) }
    assert.throws(() => defineTool({ ...good, [name]: value }), error, name)
  }
})

test('a turn that may have to wait says what it needs', () => {
  const inputSchema = { type: 'object' }
  const asks = defineTool({ description: 'x', inputSchema, needsApproval: true, execute() {} })
  const page = defineTool({ description: 'x', inputSchema })
  for (const tools of [{ asks }, { page }]) {
    const message = '`store`: expected a store, in which the turn can wait'
    assert.throws(() => runTurn({ model, messages, tools }), { message })
  }
})

test('a value of another type is refused by its name, at the call', async () => {
  const post = { model: 'm', fetch: () => new Response('') }
  const chat = { ...post, baseURL: 'https://api.example/v1' }
  const proxy = {
    upstream: 'https://api.example/v1',
    authorize: () => ({ tenant: 't' }),
  }
  const bundle = { task: 't', replicate: () => ({ data: 1 }) }
  const turn = { model, messages: [{ role: 'user', content: 'Hello' }] }
  const answers = [{ data: 1 }, { data: 2 }]
  const { anthropic, trimHistory, threadId } = turnlock
  const cases = [
    // Their headers would be lost, and the key with them.
    ['headers', () => openaiChat({ ...chat, headers: new Headers({ 'api-key': 'k' }) })],
    ['headers', () => openaiChat({ ...chat, headers: 'api-key: k' })],
    ['headers', () => openaiChat({ ...chat, headers: new Map([['api-key', 'k']]) })],
    ['headers.0', () => openaiChat({ ...chat, headers: [['api-key', 'k']] })],
    ['headers.api-key', () => openaiChat({ ...chat, headers: { 'api-key': 5 } })],
    ['fetch', () => openaiChat({ ...chat, fetch: 'fetch' })],
    ['maxTokens', () => anthropic({ ...post, maxTokens: '4096' })],
    ['maxTokens', () => anthropic({ ...post, maxTokens: 0 })],
    ['keep', () => trimHistory([], { dialect: 'anthropic', keep: true })],
    ['countTokens', () => trimHistory([], { dialect: 'anthropic', countTokens: 3 })],
    ['conversationId', () => threadId(undefined)],
    ['execute', () => defineTool({ description: 'x', inputSchema: {}, execute: null })],
    ['tenant', () => runTurn({ ...turn, tenant: 5 })],
    ['tenant', () => runTurn({ ...turn, tenant: 5, store: memoryStore() })],
    ['redact', () => runTurn({ ...turn, redact: '' })],
    ['nullIsMissing', () => distance(1, 2, { nullIsMissing: 1n })],
    ['nullIsMissing', () => distance(1, 2, { nullIsMissing: NaN })],
    ['epsilon', () => summarizeReplicates(answers, { epsilon: NaN })],
    ['weights', () => summarizeReplicates(answers, { weights: 0 })],
    ['events', () => auditToolUse(undefined, 'p')],
    ['text', () => createRedactor().feed(5)],
    ['policy', () => createProxy({ ...proxy, policy: 5 })],
    ['limits', () => createProxy({ ...proxy, limits: [] })],
    ['fetch', () => createProxy({ ...proxy, fetch: 'fetch' })],
    ['onReport', () => createProxy({ ...proxy, onReport: {} })],
    ['onError', () => createProxy({ ...proxy, onError: 'log' })],
    ['decode', () => createProxy({ ...proxy, decode: 'zstd' })],
    ['decode.zstd', () => createProxy({ ...proxy, decode: { zstd: true } })],
    ['cors.headers', () => createProxy({ ...proxy, cors: { headers: 'x-team' } })],
    ['cors.maxAge', () => createProxy({ ...proxy, cors: { maxAge: '1 day' } })],
    ['cors.credentials', () => createProxy({ ...proxy, cors: { credentials: 'yes' } })],
  ]
  for (const [name, call] of cases) {
    const refused = async () => await call()
    const named = (error) =>
      error.code === 'options.invalid' && error.message.startsWith(`\`${name}\`: expected `)
    await assert.rejects(refused, named, `${name}: ${call}`)
  }
  // `null` stands for what is not given.
  for (const name of ['policy', 'limits', 'cors', 'fetch', 'onReport', 'decode']) {
    createProxy({ ...proxy, [name]: null })
  }
})

test('a header that is undefined is not sent', async () => {
  let sent
  const fetch = (_, init) => {
    sent = init.headers
    return new Response('', { status: 400 })
  }
  const headers = { 'OpenAI-Organization': undefined, 'x-team': 'a' }
  const own = openaiChat({
    baseURL: 'https://api.example/v1',
    model: 'm',
    fetch,
    headers,
  })
  await runTurn({ model: own, messages: [{ role: 'user', content: 'Hello' }] }).result
  assert.equal(sent['x-team'], 'a')
  assert.ok(!('OpenAI-Organization' in sent))
})

test('an unknown dialect names those that there are', () => {
  const said = (dialect) => {
    try {
      normalizeHistory([], { dialect })
    } catch ({ code, message }) {
      return [code, message]
    }
  }
  const names =
    'openai-chat, openai-responses, anthropic, gemini, mistral, deepseek, cohere, bedrock, ' +
    'ollama, langchain, groq, xai, chat-template'
  assert.deepEqual(said('claude'), [
    'dialect.unknown',
    `unknown dialect \`claude\`: expected ${names}`,
  ])
})

test('an element that no shape is known for is described, without its words', () => {
  const said = (element) => {
    const history = [messages[0], element]
    const given = { dialect: 'openai-chat' }
    const told = []
    for (const ask of [normalizeHistory, diagnoseHistory]) {
      assert.throws(
        () => ask(history, given),
        ({ code, message, details }) => {
          assert.deepEqual([code, details], ['message.unknown_shape', { index: 1 }])
          return told.push(message) > 0
        },
      )
    }
    const grown = openHistory(given)
    grown.append(messages[0])
    for (const _ of [1, 2]) {
      assert.throws(
        () => grown.append(element),
        ({ message }) => told.push(message) > 0,
      )
    }
    assert.equal(new Set(told).size, 1, told.join('\n'))
    return told[0]
  }
  const at = 'message 1 has no known shape: '
  assert.equal(
    said({ role: 'humanoid', content: 'hi' }),
    `${at}{ role: "humanoid", content: string }`,
  )
  assert.equal(said({ role: 'user', content: 5 }), `${at}{ role: "user", content: number }`)
  assert.equal(said({ role: 'user', words: [null] }), `${at}{ role: "user", words: list }`)
  assert.equal(said('hi'), `${at}string`)
})

test('lists in place of what has names are refused', () => {
  const tool = defineTool({ description: 'd', inputSchema: {}, execute: () => 1 })
  assert.throws(() => runTurn({ model, messages, tools: [tool] }), {
    message: '`tools`: expected tools by name',
  })
  const given = { model, store: memoryStore(), authorize: () => null }
  for (const own of [{ tools: [tool] }, { tools: { x: 1 } }, { cors: '*' }, { cors: ['*'] }]) {
    assert.throws(() => createHandler({ ...given, ...own }), { code: 'options.invalid' })
  }
})

test('options that are no object are refused', async () => {
  for (const call of [runTurn, runBundle, openaiChat, turnlock.gemini, defineTool, createHandler]) {
    for (const options of [undefined, null, 'x', 7]) {
      assert.throws(() => call(options), { code: 'options.invalid', message: /^`options`: / })
    }
  }
})

test('only own members of plain objects are looked at', async () => {
  const shared = { unknown: 1, [Symbol('x')]: 1 }
  const given = Object.create(shared, {
    hidden: { value: 1 },
    messages: { enumerable: true, get: () => messages },
  })
  given.model = model
  given[Symbol('y')] = 1
  assert.equal((await runTurn(given).result).status, 'complete')
  given.unknown = 1
  assert.throws(() => runTurn(given), { message: /^`unknown`/ })

  const bare = Object.assign(Object.create(null), { model, messages })
  assert.equal((await runTurn(bare).result).status, 'complete')
  assert.throws(() => runTurn(Object.assign(bare, { unknown: 1 })), { message: /^`unknown`/ })
  const foreign = runInNewContext('({ unknown: 1 })')
  assert.throws(() => runTurn(Object.assign(foreign, { model, messages })), {
    message: /^`unknown`/,
  })

  let calls = 0
  const getter = {
    get known() {
      return ++calls
    },
  }
  assert.deepEqual([readOptions(getter, { known: 0 }), calls], [{ known: 1 }, 1])
  assert.throws(() => readOptions(JSON.parse('{"__proto__":1}'), {}), { message: /^`__proto__`/ })
})

test('an instance of a class is taken with what it has besides', async () => {
  class Job {
    #model = model
    log = []
    requestId = 'job'
    get model() {
      return this.#model
    }
    get messages() {
      return messages
    }
    onTrace({ type }) {
      this.log.push(type)
    }
  }
  const job = new Job()
  const { status, requestId } = await runTurn(job).result
  assert.deepEqual([status, requestId], ['complete', 'job'])
  assert.ok(job.log.includes('llm_call'), `${job.log}`)
})

test('the declarations take and refuse the same', () => {
  const here = fileURLToPath(new URL('types', import.meta.url))
  const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', here], { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})

test('pins that cannot be read are misuse, and so is an api without metrics', async () => {
  const inputSchema = { type: 'object' }
  const client = {
    listTools: async () => ({ tools: [{ name: 'search', inputSchema }] }),
    callTool: async () => ({ content: [] }),
  }
  // Taken, they would let every definition pass.
  const wrong = [{ pins: null }, { pins: 5 }, { pins: 'sha' }, { prefix: 5 }, { onDrift: 'log' }]
  for (const own of wrong) {
    const message = new RegExp(`^\`${Object.keys(own)}\``)
    const error = { code: 'options.invalid', message }
    await assert.rejects(mcpTools(client, { allow: ['search'], ...own }), error)
  }
  const api = { trace: { getTracer: () => ({}) } }
  assert.throws(() => openTelemetry({ api }), { code: 'options.invalid', message: /^`api`/ })
})
