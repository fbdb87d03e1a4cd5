/** A turn that a handler runs. */
import { checkSignal } from '../checks.js'
import { TurnlockError } from '../errors.js'
import { eventResponse, readable, textOf } from '../shared/events.js'
import { quietly } from '../shared/quietly.js'
import { abortReason, describe } from '../shared/serialize.js'
import type { TurnEnd, TurnOf } from '../turn/turn.js'
import type { TurnEvent, TurnResult } from '../types.js'
import { asFailure, Refused, type Wire } from './wire.js'

/**
 * The end of a turn of a handler. `partial`: the events before the first one that was read could not be
 * had, so texts, results and messages are those of the rest. Where the handler could not tell what the
 * turn has used, `usage` and `inferences` are 0.
 */
export type RemoteEnd = TurnEnd & { partial?: true }

/** A turn of a handler. */
export type RemoteTurn = TurnOf<RemoteEnd>

/** What a turn is opened with. */
export interface Opening {
  requestId: string
  conversationId?: string | undefined
  /** The request that starts or resumes it; without one, it is followed. */
  opening?: { path: string; body: string }
  /** Whether `requestId` was made for this turn, so that a turn of this name is this one. */
  isFresh?: boolean
  /** The last event that the reader has; unknown where another page had it. */
  after: number | undefined
  signal: AbortSignal | undefined
  onSeq(requestId: string, seq: number): void
}

/** The last event of a turn, unless it is resumed. */
export type Terminal = Extract<TurnEvent, { type: 'complete' | 'paused' | 'cancelled' | 'error' }>

/** Milliseconds before a request is sent again, doubled each time. */
const [FIRST_WAIT, LAST_WAIT] = [250, 8000]

/**
 * Events that all streams may be behind before the handler is held back.
 *
 * Limit | events that all readers of a remote turn are behind | events | the handler waits
 */
const MOST_BEHIND = 256

const TERMINAL = ['complete', 'paused', 'cancelled', 'error']

