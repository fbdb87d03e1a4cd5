// What must hold of every machine: whatever begins is counted, and judged when it is over.
import { stops } from './host.mjs'
import { isKept } from './store.mjs'

/** The rules, by the names that twins have to break. */
export const RULES = [
  'all settles',
  'nothing unhandled',
  'one end',
  'budget',
  'only reads',
  'at most once',
  'kept first',
  'nothing behind the end',
  'a plan',
  'tenants',
  'resumable',
  'nothing is left',
]

const ENDS = {
  turn: ['complete', 'paused', 'cancelled', 'error'],
  pass: ['complete', 'error'],
  bundle: ['bundle_ready'],
  chain: ['complete'],
}
const STATUS = { complete: 'complete', paused: 'paused', cancelled: 'cancelled', error: 'failed' }
/** Failures of an owner that does not have the turn: their event is not stored. */
const UNKEPT = /^(turn|store|tool|core)\./

/** A request, a tool, a replicate or a call begins on behalf of a machine. */
export function begins(world, node, what) {
  node.process.note(what, node.kind)
  world.count(`begun: ${what.replace(/ .*/, '')}`)
  // Who has not written does not have the turn.
  if (node.turn?.durable && !node.owns) world.breaks('kept first', `${node.name}: a ${what}`)
  for (let at = node; at; at = at.parent) {
    if (!at.settled && !at.stopped) continue
    const why = at.settled ? 'is over' : 'was cancelled'
    return world.breaks('nothing behind the end', `a ${what} of ${node.name}; ${at.name} ${why}`)
  }
}

export function runs(world, node, { name, args, context, shape }) {
  begins(world, node, `tool ${name}`)
  stops(world, node)
  const { idempotencyKey, toolBatchId, toolCallId } = context
  if (node.kind === 'pass') {
    if (++node.ran > node.policy.maxToolCalls) world.breaks('budget', `${node.name}: its calls`)
    if (!shape.readOnly) world.breaks('only reads', `${node.name}: ran ${name}`)
    return
  }
  const { turn } = node
  const life = turn.durable ? node.life : turn.life
  if (!life) return world.breaks('kept first', `${node.name}: a tool, and nothing is kept`)
  if (turn.durable) {
    const own = (record) =>
      record.startsWith(`claim/${toolBatchId}/`) && record.endsWith(`/${toolCallId}`)
    const isClaimed = [...life.records].some(own)
    if (!isClaimed) world.breaks('kept first', `${node.name}: no claim of ${name}`)
  }
  if (!shape.readOnly && !shape.idempotent) {
    const call = shape.dedupe ? idempotencyKey : `${name} ${JSON.stringify(args)}`
    if (life.signatures.has(call)) {
      world.breaks('at most once', `${node.name}: ${call} ran in ${life.signatures.get(call)}`)
    }
    life.signatures.set(call, node.name)
  }
  life.runs.add(idempotencyKey)
  const { maxTools, maxCycles, actionTools, actionMaxTools } = turn.policy
  const most = maxCycles * (maxTools + (actionTools.length ? actionMaxTools : 0))
  if (turn.mode === 'two_stage' && life.runs.size > most) {
    world.breaks('budget', `${node.name}: ${life.runs.size} tools of ${most}`)
  }
}

export function replicates(world, node, id, attempt, signal) {
  const { ids, attempts, at, k, retries, concurrency } = node
  const own = `${id} ${attempt}`
  if (attempts.has(own)) world.breaks('budget', `${node.name}: ${own} twice`)
  if (attempt > retries + 1) world.breaks('budget', `${node.name}: attempt ${attempt}`)
  if (ids.add(id).size > k) world.breaks('budget', `${node.name}: ${ids.size} of ${k} replicates`)
  attempts.add(own)
  if (at.add(own).size > concurrency) world.breaks('budget', `${node.name}: ${at.size} at once`)
  signal.addEventListener('abort', () => at.delete(own), { once: true })
}

