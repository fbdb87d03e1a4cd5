/** The legs of turns whose events a host passes on: a run of a turn, or a resume. */
import type { PassPhase } from '../../generated/planning.js'
import type { TraceEvent, TurnEvent } from '../../types.js'
import type { Redact, Shared } from './shared.js'
import { TurnSpans } from './turn.js'

/**
 * Turns that are followed at the same time. The oldest are ended first: their end was not told.
 *
 * Limit | turns with open spans | turns | the oldest
 */
const MOST_TURNS = 10_000

/** The phases of passes. None of their events is the last. */
const OF_PASSES: string[] = ['request_pass', 'plan_pass'] satisfies PassPhase[]

/** A leg. It has spans from its first phase or its end on: one that is refused may have neither. */
interface Leg {
  first: TraceEvent
  spans?: TurnSpans
}

export class Legs {
  readonly #shared: Shared
  /** The legs of each turn that are not over, by their start: two may have the same id. */
  readonly #turns = new Map<string, Map<number, Leg>>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  trace(event: TraceEvent, tenant: string): void {
    if (OF_PASSES.includes(event.details.phase)) return
    const turn = keyOf(event, tenant)
    const startedAt = event.at - event.atMs
    const leg = this.#turns.get(turn)?.get(startedAt) ?? this.#begin(turn, startedAt, event)
    if (event.type === 'tool_registration') return
    const spans = this.#spansOf(leg)
    spans.trace(event)
    if (event.type !== 'orchestration_phase_end') return
    const { status } = event
    // Before that, the next phase begins, or the turn's own event is told, which ends the leg.
    setTimeout(() => {
      if (spans.isFollowed || spans.isInPhase) return
      spans.end({ status })
      this.#forget(turn, startedAt)
    }, 0)
  }

  /** Events of turns do not name their leg: takes the last one. */
  event(event: TurnEvent, tenant: string, redact: Redact | undefined): void {
    const turn = keyOf(event, tenant)
    const [startedAt, leg] = [...(this.#turns.get(turn) ?? [])].at(-1) ?? []
    if (startedAt === undefined || !leg) return
    const spans = this.#spansOf(leg)
    spans.event(event, redact)
    if (spans.isEnded) this.#forget(turn, startedAt)
  }

  #begin(turn: string, startedAt: number, first: TraceEvent): Leg {
    const leg: Leg = { first }
    const legs = this.#turns.get(turn) ?? new Map<number, Leg>()
    for (const [at, { spans }] of legs) if (!spans) legs.delete(at)
    this.#turns.set(turn, legs.set(startedAt, leg))
    const [oldest] = this.#turns
    if (this.#turns.size > MOST_TURNS && oldest) {
      for (const { spans } of oldest[1].values()) spans?.end({ status: 'cancelled' })
      this.#turns.delete(oldest[0])
    }
    return leg
  }

  #spansOf(leg: Leg): TurnSpans {
    return (leg.spans ??= new TurnSpans(this.#shared, leg.first))
  }

  #forget(turn: string, startedAt: number): void {
    const legs = this.#turns.get(turn)
    legs?.delete(startedAt)
    if (legs?.size === 0) this.#turns.delete(turn)
  }
}

const keyOf = ({ requestId }: { requestId: string }, tenant: string) =>
  JSON.stringify([tenant, requestId])
