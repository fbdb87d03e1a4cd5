// What the host does to machines that run, and what other processes do to turns that are kept.
import { isDeepStrictEqual } from 'node:util'
import { cancelTurn, followTurn, listTurns, pauseTurn } from 'turnlock'
import { begin, resume } from './machines.mjs'
import { storeOf } from './store.mjs'

/** The tenant that nobody does anything to. */
export const QUIET = 'quiet'

/** Milliseconds from which on a process that stands still is a dead one. */
const LONG_FROZEN = 14_000

const keyOf = ({ tenant, id }) => JSON.stringify([tenant, id])

/** Does something in the process of a machine, when that is awake. */
function within({ process }, work) {
  if (process.frozen) process.held.push(() => process.run(work))
  else process.run(work)
}

/** What the host does to a machine that runs. */
const ACTS = {
  cancel(world, node) {
    within(node, () => {
      node.stopped = true
      node.machine.cancel('the host')
    })
  },
  abort(world, node) {
    let top = node
    while (top.parent) top = top.parent
    within(node, () => top.controller?.abort())
  },
  leave(world, node) {
    node.leaves = true
  },
  pause(world, node) {
    within(node, () => node.machine.pause?.())
  },
  freeze: freezes,
}

/** What another process does to a turn that is kept. */
const BESIDE = {
  async cancelOther(world, turn, pick) {
    const { status } = (await asked(world, turn, pick, cancelTurn)) ?? {}
    const life = world.truth.life(keyOf(turn))
    if (status === 'cancelled' && life.state.status !== 'cancelled') {
      world.breaks('kept first', `${turn.id}: cancelled, and the store has it ${life.state.status}`)
    }
  },
  pauseOther: (world, turn, pick) => asked(world, turn, pick, pauseTurn),
  list: (world, { tenant }, pick) =>
    asked(world, { tenant }, pick, async ({ store }) => {
      for (const { requestId } of await listTurns({ store, tenant })) {
        const isOwn = world.turns.some((turn) => turn.tenant === tenant && turn.id === requestId)
        if (!isOwn) world.breaks('tenants', `${requestId} is not of ${tenant}`)
      }
    }),
  follow: (world, turn, pick) =>
    asked(world, turn, pick, async (at) => {
      let last = 0
      for await (const { seq, type } of followTurn(at)) {
        if (type !== 'error' && seq !== last + 1) world.breaks('one end', `${turn.id}: read ${seq}`)
        last = seq
      }
    }),
  // The host does not wait for them: the process may die.
  resume: (world, turn, pick) => void resumes(world, turn, pick),
  /** A turn of this name begins: a conflict, unless the one before it has expired. */
  repeat: (world, turn, pick) =>
    void elsewhere(world, turn, pick, false, (node) => begin(world, node, turn)),
}

export const KINDS_OF_ACTS = [...Object.keys(ACTS), ...Object.keys(BESIDE)]

/** One act of the schedule, in the moment that it is for. */
export function act(world, { kind, pick, ms }) {
  const live = [...world.open].filter((one) => one.machine && one.tenant !== QUIET)
  const node = live[pick % live.length]
  const turns = world.turns.filter(({ tenant }) => tenant !== QUIET)
  const turn = turns[pick % turns.length]
  if (ACTS[kind] && node) ACTS[kind](world, node, ms)
  return BESIDE[kind] && turn && BESIDE[kind](world, turn, pick)
}

/** Asks the store in a process of its own. Its errors have codes. */
async function asked(world, { id, tenant }, seed, work) {
  const process = world.process('beside', seed, 'b')
  const store = storeOf(world, { process })
  try {
    return await process.run(() => work({ ...(id && { requestId: id }), tenant, store }))
  } catch (error) {
    if (!/^(turn|store)\./.test(error.code)) world.breaks('one end', error.stack)
  }
}

/** The worst moment of a process: a call is claimed, and nobody knows yet what becomes of it. */
export function stops(world, node) {
  if (node.tenant === QUIET || node.process.healthy) return
  const nth = world.tools++
  const stop = world.schedule.stops.find((one) => one.nth === nth)
  if (stop) freezes(world, node, stop.ms)
}

