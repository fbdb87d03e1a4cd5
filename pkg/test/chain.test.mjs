// Chains through the package: misuse, errors, what is left behind, and a core that traps. What a
// chain decides is in tests/chain. Needs the test build (`node scripts/build.mjs --tests`).
import assert from 'node:assert/strict'
import test from 'node:test'
import { scriptedModel } from 'turnlock/testing'
import { partsOf } from './parts.mjs'
import {
  chainBreaker,
  classifyQuery,
  isTurnlockError,
  parsePlan,
  patternStats,
  runChain,
  runTurn,
} from '../../.cache/trap/dist/browser.js'

const PLAN = {
  reasoning: 'both',
  pattern: 'parallel',
  steps: [
    { id: 1, type: 'search', query: 'x', focus: '', depends_on: [] },
    { id: 2, type: 'search', query: 'y', focus: '', depends_on: [] },
  ],
  stopping_criteria: '',
}
const host = (own) => ({
  query: 'Compare Ohio and Texas.',
  classify: () => 'complex',
  answer: () => 'simple',
  plan: () => PLAN,
  search: ({ query }) => [query],
  synthesize: ({ results }) => results.map(({ result }) => result[0]).join(' and '),
  ...own,
})
const simply = { query: 'hi', classify: () => 'simple' }
const { parts, live } = await partsOf('../../.cache/trap/dist')

test('classifyQuery: the same every time, with its reasons, and options', () => {
  const query = 'Compare the causes of the 1929 and 2008 crises in London and New York.'
  const found = classifyQuery(query)
  assert.deepEqual(found, classifyQuery(query))
  assert.equal(found.complexity, 'complex')
  assert.deepEqual(found.entities, ['London', 'New York'])
  assert.ok(found.indicators.includes('analysis_request'))
  assert.equal(classifyQuery(query, { threshold: 1 }).complexity, 'simple')
  const own = classifyQuery('show the lineage', { complexIndicators: ['lineage'] })
  assert.deepEqual([own.complexity, own.indicators[0]], ['complex', 'own:lineage'])
  assert.equal(classifyQuery('Ohio', { entityThreshold: 1 }).complexity, 'simple')
  assert.equal(classifyQuery('weather in Ohio', { entityThreshold: 1 }).complexity, 'complex')
  assert.equal(classifyQuery('Сравни кофе и чай').language, 'uncovered')
  assert.throws(() => classifyQuery(query, { entityThreshold: 0 }), { code: 'options.invalid' })
  assert.throws(() => classifyQuery(7), { code: 'options.invalid' })
  assert.throws(() => classifyQuery(query, { threshold: 7 }), { code: 'options.invalid' })
})

test('parsePlan: ids as the planner wrote them, typed errors', () => {
  const plan = parsePlan(`Sure:\n\`\`\`json\n${JSON.stringify(PLAN)}\n\`\`\``)
  assert.deepEqual(
    plan.steps.map(({ id }) => id),
    [1, 2, 'synthesis'],
  )
  assert.deepEqual(plan.waves, [[1, 2], ['synthesis']])
  assert.deepEqual(plan.repairs, [
    { code: 'fence_dropped', step: null },
    { code: 'words_dropped', step: null },
    { code: 'synthesis_added', step: 'synthesis' },
  ])
  const error = (text, limits) => {
    try {
      parsePlan(text, limits)
    } catch (thrown) {
      assert.ok(isTurnlockError(thrown))
      return thrown.code
    }
  }
  assert.equal(error('nothing'), 'plan.syntax')
  assert.equal(error(JSON.stringify(PLAN), { maxSteps: 1 }), 'plan.too_many_steps')
  assert.equal(
    error(JSON.stringify(PLAN), { patterns: ['sequential'] }),
    'plan.pattern_not_allowed',
  )
  assert.equal(error('{}', { maxSteps: 0 }), 'options.invalid')
  const step = { id: 'a', type: 'search', query: 'x' }
  for (const [code, ...steps] of [
    ['plan.empty'],
    ['plan.invalid_step', { ...step, type: 'guess' }],
    ['plan.duplicate_step', step, step],
    ['plan.unknown_dependency', { ...step, depends_on: ['b'] }],
    ['plan.cycle', { ...step, depends_on: ['a'] }],
    ['plan.invalid_condition', step, { ...step, id: 'b', depends_on: ['a'], when: 'if it rains' }],
  ]) {
    assert.equal(error(JSON.stringify({ steps })), code)
  }
  const long = JSON.stringify({ steps: [{ ...step, query: 'x'.repeat(256 * 1024) }] })
  assert.equal(error(long), 'plan.too_large')
})

