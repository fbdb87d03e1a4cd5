// A process that holds a turn until it is killed, or stopped, at a landmark: by its own hand or by
// its parent's. Argument: the trial (see trial.mjs).
import { Redis } from 'ioredis'
import { resumeTurn, runTurn } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { watched } from './landmarks.mjs'
import { LEASE_MS, partsOf } from './turn.mjs'
import { WRONG } from './wrong.mjs'

const spec = JSON.parse(process.argv[2])
const { landmark, signal, form, hops, port } = spec
const client = new Redis({ port })

/**
 * What the answer waits for. Behind a commit that takes its time the outcome would be kept together
 * with the answer, and the turn be over, or its outcome not kept, at the landmark.
 */
const gate = {
  'tool returned': 'outcome in flight',
  'outcome in flight': 'outcome in flight',
  'outcome kept': 'outcome in flight',
  'in the answer': 'outcome kept',
}[landmark]
let open
const opened = new Promise((resolve) => (open = resolve))

const at = async (here) => {
  if (here === gate) open()
  if (here === 'answer asked for' && gate) await opened
  if (here !== landmark) return
  // On its way, for some part of a round trip.
  if (here.endsWith('in flight')) {
    for (let n = 0; n < hops; n++) await new Promise((resolve) => setImmediate(resolve))
  }
  if (form === 'self') return void process.kill(process.pid, signal)
  process.send({ at: here })
  // The parent's signal comes here; a stopped holder goes on by itself when it wakes.
  if (signal === 'SIGKILL') await new Promise(() => {})
}

const store = watched((WRONG[spec.wrong]?.holder ?? redisStore)(client), at)
const parts = { ...partsOf(spec, at), store }
const messages = [{ role: 'user', content: 'Switch the kitchen lamp on.' }]
const keep = { leaseMs: LEASE_MS, ttlMs: 600_000 }
process.send({ ready: true })
const turn = spec.resume ? resumeTurn(parts) : runTurn({ ...parts, messages, keep })
const { status, error } = await turn.result
process.send({ ended: { status, code: error?.code } }, () => process.exit())
