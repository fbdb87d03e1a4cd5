// All machines together: chains whose steps run durable turns, bundles whose replicates are turns,
// passes whose tools run turns, several at once on one store, with tenants; models, tools and the store
// fail; the host cancels, pauses, leaves, and processes stop and are taken over. `SCHEDULE` plays one
// that a failure has printed, and tells what happened in it; `COUNTS=1` tells how often what happened.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { init } from 'turnlock'
import { partsOf } from '../../pkg/test/parts.mjs'
import { holds } from './hold.mjs'
import { KINDS_OF_ACTS } from './together/host.mjs'
import { KINDS } from './together/machines.mjs'
import { RULES } from './together/rules.mjs'
import { FAULTS, World } from './together/world.mjs'
import { WRONG } from './together/wrong.mjs'

const { live } = await partsOf('../dist')
// Before time is simulated: what is compiled, or loaded when it is needed, takes some.
await init()
await import('../../pkg/dist/turn/beside.js')
await import('../../pkg/dist/driver/packed.js')

/** A record without a prototype would not be printed as JSON. */
const record = (members) => fc.record(members, { noNullPrototype: true })

const sessions = record({
  kind: fc.constantFrom(...KINDS, 'chain'),
  tenant: fc.constantFrom('a', 'b'),
  seed: fc.noShrink(fc.nat()),
  starts: fc.nat(1000),
})
const acts = record({
  at: fc.oneof(fc.nat(1000), fc.nat(4000), fc.nat(30_000)),
  kind: fc.constantFrom(...KINDS_OF_ACTS, 'freeze'),
  pick: fc.noShrink(fc.nat(1000)),
  ms: fc.oneof(fc.nat(3000), fc.nat(20_000)),
})
const schedules = record({
  sessions: fc.array(sessions, { minLength: 1, maxLength: 3 }),
  acts: fc.array(acts, { maxLength: 6 }),
  // Processes that stand still from the start of a tool on.
  stops: fc.array(record({ nth: fc.nat(6), ms: fc.nat(20_000) }), { maxLength: 2 }),
  // Few, so that most of a schedule goes well, or many.
  faults: fc.oneof(fc.subarray(FAULTS, { maxLength: 3 }), fc.subarray(FAULTS)),
  quiet: fc.option(
    record({
      kind: fc.constantFrom(...KINDS),
      seed: fc.noShrink(fc.nat()),
      starts: fc.nat(2000),
    }),
    { freq: 2 },
  ),
})

/** Schedules in which what is wrong on purpose has to be noticed. */
const MOST = 200
const counts = {}
const { COUNTS, SCHEDULE } = process.env

async function played(schedule, wrong) {
  const world = new World(schedule, wrong)
  world.handles = live
  await world.play()
  for (const [what, times] of Object.entries(world.counts)) {
    counts[what] = (counts[what] ?? 0) + times
  }
  if (world.broken.length || !schedule.quiet) return world
  const alone = await new World({ ...schedule, sessions: [], acts: [], stops: [] }).play()
  world.broken.push(...alone.broken)
  if (!isDeepStrictEqual(world.quiet.log, alone.quiet.log)) {
    const at = world.quiet.log.findIndex((one, at) => !isDeepStrictEqual(one, alone.quiet.log[at]))
    world.breaks('tenants', JSON.stringify([world.quiet.log[at], alone.quiet.log[at]]))
  }
  return world
}

test('all machines together', async () => {
  if (SCHEDULE) {
    const world = await played(JSON.parse(SCHEDULE))
    for (const line of world.told()) console.log(JSON.stringify(line))
    return assert.deepEqual(world.broken, [])
  }
  const property = fc.asyncProperty(schedules, async (schedule) => {
    const { broken } = await played(schedule)
    assert.deepEqual(broken, [])
  })
  await holds('together', property, 240)
  if (COUNTS) console.log(counts)
})

test('each rule has somebody who breaks it', () => {
  const broken = new Set(Object.values(WRONG).map(({ rule }) => rule))
  assert.deepEqual([...broken].sort(), [...RULES].sort())
})

for (const [name, wrong] of Object.entries(WRONG)) {
  test(`convicted: ${name}`, async () => {
    for (const schedule of fc.sample(schedules, { seed: 20261127, numRuns: MOST })) {
      const { kind, faults = schedule.faults } = wrong
      const like = (own) => own && { ...own, kind: kind ?? own.kind }
      const [sessions, quiet] = [schedule.sessions.map(like), like(schedule.quiet)]
      const { broken } = await played({ ...schedule, sessions, quiet, faults }, wrong)
      if (broken.some(({ rule }) => rule === wrong.rule)) return
    }
    assert.fail(`${MOST} schedules, and nothing was noticed`)
  })
}