test('a search that hangs is a failed step, and the answer is made of the others', async () => {
  const search = ({ query }) => (query === 'x' ? new Promise(() => {}) : [query])
  const limits = { stepMs: 200, maxRetries: 0 }
  const { events, result } = await ended(runChain(host({ search, limits })))
  const failed = events.find((event) => event.type === 'step_done' && event.status === 'failed')
  assert.deepEqual([failed.id, failed.error.code], [1, 'chain.timeout'])
  assert.deepEqual([result.status, result.text], ['complete', 'y'])
})

async function ended(chain) {
  const events = []
  for await (const event of chain) events.push(event)
  return { events, result: await chain.result }
}

test('misuse throws at the call', () => {
  for (const own of [
    { query: ' ' },
    { search: undefined },
    { limits: { maxSteps: 0 } },
    { limits: { steps: 3 } },
    { costs: { answer: -1 } },
    { patterns: [] },
    { limits: { maxCost: 1 }, costs: { answer: 2 } },
    { refine: {} },
    { assess: 5 },
    { quality: 'good' },
    { summarizeResult: true },
    { cache: 5 },
    { cache: { get: () => null } },
    { cache: { get set() { throw new Error('on purpose') } } }, // prettier-ignore
    { feedback: {} },
    { breaker: { open: true } },
    { feedback: 0 },
    { signal: new AbortController() },
    { signal: false },
  ]) {
    const [name] = Object.keys(own)
    const refused = ({ code, message }) => code === 'options.invalid' && message.includes(name)
    assert.throws(() => runChain(host(own)), refused, name)
  }
  const none = { refine: null, quality: null, cache: null, feedback: null, signal: null }
  assert.ok(runChain(host({ ...none, breaker: null })))
})

test('a search may be a turn, or its result: what it found, and its failure', async () => {
  const messages = [{ role: 'user', content: 'go' }]
  const one = (text, own) => runTurn({ model: scriptedModel(text), messages, ...own })
  const found = async (search) => {
    let results
    const synthesize = (context) => {
      results = context.results.map(({ result }) => result)
      return 'All of it.'
    }
    const { status, path, fellBack } = await runChain(host({ search, synthesize })).result
    assert.equal(status, 'complete')
    return { results, path, code: fellBack?.code }
  }
  for (const ask of [one, async (...all) => one(...all).result]) {
    const text = await found(() => ask(['It is 7.']))
    assert.ok(text.results.length > 0)
    assert.deepEqual(new Set(text.results), new Set(['It is 7.']))
    const object = await found(() => ask(['{"rate":7}'], { answerSchema: { type: 'object' } }))
    assert.deepEqual(object.results[0], { rate: 7 })
    const failed = await found(() => ask([]))
    assert.deepEqual([failed.results, failed.path], [undefined, 'simple'])
  }
  // What only looks like one is what was found.
  const page = { textStream: 'a river', result: null, text: 'x', status: 'failed' }
  assert.deepEqual((await found(() => page)).results[0], page)
})

