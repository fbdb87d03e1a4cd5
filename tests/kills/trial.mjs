// One trial: a holder begins a turn and dies, or freezes, at a landmark; another process goes on
// with it; a reader follows all along; then the receipts are held against the promise.
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { followTurn, resumeTurn, runTurn } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { ANYWHERE } from './landmarks.mjs'
import { lines } from './lines.mjs'
import { LEASE_MS, partsOf } from './turn.mjs'
import { judge } from './verdict.mjs'
import { WRONG } from './wrong.mjs'

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const keyOf = (trial) => JSON.stringify(['', trial])

/** mulberry32: one seed, one trial. */
function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * Runs a trial.
 * @param {object} cell
 * @param {string} cell.landmark
 * @param {'plain' | 'readOnly' | 'idempotent'} cell.kind
 * @param {'kill' | 'kill twice' | 'freeze'} cell.fault `kill twice`: the next one, too, at any time
 * @param {string} [cell.wrong] the twin that takes part
 * @returns {Promise<{ void?: string, faults: string[], [seen: string]: unknown }>}
 */
export async function runTrial(bench, cell, seed) {
  const { landmark, kind, fault = 'kill', wrong } = cell
  const random = randomOf(seed)
  const trial = [fault, landmark, kind, wrong ?? '', seed].join('-').replaceAll(' ', '_')
  const atReceiver = landmark === 'effect applied'
  const byParent = atReceiver || landmark === ANYWHERE || seed % 2 === 1
  const spec = {
    trial,
    landmark,
    kind,
    wrong,
    folder: bench.folder,
    receiver: bench.receiver,
    port: bench.port,
    form: byParent ? 'parent' : 'self',
    hold: atReceiver,
    hops: Math.floor(random() * 5),
    signal: fault === 'freeze' ? 'SIGSTOP' : 'SIGKILL',
  }
  const twin = WRONG[wrong] ?? {}
  const [first, second, third] = bench.clients
  const store = redisStore(first)
  const reader = follow((twin.follower ?? redisStore)(third), trial)

  const holder = bench.start(spec)
  const gone = once(holder, 'exit')
  const ended = new Promise((resolve) => {
    holder.on('message', (message) => message.ended && resolve(message.ended))
    // Behind its last message, which the exit may overtake.
    holder.on('disconnect', () => resolve({ code: 'ended in silence' }))
  })
  await faulted(bench, holder, spec, random, gone)
  const voided = async (why) => {
    reader.stop()
    if (holder.exitCode === null && holder.signalCode === null) holder.kill('SIGKILL')
    await Promise.all([gone, reader.done])
    return { void: why, faults: [], form: spec.form, seed }
  }
  if (fault !== 'freeze') await gone
  if (fault !== 'freeze' && holder.signalCode !== 'SIGKILL') return voided('the turn had ended')
  const holders = [holder.pid]
  if (fault === 'kill twice') {
    await abandoned(store, trial)
    const again = { ...spec, resume: true, landmark: ANYWHERE, form: 'parent', hold: false }
    const next = bench.start(again)
    const nextGone = once(next, 'exit')
    await faulted(bench, next, again, random, nextGone)
    await nextGone
    if (next.signalCode !== 'SIGKILL') return voided('the second had ended')
    holders.push(next.pid)
  }

  // Every other time two go on at once.
  const resumers = [first, ...(seed % 4 < 2 ? [second] : [])].map((client) =>
    (twin.resumer ?? redisStore)(client),
  )
  const parts = (twin.parts ?? ((same) => same))(partsOf({ ...spec, hold: false }))
  let before, results
  do {
    before = await abandoned(store, trial)
    if (before?.open === false) return voided('the turn had ended')
    results = await Promise.all(resumers.map((each) => goOn({ ...parts, store: each })))
    // What the holder had sent may arrive this late; then it counts as alive once more.
  } while (results.every(({ error }) => error?.code === 'turn.conflict'))

  const key = keyOf(trial)
  const after = await store.read(key)
  const events = await store.events(key, 0, 10_000)
  let late
  if (fault === 'freeze') {
    holder.kill('SIGCONT')
    if (atReceiver) bench.release(trial)
    late = await ended
    await gone
  }
  const last = await store.read(key)
  const lastEvents = await store.events(key, 0, 10_000)
  await reader.done
  const seen = {
    cell,
    seed,
    form: spec.form,
    results,
    before,
    after,
    last,
    late,
    holders,
    events,
    lastEvents,
    followed: reader.events,
    starts: lines(bench.folder, `${trial}.starts`),
    receipts: lines(bench.folder, `${trial}.receipts`),
    fresh: await all(followTurn({ requestId: trial, store })),
  }
  for (const kinds of ['starts', 'receipts'])
    rmSync(join(bench.folder, `${trial}.${kinds}`), { force: true })
  return { form: spec.form, seed, ...judge(seen) }
}

/** Waits until the fault has happened, and makes it happen where that is the parent's part. */
async function faulted(bench, holder, { trial, landmark, form, signal, hold }, random, gone) {
  const hears = (what) =>
    new Promise((resolve) => holder.on('message', (message) => what in message && resolve()))
  const over = Promise.race([gone, hears('ended')])
  if (hold) {
    await Promise.race([bench.applied(trial), over])
    holder.kill(signal)
  } else if (landmark === ANYWHERE) {
    const ready = hears('ready')
    await Promise.race([ready, over])
    await Promise.race([pause(random() * 110), over])
    holder.kill(signal)
  } else if (form === 'parent') {
    await Promise.race([hears('at'), over])
    holder.kill(signal)
  }
  if (signal === 'SIGSTOP') while (isRunning(holder.pid)) await Promise.race([pause(2), gone])
}

/** Neither stopped nor gone. */
function isRunning(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return !['T', 'Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0])
  } catch {
    return false
  }
}

/** The turn as the holder left it, once its lease is over; `undefined` if it never was kept. */
async function abandoned(store, trial) {
  for (let looks = 0; ; looks++) {
    const kept = await store.read(keyOf(trial))
    if (kept && (!kept.open || kept.idleMs >= LEASE_MS)) return kept
    // What was on its way to the server has long arrived.
    if (!kept && looks > 10) return undefined
    await pause(15)
  }
}

/** Resumes the turn; begins it where nothing of it was kept. */
async function goOn(parts) {
  const resumed = await resumeTurn(parts).result
  if (resumed.error?.code !== 'turn.not_found') return resumed
  const messages = [{ role: 'user', content: 'Switch the kitchen lamp on.' }]
  return runTurn({ ...parts, messages, keep: { leaseMs: LEASE_MS } }).result
}

async function all(turn) {
  const events = []
  for await (const event of turn) events.push(event)
  return events
}

/** Reads the turn as a client does that comes back whenever it is cut off. */
function follow(store, requestId) {
  const events = []
  const stopped = new AbortController()
  const waits = ['turn.not_found', 'turn.interrupted']
  const read = async () => {
    while (!stopped.signal.aborted) {
      const after = events.at(-1)?.seq ?? 0
      for await (const event of followTurn({ requestId, store, after, signal: stopped.signal })) {
        if (event.type === 'error' && waits.includes(event.code)) break
        events.push(event)
        if (['complete', 'error', 'cancelled'].includes(event.type)) return
      }
      await pause(20)
    }
  }
  return { events, done: read(), stop: () => stopped.abort() }
}
