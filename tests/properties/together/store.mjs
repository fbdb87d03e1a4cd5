// The store of all processes, what really stands in it, and the way of each machine to it.
import { isDeepStrictEqual } from 'node:util'
import { memoryStore } from 'turnlock'

const away = () => Object.assign(new Error('the store is away'), { code: 'store.unavailable' })
const never = () => new Promise(() => {})

/** A turn from its first commit until it expires. A turn of the same name that begins then is another. */
class Life {
  records = new Set()
  events = new Map()
  open = true
  state = undefined
  /** The keys of calls that ran, and their names with arguments. */
  runs = new Set()
  signatures = new Map()
}

/** What the store has, and what it has ever had. */
export class Truth {
  lives = new Map()
  watchers = 0
  #last = Promise.resolve()

  constructor(clock, wrong, count) {
    this.count = count
    const store = memoryStore({ now: () => clock.now })
    this.store = wrong.store?.(store) ?? store
  }

  life(key) {
    return this.lives.get(key)?.at(-1)
  }

  /** One commit after the other, so that what was there before it is known. */
  apply(key, commit, node) {
    const applied = this.#last.then(() => this.#apply(key, commit, node))
    this.#last = applied.catch(() => {})
    return applied
  }

  async #apply(key, commit, node) {
    const { owner, revision, open, state, records, events } = commit
    const before = await this.store.read(key)
    const answer = await this.store.commit(key, commit)
    const repeated = before?.owner === owner && before.revision === revision
    if (!answer.ok && !before) this.count('commits to a life that has expired')
    if (!answer.ok || repeated) return answer
    if (before && before.owner !== owner) this.count('take-overs')
    if (!before) this.count(this.lives.has(key) ? 'lives again' : 'lives')
    if (!before) this.lives.set(key, [...(this.lives.get(key) ?? []), new Life()])
    const life = this.life(key)
    Object.assign(node, { life, owns: true })
    for (const [name] of records) life.records.add(name)
    for (const event of JSON.parse(events?.text ?? '[]')) life.events.set(event.seq, event)
    life.open = open
    if (state !== null) life.state = JSON.parse(state)
    return answer
  }
}

/** Whether what a reader of a turn was shown stands in the store. */
export const isKept = (life, event) => isDeepStrictEqual(life?.events.get(event.seq), event)

/** The store as one machine has it, with the faults that its process meets. */
export function storeOf(world, node) {
  const { clock, truth } = world
  const { process } = node
  const { random } = process
  const fate = (name, of) => world.chance(process, name, of)
  const arrives = async (work, { slow = false } = {}) => {
    await clock.passes(slow ? random.from(3000, 9000) : random.below(20))
    const answer = await work().then(
      (value) => ({ value }),
      (error) => ({ error }),
    )
    await clock.passes(random.below(20))
    await process.awake()
    if ('error' in answer) throw answer.error
    return answer.value
  }
  const asked = async (work) => {
    if (fate('read fails', 6)) throw away()
    return arrives(work, { slow: fate('store is slow', 12) })
  }
  const { store } = truth
  return {
    read: (key) => asked(() => store.read(key)),
    events: (...wanted) => asked(() => store.events(...wanted)),
    recall: (key) => asked(() => store.recall(key)),
    list: (...wanted) => asked(() => store.list(...wanted)),
    idle: (key) => asked(() => store.idle(key)),
    async commit(key, commit) {
      if (fate('commit fails', 6)) {
        await clock.passes(random.below(20))
        await process.awake()
        throw away()
      }
      const [lost, silent] = [fate('answer is lost', 6), fate('no answer', 10)]
      const slow = fate('store is slow', 8)
      const apply = () => truth.apply(key, commit, node)
      const answer = await arrives(world.wrong.commit?.(apply, clock) ?? apply, { slow })
      if (lost) throw away()
      if (silent) await never()
      return fate('odd answer', 20) ? random.pick([undefined, {}, { ok: 1 }]) : answer
    },
    watch(key, changed) {
      truth.watchers++
      // What a process writes wakes another one: in the other's own time.
      const told = (owner) => {
        if (fate('watch is late', 3)) return
        if (process.frozen) process.held.push(() => process.run(() => changed(owner)))
        else process.run(() => changed(owner))
      }
      const stop = store.watch(key, told)
      return () => {
        if (world.wrong.watchesOn) return
        truth.watchers--
        stop()
      }
    },
  }
}
