// The machines, one within the other: what a step of a chain, a replicate and a tool do is again a
// machine, or a value, an exception, silence.
import { replicateByTurn, runBundle } from 'turnlock/evidence'
import { resumeTurn, runTurn } from 'turnlock'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import { begins, calls, replicates } from './rules.mjs'
import { modelOf, planOf, toolsOf } from './said.mjs'
import { storeOf } from './store.mjs'

const DEEPEST = 2
const messages = [{ role: 'user', content: 'go' }]
const schema = {
  type: 'object',
  required: ['label'],
  properties: { label: { enum: ['yes', 'no'] }, risk: { type: 'number', minimum: 0, maximum: 1 } },
}

// -- Turns

/** What a turn is begun with, and again resumed with. */
function turnOf({ process, tenant }, { durable, purpose }) {
  const { random } = process
  const unified = random.once(5)
  const times = { toolTimeoutMs: 3000, toolsTotalMs: 8000, turnMs: 40_000 }
  const policy = {
    ...times,
    modelFirstByteMs: 5000,
    modelIdleMs: 5000,
    maxTools: random.below(4),
    maxCycles: random.pick([1, 1, 2]),
    actionTools: random.pick([[], [], '*', 'readOnly', ['act', 'look']]),
    actionMaxTools: random.below(3),
    readMode: random.pick(['auto', 'auto', 'first_call', 'batch']),
    resultsAs: random.pick(['box', 'native']),
    maxSteps: random.from(1, 4),
    pauseAfterTools: durable && random.once(8),
  }
  const leaseMs = random.from(500, 5000)
  const ttlMs = random.once(3) ? leaseMs : 3_600_000
  return {
    tenant,
    durable,
    purpose,
    policy,
    mode: unified ? 'unified' : 'two_stage',
    leaseMs,
    ...(durable && { id: `${process.slot}.${process.turns++}`, keep: { leaseMs, ttlMs } }),
    answerSchema: purpose === 'value' && random.once(3) ? schema : undefined,
    /** For a turn without a store, which has one life. */
    life: { runs: new Set(), signatures: new Map() },
  }
}

/** What both who begins and who resumes a turn brings. */
function broughtTo(world, node, turn) {
  const within = ({ signal }) => work(world, { parent: node, signal, deep: true })
  const tools = toolsOf(world, node, { within, asks: turn.durable })
  return {
    model: modelOf(world, node, turn.purpose),
    tools,
    answerSchema: turn.answerSchema,
    signal: world.wrong.deaf?.(node) ? undefined : node.signal,
    ...(turn.durable && { store: storeOf(world, node), tenant: turn.tenant, requestId: turn.id }),
  }
}

export function begin(world, node, turn) {
  node.turn = turn
  const { policy, mode, keep } = turn
  const own = { ...broughtTo(world, node, turn), messages, mode, keep }
  return runTurn({ ...own, policy: world.wrong.policy?.(policy) ?? policy })
}

export function resume(world, node, turn, approvals) {
  node.turn = turn
  const brought = broughtTo(world, node, turn)
  return resumeTurn({ ...brought, ...(approvals.length && { approvals }) })
}

function startTurn(world, spec, own) {
  const node = world.node('turn', spec)
  const durable = own.durable ?? !node.process.random.once(3)
  const turn = turnOf(node, { ...own, durable })
  if (durable) world.turns.push(turn)
  return world.follows(node, begin(world, node, turn))
}

// -- Bundles

function startBundle(world, spec) {
  const node = world.node('bundle', spec)
  const { random } = node.process
  const k = random.from(2, 4)
  const limits = { k, concurrency: random.from(1, 3), retries: random.below(2) }
  Object.assign(node, { ...limits, ids: new Set(), attempts: new Set(), at: new Set() })
  const policy = { modelFirstByteMs: 5000, modelIdleMs: 5000, turnMs: 40_000, toolTimeoutMs: 3000 }
  const byTurn = replicateByTurn({ model: modelOf(world, node, 'value'), messages, policy })
  const replicate = async (context) => {
    const { id, attempt, signal } = context
    begins(world, node, 'replicate')
    replicates(world, node, id, attempt, signal)
    try {
      if (random.once(4)) return await byTurn(context)
      const made = await work(world, { parent: node, signal, purpose: 'value' })
      return { data: made?.label ? made : { label: 'yes', risk: 0.5 }, usage: { totalTokens: 15 } }
    } finally {
      node.at.delete(`${id} ${attempt}`)
    }
  }
  const machine = runBundle({
    task: 'judge',
    replicate,
    schema,
    signal: node.signal,
    stop: random.pick(['agreement', 'majority_lock', 'never']),
    parallel: random.from(1, 3),
    perReplicate: { seconds: 10 },
    budget: { seconds: 25 },
    ...(world.wrong.bundle?.(limits) ?? limits),
  })
  return world.follows(node, machine)
}

// -- Passes

