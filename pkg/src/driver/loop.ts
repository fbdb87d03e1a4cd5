/**
 * The loop of every driver: it sends an input to the machine in the core, performs the machine's
 * effects in order, and waits no longer than the machine's deadline.
 *
 * @module
 */
import { answer, type Core, type LazyPart, type Part } from '../core/instance.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import { describe } from '../shared/serialize.js'

/** The functions of one kind of machine. */
export interface Machine<G> {
  /** The machine's number; `?` where it is for the next of its parts to make. */
  make(glue: G): string
  /** Bytes of what the machine is made of. Above {@link APART} it gets an instance of its own. */
  readonly bytes?: number
  deadline(glue: G, handle: number): number
  free(glue: G, handle: number): void
}

/** The callbacks of a driver. */
export interface Hooks<E> {
  perform(effect: E): void
  /** The machine's clock in milliseconds. @defaultValue `performance.now()` */
  now?(): number
  /** The deadline has passed. */
  due(): void
  /** The part could not be loaded, refused the options, or trapped; no effect follows. */
  fault(error: TurnlockError): void
}

/**
 * The longest timer; longer ones would fire at once.
 *
 * Limit | a timer | ms | it is set again
 */
const LONGEST_TIMER = 2 ** 31 - 1

/** The answer of a part that leaves a machine to the next one. */
const NOT_HERE = '?'

/**
 * Bytes of options above which a machine has an instance of the core of its own: 256 KiB.
 *
 * Limit | options beyond which a turn has an instance alone | bytes | apart
 */
const APART = 256 * 1024

/** A machine, and the instance that has it. */
interface Live<G> {
  readonly part: Part<G>
  readonly core: Core<G>
  readonly handle: number
}

export class Loop<E, G> {
  readonly #machine: Machine<G>
  readonly #hooks: Hooks<E>
  #live: Live<G> | undefined
  /** Inputs that came while the part was loaded. */
  #early: ((glue: G, handle: number) => string)[] = []
  readonly #queue: E[] = []
  #draining = false
  #over = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerDue = Infinity

  /** @param parts those that may have the machine: the first that makes it has it */
  constructor(parts: readonly LazyPart<G>[], machine: Machine<G>, hooks: Hooks<E>) {
    this.#machine = machine
    this.#hooks = hooks
    void this.#open(parts)
  }

  async #open(parts: readonly LazyPart<G>[]): Promise<void> {
    try {
      for (const lazy of parts) {
        const part = lazy.ready ?? (await lazy.load())
        // Also if the part is ready: no hook is called before the caller has its loop.
        await null
        if (this.#over) return
        const core = (this.#machine.bytes ?? 0) > APART ? part.apart() : part.core()
        const made = answer(part.callOn(core, (glue) => this.#machine.make(glue)))
        if (made === NOT_HERE) continue
        this.#live = { part, core, handle: Number(made) }
        core.onFault.add(this.#fault)
        break
      }
    } catch (error) {
      if (!this.#over) this.#fault(typed(error))
      return
    }
    const early = this.#early
    this.#early = []
    for (const work of early) this.tell(work)
  }

  get isOver(): boolean {
    return this.#over
  }

  now(): number {
    return this.#hooks.now?.() ?? performance.now()
  }

  /**
   * Sends an input and performs the resulting effects. One that is `first` precedes those that wait
   * for the part: what is cancelled before it can start does not start.
   */
  tell(work: (glue: G, handle: number) => string, first = false): void {
    if (this.#over) return
    if (!this.#live) return void (first ? this.#early.unshift(work) : this.#early.push(work))
    const { part, core, handle } = this.#live
    let text: string
    try {
      text = answer(part.callOn(core, (glue) => work(glue, handle)))
    } catch (error) {
      // After a trap, `#fault` has notified the driver. Else the core took no such input: it is too
      // large, say, and to go on without it would lose it.
      if (!this.#over) this.#fault(typed(error))
      return
    }
    if (text !== '') for (const effect of JSON.parse(text) as E[]) this.#queue.push(effect)
    this.#drain()
  }

  /** Performs the effects in order. Effects caused by a callback are queued after earlier ones. */
  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    try {
      for (let effect = this.#queue.shift(); effect; effect = this.#queue.shift()) {
        this.#hooks.perform(effect)
      }
    } catch (error) {
      // Drivers catch what callbacks throw; this is what members of a host's objects throw.
      this.#draining = false
      if (!this.#over) this.#fault(typed(error))
      return
    }
    this.#draining = false
    if (!this.#over) this.#schedule()
  }

  /** Sets one timer for all deadlines. An early timer costs less than a reset for each chunk. */
  #schedule(): void {
    if (!this.#live) return
    const { part, core, handle } = this.#live
    let due: number
    try {
      due = part.callOn(core, (glue) => this.#machine.deadline(glue, handle))
    } catch {
      return // A trap; `#fault` has notified the driver.
    }
    if (Number.isNaN(due) || due >= this.#timerDue) return
    clearTimeout(this.#timer)
    this.#timerDue = due
    const wait = Math.min(Math.max(0, due - this.now()), LONGEST_TIMER)
    this.#timer = setTimeout(() => {
      this.#timerDue = Infinity
      this.#hooks.due()
    }, wait)
  }

  readonly #fault = (error: TurnlockError): void => {
    this.close()
    this.#hooks.fault(error)
  }

  /** Stops the loop: no further inputs or effects. */
  close(): void {
    this.#over = true
    this.#queue.length = 0
    this.#early.length = 0
    this.#live?.core.onFault.delete(this.#fault)
    clearTimeout(this.#timer)
  }

  /** Frees the machine. */
  free(): void {
    if (!this.#live) return
    const { part, core, handle } = this.#live
    try {
      part.callOn(core, (glue) => this.#machine.free(glue, handle))
      part.retire(core)
    } catch {
      // A trap; this machine has ended already, and `call` notifies the others.
    }
  }
}

const typed = (error: unknown): TurnlockError =>
  isTurnlockError(error)
    ? error
    : new TurnlockError('core.fault', describe(error), undefined, error)
