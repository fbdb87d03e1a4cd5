/**
 * Wakes an object at a time. An object has one alarm, which a class may use for its own purposes, so
 * the alarm of the runtime is set to the earlier of two: that of the class, and ours.
 *
 * @module
 */
import type { AgentLike, ObjectState } from './runtime.js'

/** Wakes the object, also if it is not in memory then. */
export interface Alarms {
  /** Sets the time, unless it is woken before. */
  wakeAt(time: number): Promise<void>
}

/** What an alarm was set for. */
export interface Due {
  /** The class's own alarm. */
  host: boolean
  own: boolean
}

interface Times {
  host: number | null
  own: number | null
}

/**
 * Milliseconds by which an alarm may come early.
 *
 * Not a limit.
 */
const EARLY = 100

const TABLE =
  'CREATE TABLE IF NOT EXISTS turnlock_alarm (id INTEGER PRIMARY KEY, host REAL, own REAL)'

/**
 * Alarms of an object. `setAlarm`, `getAlarm` and `deleteAlarm` of its storage then concern the
 * class's own alarm only.
 */
export class ObjectAlarms implements Alarms {
  readonly #sql: ObjectState['storage']['sql']
  readonly #real: {
    get(): Promise<number | null>
    set(time: number, options?: unknown): Promise<void>
    delete(options?: unknown): Promise<void>
  }

  constructor({ storage }: ObjectState) {
    this.#sql = storage.sql
    const { getAlarm, setAlarm, deleteAlarm } = storage
    this.#real = {
      get: () => getAlarm.call(storage),
      set: (time, options) => setAlarm.call(storage, time, options),
      delete: (options) => deleteAlarm.call(storage, options),
    }
    storage.getAlarm = async (options) => {
      const times = this.#read()
      return times ? times.host : getAlarm.call(storage, options)
    }
    storage.setAlarm = (time, options) => {
      const { own = null } = this.#read() ?? {}
      return this.#write({ host: Number(time), own }, options)
    }
    storage.deleteAlarm = (options) => {
      const { own = null } = this.#read() ?? {}
      return this.#write({ host: null, own }, options)
    }
  }

  async wakeAt(time: number): Promise<void> {
    let times = this.#read()
    if (!times) {
      // The class may have set its alarm before it was one with turns.
      const host = await this.#real.get()
      times = this.#read() ?? { host, own: null }
    }
    if (times.own !== null && times.own <= time) return
    await this.#write({ ...times, own: time })
  }

  /** Reads whose alarm has come, and forgets it. To be called as an alarm comes, and only then. */
  async take(): Promise<Due> {
    const times = this.#read()
    // No alarm of ours was ever set.
    if (!times) return { host: true, own: false }
    const isDue = (time: number | null) => time !== null && time <= Date.now() + EARLY
    const own = isDue(times.own)
    // One that the class has set past our functions, such as in a transaction, is neither.
    const host = isDue(times.host) || !own
    await this.#write({ host: host ? null : times.host, own: own ? null : times.own })
    return { host, own }
  }

  #read(): Times | undefined {
    this.#sql.exec(TABLE)
    const [times] = [...this.#sql.exec('SELECT host, own FROM turnlock_alarm')]
    return times as Times | undefined
  }

  #write({ host, own }: Times, options?: unknown): Promise<void> {
    this.#sql.exec(TABLE)
    this.#sql.exec('INSERT OR REPLACE INTO turnlock_alarm VALUES (0, ?, ?)', host, own)
    const times = [host, own].filter((time) => time !== null)
    if (times.length === 0) return this.#real.delete(options)
    return this.#real.set(Math.min(...times), options)
  }
}

/** Alarms of an agent, which has a scheduler of its own. It counts in seconds. */
export class AgentAlarms implements Alarms {
  readonly #agent: AgentLike
  readonly #callback: string
  /** Of those that this instance has set, the one that comes first. */
  #next: number | undefined

  constructor(agent: AgentLike, callback: string) {
    this.#agent = agent
    this.#callback = callback
  }

  async wakeAt(time: number): Promise<void> {
    if (this.#next !== undefined && this.#next <= time) return
    this.#next = time
    // In the second behind it: the scheduler cuts fractions off.
    await this.#agent.schedule(new Date(Math.ceil(time / 1000) * 1000), this.#callback, {})
  }

  /** To be called as a schedule comes. */
  taken(): void {
    if (this.#next !== undefined && this.#next <= Date.now()) this.#next = undefined
  }
}