function startPass(world, spec) {
  const node = world.node('pass', spec)
  const { random } = node.process
  const policy = {
    maxToolCalls: random.below(4),
    maxIterations: random.below(3),
    toolTimeoutMs: 2000,
    totalToolMs: 5000,
    totalMs: 20_000,
    modelFirstByteMs: 5000,
    modelIdleMs: 5000,
    channel: 'text',
  }
  Object.assign(node, { policy, ran: 0 })
  const within = ({ signal }) => work(world, { parent: node, signal, deep: true })
  const given = world.wrong.pass?.(policy) ?? policy
  const pass = runPlanning({
    model: modelOf(world, node, 'pass'),
    input: { a: 1 },
    tools: toolsOf(world, node, { within }),
    policy: given,
    signal: node.signal,
  })
  const machine = {
    cancel: (reason) => pass.cancel(reason),
    [Symbol.asyncIterator]: () => pass[Symbol.asyncIterator](),
    result: world.wrong.planned?.(pass) ?? pass.then((result) => result),
  }
  return world.follows(node, machine)
}

// -- Chains

const QUERY = 'Compare the tax rules of Ohio and Texas for small software companies.'
const COSTS = { plan: 1, search: 1, refine: 1, synthesize: 2, answer: 2 }

function startChain(world, spec) {
  const node = world.node('chain', spec)
  const { random } = node.process
  const limits = {
    maxSteps: random.from(1, 5),
    maxParallel: random.from(1, 3),
    maxRetries: random.below(3),
    retryMs: random.below(300),
    stepMs: 12_000,
    planMs: 10_000,
    totalMs: 60_000,
    answerMs: 30_000,
    diminishing: 0,
    ...(random.once(2) && { maxCost: random.from(3, 10) }),
  }
  Object.assign(node, {
    limits,
    costs: COSTS,
    spent: 0,
    calls: {},
    steps: new Map(),
    at: new Set(),
  })
  const callback = (kind, make) => async (context) => {
    begins(world, node, kind)
    const { signal } = context
    const over = calls(world, node, kind, context)
    try {
      return await make({ parent: node, signal, world, context })
    } finally {
      over()
    }
  }
  /** A text: at once, in pieces, the turn itself, or its result. */
  const text = (purpose) => async (at) => {
    if (random.once(4)) return purpose === 'plan' ? JSON.stringify(planOf(random)) : 'Known.'
    if (purpose !== 'plan' && random.once(6)) return pieces(world)
    const own = startTurn(world, at, { purpose })
    return random.once(2) ? own.machine : own.done
  }
  const plan = async (at) => (random.once(3) ? planOf(random) : text('plan')(at))
  const step = (at) => work(world, at)
  const final = text('answer')
  const machine = runChain({
    query: QUERY,
    limits: world.wrong.chain?.(limits) ?? limits,
    costs: COSTS,
    signal: node.signal,
    classify: () => (random.once(6) ? 'simple' : 'complex'),
    answer: callback('answer', final),
    plan: callback('plan', plan),
    search: callback('search', step),
    refine: callback('refine', step),
    synthesize: callback('synthesize', (at) => (at.context.final ? final(at) : step(at))),
    ...(random.once(3) && { assess: callback('assess', () => random.next() * 0.9) }),
    ...(random.once(3) && { cache: new Map() }),
  })
  return world.follows(node, machine)
}

async function* pieces(world) {
  for (const piece of ['Piece ', 'by ', 'piece.']) {
    await world.clock.sleep(20)
    yield piece
  }
}

// -- Within one another

const MACHINES = {
  turn: (world, spec) => startTurn(world, spec, { purpose: spec.purpose ?? 'answer' }),
  bundle: startBundle,
  pass: startPass,
  chain: startChain,
}
export const KINDS = Object.keys(MACHINES)

/** Starts a machine; `done` of what it returns is what it came to, and never rejects. */
export const start = (world, kind, spec) => MACHINES[kind](world, spec)

/** What a callback does: a value, an exception, or a machine, whose result it returns. */
async function work(world, { parent, signal, purpose, deep }) {
  const { random } = parent.process
  const depth = parent.depth + 1
  if (!deep && random.once(3)) {
    if (world.chance(parent.process, 'work throws', 2)) throw new Error('it did not work')
    await world.clock.sleep(random.below(500))
    return { title: 'found', label: random.pick(['yes', 'no']), risk: 0.5 }
  }
  if (depth > DEEPEST) return { title: 'deep enough', label: 'yes', risk: 0.1 }
  const kind = depth === DEEPEST ? 'turn' : random.pick(['turn', 'turn', 'bundle', 'pass'])
  const { done } = start(world, kind, { parent, signal, purpose })
  const result = await done
  if (kind !== 'turn') return { kind, title: 'done', label: 'no', risk: 0.2 }
  return result?.object ?? (purpose === 'value' ? parsed(result?.text) : result)
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