test('a callback may return a turn, or its result: its text, and its failure', async () => {
  const one = (text) =>
    runTurn({ model: scriptedModel([text]), messages: [{ role: 'user', content: 'go' }] })
  const late = async (text) => one(text)
  const whole = async (text) => one(text).result
  for (const ask of [one, late, whole]) {
    const simple = await runChain(host({ ...simply, answer: () => ask('It is 7.') })).result
    assert.deepEqual([simple.status, simple.text], ['complete', 'It is 7.'], ask.name)
    const planned = runChain(
      host({ plan: () => ask(JSON.stringify(PLAN)), synthesize: () => ask('All of it.') }),
    )
    const { status, path, text } = await planned.result
    assert.deepEqual([status, path, text], ['complete', 'chain', 'All of it.'], ask.name)
  }
  const broken = () =>
    runTurn({
      model: scriptedModel([]),
      messages: [{ role: 'user', content: 'go' }],
    })
  for (const ask of [broken, async () => broken().result]) {
    const { error: expected } = await broken().result
    const failed = await runChain(host({ ...simply, answer: ask })).result
    assert.deepEqual([failed.status, failed.text], ['failed', ''])
    assert.equal(failed.error.code, expected.code)
  }
})

test('what is no text is no answer, and is not asked for again', async () => {
  async function* numbers() {
    yield 7
  }
  let calls = 0
  for (const said of [undefined, null, 7, {}, { text: 7 }, ['a'], numbers]) {
    calls = 0
    const answer = () => {
      calls++
      return typeof said === 'function' ? said() : said
    }
    const simple = await runChain(host({ ...simply, answer })).result
    assert.deepEqual([simple.status, simple.text, calls], ['failed', '', 1], String(said))
    assert.equal(simple.error.code, 'chain.invalid_result')
    const planned = await runChain(host({ synthesize: answer })).result
    assert.deepEqual([planned.status, planned.error.code], ['failed', 'chain.invalid_result'])
  }
})

test('a planner may write in pieces; nobody else but the answer may', async () => {
  async function* pieces(text) {
    for (const piece of text.match(/[^]{1,9}/g)) yield piece
  }
  const written = { plan: () => pieces(`Sure: ${JSON.stringify(PLAN)}`) }
  const { path, text } = await runChain(host(written)).result
  assert.deepEqual([path, text], ['chain', 'x and y'])
  async function* breaks() {
    yield '{"steps":'
    throw new Error('broken off')
  }
  const broken = await runChain(host({ plan: breaks, limits: { retryMs: 1 } })).result
  assert.deepEqual([broken.path, broken.fellBack.code], ['simple', 'plan.failed'])
  const searched = await runChain(host({ search: () => pieces('found') })).result
  assert.deepEqual(
    searched.steps.slice(0, 2).map(({ error }) => error?.code),
    ['chain.invalid_result', 'chain.invalid_result'],
  )
})

test('a chain, and nothing of it left in the core', async () => {
  const before = live()
  const { text, status, stopped } = await runChain(host()).result
  assert.deepEqual([text, status, stopped], ['x and y', 'complete', 'plan_finished'])
  assert.equal(live(), before)
})

test('each iteration gets every event; leaving one cancels', async () => {
  const chain = runChain(host())
  const types = async () => {
    const all = []
    for await (const { type } of chain) all.push(type)
    return all
  }
  const [first, second] = await Promise.all([types(), types()])
  assert.deepEqual(first, second)
  assert.deepEqual(await types(), first)
  const left = runChain(host({ search: () => new Promise(() => {}) }))
  for await (const { type } of left) if (type === 'step_started') break
  assert.equal((await left.result).status, 'cancelled')
})

test('a signal that was aborted before', async () => {
  const { status, error, durationMs } = await runChain(host({ signal: AbortSignal.abort('no') }))
    .result
  assert.deepEqual([status, error.message], ['cancelled', 'no'])
  assert.equal(durationMs, 0)
})

