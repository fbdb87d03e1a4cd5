/** A turn that a handler runs. */
import { TurnlockError } from '../errors.js'
import { eventResponse, readable, textOf } from '../events.js'
import { Feed } from '../feed.js'
import { quietly } from '../quietly.js'
import { abortReason, describe } from '../serialize.js'
import type { Turn } from '../turn.js'
import type { TurnEvent, TurnResult } from '../types.js'
import { isTerminal, resultOf } from './result.js'
import { Refused, type Wire } from './wire.js'

/** What a turn is opened with. */
export interface Opening {
  requestId: string
  conversationId?: string | undefined
  /** The request that starts or resumes it; without one, it is followed. */
  opening?: { path: string; body: object }
  /** The last event that the reader has; unknown where another page had it. */
  after: number | undefined
  signal: AbortSignal | undefined
  onSeq(requestId: string, seq: number): void
}

/** Milliseconds before a request is sent again, doubled each time. */
const [FIRST_WAIT, LAST_WAIT] = [250, 8000]

interface LocalEnd {
  type: 'error' | 'cancelled'
  code: string
  message: string
  reason: string
  details: { status: number }
}

export class RemoteTurn implements Turn {
  readonly requestId: string
  readonly result: Promise<TurnResult>
  readonly #wire: Wire
  readonly #about: Opening
  readonly #feed = new Feed<TurnEvent>()
  /** Ends the connection. */
  readonly #left = new AbortController()
  /** Resolves when the handler has the turn, or cannot be asked for it. */
  readonly #arrived: Promise<void>
  #arrive!: () => void
  #settle!: (result: TurnResult) => void
  #seq: number | undefined
  /** The request that opens the turn, until a response shows that it has arrived. */
  #opening: Opening['opening']
  /** Whether that request may have arrived without a response. */
  #lost = false
  #cancelled = false
  #reason = ''
  #over = false

