/** A tool-request pass while it runs: a promise of its plan, and its events. */
import { errorEvent, eventResponse, readable, type ErrorEvent } from '../shared/events.js'
import type { EventResponseInit } from '../shared/sse.js'
import { Feed, packed } from '../driver/feed.js'
import { guarded, type Redact } from '../shared/redact.js'
import { stringify } from '../shared/text.js'
import { cut, redactedPlan } from './redact.js'
import type { PlanningResult } from './run.js'
import type { PassTraceEvent } from './types.js'

/** The plan, as the last event of a pass. A plan without JSON is the error `json.not_serializable`. */
export interface PassComplete<Plan = unknown> extends Omit<PlanningResult<Plan>, 'input'> {
  type: 'complete'
  /** The number of the event within the pass, from 1. */
  seq: number
}

/**
 * An event of a pass: a trace event with its number, and at the end `complete` with the plan, or
 * `error`. All texts of models and tools are redacted, also those of `complete`.
 */
export type PassEvent<Plan = unknown> =
  (PassTraceEvent & { seq: number }) | PassComplete<Plan> | ErrorEvent

/**
 * A running pass. Await it for its plan, or iterate over its events, or both. Iterating never
 * throws. Leaving the iteration with `break` cancels the pass.
 *
 * It is a promise, so an `async` function that returns it gives its plan, and no events.
 */
export interface RunningPass<Plan = unknown>
  extends Promise<PlanningResult<Plan>>, AsyncIterable<PassEvent<Plan>> {
  /** Ends the pass: it rejects with `request.cancelled`. */
  cancel(reason?: string): void
  /** The events as objects. Cancelling the stream cancels the pass. */
  toReadableStream(): ReadableStream<PassEvent<Plan>>
  /**
   * The events as `text/event-stream`: `id:` is `seq`, `data:` one line of JSON. A client that
   * leaves cancels the pass.
   */
  toResponse(init?: EventResponseInit): Response
}

/** What a pass tells while it runs, and how it is cancelled. */
export interface Reporter {
  trace(event: PassTraceEvent): void
  cancel(reason: string): void
}

/** Starts a pass. */
export function running<Plan>(
  run: (reporter: Reporter) => Promise<PlanningResult<Plan>>,
  redact: Redact | undefined,
  maxReason: number,
): RunningPass<Plan> {
  const feed = new Feed<PassEvent<Plan>>(packed)
  const next = () => feed.length + 1
  const reporter: Reporter = {
    trace: (event) => feed.push({ ...event, seq: next() }),
    cancel: () => {},
  }
  const end = (event: PassEvent<Plan>) => {
    feed.push(event)
    feed.end()
  }
  const fail = (error: unknown) => {
    const { message, ...event } = errorEvent(error, feed.length)
    end({ ...event, message: redact ? guarded(redact)(message) : message })
  }
  const promise = run(reporter).then(
    (result) => {
      try {
        end({ type: 'complete', seq: next(), ...shownPlan(result, redact, maxReason) })
      } catch (error) {
        fail(error)
      }
      return redact ? cut(result, maxReason) : result
    },
    (error: unknown) => {
      fail(error)
      throw error
    },
  )
  const cancel = (reason = 'cancelled by the host') => reporter.cancel(String(reason))
  const left = () => cancel('the reader left')
  const read = () => {
    // The events report the error too, so the promise may stay unhandled.
    promise.catch(() => {})
    return feed.read(left)
  }
  const toReadableStream = () => readable(read(), left)
  return Object.assign(promise, {
    cancel,
    toReadableStream,
    toResponse: (init?: EventResponseInit) => eventResponse(toReadableStream(), init),
    [Symbol.asyncIterator]: read,
  })
}

/** A result as its event has it: redacted JSON. The host's `parsePlan` may give anything. */
function shownPlan<Plan>(
  { input, ...result }: PlanningResult<Plan>,
  redact: Redact | undefined,
  maxReason: number,
): Omit<PlanningResult<Plan>, 'input'> {
  const copy = JSON.parse(stringify(result)) as typeof result
  return redact ? cut(redactedPlan(copy, redact), maxReason) : copy
}
