// Every public function refuses options that do not exist, with their path, and takes `undefined` for
// those that do.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import * as turnlock from 'turnlock'
import { remoteTurns } from 'turnlock/remote'
import { createHandler, memoryPassEvents, toNodeListener } from 'turnlock/server'
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import { redisStore } from 'turnlock/stores/redis'
import { storeConformance } from 'turnlock/testing'
import * as rows from '../dist/generated/rows.js'
import { checkOptions } from '../dist/options.js'

const { customModel, defineTool, memoryStore, openaiChat, runTurn } = turnlock
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
const handled = { model, store, authorize: () => null }

/** Function → options that it takes, how it is called, and names of objects in them. */
const FUNCTIONS = {
  runTurn: [{ model, messages, store }, turnlock.runTurn, ['policy', 'keep']],
  resumeTurn: [{ requestId, model, store }, turnlock.resumeTurn],
  cancelTurn: [{ requestId, store }, turnlock.cancelTurn],
  pauseTurn: [{ requestId, store }, turnlock.pauseTurn],
  customModel: [{}, (options) => turnlock.customModel(async function* () {}, options)],
  followTurn: [{ requestId, store }, turnlock.followTurn],
  openaiChat: [http, turnlock.openaiChat],
  anthropic: [{ model: 'm' }, turnlock.anthropic],
  openaiResponses: [{ model: 'm' }, turnlock.openaiResponses],
  gemini: [{ model: 'm' }, turnlock.gemini],
  bedrock: [{ model: 'm', region: 'eu-west-1', apiKey: 'k' }, turnlock.bedrock],
  cohere: [{ model: 'm' }, turnlock.cohere],
  ollama: [{ model: 'm' }, turnlock.ollama],
  defineTool: [tool, turnlock.defineTool],
  normalize: [{ dialect: 'gemini' }, (options) => turnlock.normalize(messages, options)],
  diagnose: [{ dialect: 'gemini' }, (options) => turnlock.diagnose(messages, options)],
  openHistory: [{ dialect: 'gemini' }, turnlock.openHistory],
  fit: [{ dialect: 'gemini' }, (options) => turnlock.fit(messages, options)],
  runBundle: [{ task: 't', replicate }, turnlock.runBundle, ['limits', 'perReplicate', 'budget']],
  replayBundle: [{}, (options) => turnlock.replayBundle(recording, options)],
  bundleTool: [{ name: 't', replicate }, turnlock.bundleTool, ['limits', 'perReplicate', 'budget']],
  distance: [{}, (options) => turnlock.distance(1, 2, options)],
  summarizeReplicates: [{}, (options) => turnlock.summarizeReplicates([], options), ['limits']],
  combineOutputs: [{}, (options) => turnlock.combineOutputs(['a'], options), ['limits']],
  replicateByModel: [{ model, prompt: 'p' }, turnlock.replicateByModel],
  replicateByTurn: [{ model, messages }, turnlock.replicateByTurn, ['policy']],
  runLints: [{ lints: {}, input: 1 }, turnlock.runLints],
  runWithToolRequests: [
    { model, input: {} },
    turnlock.runWithToolRequests,
    ['policy', 'prompts', 'prompts.request'],
  ],
  runChain: [{ query: 'q', ...calls }, turnlock.runChain, ['limits', 'costs', 'classifier']],
  classifyQuery: [{}, (options) => turnlock.classifyQuery('q', options)],
  parsePlan: [{}, (options) => turnlock.parsePlan(PLAN, options)],
  patternStats: [{}, turnlock.patternStats],
  chainBreaker: [{}, turnlock.chainBreaker],
  memoryStore: [{}, turnlock.memoryStore],
  indexedDbStore: [{}, indexedDbStore],
  redisStore: [{}, (options) => redisStore(async () => 0, options)],
  createHandler: [
    handled,
    createHandler,
    ['policy', 'keep', 'cors', 'limits', 'twoStage', 'twoStage.headers'],
  ],
  memoryPassEvents: [{}, memoryPassEvents],
  remoteTurns: [{ url: '/api' }, remoteTurns],
  'remoteTurns().run': [{ messages }, remote.run, ['policy']],
  'remoteTurns().resume': [{ requestId }, remote.resume],
  'remoteTurns().follow': [{ requestId }, remote.follow],
  toNodeListener: [{}, (options) => toNodeListener(text, options)],
  storeConformance: [{}, (options) => storeConformance(memoryStore, options)],
}
const PLAN = JSON.stringify({ pattern: 'sequential', steps: [{ id: 1, query: 'q' }] })
const recorded = turnlock.runBundle({ task: 't', replicate, record: true })
await recorded.result
const { recording } = recorded

/** The objects around a member, of a path such as `policy.freeze`. */
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
      assert.match(error.message, new RegExp(`^\`${path}\`: expected an? \\w+ that exists`))
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

test('`undefined` is a value of every option that may be missing', async () => {
  // The tables, each by its functions.
  const tables = {
    ...{ normalize: 'HISTORY', diagnose: 'HISTORY', openHistory: 'HISTORY' },
    ...{ openaiChat: 'OPEN_AI_CHAT', openaiResponses: 'OPEN_AI_RESPONSES' },
    ...{ defineTool: 'TOOL', summarizeReplicates: 'BUNDLE' },
    ...{ replicateByModel: 'MODEL_REPLICATE', replicateByTurn: 'TURN_REPLICATE' },
    ...{ combineOutputs: 'COMBINE', runWithToolRequests: 'TOOL_REQUEST' },
    ...{ classifyQuery: 'CLASSIFIER', createHandler: 'HANDLER', storeConformance: 'CONFORMANCE' },
    ...{ toNodeListener: 'NODE_LISTENER', 'remoteTurns().run': 'REMOTE_RUN' },
    ...{ 'remoteTurns().resume': 'REMOTE_RESUME', 'remoteTurns().follow': 'REMOTE_FOLLOW' },
  }
  for (const [name, [options, call]] of Object.entries(FUNCTIONS)) {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
    const table = name === 'parsePlan' ? 'PLAN_LIMITS' : `${tables[name] ?? snake}_OPTIONS`
    const all = Object.keys(rows[table] ?? assert.fail(table)).map((one) => [one, undefined])
    const error = await refusal(call, { ...Object.fromEntries(all), ...options })
    assert.notEqual(error?.code, 'options.invalid', `${name}: ${error?.message}`)
  }
  const { limits } = (await turnlock.runBundle({ task: 't', replicate }).result).meta
  assert.equal(limits, undefined)
  const made = turnlock.bundleTool({ name: 't', replicate, task: undefined, compact: undefined })
  const { meta } = await made.execute({}, { signal: new AbortController().signal })
  assert.deepEqual([meta.task, meta.encoding], ['t', 'delta'])
  assert.equal(meta.limits.max_bytes, 32_768)
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
  const message = '`sginal`: expected an option that exists; did you mean `signal`?'
  assert.throws(() => runTurn(wrong), { name: 'TurnlockError', message })
})

test('options that are no object are refused', async () => {
  for (const call of [
    runTurn,
    turnlock.runBundle,
    openaiChat,
    turnlock.gemini,
    defineTool,
    createHandler,
  ]) {
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

  const getter = {
    get known() {
      return assert.fail('the check called a getter')
    },
  }
  checkOptions(getter, { known: 0 })
  assert.throws(() => checkOptions(JSON.parse('{"__proto__":1}'), {}), { message: /^`__proto__`/ })
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