/** @returns what says that the call is over */
export function calls(world, node, kind, context) {
  const { limits, costs, calls, steps, at } = node
  const { id, signal, final } = context
  const counted = kind === 'synthesize' && final ? 'last synthesis' : kind
  calls[counted] = (calls[counted] ?? 0) + 1
  node.spent += costs[kind] ?? 0
  const most = limits.maxRetries + 1
  const isStep = ['search', 'refine'].includes(kind) || (kind === 'synthesize' && !final)
  if (node.spent > (limits.maxCost ?? Infinity)) {
    world.breaks('budget', `${node.name}: spent ${node.spent} of ${limits.maxCost}`)
  }
  if (!isStep) {
    if (kind !== 'assess' && calls[counted] > most) {
      world.breaks('budget', `${node.name}: ${calls[counted]} calls of ${counted}`)
    }
    return () => {}
  }
  const times = (steps.get(id) ?? 0) + 1
  steps.set(id, times)
  if (times > most) world.breaks('budget', `${node.name}: step ${id}, ${times} times`)
  if (steps.size > limits.maxSteps) world.breaks('budget', `${node.name}: ${steps.size} steps`)
  const call = Symbol(id)
  at.add(call)
  if (at.size > limits.maxParallel) world.breaks('budget', `${node.name}: ${at.size} at once`)
  const over = () => at.delete(call)
  signal.addEventListener('abort', over, { once: true })
  return over
}

export function shown(world, node, event) {
  const { turn, life } = node
  if (!turn.durable || isKept(life, event)) return
  if (event.type === 'error' && UNKEPT.test(event.code)) return
  // Another one has ended the turn, and says so in other words; or a resume was cancelled before it
  // had the turn.
  if (event.type === 'cancelled' && (life?.state.status === 'cancelled' || !node.owns)) return
  world.breaks('kept first', `${node.name}: not kept: ${JSON.stringify(event)}`)
}

export function judge(world, node, { value, error }) {
  const { kind, name, events, turn } = node
  const ends = events.filter(({ type }) => ENDS[kind].includes(type))
  if (!node.left && (ends.length !== 1 || ends[0] !== events.at(-1))) {
    const types = events.map(({ type }) => type)
    world.breaks('one end', `${name}: ${types.join(' ')}`)
  }
  const [last] = ends
  if (kind === 'turn') judgeTurn(world, node, value, last)
  if (kind === 'chain' && last && last.status !== value.status) {
    world.breaks('one end', `${name}: ${last.status}, and its result ${value.status}`)
  }
  if (kind === 'chain' && value?.status === 'cancelled' && !node.stopped) {
    world.breaks('one end', `${name}: nobody cancelled it`)
  }
  if (kind === 'bundle' && error) world.breaks('one end', `${name}: ${error.stack}`)
  if (kind === 'pass') judgePass(world, node, error)
  const code = error?.code ?? value?.error?.code ?? ''
  if (code.startsWith('core.')) world.breaks('one end', `${name}: ${code}`)
}

function inferences({ mode, policy, answerSchema }) {
  const { maxTools, maxCycles, actionTools, actionMaxTools, maxSteps } = policy
  const more = answerSchema ? 1 : 0
  if (mode === 'unified') return maxSteps + more
  return maxCycles * (maxTools + 1 + (actionTools.length ? actionMaxTools : 0) + 2) + more
}

function judgeTurn(world, node, value, last) {
  const { name, turn, events, life } = node
  if (last && STATUS[last.type] !== value.status) {
    world.breaks('one end', `${name}: ${last.type}, and its result is ${value.status}`)
  }
  const kept = events.filter(({ type, code }) => type !== 'error' || !UNKEPT.test(code))
  const first = kept[0]?.seq
  const odd = kept.find(({ seq }, at) => seq !== first + at)
  if (odd) world.breaks('one end', `${name}: ${JSON.stringify(odd)} has a wrong number`)
  const most = inferences(turn)
  const asked = node.said.length
  if (value.inferences > most) world.breaks('budget', `${name}: ${value.inferences} inferences`)
  if (asked > most * (node.tries + 1)) world.breaks('budget', `${name}: ${asked} requests`)
  if (!turn.durable || !life || !last) return
  if (node.owns && ['complete', 'cancelled'].includes(value.status) && life.open) {
    world.breaks('kept first', `${name}: ${value.status}, and the store has it open`)
  }
}

function judgePass(world, node, error) {
  const { name, said, policy, stopped } = node
  const first = said.filter((one) => one.first).length
  const most = [policy.maxIterations, 2].map((requests) => requests * (node.tries + 1))
  if (first > most[0] || said.length - first > most[1]) {
    world.breaks('budget', `${name}: ${said.length} requests`)
  }
  const code = error?.code
  if (!error || stopped) return
  const last = said.at(-1)
  // What it said last was a plan, and all of it was said.
  if (last?.how === 'plan' && !last.first && last.whole) {
    world.breaks('a plan', `${name}: ${code}, behind a plan`)
  }
  if (!/^(model|plan|request)\./.test(code)) world.breaks('a plan', `${name}: ${error.stack}`)
}