test('patterns are learned from feedback, and used only if wanted and with enough', async () => {
  const stats = patternStats({ enough: 3, use: true, explore: 0 })
  let offered
  const feedback = { feedback: stats, plan: ({ patterns }) => ((offered = patterns), PLAN) }
  for (let n = 0; n < 3; n++) {
    await runChain(host(feedback)).feedback(true)
    stats.record({ pattern: 'sequential', success: false, cost: 2, ms: 10 })
  }
  assert.deepEqual(offered, ['sequential', 'parallel', 'conditional'])
  await runChain(host(feedback)).result
  assert.deepEqual(offered, ['parallel'])
  const { parallel, sequential } = stats.export().patterns
  assert.deepEqual([parallel.n, parallel.successes, parallel.mean], [3, 3, 0.8])
  assert.ok(parallel.lowerBound > 0.4 && parallel.lowerBound < parallel.mean)
  assert.deepEqual([sequential.meanCost, sequential.p95Ms], [2, 10])
  assert.equal(patternStats({ state: stats.export(), enough: 3 }).choose(), 'parallel')
  const silent = patternStats({ state: stats.export(), enough: 3 })
  await runChain(host({ ...feedback, feedback: silent })).result
  assert.equal(offered.length, 3)
})

test('a chain that found nothing is rated, and some queries explore', async () => {
  const stats = patternStats({ enough: 1, use: true, explore: 0.5 })
  const nothing = () => {
    throw Object.assign(new Error('down'), { retryable: false })
  }
  const failed = runChain(host({ search: nothing, feedback: stats }))
  assert.equal((await failed.result).fellBack.code, 'chain.no_results')
  await failed.feedback(false)
  await failed.feedback(false)
  const { parallel } = stats.export().patterns
  assert.deepEqual([parallel.n, parallel.successes], [1, 0])
  stats.record({ pattern: 'sequential', success: true, cost: 1, ms: 1 })
  const offered = async (query, feedback = stats) => {
    let found
    await runChain(host({ query, feedback, plan: ({ patterns }) => ((found = patterns), PLAN) }))
      .result
    return found.length
  }
  const counts = { 1: 0, 3: 0 }
  for (let n = 0; n < 40; n++) counts[await offered(`query ${n}`)]++
  assert.ok(counts[1] > 8 && counts[3] > 8, JSON.stringify(counts))
  assert.equal(await offered('query 7'), await offered('query 7'))
  const never = patternStats({ state: stats.export(), enough: 1, use: true, explore: 0 })
  for (let n = 0; n < 10; n++) assert.equal(await offered(`query ${n}`, never), 1)
})

test('a share of conversations, a function, and a breaker', async () => {
  const path = async (own) => (await runChain(host(own)).result).path
  let chains = 0
  for (let n = 0; n < 60; n++) {
    const own = { enabled: 0.5, conversationId: `c${n}` }
    const first = await path(own)
    assert.equal(await path({ ...own, query: 'Compare more.' }), first, 'one side for each')
    chains += first === 'chain'
  }
  assert.ok(chains > 15 && chains < 45, `${chains}`)
  const enabled = ({ query, conversationId }) => query !== conversationId
  assert.equal(await path({ enabled, conversationId: 'x' }), 'chain')
  assert.equal(await path({ enabled, query: 'x', conversationId: 'x' }), 'simple')
  assert.throws(() => runChain(host({ enabled: 2 })), { code: 'options.invalid' })

  assert.throws(() => chainBreaker({ failures: 0 }), { code: 'options.invalid' })
  const breaker = chainBreaker({ failures: 2 })
  const broken = () => {
    throw new Error('down')
  }
  const run = (own) => runChain(host({ breaker, limits: { retryMs: 0 }, ...own })).result
  await run({ plan: broken })
  assert.equal(breaker.open, false)
  assert.equal((await run({})).path, 'chain')
  await run({ plan: broken })
  assert.equal(breaker.open, true)
  const { path: own, fellBack, status } = await run({})
  assert.deepEqual([own, fellBack.code, status], ['simple', 'chain.breaker_open', 'complete'])
})

