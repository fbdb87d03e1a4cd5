// Stores beside a reference model, in any runtime: generated commits, some at once, that race, repeat,
// expire and take over. What a store answers, and what is in it, is what the model says.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { holds } from './hold.mjs'

const HOUR = 3_600_000

/** The documentation of `Store`, in as few words as possible. Time is given. */
class Model {
  constructor(from) {
    this.now = from?.now ?? 0
    this.turns = new Map(structuredClone([...(from?.turns ?? [])]))
    this.outcomes = new Map(structuredClone([...(from?.outcomes ?? [])]))
  }

  turn(name) {
    const turn = this.turns.get(name)
    return turn && turn.at + turn.ttlMs > this.now ? turn : undefined
  }

  commit(
    name,
    { owner, revision, takeOver, replaces, open, state, records, events, forget, reusable, ttlMs },
  ) {
    const turn = this.turn(name)
    const refused = turn
      ? {
          ok: false,
          owner: turn.owner,
          revision: turn.revision,
          open: turn.open,
          state: turn.state,
        }
      : { ok: false }
    // Who is answered is there, also where nothing is written.
    const answered = (answer) => {
      if (turn?.owner === owner && open) turn.gone = false
      return answer
    }
    if (turn && turn.owner === owner && turn.revision === revision) return answered({ ok: true })
    const over = takeOver && (replaces == null || replaces === turn?.owner)
    const follows = turn
      ? turn.open && revision === turn.revision + 1 && (owner === turn.owner || over)
      : revision === 1
    if (!follows) return answered(refused)
    const all = [...(turn?.records ?? []), ...records]
    if (new Set(all.map(([key]) => key)).size < all.length) return 'store.record_exists'
    const groups = [...(turn?.groups ?? []), ...(events ? [events] : [])]
    this.turns.set(name, {
      owner,
      revision,
      open,
      ttlMs,
      at: this.now,
      records: all,
      state: state ?? turn?.state ?? '',
      groups: groups.filter(({ last }) => last > forget),
    })
    for (const [key, text, ttl] of reusable) {
      this.outcomes.set(key, { text, at: this.now, ttlMs: ttl })
    }
    return { ok: true }
  }

  idleMs({ open, gone, at }) {
    return open && gone ? Infinity : this.now - at
  }

  read(name) {
    const turn = this.turn(name)
    if (!turn) return undefined
    const { owner, revision, open, state, records } = turn
    return { owner, revision, open, state, records, idleMs: this.idleMs(turn) }
  }

  events(name, after, most) {
    return (this.turn(name)?.groups ?? []).filter(({ last }) => last > after).slice(0, most)
  }

  recall(key) {
    const kept = this.outcomes.get(key)
    if (!kept || kept.at + kept.ttlMs <= this.now) return undefined
    return { text: kept.text, ageMs: this.now - kept.at }
  }

  /** All who wrote are gone. */
  restart() {
    for (const turn of this.turns.values()) turn.gone = true
  }

  list(tenant) {
    return [...this.turns.keys()]
      .filter((name) => JSON.parse(name)[0] === tenant && this.turn(name)?.open)
      .map((turn) => {
        const kept = this.turn(turn)
        return { turn, state: kept.state, idleMs: this.idleMs(kept) }
      })
  }
}