/** Closures: their names are shortened, those of private members are not. */
export function remoteTurn(wire: Wire, about: Opening): RemoteTurn {
  const { requestId, conversationId, signal, onSeq } = about
  checkSignal(signal)
  /** All events, for any number of readers, each from the first one. */
  const events: TurnEvent[] = []
  /** Calls whoever waits for the next event, or for a slow stream. */
  let waiting: (() => void)[] = []
  const next = () => new Promise<void>((resolve) => waiting.push(resolve))
  const wakeAll = () => {
    const now = waiting
    waiting = []
    for (const wake of now) wake()
  }
  /** How many events each stream has taken. */
  const streams = new Set<{ taken: number }>()
  /** Ends the connection. */
  const closing = new AbortController()
  /** The number of the last event. */
  let seq = about.after
  /** The request that opens the turn, until a response shows that it has arrived. */
  let { opening } = about
  /** Whether that request may have arrived before: it was sent, or nobody else knows the turn's id. */
  let { isFresh: mayBeKnown = false } = about
  let cancelled: string | undefined
  let over = false
  let settle: (last: Terminal) => void
  let arrive: () => void
  const settled = new Promise<Terminal>((resolve) => (settle = resolve))
  /** Resolves when the handler has the turn, or cannot be asked for it. */
  const arrived = new Promise<void>((resolve) => (arrive = resolve))
  let result: Promise<RemoteEnd> | undefined
  /** The event behind which those of the reader begin, once the handler has shown the turn. */
  let from: number | undefined
  /** All events of a turn that rests with one that the reader has. */
  let allEvents: TurnEvent[] | undefined

  /** A turn of one's own ends with its reader; another one's goes on without. */
  const leave = (reason: string) => {
    if (about.opening) cancel(reason)
    else endWith({ type: 'cancelled', reason })
  }
  const readerLeft = () => {
    // Nothing is held back for a stream that is gone.
    streams.clear()
    wakeAll()
    leave('the reader left')
  }

  function cancel(given = 'cancelled by the host'): void {
    if (over || cancelled !== undefined) return
    const reason = (cancelled = String(given))
    // Before the turn has arrived there is nothing to cancel. The stream has the end.
    void arrived
      .then(() => (over ? undefined : wire.ask('/cancel', { requestId, reason }, wire.maxRetries)))
      .catch(fail)
  }

  async function read(): Promise<void> {
    // No event before the caller has the turn.
    await null
    if (cancelled !== undefined) return endWith({ type: 'cancelled', reason: cancelled })
    let failures = 0
    while (!over) {
      const before = seq
      let wait = 0
      try {
        await attach()
        // The handler has closed: behind the last event, or with a worker that was replaced.
        if (over || finish()) return
      } catch (error) {
        if (over || finish()) return
        if (error instanceof Refused) {
          if (!error.again) return fail(error)
          wait = error.retryAfterMs
        }
        if (failures >= wire.maxRetries) return fail(error)
      }
      failures = seq === before ? failures + 1 : 0
      if (failures > wire.maxRetries) return fail(new Error('the handler sends nothing'))
      const pause = Math.min(LAST_WAIT, FIRST_WAIT * 2 ** failures)
      await sleep(Math.max(wait, pause * (0.5 + Math.random() / 2)))
    }
  }

  /** Opens the turn, or attaches behind the last event, and reads to the end of the response. */
  async function attach(): Promise<void> {
    const repeated = opening && mayBeKnown
    // Whatever a gateway answered before, the handler may have got the request.
    const hasArrived = (code: unknown) =>
      repeated && (code === 'turn.conflict' || code === 'turn.cancelled')
    let response: AsyncIterable<TurnEvent> | undefined
    try {
      response = opening
        ? await wire.open(opening.path, opening.body, closing.signal)
        : await wire.follow(requestId, seq ?? 0, closing.signal)
    } catch (error) {
      mayBeKnown = true
      if (!(error instanceof Refused && hasArrived(error.code))) throw error
      opening = undefined
      return attach()
    }
    opening = undefined
    arrive()
    if (!response) return rest()
    for await (const event of response) {
      if (over) return
      // A handler that is slow has sent its status before it refuses.
      if (event.type === 'error' && hasArrived(event.code)) return attach()
      take(event)
      while (isFull()) await next()
    }
  }

  /** Ends a turn of which no event will follow: the reader has the last one. */
  async function rest(): Promise<void> {
    const { eventsUpTo } = await import('./result.js')
    allEvents = await eventsUpTo(wire, requestId, Infinity)
    if (!close(allEvents?.at(-1))) fail(new TurnlockError('turn.events_gone', 'no events are kept'))
  }

  /** Whether all streams are far behind. */
  const isFull = () =>
    streams.size > 0 && [...streams].every(({ taken }) => events.length - taken > MOST_BEHIND)

  async function* reader(isStream?: boolean): AsyncGenerator<TurnEvent, void> {
    const position = { taken: 0 }
    if (isStream) streams.add(position)
    try {
      for (;;) {
        if (position.taken < events.length) {
          yield events[position.taken++] as TurnEvent
          if (isStream) wakeAll()
        } else if (over) return
        else await next()
      }
    } finally {
      readerLeft()
    }
  }

  function take(event: TurnEvent): void {
    const previous = seq ?? event.seq - 1
    from ??= previous
    // Failures to read a turn are not stored, and have the number of the last event.
    if (event.seq <= previous && event.type !== 'error') return
    if (event.seq > previous + 1)
      throw new Error(`events ${previous + 1} to ${event.seq - 1} are missing`)
    seq = event.seq
    onSeq(requestId, seq)
    events.push(event)
    wakeAll()
  }

  function fail(error: unknown): void {
    const { code, message, details } = asFailure(error)
    endWith({ type: 'error', code, message, ...(details?.['status'] ? { details } : {}) })
  }

  /** Ends with an event that the handler did not send. It has the number of the last one it sent. */
  function endWith(own: object): void {
    if (over) return
    const { phase = 'tool_phase', projectId = null, toolBatchId = 0 } = events.at(-1) ?? {}
    events.push({ phase, requestId, projectId, toolBatchId, seq: seq ?? 0, ...own } as TurnEvent)
    finish()
  }

  /** Ends the turn if its last event is a terminal one. */
  const finish = () => close(events.at(-1))

  function close(last: TurnEvent | undefined): boolean {
    if (!last || !TERMINAL.includes(last.type)) return false
    if (over) return true
    over = true
    quietly(() => closing.abort())
    arrive()
    settle(last as Terminal)
    wakeAll()
    return true
  }

  async function resultOf(last: Terminal): Promise<RemoteEnd> {
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    const bare: TurnResult = {
      requestId,
      ...(conversationId !== undefined && { conversationId }),
      status: last.type === 'error' ? 'failed' : last.type,
      text: '',
      fullContent: '',
      messages: [],
      toolResults: [],
      blockedSignatures: [],
      repeats: {},
      usage,
      totalUsage: usage,
      inferences: 0,
      repairs: [],
    }
    try {
      const { eventsUpTo, resultOf } = await import('./result.js')
      // What the reader has seen before belongs to the turn, too.
      const before = !allEvents && from ? await eventsUpTo(wire, requestId, from) : []
      const made = resultOf(bare, allEvents ?? [...(before ?? []), ...events], last)
      return { ...made, ...(!before && { partial: true }) } as RemoteEnd
    } catch (error) {
      const failure = { code: 'core.unavailable', message: describe(error) }
      return { ...bare, status: 'failed', error: failure } as RemoteEnd
    }
  }

  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      closing.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })

  const onAbort = () => leave(abortReason(signal))
  signal?.addEventListener('abort', onAbort, { once: true })
  void settled.then(() => signal?.removeEventListener('abort', onAbort))
  if (signal?.aborted) onAbort()
  void read()

  const turn: RemoteTurn = {
    requestId,
    // Most pages read events alone, and do not load what makes a result of them.
    get result() {
      return (result ??= settled.then(resultOf))
    },
    cancel,
    pause() {
      const ask = () => (over ? undefined : wire.ask('/pause', { requestId }))
      // A turn that cannot be asked goes on.
      void arrived.then(ask).catch(() => {})
    },
    [Symbol.asyncIterator]: () => reader(),
    get textStream() {
      return textOf(turn)
    },
    toReadableStream: () => readable(reader(true), readerLeft),
    toResponse: (init) => eventResponse(turn.toReadableStream(), init),
  }
  return turn
}
