// One schedule: its clock, its store, its processes, and what of it is not over.
import { Clock, Process } from './clock.mjs'
import { act, QUIET, recover } from './host.mjs'
import { start } from './machines.mjs'
import { judge, RULES, shown } from './rules.mjs'
import { Truth } from './store.mjs'

/** What may go wrong by itself, each once in a few times. */
export const FAULTS = [
  'model throws',
  'model is silent',
  'model errors',
  'model refuses',
  'model is cut',
  'model is slow',
  'model talks garbage',
  'work throws',
  'tool throws',
  'tool hangs',
  'tool is slow',
  'tool is odd',
  'commit fails',
  'answer is lost',
  'no answer',
  'odd answer',
  'store is slow',
  'read fails',
  'watch is late',
]

export class World {
  clock = new Clock()
  /** What does not hold: the rule, and how. */
  broken = []
  /** Machines that have not settled, and what the host has yet to do. */
  open = new Set()
  /** Turns that were begun with the store. */
  turns = []
  /** How often something happened. */
  counts = {}
  /** Tools that were started, and generators of models that were not closed. */
  tools = 0
  generators = 0
  /** Processes that do not come back while anything else runs. */
  dead = []
  /** How often a turn was taken over with a seed. */
  resumed = new Map()
  /** Whether they have. */
  ends = false
  /** How many objects of the core live. */
  handles = () => 0
  #signals = []
  #processes = []
  #nodes = 0
  #handlesBefore = 0
  #recovers = false

  /** @param wrong what this world does wrong on purpose */
  constructor(schedule, wrong = {}) {
    this.schedule = schedule
    this.wrong = wrong
    this.truth = new Truth(this.clock, wrong, (what) => this.count(what))
    this.faults = new Set(schedule.faults)
    this.clock.loses = wrong.loses
  }

  count(what) {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  breaks(rule, what) {
    if (!RULES.includes(rule)) throw new Error(`no such rule: ${rule}`)
    this.broken.push({ rule, what })
  }

  /** Whether a fault happens now to a process, once in `of` times. */
  chance(process, fault, of = 5) {
    if (process.healthy || !this.faults.has(fault) || !process.random.once(of)) return false
    this.count(fault)
    return true
  }

  /** @param slot how the ids of its turns begin */
  process(name, seed, slot) {
    const process = Object.assign(new Process(this.clock, name, seed), { slot, turns: 0 })
    this.#processes.push(process)
    return process
  }

  /** What each process saw, in the order of time. */
  told() {
    const lines = this.#processes.flatMap(({ name, slot, log }) =>
      log.map(([at, ...what]) => [at, `${name} ${slot}`, ...what]),
    )
    return lines.sort(([a], [b]) => a - b)
  }

  // -- Machines

  /** What is known of a machine. `signal` is the one that it gets. */
  node(kind, { parent, process = parent.process, tenant = parent.tenant, signal }) {
    const name = `${kind} ${++this.#nodes}`
    const node = { kind, name, parent, process, tenant, signal, said: [], events: [] }
    Object.assign(node, { depth: parent ? parent.depth + 1 : 0, settled: false })
    // From then on nothing may begin: the machine hears of it in the same moment.
    node.stopped = signal.aborted
    signal.addEventListener('abort', () => (node.stopped = true), { once: true })
    this.open.add(node)
    return node
  }

  /** Reads a machine to its end, and judges it. `done` is what it came to; it never rejects. */
  follows(node, machine) {
    node.machine = machine
    node.done = this.#follow(node, machine)
    return node
  }

