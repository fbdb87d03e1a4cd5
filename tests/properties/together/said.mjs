// What models and tools do, driven by the seed of the process that asks.
import { customModel, defineTool } from 'turnlock'
import { begins, runs } from './rules.mjs'

const never = () => new Promise(() => {})

/** Rejects when the signal is aborted; what honours it. */
const aborted = (signal) =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

/** A plan of a chain. */
export function planOf(random) {
  const pattern = random.pick(['sequential', 'parallel', 'conditional'])
  const count = random.from(1, 5)
  const steps = Array.from({ length: count }, (_, at) => {
    const id = at + 1
    const before = Array.from({ length: at }, (_, n) => n + 1)
    const depends_on = pattern === 'parallel' ? [] : before.filter(() => random.once(2))
    const [first] = depends_on
    const type = first && random.once(3) ? random.pick(['refine', 'synthesize']) : 'search'
    const query = `q${random.below(3)}${first && random.once(3) ? ' of $' + first : ''}`
    const asks = pattern === 'conditional' && first && random.once(2)
    const when = random.pick([`count($${first}) > 0`, `failed($${first})`, `ok($${first})`])
    return { id, type, query, focus: 'f', depends_on, ...(asks && { when }) }
  })
  return { pattern, steps }
}

const call = (index, name, text) => [
  { type: 'tool_call_start', index, id: `c${index + 1}`, name },
  { type: 'tool_call_arguments', index, text },
  { type: 'tool_call_end', index },
]
const ARGS = ['{"a":1}', '{"a": 1}', '{"a":1.0}', '{"a":2}', '{}']
const GARBAGE = ['{', '[]', '{"a":1,"a":2}', '{"a":"x"}', 'null']

function callsOf(world, { process }, tools) {
  const { random } = process
  const before = random.once(3) ? [{ type: 'text', text: 'Let me see. ' }] : []
  const calls = Array.from({ length: random.from(1, 3) }, (_, at) => {
    const garbage = world.chance(process, 'model talks garbage', 3)
    const name = garbage && random.once(3) ? 'unknown' : random.pick(tools).function.name
    return call(at, name, random.pick(garbage ? GARBAGE : ARGS))
  })
  return [...before, ...calls.flat()]
}

/** A request of a pass: calls, some of them alike. */
function requestOf(world, { process }) {
  const { random } = process
  const names = ['look', 'news', 'deep', 'act', 'nothing']
  const one = () => ({ tool_name: random.pick(names), params: { a: random.below(2) }, reason: 'r' })
  const tool_calls = Array.from({ length: random.below(5) }, one)
  return JSON.stringify({ tool_calls })
}

const isRequestPass = ({ messages }) => messages[0].content.includes('This is the first step')

/** What is said to a request, and what it is. */
function answerOf(world, node, purpose, request) {
  const { process } = node
  const { random } = process
  const garbage = world.chance(process, 'model talks garbage', 4)
  if (purpose === 'pass') {
    const first = isRequestPass(request)
    const how = first !== garbage ? 'request' : 'plan'
    node.said.at(-1).how = how
    return how === 'request' ? requestOf(world, node) : '{"plan":"buy"}'
  }
  if (garbage) return random.pick(['', '{"label":', 'Well.'])
  if (purpose === 'plan') return JSON.stringify(planOf(random))
  if (purpose !== 'value') return random.pick(['It is so.', 'It is not so.', 'Nobody knows.'])
  const label = random.pick(['yes', 'yes', 'no'])
  return JSON.stringify({ label, risk: random.below(10) / 10 })
}

async function* deltasOf(world, node, purpose, request, signal) {
  const { process } = node
  const { random } = process
  const fate = (name, of) => world.chance(process, name, of)
  const wait = (ms) => Promise.race([world.clock.sleep(ms), aborted(signal)])
  if (random.once(2)) await wait(random.below(80))
  if (fate('model throws')) throw new Error('the model is away')
  if (fate('model is silent', 8)) {
    if (random.once(2)) await aborted(signal)
    // A model that does not listen: what it has open, nobody can close.
    world.generators--
    await never()
  }
  if (fate('model errors')) {
    const retryable = random.once(2)
    return yield { type: 'error', class: 'overloaded', retryable, message: 'busy', raw: null }
  }
  if (fate('model refuses')) {
    yield { type: 'text', text: 'I cannot.' }
    return yield { type: 'finish', reason: 'content_filter', raw: 'refusal' }
  }
  const { tools, tool_choice } = request
  const may = purpose !== 'pass' && tools?.length && tool_choice !== 'none' && !random.once(4)
  const text = may ? '' : answerOf(world, node, purpose, request)
  const middle = random.below(text.length + 1)
  const deltas = may
    ? callsOf(world, node, tools)
    : [text.slice(0, middle), text.slice(middle)].map((text) => ({ type: 'text', text }))
  const cut = fate('model is cut', 6) ? random.below(deltas.length) : Infinity
  const slow = fate('model is slow', 6) ? random.below(deltas.length) : Infinity
  for (const [at, delta] of deltas.entries()) {
    if (at === cut) throw new Error('terminated')
    if (at === slow) await wait(random.from(1000, 8000))
    else if (random.once(3)) await wait(random.below(40))
    yield delta
  }
  yield { type: 'usage', usage: { inputTokens: 10, outputTokens: 5 } }
  const said = node.said.at(-1)
  if (said) said.whole = true
}

/** A model of this machine. */
export function modelOf(world, node, purpose) {
  const model = customModel(async function* (request, { signal }) {
    begins(world, node, 'model')
    node.said.push({ first: purpose === 'pass' && isRequestPass(request), how: 'nothing' })
    world.generators++
    try {
      yield* deltasOf(world, node, purpose, request, signal)
    } finally {
      world.generators--
    }
  })
  // A custom model is not asked again by itself.
  node.tries = node.process.random.below(2)
  return { ...model, maxRetries: node.tries }
}

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'number' } },
  additionalProperties: false,
}
const SHAPES = {
  look: { readOnly: true },
  news: { readOnly: true, reuseMs: 5000 },
  deep: { readOnly: true },
  act: {},
  send: {},
  idem: { idempotent: true },
  again: { dedupe: 'allow' },
  pay: { reconcile: async () => ({ result: 'paid' }) },
}
const ODD = [undefined, null, 10n, 'x'.repeat(70_000), () => 1]

/** The tools of this machine. `within` runs machines on behalf of a call. */
export function toolsOf(world, node, { within, asks = false }) {
  const { process } = node
  const { clock } = world
  const { random } = process
  const fate = (name, of) => world.chance(process, name, of)
  const execute = (name) => async (args, context) => {
    runs(world, node, { name, args, context, shape: SHAPES[name] ?? {} })
    const { signal } = context
    if (fate('tool throws')) throw new Error('the tool failed')
    if (fate('tool hangs', 6)) await (random.once(2) ? never() : aborted(signal))
    if (fate('tool is slow', 6)) await clock.sleep(random.from(1000, 9000))
    else if (random.once(2)) await clock.sleep(random.below(300))
    if (fate('tool is odd', 6)) return random.pick(ODD)
    world.wrong.inTool?.()
    if (name === 'deep' || name === 'send') return within(context)
    return { n: random.below(3) }
  }
  const tool = (name, shape) => {
    const own = { description: name, inputSchema: SCHEMA, ...shape, ...world.wrong.shape }
    return [name, defineTool({ ...own, execute: execute(name) })]
  }
  const all = Object.entries(SHAPES).map(([name, shape]) => tool(name, shape))
  return Object.fromEntries(asks ? [...all, tool('ask', { needsApproval: true })] : all)
}
