/**
 * The loop of every driver: it sends an input to the machine in the core, performs the machine's
 * effects in order, and waits no longer than the machine's deadline.
 *
 * @module
 */
import { answer, call, core, type Core } from './core.js'
import type { TurnlockError } from './errors.js'
import type { Glue } from './glue.js'

/** The functions of one kind of machine. */
export interface Machine {
  make(glue: Glue): string
  deadline(glue: Glue, handle: number): number
  free(glue: Glue, handle: number): void
}

/** The callbacks of a driver. */
export interface Hooks<E> {
  perform(effect: E): void
  /** The machine's clock in milliseconds. @defaultValue `performance.now()` */
  now?(): number
  /** The deadline has passed. */
  due(): void
  /** The core trapped; no effect follows. */
  fault(error: TurnlockError): void
}

/** The longest timer; longer ones would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1

export class Loop<E> {
  readonly #machine: Machine
  readonly #hooks: Hooks<E>
  readonly #core: Core
  readonly #handle: number
  readonly #queue: E[] = []
  #draining = false
  #over = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerDue = Infinity

  /** @throws TurnlockError for options that the core rejects */
  constructor(machine: Machine, hooks: Hooks<E>) {
    this.#machine = machine
    this.#hooks = hooks
    this.#core = core()
    this.#handle = Number(answer(call(this.#core, (glue) => machine.make(glue))))
    this.#core.onFault.add(this.#fault)
  }

  get isOver(): boolean {
    return this.#over
  }

  now(): number {
    return this.#hooks.now?.() ?? performance.now()
  }

  /** Sends an input and performs the resulting effects. */
  tell(work: (glue: Glue, handle: number) => string): void {
    if (this.#over) return
    let text: string
    try {
      text = answer(call(this.#core, (glue) => work(glue, this.#handle)))
    } catch {
      return // A trap; `#fault` has notified the driver.
    }
    if (text !== '') this.#queue.push(...(JSON.parse(text) as E[]))
    this.#drain()
  }

  /** Performs the effects in order. Effects caused by a callback are queued after earlier ones. */
  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    for (let effect = this.#queue.shift(); effect; effect = this.#queue.shift()) {
      this.#hooks.perform(effect)
    }
    this.#draining = false
    if (!this.#over) this.#schedule()
  }

  /** Sets one timer for all deadlines. An early timer costs less than a reset for each chunk. */
  #schedule(): void {
    let due: number
    try {
      due = call(this.#core, (glue) => this.#machine.deadline(glue, this.#handle))
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
    this.#core.onFault.delete(this.#fault)
    clearTimeout(this.#timer)
  }

  /** Frees the machine. */
  free(): void {
    try {
      call(this.#core, (glue) => this.#machine.free(glue, this.#handle))
    } catch {
      // A trap; this machine has ended already, and `call` notifies the others.
    }
  }
}