  async #follow(node, machine) {
    const reading = this.#read(node, this.wrong.events?.(machine) ?? machine)
    let end
    try {
      end = { value: await machine.result }
    } catch (error) {
      end = { error }
    }
    node.settled = true
    await reading
    judge(this, node, end)
    this.open.delete(node)
    this.count(`${node.kind}: ${endOf(end)}`)
    node.process.note('over', node.kind, end.value ?? end.error?.code)
    return end.value
  }

  async #read(node, machine) {
    try {
      for await (const event of machine) {
        node.events.push(event)
        node.process.note('event', event)
        if (node.turn) shown(this, node, event)
        if (event.type === 'tool_results') {
          for (const { status } of event.toolResults) this.count(`result: ${status}`)
        }
        if (!node.leaves) continue
        node.left = node.stopped = true
        break
      }
    } catch (error) {
      this.breaks('one end', `${node.name}: reading throws ${error.stack}`)
    }
  }

  /** Counts the listeners of a signal that outlives its machine. */
  counted(signal) {
    const known = new Set()
    const [add, remove] = ['addEventListener', 'removeEventListener'].map((name) =>
      signal[name].bind(signal),
    )
    signal.addEventListener = (type, listener, options) => {
      known.add(listener)
      add(type, listener, options)
    }
    signal.removeEventListener = (type, listener) => {
      if (this.wrong.listensOn) return
      known.delete(listener)
      remove(type, listener)
    }
    this.#signals.push({ signal, known })
    return signal
  }

  // -- The whole

  /** The host does something then; the schedule is not over before. */
  later(time, work) {
    const task = Symbol(time)
    this.open.add(task)
    this.clock.at(time, async () => {
      try {
        await work()
      } finally {
        this.open.delete(task)
      }
    })
  }

  /** Plays the schedule. What does not hold is in `broken`. */
  async play() {
    const { sessions, acts, quiet } = this.schedule
    const failed = (error) => this.breaks('nothing unhandled', error?.stack ?? String(error))
    // Instead of the test runner, which would end a test that does this on purpose.
    const others = ['unhandledRejection', 'uncaughtException'].map((event) => {
      const all = process.listeners(event)
      process.removeAllListeners(event).on(event, failed)
      return [event, all]
    })
    this.#handlesBefore = this.handles()
    const uninstall = this.clock.install()
    try {
      for (const [slot, own] of sessions.entries()) this.#session(own, slot, own.tenant)
      // Its turns have the names of the first one's.
      if (quiet) this.quiet = this.#session(quiet, 0, QUIET)
      const { now } = this.clock
      for (const one of acts) this.later(now + one.at, () => act(this, one))
      // Tools that are slow may begin something when their turns are long over.
      const isOver = () => this.clock.size === 0 && ![...this.open].some(isAlive)
      await this.#until(isOver)
      await this.#recover()
      this.ends = true
      for (const process of this.dead) process.wakes()
      await this.#until(isOver)
      await this.#recover()
      if (!this.broken.length) this.#leaves()
    } finally {
      uninstall()
      for (const [event, all] of others) {
        process.off(event, failed)
        for (const one of all) process.on(event, one)
      }
    }
    return this
  }

  #session({ kind, seed, starts }, slot, tenant) {
    const process = this.process(tenant, seed, slot)
    const begin = () => {
      const controller = new AbortController()
      const signal = this.counted(controller.signal)
      Object.assign(start(this, kind, { process, tenant, signal }), { controller })
    }
    this.later(this.clock.now + starts, () => process.run(begin))
    return process
  }

  async #until(over) {
    const stop = () => {
      // At any moment without a machine: a timer that fires before the end is left as well.
      if (this.open.size === 0 && this.clock.timers > 0 && !this.#recovers) this.#leaves()
      return this.broken.length > 0 || over()
    }
    if (this.broken.length || (await this.clock.until(stop))) return
    const waits = [...this.open].map((one) => one.name ?? 'a task of the host').join(', ')
    this.breaks('all settles', `at ${this.clock.now}: ${waits}`)
  }

  async #recover() {
    if (this.broken.length) return
    this.#recovers = true
    let done = false
    void recover(this)
      .catch((error) => this.breaks('resumable', error.stack))
      .finally(() => (done = true))
    await this.#until(() => done)
    this.#recovers = false
  }

  #leaves() {
    const { clock, truth, generators } = this
    const open = this.#signals.filter(({ signal }) => !signal.aborted)
    // One listener of each is the simulation's.
    const listeners = open.reduce((sum, { known }) => sum + known.size - 1, 0)
    const handles = this.handles() - this.#handlesBefore
    const left = { timers: clock.timers, watchers: truth.watchers, generators, listeners, handles }
    if (Object.values(left).some((count) => count !== 0)) {
      this.breaks('nothing is left', JSON.stringify(left))
    }
  }
}

/** Of what is not over: a machine of a process that lives, or a task. */
const isAlive = (one) => !one.process?.dead || !one.process.frozen

/** How a machine ended, for the count. */
const endOf = ({ value, error }) =>
  error?.code ?? value?.error?.code ?? value?.status ?? value?.meta?.stopped ?? 'complete'