  constructor(wire: Wire, about: Opening) {
    this.#wire = wire
    this.#about = about
    this.requestId = about.requestId
    this.#seq = about.after
    this.#opening = about.opening
    this.result = new Promise((resolve) => (this.#settle = resolve))
    this.#arrived = new Promise((resolve) => (this.#arrive = resolve))
    const { signal } = about
    const onAbort = () => this.#leave(abortReason(signal))
    signal?.addEventListener('abort', onAbort, { once: true })
    void this.result.then(() => signal?.removeEventListener('abort', onAbort))
    if (signal?.aborted) onAbort()
    void this.#read()
  }

  cancel(reason = 'cancelled by the host'): void {
    if (this.#over || this.#cancelled) return
    this.#cancelled = true
    this.#reason = String(reason)
    const body = { requestId: this.requestId, reason: this.#reason }
    // Before the turn has arrived there is nothing to cancel. The stream has the end.
    void this.#arrived
      .then(() => (this.#over ? undefined : this.#wire.ask('/cancel', body)))
      .catch((error: unknown) => this.#fail(error))
  }

  pause(): void {
    const ask = () => this.#wire.ask('/pause', { requestId: this.requestId })
    // A turn that cannot be asked goes on.
    void this.#arrived.then(() => (this.#over ? undefined : ask())).catch(() => {})
  }

  [Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    return this.#feed.read(() => this.#leave('the reader left'))
  }

  get textStream(): AsyncIterable<string> {
    return textOf(this)
  }

  toReadableStream(): ReadableStream<TurnEvent> {
    const left = () => this.#leave('the reader left')
    return readable(this.#feed.read(left, true), left)
  }

  toResponse(init: ResponseInit = {}): Response {
    return eventResponse(this.toReadableStream(), init)
  }

  /** A turn of one's own ends with its reader; another one's goes on without. */
  #leave(reason: string): void {
    if (this.#about.opening) return this.cancel(reason)
    this.#end(this.#local({ type: 'cancelled', reason }))
  }

  async #read(): Promise<void> {
    // No event before the caller has the turn.
    await null
    if (this.#cancelled) {
      return this.#end(this.#local({ type: 'cancelled', reason: this.#reason }))
    }
    let failures = 0
    while (!this.#over) {
      const before = this.#seq
      let wait = 0
      try {
        await this.#attach()
        // The handler has closed: behind the last event, or with a worker that was replaced.
        if (this.#finish()) return
      } catch (error) {
        if (this.#over || this.#finish()) return
        if (error instanceof Refused) {
          if (!error.again) return this.#fail(error)
          wait = error.retryAfterMs
        }
        if (failures >= this.#wire.maxRetries) return this.#fail(error)
      }
      failures = this.#seq === before ? failures + 1 : 0
      if (failures > this.#wire.maxRetries)
        return this.#fail(new Error('the handler sends nothing'))
      const pause = Math.min(LAST_WAIT, FIRST_WAIT * 2 ** failures)
      await this.#sleep(Math.max(wait, pause * (0.5 + Math.random() / 2)))
    }
  }

  /** Opens the turn, or attaches behind the last event, and reads to the end of the response. */
  async #attach(): Promise<void> {
    const { signal } = this.#left
    let events: AsyncIterable<TurnEvent>
    const opening = this.#opening
    if (opening) {
      try {
        events = await this.#wire.open(opening.path, opening.body, signal)
      } catch (error) {
        // It arrived before, and its response was lost.
        const known = error instanceof Refused && error.code === 'turn.conflict'
        if (!known || !this.#lost) {
          this.#lost ||= !(error instanceof Refused)
          throw error
        }
        events = await this.#wire.follow(this.requestId, this.#seq ?? 0, signal)
      }
      this.#opening = undefined
    } else {
      events = await this.#wire.follow(this.requestId, this.#seq ?? 0, signal)
    }
    this.#arrive()
    for await (const event of events) {
      if (this.#over) return
      this.#take(event)
      for (let full = this.#feed.room(); full; full = this.#feed.room()) await full
    }
  }

  #take(event: TurnEvent): void {
    const { seq } = event
    const seen = this.#seq ?? seq - 1
    // Failures to read a turn are not stored, and have the number of the last event.
    if (seq <= seen && event.type !== 'error') return
    if (seq > seen + 1) throw new Error(`events ${seen + 1} to ${seq - 1} are missing`)
    this.#seq = seq
    this.#about.onSeq(this.requestId, seq)
    this.#feed.push(event)
  }

  /** Ends the turn if its last event is a terminal one. */
  #finish(): boolean {
    const last = this.#feed.last
    if (!isTerminal(last)) return false
    this.#end()
    return true
  }

  #fail(error: unknown): void {
    const { code, message, details } =
      error instanceof TurnlockError
        ? error
        : new TurnlockError('remote.unreachable', describe(error))
    const status = details?.['status']
    this.#end(
      this.#local({
        ...{ type: 'error', code, message },
        ...(typeof status === 'number' && { details: { status } }),
      }),
    )
  }

  /** An event that the handler did not send. It has the number of the last one that it sent. */
  #local(own: Pick<LocalEnd, 'type'> & Partial<LocalEnd>): TurnEvent {
    const last = this.#feed.last
    return {
      ...{ phase: last?.phase ?? 'tool_phase', requestId: this.requestId },
      ...{ projectId: last?.projectId ?? null, toolBatchId: last?.toolBatchId ?? 0 },
      ...{ seq: this.#seq ?? 0, ...own },
    } as TurnEvent
  }

  #end(event?: TurnEvent): void {
    if (this.#over) return
    this.#over = true
    if (event) this.#feed.push(event)
    quietly(() => this.#left.abort())
    this.#arrive()
    const { last } = this.#feed
    const { requestId, conversationId } = this.#about
    if (isTerminal(last)) this.#settle(resultOf(requestId, conversationId, this.#feed.all(), last))
    this.#feed.end()
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#left.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
