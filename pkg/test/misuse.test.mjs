// Every function of every entry, called with what it does not take: it refuses with an error that has
// a code, at once or later, or it takes it. Nothing else is thrown, and nothing is left unhandled.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { runInNewContext } from 'node:vm'
import * as turnlock from 'turnlock'
import { chainBreaker, patternStats } from 'turnlock/chain'
import { runBundle } from 'turnlock/evidence'
import { runPlanning } from 'turnlock/planning'
import { createChat } from 'turnlock/chat'
import { mcpTools } from 'turnlock/mcp'
import { createRedactor } from 'turnlock/redact'
import { remoteTurns } from 'turnlock/remote'
import { createHandler, memoryPassEvents, memoryTraces, storePassEvents } from 'turnlock/server'

const { isTurnlockError, openHistory, createCallGuard, TurnlockError } = turnlock

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
/** Not code; the same functions again; hooks, which React refuses outside of a component. */
const LEFT = /^\.\/(package\.json|.*\.wasm|slim.*|browser|react)$/
const entries = Object.keys(exports).filter((entry) => !LEFT.test(entry))

const WRONG = [
  [],
  [undefined],
  [null],
  [5],
  ['x'],
  [{}],
  [[]],
  [() => {}],
  [Symbol('s')],
  [[null]],

  [{}, {}],
  [{}, 5],
  ['x', 5],
  [[], 5],
  [{}, null],
  ['x', null],
  [[null], null],
]

const unhandled = []
process.on('unhandledRejection', (error) => unhandled.push(error))

/** How long what may hang by design (a server that waits, a stream) is waited for, in milliseconds. */
const PATIENCE = 50

/** What a call throws, now or later. */
async function thrown(call, args) {
  const errors = []
  const note = (error) => errors.push(error)
  try {
    const made = call(...args)
    const later = [made, made?.result, made?.[Symbol.asyncIterator]?.().next()]
    const settled = later.map((one) => Promise.resolve(one).catch(note))
    await Promise.race([
      Promise.all(settled),
      new Promise((resolve) => setTimeout(resolve, PATIENCE)),
    ])
    made?.cancel?.()
  } catch (error) {
    note(error)
  }
  return errors
}

/** Objects of the package, and their methods that take something. */
const OBJECTS = {
  'a call guard': [() => createCallGuard(), 'judge', 'settle', 'begin'],
  'a history': [() => openHistory({ dialect: 'openai-chat' }), 'append'],
  'a redactor': [() => createRedactor(), 'redact', 'feed', 'events', 'trace'],
  'a decoder': [() => turnlock.decodeStream('openai-chat'), 'feed'],
  'a breaker': [() => chainBreaker(), 'record'],
  'statistics of patterns': [() => patternStats(), 'record'],
  'events of passes': [() => memoryPassEvents(), 'append', 'list'],
  'traces of turns': [() => memoryTraces(), 'append', 'list'],
  'events of passes in a store': [() => storePassEvents(turnlock.memoryStore()), 'append', 'list'],
  'remote turns': [
    () => remoteTurns({ url: 'http://localhost/agent', fetch: async () => new Response('{}') }),
    'run',
    'resume',
    'follow',
    'answer',
    'pause',
    'cancel',
  ],
}

for (const [what, [make, ...methods]] of Object.entries(OBJECTS)) {
  test(`misuse of ${what}`, async () => {
    for (const method of methods) {
      let refused = 0
      for (const args of WRONG) {
        const one = make()
        for (const error of await thrown(one[method].bind(one), args)) {
          const about = `${method}(${args.map((arg) => typeof arg)}): ${error?.stack ?? error}`
          assert.ok(isTurnlockError(error), about)
          refused++
        }
      }
      assert.ok(refused > 0, `${method} refuses nothing`)
    }
    assert.deepEqual(unhandled, [])
  })
}

const model = turnlock.customModel(async function* () {
  yield { type: 'text', text: 'x' }
})
const store = turnlock.memoryStore()
const http = { baseURL: 'https://models.example/v1', model: 'm' }
const remote = remoteTurns({ url: '/agent', fetch: () => assert.fail('nothing is sent') })
const mcp = (listed) => ({ listTools: async () => listed, callTool() {} })
const keep = (keep) =>
  turnlock.runTurn({ model, store, keep, messages: [{ role: 'user', content: 'x' }] })
const bundle = (own) => runBundle({ task: 't', replicate: () => ({ data: 1 }), ...own })
const pass = (own) => runPlanning({ model, input: {}, ...own })
const resume = (own) => remote.resume({ requestId: 'r', ...own })
const history = (seen) => turnlock.normalizeHistory([], { dialect: 'openai-chat', seen })

