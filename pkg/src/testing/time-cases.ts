/** Cases for expiry and idle time. None of them requires anything to be fast. */
import type { Store } from '../stores/store.js'
import { all, applied, begin, commitOf, HOUR, newOwner, newTurn, type Case } from './cases.js'
import { eventually, holds, same, sleep } from './check.js'

const expectExpired = (store: Store, turn: string, patienceMs: number) =>
  eventually(
    async () => (await store.read(turn)) === undefined,
    patienceMs,
    'a turn must be gone when its ttlMs has passed',
  )

export const times: Case[] = [
  [
    'a turn expires with everything in it, and may then begin anew',
    async ({ make, patienceMs }) => {
      const [store, other] = [await make(), await make()]
      for (const open of [true, false]) {
        const turn = newTurn(`expiry ${newOwner()}`)
        await begin(store, turn, {
          open,
          state: 'old',
          records: [['r', 'old']],
          ttlMs: 1,
          events: { last: 5, text: '["old"]' },
        })
        await expectExpired(other, turn, patienceMs)
        same(await store.events(turn, 0, 10), [], 'events of an expired turn')
        const [tenant] = JSON.parse(turn) as [string]
        const listed = (await store.list?.(tenant, 1000)) ?? []
        same(
          listed.filter((one) => one.turn === turn),
          [],
          'an expired turn is in no list',
        )
        const late = await store.commit(turn, commitOf(newOwner(), 2, { takeOver: true }))
        same(late, { ok: false }, 'a later revision of an expired turn')
        const events = { last: 1, text: '["new"]' }
        const owner = await begin(store, turn, { state: 'new', records: [['r', 'new']], events })
        const stored = { owner, revision: 1, open: true, state: 'new', records: [['r', 'new']] }
        same(
          await all(other, turn),
          { kept: stored, events: [events] },
          'nothing of the old turn is left',
        )
      }
    },
  ],
  [
    'the same owner may begin an expired turn anew: that is no repeated commit',
    async ({ make, patienceMs }) => {
      const store = await make()
      const turn = newTurn()
      const owner = newOwner()
      await applied(store, turn, commitOf(owner, 1, { state: 'old', ttlMs: 1 }))
      await expectExpired(store, turn, patienceMs)
      await applied(store, turn, commitOf(owner, 1, { state: 'new' }))
      same((await store.read(turn))?.state, 'new', 'what stands there')
    },
  ],
  [
    'a turn lives for the ttlMs of its last commit',
    async ({ make, patienceMs }) => {
      const store = await make()
      // On a machine that stalls, the first commit may expire before the second. In that case, try
      // again with more time.
      const extended = async (ttlMs: number): Promise<boolean> => {
        const turn = newTurn()
        const records: [string, string][] = [['r', 'x']]
        const events = { last: 1, text: '[]' }
        const owner = await begin(store, turn, { ttlMs, records, events })
        const { ok } = await store.commit(turn, commitOf(owner, 2))
        if (!ok) return false
        await sleep(ttlMs * 2)
        const { kept, events: groups } = await all(store, turn)
        const actual = [kept?.revision, kept?.records.length, groups.length]
        same(
          actual,
          [2, 1, 1],
          'a longer ttlMs keeps all of the turn, and not only the turn itself',
        )
        return true
      }
      holds(
        (await extended(200)) || (await extended(2000)) || (await extended(20_000)),
        'a commit well within ttlMs must find the turn',
      )
      const turn = newTurn()
      const owner = await begin(store, turn)
      await applied(store, turn, commitOf(owner, 2, { ttlMs: 1 }))
      await expectExpired(store, turn, patienceMs)
    },
  ],
  [
    'turns are not forgotten before their time',
    async ({ make }) => {
      const store = await make()
      const turns = Array.from({ length: 40 }, () => newTurn())
      for (const turn of turns) await begin(store, turn)
      // Stores delete expired turns when new ones begin.
      for (let n = 0; n < 40; n++) await begin(store, newTurn(), { ttlMs: 1 })
      for (const turn of turns) holds(await store.read(turn), 'a turn with an hour to live is gone')
    },
  ],
  [
    'a reusable outcome expires by itself, whatever becomes of its turn',
    async ({ make, patienceMs }) => {
      const store = await make()
      const [turn, short, long] = [newTurn(), newTurn(), newTurn()]
      await begin(store, turn, {
        ttlMs: 1,
        reusable: [
          [short, 'x', 1],
          [long, 'y', HOUR],
        ],
      })
      await expectExpired(store, turn, patienceMs)
      await eventually(
        async () => (await store.recall(short)) === undefined,
        patienceMs,
        'a reusable outcome must be gone when its ttlMs has passed',
      )
      same((await store.recall(long))?.text, 'y', 'one with time left outlives its turn')
      const again = newTurn()
      await begin(store, again, { reusable: [[short, 'z', HOUR]] })
      same((await store.recall(short))?.text, 'z', 'an expired one written again')
    },
  ],
  [
    'idleMs counts from the last commit',
    async ({ make, patienceMs }) => {
      const store = await make()
      const turn = newTurn()
      const owner = await begin(store, turn)
      const idle = async () => {
        const idleMs = (await store.read(turn))?.idleMs ?? NaN
        holds(idleMs >= 0, `idleMs must be a number from 0 on, and is ${idleMs}`)
        holds(idleMs < HOUR, `the owner is alive, but idleMs is ${idleMs}`)
        return idleMs
      }
      // A store may be slow, and a machine may stall between a commit and the read. In that case,
      // try again after a longer idle time.
      let least = 100
      for (let revision = 2; ; revision++) {
        await eventually(async () => (await idle()) >= least, patienceMs, 'idleMs must grow')
        await applied(store, turn, commitOf(owner, revision))
        if ((await idle()) < least) break
        holds(revision < 12, 'a commit must bring idleMs back to 0')
        least = Math.min(least * 2, patienceMs / 2)
      }
    },
  ],
  [
    'ageMs counts from the writing',
    async ({ make, patienceMs }) => {
      const store = await make()
      const [turn, key] = [newTurn(), newTurn()]
      await begin(store, turn, { reusable: [[key, 'x', HOUR]] })
      const age = async () => (await store.recall(key))?.ageMs ?? NaN
      await eventually(async () => (await age()) >= 50, patienceMs, 'ageMs must grow')
      holds((await age()) < HOUR, 'ageMs is in milliseconds')
    },
  ],
]
