/** Cases for the rule: who may write, and that commits are atomic. */
import type { Commit, Store } from '../stores/store.js'
import {
  all,
  applied,
  begin,
  commitOf,
  HOUR,
  nameOf,
  newOwner,
  newTurn,
  type Case,
} from './cases.js'
import { eventually, holds, rejects, same, sleep } from './check.js'

/** A commit that would change every kind of data in a store. */
function marking(owner: string, revision: number, key: string, more: Partial<Commit> = {}) {
  return commitOf(owner, revision, {
    state: 'marked',
    records: [['marked', 'x']],
    events: { last: 50, text: '["x"]' },
    forget: 10,
    reusable: [[key, 'marked', HOUR]],
    ...more,
  })
}

/** Checks that the commit is refused with the current state and changes nothing. */
async function refused(store: Store, turn: string, commit: Commit, what: string) {
  const before = await all(store, turn)
  const { owner, revision, open, state } = before.kept ?? {}
  const stands = before.kept ? { owner, revision, open, state } : {}
  same(await store.commit(turn, commit), { ok: false, ...stands }, `${what} must be refused`)
  same(await all(store, turn), before, `${what} was refused, and must change nothing`)
  for (const [key] of commit.reusable) {
    same(await store.recall(key), undefined, `${what} was refused, and must leave nothing to reuse`)
  }
}