/** Values that a check of types would take, and the path that their refusal names. */
const REFUSED = [
  ['generate', () => turnlock.customModel()],
  ...['openaiChat', 'openaiResponses', 'anthropic', 'gemini', 'cohere', 'ollama'].flatMap(
    (name) => [
      ['apiKey', () => turnlock[name]({ ...http, apiKey: Symbol('key') })],
      ['headers', () => turnlock[name]({ ...http, headers: 5 })],
      ['headers', () => turnlock[name]({ ...http, headers: () => ({}) })],
    ],
  ),
  ['apiKey', () => turnlock.bedrock({ ...http, apiKey: Symbol('key') })],
  ['dialect', () => turnlock.providerModel({ ...http, dialect: 'constructor' })],
  ['apiKey', () => turnlock.providerModel({ ...http, dialect: 'groq', apiKey: Symbol('key') })],
  ['dangerouslyAllowBrowser', () => turnlock.anthropic({ ...http, dangerouslyAllowBrowser: 'no' })],
  ['eventManager', () => bundle({ eventManager: 'x' })],
  ['eventManager', () => bundle({ eventManager: 0 })],
  ['record', () => bundle({ record: 'x' })],
  ['planSchema', () => pass({ planSchema: '' })],
  ...[5, 0, 'x', false, []].map((own) => ['keep', () => keep(own)]),
  ...[NaN, Infinity, -Infinity].map((own) => ['seen', () => history(own)]),
  ['conversationId', () => createChat({ turns: remote, conversationId: 5 })],
  ...[null, undefined, 5, {}, { tools: null }].map((listed) => [
    'client.listTools',
    () => mcpTools(mcp(listed), { allow: ['a'] }),
  ]),
  ...['approvals', 'results', 'outcomes'].flatMap((name) =>
    [5, 'x', {}].map((own) => [name, () => resume({ [name]: own })]),
  ),
  ...[-1, 0.5, '1'].map((own) => ['toolBatchId', () => resume({ toolBatchId: own })]),
  ['pattern', () => patternStats().record({ pattern: 'none' })],
  ['bytes', () => turnlock.decodeStream('openai-chat').feed('data: {}')],
]

test('values of another type are refused at the call, with their path', async () => {
  for (const [path, call] of REFUSED) {
    const about = call.toString()
    const error = await (async () => call())().then(
      () => assert.fail(`taken: ${about}`),
      (error) => error,
    )
    assert.equal(error.code, 'options.invalid', `${about}: ${error.stack}`)
    assert.ok(error.message.startsWith(`\`${path}\`: expected `), error.message)
  }
  assert.deepEqual(unhandled, [])
})

test('null stands for the default, and a class for an event manager', async () => {
  const authorize = () => null
  createHandler({ model, store, authorize, limits: null })
  createHandler({ model, store, authorize, limits: { messages: null } })
  createChat({ turns: remote, conversationId: null })
  assert.equal((await keep(null).result).status, 'complete')
  await pass({ planSchema: null }).catch(({ code }) => assert.equal(code, 'plan.missing'))
  const seen = []
  class Manager {
    static on_start({ task }) {
      seen.push(task)
    }
  }
  await bundle({ eventManager: Manager, record: null }).result
  assert.deepEqual(seen, ['t'])
})

test('bytes of another realm, and other arrays of bytes, are decoded', () => {
  const text = 'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
  const bytes = new TextEncoder().encode(text)
  const other = runInNewContext('new Uint8Array(list)', { list: [...bytes] })
  for (const one of [bytes, other, Buffer.from(text), new Uint8ClampedArray(bytes)]) {
    const [delta] = turnlock.decodeStream('openai-chat').feed(one)
    assert.deepEqual(delta, { type: 'text', text: 'hi' })
  }
})

for (const entry of entries) {
  test(`misuse of turnlock${entry.slice(1)}`, async () => {
    const module = await import(`turnlock${entry.slice(1)}`)
    const functions = Object.entries(module).filter(
      ([, value]) => typeof value === 'function' && value !== TurnlockError,
    )
    let refused = 0
    for (const [name, call] of functions) {
      for (const args of WRONG) {
        for (const error of await thrown(call, args)) {
          const about = `${name}(${args.map((one) => typeof one)}): ${error?.stack ?? error}`
          assert.ok(isTurnlockError(error), about)
          refused++
        }
      }
    }
    assert.ok(functions.length === 0 || refused > 0, `${entry} refuses nothing`)
    assert.deepEqual(unhandled, [])
  })
}