const texts = fc.oneof(fc.constantFrom('', '{}', '\u0000', 'é😀', '"'), fc.string({ maxLength: 8 }))
const turns = fc.constantFrom(
  ...['t1', 't2'].flatMap((tenant) => ['a', 'b'].map((id) => [tenant, id])),
)
const ttls = fc.constantFrom(HOUR, HOUR, 40, 100)
const commits = fc.record({
  kind: fc.constant('commit'),
  turn: turns,
  owner: fc.constantFrom('ann', 'bob', 'cat'),
  // Beside the revision that stands: most are next.
  step: fc.constantFrom(1, 1, 1, 1, 0, 2, -1),
  takeOver: fc.boolean(),
  replaces: fc.constantFrom(null, undefined, 'ann', 'bob', 'cat', ''),
  open: fc.constantFrom(true, true, true, false),
  state: fc.option(texts),
  records: fc.array(fc.tuple(fc.constantFrom('x', 'y', 'z', 'w', 'toString'), texts), {
    maxLength: 2,
  }),
  events: fc.option(fc.tuple(fc.integer({ min: 1, max: 4 }), texts)),
  forget: fc.constantFrom(0, 0, 0, 7, 15, 1000),
  reusable: fc.array(fc.tuple(fc.constantFrom('k', 'l'), texts, ttls), { maxLength: 2 }),
  ttlMs: ttls,
})
const reads = fc.oneof(
  fc.record({ kind: fc.constant('read'), turn: turns }),
  fc.record({
    kind: fc.constant('events'),
    turn: turns,
    after: fc.nat(40),
    most: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ kind: fc.constant('recall'), key: fc.constantFrom('k', 'l') }),
  fc.record({ kind: fc.constant('list'), tenant: fc.constantFrom('t1', 't2') }),
)
const steps = fc.oneof(
  { weight: 6, arbitrary: commits.map((one) => [one]) },
  { weight: 2, arbitrary: fc.array(commits, { minLength: 2, maxLength: 3 }) },
  { weight: 3, arbitrary: reads.map((one) => [one]) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 120 }).map((ms) => [{ kind: 'wait', ms }]) },
  { weight: 1, arbitrary: fc.constant([{ kind: 'restart' }]) },
)

const permutations = (list) =>
  list.length < 2
    ? [list]
    : list.flatMap((one, at) =>
        permutations([...list.slice(0, at), ...list.slice(at + 1)]).map((rest) => [one, ...rest]),
      )

