/** Reads the events of a turn that runs, or ran, elsewhere. */
import { isObject } from '../checks.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import { eventResponse, readable } from '../shared/events.js'
import type { EventResponseInit } from '../shared/sse.js'
import { FOLLOW_TURN_OPTIONS } from '../generated/rows.js'
import type { FollowTurnOptions } from '../generated/turn.js'
import { eventsIn, inTime, isAbandoned, stateOf, turnKey } from './kept.js'
import { readOptions } from '../options.js'
import { quietly } from '../shared/quietly.js'
import { describe } from '../shared/serialize.js'
import { checkStore, type Store } from '../stores/store.js'
import type { TurnEvent } from '../types.js'

export type { FollowTurnOptions }

/** The events of a turn after a given `seq`. Leaving the iteration does not affect the turn. */
export interface FollowedTurn extends AsyncIterable<TurnEvent> {
  toReadableStream(): ReadableStream<TurnEvent>
  /** As `Turn.toResponse`. */
  toResponse(init?: EventResponseInit): Response
}

const TERMINAL = new Set(['complete', 'paused', 'cancelled', 'error'])
/** Poll interval in milliseconds, for stores without `watch`; doubled while no event arrives. */
const [FIRST_LOOK, LAST_LOOK] = [20, 500]
/** Milliseconds without an event after which the reader checks whether the owner is alive. */
const SILENCE = 3000

/**
 * Reads a turn's events from the store: those after `after`, and then new ones as they arrive,
 * until the turn pauses or ends. No event is lost or repeated, and nothing is executed again,
 * however often it is called.
 *
 * Iterating never throws. Failures are `error` events that are not stored and have the `seq` of
 * the last event read: `turn.not_found`; `turn.events_gone` if events were dropped (see `keep`);
 * `turn.interrupted` if the owner is gone and the turn waits for `resumeTurn`; `store.*`.
 *
 * @throws TurnlockError `options.invalid`, `store.unsupported` for misuse
 */
export function followTurn(options: FollowTurnOptions): FollowedTurn {
  options = readOptions(options, FOLLOW_TURN_OPTIONS)
  const { requestId, store, tenant = '', after = 0, signal } = options
  checkStore(store)
  if (!Number.isSafeInteger(after) || after < 0) {
    throw wrong('after', 'the seq of an event, or 0')
  }
  const turn = turnKey(tenant, requestId)
  const read = () => new Reader(store, turn, requestId, after, signal)
  return {
    [Symbol.asyncIterator]: () => read().events(),
    toReadableStream() {
      const reader = read()
      const events = reader.events()
      return readable(events, () => {
        reader.leave()
        // It waits for nothing now, so that it ends its watch even if an event was not read.
        void events.return()
      })
    },
    toResponse(init = {}) {
      return eventResponse(this.toReadableStream(), init)
    },
  }
}

class Reader {
  readonly #store: Store
  readonly #turn: string
  readonly #requestId: string
  readonly #signal: AbortSignal | undefined
  #last: TurnEvent | undefined
  #seq: number
  /** Of the stored turn, once it was read. */
  #leaseMs: number | undefined
  #left = false
  #changed = false
  #wake = () => {}

  constructor(
    store: Store,
    turn: string,
    requestId: string,
    after: number,
    signal: AbortSignal | undefined,
  ) {
    this.#store = store
    this.#turn = turn
    this.#requestId = requestId
    this.#seq = after
    this.#signal = signal
  }

  leave(): void {
    this.#left = true
    this.#wake()
  }

  async *events(): AsyncGenerator<TurnEvent, void, undefined> {
    const leave = () => this.leave()
    if (this.#signal?.aborted) return
    this.#signal?.addEventListener('abort', leave)
    let unwatch: (() => void) | undefined
    try {
      const changed = () => {
        this.#changed = true
        this.#wake()
      }
      const watching: unknown = this.#store.watch?.(this.#turn, changed)
      // A store in JavaScript may return a promise, which may reject.
      unwatch = (isObject(watching) ? await watching : watching) as typeof unwatch
      yield* this.#read()
    } catch (error) {
      const { code, message } = isTurnlockError(error)
        ? error
        : new TurnlockError('store.unavailable', describe(error))
      yield this.#error(code, message)
    } finally {
      this.#signal?.removeEventListener('abort', leave)
      quietly(() => unwatch?.())
    }
  }

  async *#read(): AsyncGenerator<TurnEvent, void, undefined> {
    let wait = FIRST_LOOK
    // After the events that are already stored, check at once whether more can follow.
    let silent = SILENCE
    let live = false
    while (!this.#left) {
      this.#changed = false
      const from = this.#seq
      const groups = await inTime(this.#store.events(this.#turn, from, 64))
      for (const group of groups) {
        for (const event of eventsIn(group.text)) {
          if (event.seq <= this.#seq) continue
          if (event.seq > this.#seq + 1 && !(await this.#mayHaveGaps())) {
            return void (yield this.#error(
              'turn.events_gone',
              `the events behind ${this.#seq} are no longer kept`,
            ))
          }
          this.#seq = event.seq
          this.#last = event
          yield event
          if (this.#left) return
        }
      }
      if (groups.length) {
        if (this.#seq === from) throw new Error('the store gives events again')
        wait = FIRST_LOOK
        if (live) silent = 0
        continue
      }
      if (this.#last && TERMINAL.has(this.#last.type)) return
      live = true
      if (silent >= SILENCE) {
        const end = await this.#end()
        if (end === 'over') return
        if (end) return void (yield end)
        silent = 0
      }
      const before = Date.now()
      await this.#pause(wait)
      silent += Math.max(Date.now() - before, 1)
      wait = Math.min(wait * 2, LAST_LOOK)
    }
  }

  async #mayHaveGaps(): Promise<boolean> {
    const stored = await inTime(this.#store.read(this.#turn))
    return stored !== undefined && !stateOf(stored).keepsText
  }

  /** Returns the end of the reading if no event will follow, `undefined` otherwise. */
  async #end(): Promise<TurnEvent | 'over' | undefined> {
    if (await this.#isAlive()) return undefined
    const stored = await inTime(this.#store.read(this.#turn))
    if (!stored) return this.#error('turn.not_found', 'no such turn is kept')
    const { status, leaseMs } = stateOf(stored)
    if (status !== 'running') {
      // The terminal event may have been stored since the last read.
      const groups = await inTime(this.#store.events(this.#turn, this.#seq, 1))
      return groups.length ? undefined : 'over'
    }
    this.#leaseMs = leaseMs
    if (!isAbandoned(stored)) return undefined
    return this.#error('turn.interrupted', 'the owner of the turn is gone; resumeTurn goes on')
  }

  /**
   * Whether a turn that was read before is written to. A turn that has ended since has an event
   * that was not read yet, so its state need not be read again.
   */
  async #isAlive(): Promise<boolean> {
    if (this.#leaseMs === undefined || !this.#store.idle) return false
    const idleMs = await inTime(this.#store.idle(this.#turn))
    return idleMs !== undefined && idleMs < this.#leaseMs
  }

  #pause(milliseconds: number): Promise<void> {
    if (this.#changed || this.#left) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** An error event that is not stored and has no `seq` of its own: it repeats the last one. */
  #error(code: string, message: string): TurnEvent {
    const last = this.#last
    return {
      type: 'error',
      phase: last?.phase ?? 'tool_phase',
      requestId: this.#requestId,
      projectId: last?.projectId ?? null,
      toolBatchId: last?.toolBatchId ?? 0,
      seq: this.#seq,
      code,
      message,
    }
  }
}