function freezes(world, { process }, ms) {
  if (process.frozen || world.ends) return
  process.frozen = true
  const { now } = world.clock
  // Some are dead: they wake when all is over, to see that they change nothing any more.
  process.dead = ms > LONG_FROZEN
  world.count(process.dead ? 'processes that die' : 'processes that stand still')
  if (process.dead) world.dead.push(process)
  else world.later(now + ms, () => process.wakes())
  // Its turns are taken over: when their lease is over, too early, late, by two at once, by nobody.
  for (const [at, turn] of world.turns.entries()) {
    if (turn.tenant === QUIET || !turn.id.startsWith(`${process.slot}.`)) continue
    for (const wait of [[50], [400], [-100, 50], [50, 55], []][at % 5]) {
      world.later(now + turn.leaseMs + wait, () => void resumes(world, turn, at + wait))
    }
  }
}

/** Another process goes on with a turn. In a healthy one nothing goes wrong. */
function resumes(world, turn, seed, healthy = false) {
  const approvals = approvalsOf(world, turn, healthy)
  return elsewhere(world, turn, seed, healthy, (node) => resume(world, node, turn, approvals))
}

function elsewhere(world, turn, given, healthy, make) {
  // A turn whose process stands still twice is taken over twice: by processes of their own, whose owners
  // have other ids.
  const before = world.resumed.get(`${turn.id} ${given}`) ?? 0
  world.resumed.set(`${turn.id} ${given}`, before + 1)
  const seed = given + 1000 * before
  const process = world.process('elsewhere', seed + turn.id.length, `${seed}r`)
  Object.assign(process, { healthy })
  return process.run(() => {
    const signal = world.counted(new AbortController().signal)
    const node = world.node('turn', { process, tenant: turn.tenant, signal })
    return world.follows(node, make(node)).done
  })
}

/** What the user says of the calls that wait: yes, no, nothing yet; in the end something of all. */
function approvalsOf(world, turn, all) {
  const events = [...(world.truth.life(keyOf(turn))?.events.values() ?? [])]
  const asked = events.findLast(({ type }) => type === 'approval_required')
  const once = new Map()
  for (const [at, { signature }] of (asked?.toolCalls ?? []).entries()) {
    if (all || at !== 2) once.set(signature, { signature, approved: at !== 1 })
  }
  return [...once.values()]
}

/** Every turn that is kept and not over is resumed, and comes to an end; all are read. */
export async function recover(world) {
  for (const [at, turn] of world.turns.entries()) {
    const kept = () => world.truth.store.read(keyOf(turn))
    for (let n = 0; n < 6 && (await kept())?.open; n++) {
      await world.clock.passes(turn.leaseMs + 1)
      if (!(await kept())) break
      const { status, error } = await resumes(world, turn, at + n, true)
      if (error && /^(turn|store)\./.test(error.code)) {
        const why = `${turn.id}: ${status}, ${error.code}: ${error.message}`
        return world.breaks('resumable', why)
      }
    }
    const now = await kept()
    if (now?.open) return world.breaks('resumable', `${turn.id}: ${now.state.slice(0, 200)}`)
    if (now) await readAgain(world, turn)
  }
}

/** Whoever reads a turn when it is over has its events as they were kept, and one end. */
async function readAgain(world, turn) {
  const healthy = Object.assign(world.process('reader', 1, 'f'), { healthy: true })
  const store = storeOf(world, { process: healthy })
  const life = world.truth.life(keyOf(turn))
  const seen = []
  await healthy.run(async () => {
    const { id: requestId, tenant } = turn
    for await (const event of followTurn({ requestId, tenant, store })) seen.push(event)
  })
  // It may have expired before it was read to its end.
  if (!(await world.truth.store.read(keyOf(turn)))) return
  if (!isDeepStrictEqual(seen, [...(life?.events.values() ?? [])])) {
    world.breaks('resumable', `${turn.id}: read again, its events are others`)
  }
  const over = seen.filter(({ type }) => ['complete', 'cancelled'].includes(type))
  if (over.length > 1 || (over.length && over[0] !== seen.at(-1))) {
    world.breaks('one end', `${turn.id}: ${seen.map(({ type }) => type).join(' ')}`)
  }
}