let run = 0
async function play({ store, wait, restart }, all) {
  // Runs share a server, not their turns.
  const own = `${process.pid}-${++run}-`
  const nameOf = ([tenant, id]) => JSON.stringify([own + tenant, id])
  let model = new Model()
  const timed = ({ ttlMs, reusable, ...commit }) =>
    wait
      ? { ...commit, ttlMs, reusable }
      : { ...commit, ttlMs: HOUR, reusable: reusable.map(([key, text]) => [key, text, HOUR]) }
  const commitOf = (step, at) => {
    const { kind: _, turn, step: beside, events, reusable, state, ...more } = timed(step)
    const now = model.turn(nameOf(turn))
    const revision = Math.max(1, (now?.revision ?? 0) + beside)
    // An owner writes to one turn.
    const ownerOf = (owner) => owner && `${owner} of ${nameOf(turn)}`
    const [owner, replaces] = [more.owner, more.replaces].map(ownerOf)
    return [
      nameOf(turn),
      {
        ...more,
        owner,
        replaces,
        revision,
        state: revision === 1 ? (state ?? 'first') : state,
        events: events && { last: revision * 5 + events[0], text: events[1] },
        // Outcomes are written apart from turns: of two at once, either may be the later one.
        reusable: reusable.map(([key, ...rest]) => [own + key + (at || ''), ...rest]),
      },
    ]
  }
  // An owner sends a revision again only as it was.
  const sent = new Map()
  const asSent = ([name, commit]) => {
    const key = JSON.stringify([name, commit.owner, commit.revision])
    const turn = model.turn(name)
    const stands = turn?.owner === commit.owner && turn.revision === commit.revision
    const again = stands ? sent.get(key) : undefined
    if (!stands) sent.set(key, commit)
    return [name, again ?? commit]
  }
  const once = (all) => {
    const made = new Map()
    // Who is gone is told of owners that wait for an answer before they write again.
    const writes = (name, { owner, revision }) =>
      all.find(([turn, one]) => turn === name && one.owner === owner)[1].revision === revision
    const asked = restart ? all.filter((one) => writes(...one)) : all
    return asked.map(([name, commit]) => {
      const key = JSON.stringify([name, commit.owner, commit.revision])
      if (!made.has(key)) made.set(key, asSent([name, commit]))
      return made.get(key)
    })
  }
  const answerOf = (work) =>
    work.catch((error) => {
      assert.equal(error.name, 'TurnlockError', error.stack)
      return error.code
    })
  const idle = (told) => {
    if (wait || told === undefined) return told
    const { idleMs, ...rest } = told
    assert.ok(idleMs >= 0)
    return rest
  }
  const age = (told) => (wait || !told ? told : told.text)
  const check = async (name) => {
    // At once: some stores are far away.
    const asked = [store.read(name), store.events(name, 0, 100), store.idle?.(name)]
    const [kept, events, ms] = await Promise.all(asked)
    assert.deepEqual(idle(kept), idle(model.read(name)))
    assert.deepEqual(events, model.events(name, 0, 100))
    if (!store.idle) return
    if (wait) assert.equal(ms, model.read(name)?.idleMs)
    else assert.equal(ms === undefined, model.read(name) === undefined)
  }
  for (const group of all) {
    const [first] = group
    if (first.kind === 'wait') {
      await wait?.(first.ms)
      if (wait) model.now += first.ms
    } else if (first.kind === 'restart') {
      await restart?.()
      if (restart) model.restart()
    } else if (first.kind === 'read') {
      await check(nameOf(first.turn))
    } else if (first.kind === 'events') {
      const { after, most } = first
      const name = nameOf(first.turn)
      assert.deepEqual(await store.events(name, after, most), model.events(name, after, most))
    } else if (first.kind === 'recall') {
      assert.deepEqual(age(await store.recall(own + first.key)), age(model.recall(own + first.key)))
    } else if (first.kind === 'list') {
      const listed = await store.list(own + first.tenant, 100)
      const byName = (a, b) => (a.turn < b.turn ? -1 : 1)
      const sorted = (all) => all.map(idle).sort(byName)
      assert.deepEqual(sorted(listed), sorted(model.list(own + first.tenant)))
      listed.reduce((before, { idleMs }) => (assert.ok(idleMs >= before), idleMs), 0)
    } else {
      const asked = once(group.map(commitOf))
      const answers = await Promise.all(asked.map((args) => answerOf(store.commit(...args))))
      // Those that were made at once are as if they had been made in some order.
      const orders = permutations(asked.map((_, at) => at)).map((order) => {
        const after = new Model(model)
        const told = []
        for (const at of order) told[at] = after.commit(...asked[at])
        return { after, told }
      })
      const fitting = []
      for (const { after, told } of orders) {
        try {
          assert.deepEqual(answers, told)
        } catch {
          continue
        }
        fitting.push(after)
      }
      if (!fitting.length) assert.deepEqual(answers, orders[0].told)
      // Of several orders with these answers, what is in the store says which it was.
      let failed
      for (const after of fitting) {
        model = after
        try {
          const keys = asked.flatMap(([, { reusable }]) => reusable.map(([key]) => key))
          const [recalled] = await Promise.all([
            Promise.all(keys.map((key) => store.recall(key))),
            ...asked.map(([name]) => check(name)),
          ])
          assert.deepEqual(
            recalled.map(age),
            keys.map((key) => age(model.recall(key))),
          )
          failed = undefined
          break
        } catch (error) {
          failed = error
        }
      }
      if (failed) throw failed
    }
  }
}

const many = fc.array(steps, { minLength: 1, maxLength: 25, size: 'max' })

/** A store elsewhere: `ask` calls a method of it. */
export const remoteStore = (methods, ask) =>
  Object.fromEntries(methods.map((method) => [method, (...args) => ask(method, args)]))

/** A clock of many runs: in each, what was kept in those before it has expired. */
export function clockOf() {
  const clock = {
    now: Date.now(),
    begin: () => (clock.now += 2 * HOUR),
    wait: (ms) => (clock.now += ms),
  }
  return clock
}

/**
 * Plays generated steps in a store and in the model. `make` gives the store of each run; `wait`, if its
 * clock stands still unless a run moves it, without which nothing expires; and `restart`, if it can tell
 * that those who wrote before it are gone.
 */
export const holdsInStore = (name, make, runs) =>
  holds(
    name,
    fc.asyncProperty(many, async (all) => play(await make(), all)),
    runs,
  )