export const rules: Case[] = [
  [
    'every store of make() is over the same data',
    async ({ make }) => {
      const [one, other] = [await make(), await make()]
      const turn = newTurn()
      await begin(one, turn)
      holds(await other.read(turn), 'a second store must see what the first one wrote')
    },
  ],
  [
    'an unknown turn is nothing, and can only begin with revision 1',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      same(await store.read(turn), undefined, 'an unknown turn reads as undefined')
      same(await store.events(turn, 0, 10), [], 'an unknown turn has no events')
      for (const revision of [2, 7]) {
        const commit = marking(newOwner(), revision, newTurn(), { takeOver: true })
        await refused(store, turn, commit, `revision ${revision} of an unknown turn`)
      }
      await begin(store, turn)
    },
  ],
  [
    'a turn reads back as it was written, commit by commit',
    async ({ make }) => {
      const [one, other] = [await make(), await make()]
      const turn = newTurn()
      const owner = await begin(one, turn, { state: 's1', records: [['a', 'A']] })
      await applied(other, turn, commitOf(owner, 2, { state: 's2' }), 'the next revision')
      await applied(one, turn, commitOf(owner, 3, { records: [['b', 'B']] }), 'revision 3')
      const { kept } = await all(other, turn)
      const records = [...Object.entries({ a: 'A', b: 'B' })]
      const expected = { owner, revision: 3, open: true, state: 's2', records }
      same(kept, expected, 'state null keeps the state; records add up')
    },
  ],
  [
    'a repeated commit is answered as applied, and writes nothing',
    async ({ make }) => {
      const [store, other] = [await make(), await make()]
      const [turn, key] = [newTurn(), newTurn()]
      const owner = newOwner()
      for (const revision of [1, 2]) {
        const commit = commitOf(owner, revision, {
          state: `s${revision}`,
          records: [[`r${revision}`, 'text']],
          events: { last: revision * 5, text: `["e${revision}"]` },
          reusable: [[key, `v${revision}`, HOUR]],
        })
        await applied(store, turn, commit)
        const before = await all(store, turn)
        await applied(other, turn, commit, 'the same commit again (its answer was lost)')
        same(await all(store, turn), before, 'a repeated commit must change nothing')
        const changed = {
          ...commit,
          state: 'other',
          records: [['other', 'x']] as [string, string][],
        }
        await applied(store, turn, changed, 'a commit of the same owner and revision')
        same(await all(store, turn), before, 'owner and revision make it a repeated one')
      }
    },
  ],
  [
    'a revision may be neither skipped nor written again',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      const owner = await begin(store, turn)
      await applied(store, turn, commitOf(owner, 2))
      await applied(store, turn, commitOf(owner, 3))
      for (const revision of [1, 2, 5, 0]) {
        for (const takeOver of [false, true]) {
          const commit = marking(owner, revision, newTurn(), { takeOver })
          await refused(store, turn, commit, `revision ${revision} after revision 3`)
        }
      }
      await applied(store, turn, commitOf(owner, 4), 'the next revision')
    },
  ],
  [
    'another owner writes only by taking over',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      await begin(store, turn, { events: { last: 5, text: '["e"]' } })
      const other = newOwner()
      for (const revision of [1, 2, 3]) {
        const commit = marking(other, revision, newTurn())
        await refused(store, turn, commit, `revision ${revision} of another owner`)
      }
      for (const revision of [1, 3]) {
        const commit = marking(other, revision, newTurn(), { takeOver: true })
        await refused(store, turn, commit, `a take-over with revision ${revision} after 1`)
      }
      await applied(store, turn, commitOf(other, 2, { takeOver: true }), 'a take-over')
      const { kept } = await all(store, turn)
      same([kept?.owner, kept?.revision], [other, 2], 'the turn belongs to who took it over')
      same(kept?.state, 'state 1', 'a take-over with state null keeps the state')
    },
  ],
  [
    'a take-over replaces the owner that it names, and no other',
    async ({ make }) => {
      const [store, other] = [await make(), await make()]
      const turn = newTurn()
      const first = await begin(store, turn)
      const second = newOwner()
      for (const replaces of [second, newOwner(), '']) {
        const commit = marking(second, 2, newTurn(), { takeOver: true, replaces })
        await refused(other, turn, commit, 'a take-over from somebody else')
      }
      const named = marking(second, 2, newTurn(), { replaces: first })
      await refused(other, turn, named, 'a commit that names an owner and takes nothing over')
      const over = { takeOver: true, replaces: first }
      await applied(other, turn, commitOf(second, 2, over), 'a take-over from its owner')
      await applied(
        store,
        turn,
        commitOf(second, 3, over),
        'the owner itself, whom it names or not',
      )
    },
  ],
  [
    'an owner that was replaced never writes again',
    async ({ make }) => {
      const [store, stale] = [await make(), await make()]
      const turn = newTurn()
      const first = await begin(store, turn)
      const second = newOwner()
      await applied(store, turn, commitOf(second, 2, { takeOver: true }), 'a take-over')
      for (const revision of [1, 2, 3]) {
        const commit = marking(first, revision, newTurn())
        await refused(stale, turn, commit, `revision ${revision} of the owner that was replaced`)
      }
      await applied(store, turn, commitOf(second, 3), 'the new owner')
    },
  ],
  [
    'a turn that is over stays as it is',
    async ({ make }) => {
      const store = await make()
      const turn = newTurn()
      const owner = await begin(store, turn)
      const last = commitOf(owner, 2, { open: false, state: 'over' })
      await applied(store, turn, last, 'the closing commit')
      same((await store.read(turn))?.open, false, 'it reads as closed')
      await applied(store, turn, last, 'the closing commit again')
      for (const who of [owner, newOwner()]) {
        for (const takeOver of [false, true]) {
          for (const revision of [1, 3]) {
            const commit = marking(who, revision, newTurn(), { takeOver })
            await refused(store, turn, commit, `revision ${revision} of a closed turn`)
          }
        }
      }
      await begin(store, newTurn(), { open: false })
    },
  ],
  [
    'a record is written once: its name again fails the whole commit',
    async ({ make }) => {
      const store = await make()
      const [turn, key] = [newTurn(), newTurn()]
      const owner = await begin(store, turn, {
        records: [['claim', 'first']],
        events: { last: 5, text: '["e"]' },
      })
      const before = await all(store, turn)
      const torn = (records: [string, string][]) => marking(owner, 2, key, { records })
      for (const [what, records] of Object.entries({
        'an old name behind a new one': [
          ['new', 'x'],
          ['claim', 'second'],
        ],
        'an old name before a new one': [
          ['claim', 'second'],
          ['new', 'x'],
        ],
        'an old name with its old text': [['claim', 'first']],
        'a name twice in one commit': [
          ['new', 'x'],
          ['new', 'y'],
        ],
      } satisfies Record<string, [string, string][]>)) {
        await rejects(store.commit(turn, torn(records)), 'store.record_exists', what)
        same(await all(store, turn), before, `${what}: nothing of the commit may be applied`)
        same(await store.recall(key), undefined, `${what}: nothing may be left to reuse`)
      }
      const fresh = newTurn()
      const twice = commitOf(newOwner(), 1, {
        records: [
          ['a', '1'],
          ['a', '2'],
        ],
      })
      await rejects(store.commit(fresh, twice), 'store.record_exists', 'a name twice in revision 1')
      same(await store.read(fresh), undefined, 'a first commit that failed leaves no turn')
      await applied(store, turn, torn([['new', 'x']]), 'the same revision with a new name')
      same((await store.read(turn))?.records.length, 2, 'records after that')
    },
  ],
  [
    'of many owners that begin a turn at once, exactly one wins',
    async ({ make }) => {
      const stores = [await make(), await make(), await make()]
      for (let round = 0; round < 5; round++) {
        const turn = newTurn()
        const owners = Array.from({ length: 24 }, newOwner)
        await race(stores, turn, owners, (owner) =>
          commitOf(owner, 1, { state: owner, records: [['claim', owner]] }),
        )
      }
    },
  ],
  [
    'of many owners that take a turn over at once, exactly one wins',
    async ({ make }) => {
      const stores = [await make(), await make(), await make()]
      for (let round = 0; round < 5; round++) {
        const turn = newTurn()
        const first = await begin(stores[0]!, turn)
        // The old owner is one of them.
        const owners = [...Array.from({ length: 23 }, newOwner), first]
        await race(stores, turn, owners, (owner) =>
          commitOf(owner, 2, { takeOver: true, state: owner, records: [['claim', owner]] }),
        )
      }
    },
  ],
  [
    'the same commit sent many times at once is applied once',
    async ({ make }) => {
      const stores = [await make(), await make(), await make()]
      const turn = newTurn()
      const owner = newOwner()
      for (const revision of [1, 2]) {
        const records: [string, string][] = [[`r${revision}`, 'x']]
        const commit = commitOf(owner, revision, {
          records,
          events: { last: revision, text: '[]' },
        })
        await Promise.all(
          Array.from({ length: 24 }, (_, at) => applied(stores[at % 3]!, turn, commit)),
        )
      }
      const { kept, events } = await all(stores[0]!, turn)
      same(
        kept?.records,
        [
          ['r1', 'x'],
          ['r2', 'x'],
        ],
        'each record once',
      )
      same(
        events.map(({ last }) => last),
        [1, 2],
        'each group of events once',
      )
    },
  ],
  [
    'a reader sees whole commits only',
    async ({ make }) => {
      const [writer, reader] = [await make(), await make()]
      const turn = newTurn()
      const owner = await begin(writer, turn, { state: '1', records: [['r1', 'x']] })
      let writing = true
      const reading = (async () => {
        while (writing) {
          const stored = await reader.read(turn)
          const actual = [stored?.state, stored?.records.length]
          same(
            actual,
            [String(stored?.revision), stored?.revision],
            'state and records of one revision',
          )
          // Otherwise, a store that answers without waiting would starve the writer.
          await sleep(0)
        }
      })()
      try {
        for (let revision = 2; revision <= 60; revision++) {
          const commit = { state: String(revision), records: [[`r${revision}`, 'x']] }
          await applied(writer, turn, commitOf(owner, revision, commit as Partial<Commit>))
        }
      } finally {
        writing = false
        await reading
      }
    },
  ],
  [
    'idle (where there is one) is what read says',
    async ({ make }) => {
      const store = await make()
      if (!store.idle) return
      const turn = newTurn()
      same(await store.idle(turn), undefined, 'an unknown turn has no idle time')
      await begin(store, turn)
      const before = (await store.read(turn))?.idleMs ?? NaN
      const idle = (await store.idle(turn)) ?? NaN
      const after = (await store.read(turn))?.idleMs ?? NaN
      holds(before <= idle && idle <= after, `idle ${idle}; read gives ${before}, then ${after}`)
    },
  ],
  [
    'list (where there is one) has the open turns of a tenant',
    async ({ make }) => {
      const [store, writer] = [await make(), await make()]
      if (!store.list) return
      const tenant = `list ${newOwner()}`
      const names = ['a', 'b', 'c'].map((id) => nameOf(tenant, id)) as [string, string, string]
      const [older, newer, over] = names
      const owner = await begin(writer, older, { state: 'older 1' })
      await sleep(5)
      await begin(writer, newer, { state: 'newer' })
      const ended = await begin(writer, over)
      await applied(writer, over, commitOf(ended, 2, { open: false }))
      const others = [`${tenant}x`, tenant.slice(0, -1), `${tenant}","a`, '']
      for (const other of others) await begin(writer, nameOf(other, `a${owner}`))
      const listed = async (most: number) =>
        ((await store.list?.(tenant, most)) ?? []).map(({ turn, state }) => [turn, state])
      same(await listed(9), [[newer, 'newer'], [older, 'older 1']], 'the newest first') // prettier-ignore
      await sleep(5)
      await applied(writer, older, commitOf(owner, 2, { state: 'older 2' }))
      same(await listed(9), [[older, 'older 2'], [newer, 'newer']], 'by the last commit') // prettier-ignore
      same((await listed(1)).length, 1, 'at most so many')
      same(await listed(0), [], 'none at all')
      for (const { idleMs } of await store.list(tenant, 9)) holds(idleMs >= 0, `idleMs: ${idleMs}`)
      same(await store.list(`${tenant}y`, 9), [], 'a tenant without turns')
    },
  ],
  [
    'watch (where there is one) tells of commits until it is stopped',
    async ({ make, patienceMs }) => {
      const [store, writer] = [await make(), await make()]
      if (!store.watch) return
      const turn = newTurn()
      const owner = await begin(writer, turn)
      const calls = { stopped: 0, going: 0 }
      const stop = store.watch(turn, () => calls.stopped++)
      const end = store.watch(turn, () => calls.going++)
      try {
        // A watcher may need a moment to start, so commits continue until it is called.
        let revision = 1
        const notified = async (who: keyof typeof calls) => {
          const before = calls[who]
          await eventually(
            async () => {
              await applied(writer, turn, commitOf(owner, ++revision))
              return calls[who] > before
            },
            patienceMs,
            'a commit to a watched turn must be told',
          )
        }
        await notified('stopped')
        await notified('going')
        stop()
        const before = calls.stopped
        await notified('going')
        same(calls.stopped, before, 'calls after the stop')
        stop()
      } finally {
        end()
      }
    },
  ],
]

/** Lets all owners commit at once. One must win, and the others must learn which one. */
async function race(
  stores: Store[],
  turn: string,
  owners: string[],
  commit: (owner: string) => Commit,
) {
  const answers = await Promise.all(
    owners.map((owner, at) => stores[at % stores.length]!.commit(turn, commit(owner))),
  )
  const winners = owners.filter((_, at) => answers[at]?.ok)
  same(winners.length, 1, 'how many of the owners were told that they won')
  const [winner] = winners
  const stored = await stores[0]!.read(turn)
  const written = [stored?.owner, stored?.state, stored?.records]
  same(written, [winner, winner, [['claim', winner]]], 'what stands there is the winner’s')
  for (const answer of answers) {
    if (!answer.ok) same([answer.owner, answer.state], [winner, winner], 'a loser is told who won')
  }
}