test('what callbacks are told of a step and of the plan', async () => {
  const told = []
  const plan = {
    ...PLAN,
    stopping_criteria: 'both are dated',
    steps: [
      { id: 1, type: 'search', query: 'x', num_results: 3 },
      { id: 2, type: 'search', query: 'about ${1}', num_results: 'many' },
    ],
  }
  const prompts = []
  await runChain(
    host({
      plan: ({ prompt }) => (prompts.push(prompt), plan),
      search: ({ type, query, template, num_results }) => {
        told.push([type, query, template, num_results])
        return { title: query.toUpperCase(), body: {} }
      },
      assess: ({ stopping_criteria }) => (told.push(stopping_criteria), 0),
      synthesize: () => 'done',
    }),
  ).result
  assert.deepEqual(told, [
    ['search', 'x', 'x', 3],
    'both are dated',
    ['search', 'about X', 'about ${1}', null],
  ])
  assert.match(prompts[0], /"search\|synthesize"/)
})

test('a core that traps ends the chain with core.fault, and the next one works', async () => {
  const chain = runChain(host({ search: () => new Promise(() => {}) }))
  const events = []
  const read = (async () => {
    for await (const event of chain) {
      events.push(event)
      if (event.type === 'step_started' && event.id === 2) {
        assert.throws(() => parts.chain.call((glue) => glue.trap()), { code: 'core.fault' })
      }
    }
  })()
  const { status, error, plan } = await chain.result
  await read
  assert.deepEqual([status, error.code, plan.steps.length], ['failed', 'core.fault', 3])
  assert.equal(events.at(-1).type, 'complete')
  assert.equal((await runChain(host()).result).text, 'x and y')
})

test('`enabled` that throws is a typed error, with what it threw', () => {
  const cause = new Error('no such flag')
  const enabled = () => {
    throw cause
  }
  let asked = 0
  const none = async () => void asked++
  const parts = { query: 'q', answer: none, plan: none, search: none, synthesize: none }
  assert.throws(
    () => runChain({ ...parts, enabled }),
    (error) => {
      assert.deepEqual([error.code, error.cause], ['options.invalid', cause])
      assert.match(error.message, /^`enabled`/)
      return true
    },
  )
  assert.equal(asked, 0)
})

test('`enabled` that is none of its kinds says which there are', () => {
  const none = async () => ''
  const parts = { query: 'q', answer: none, plan: none, search: none, synthesize: none }
  for (const enabled of ['0.5', null, 2, NaN, {}]) {
    assert.throws(() => runChain({ ...parts, enabled }), {
      code: 'options.invalid',
      message: '`enabled`: expected true, false, a number from 0 to 1, or a function',
    })
  }
})

test('warnings: an empty reference, a language without a lexicon', async () => {
  const warned = async (options) => {
    const chain = runChain(options)
    const codes = []
    for await (const event of chain) {
      if (event.type === 'warning') codes.push([event.call, event.code, event.language])
    }
    return { codes, result: await chain.result }
  }
  const plan = {
    ...PLAN,
    steps: [
      { id: 1, type: 'search', query: 'x' },
      { id: 2, type: 'search', query: 'about ${1}' },
    ],
  }
  const empty = await warned(host({ plan: () => plan, search: () => ({ items: [], total: 0 }) }))
  assert.deepEqual(empty.codes, [['search', 'chain.empty_reference', undefined]])
  assert.deepEqual(
    [empty.result.path, empty.result.coverage, empty.result.fellBack.code],
    ['simple', 0, 'chain.no_results'],
  )
  const failed = await warned(host({ plan: () => plan, search: () => null, noResults: 'fail' }))
  assert.deepEqual([failed.result.status, failed.result.error.code], ['failed', 'chain.no_results'])
  const query = '日本とドイツの税制'
  const uncovered = await warned({ ...host({ query }), classify: undefined })
  assert.deepEqual(uncovered.codes, [['classify', 'chain.language_uncovered', 'uncovered']])
})

test('a planner that is refused is told why', async () => {
  const prompts = []
  const plans = ['{"steps":[{"id":1,"type":"search","query":"x"},]}', PLAN]
  const plan = ({ prompt }) => (prompts.push(prompt), plans[prompts.length - 1])
  assert.equal((await runChain(host({ plan })).result).path, 'chain')
  assert.match(prompts[1], /refused: .*byte 47: a trailing comma/)
})
