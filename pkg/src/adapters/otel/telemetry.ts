/** Telemetry of what a host runs. */
import { wrong } from '../../errors.js'
import type { OtelOptions } from '../../generated/adapters.js'
import { OTEL_OPTIONS } from '../../generated/rows.js'
import { readOptions } from '../../options.js'
import { member } from '../../shared/quietly.js'
import type { Redactor } from '../../redactor/index.js'
import type { PassTraceEvent } from '../../planning/types.js'
import type { Turn } from '../../turn/turn.js'
import type { TraceEvent, TurnEvent } from '../../types.js'
import { Legs } from './legs.js'
import { PassSpans, watchRun } from './runs.js'
import { Shared, type Within } from './shared.js'
import { TurnSpans } from './turn.js'

export type { OtelOptions, Within }

/** Makes spans and metrics of what it is told. Its methods may be passed on without it. */
export interface Telemetry {
  /**
   * For `onTrace` of `createHandler`, together with `onEvent`. Alone, as `onTrace` of `runTurn` for
   * example, the spans of a turn end with its last phase: without the code of a failure, and without
   * content. Ignores the events of passes, of which none is the last: follow those with `pass`.
   */
  onTrace(event: TraceEvent, session?: { tenant: string }): void
  /**
   * For `onEvent` of `createHandler`: ends the spans of a turn. With `content`, the redactor of `about`,
   * which a handler with `redact` passes, redacts arguments and results.
   */
  onEvent(event: TurnEvent, about?: { tenant: string; redactor?: Redactor | undefined }): void
  /** Follows a turn: `telemetry.turn((onTrace) => runTurn({ …, onTrace }))`, or `resumeTurn`. */
  turn(start: (onTrace: (event: TraceEvent) => void) => Turn): Turn
  /**
   * Follows a pass: `telemetry.pass((onTrace) => runPlanning({ …, onTrace }))`. `within` of
   * this and of the next two is the context that `execute` of a tool gets: the run is then below
   * that call, in the trace of its turn.
   */
  pass<Pass extends PromiseLike<unknown>>(
    start: (onTrace: (event: PassTraceEvent) => void) => Pass,
    within?: Within,
  ): Pass
  /** Follows a bundle. */
  bundle<Bundle extends AsyncIterable<{ type: string }>>(bundle: Bundle, within?: Within): Bundle
  /** Follows a chain. */
  chain<Chain extends AsyncIterable<{ type: string }>>(chain: Chain, within?: Within): Chain
}

/**
 * Telemetry through the host's `@opentelemetry/api`.
 *
 * A turn is a span `invoke_agent`; below it its phases, their inferences (`chat`) and tools
 * (`execute_tool`). Refusals and replays are events of the phase. A turn is below the span that is
 * active when it begins; otherwise it begins a trace with a random id. Its own id is the attribute
 * `turnlock.request_id`, also of a resume. Texts, arguments and results are in no span unless `content`
 * is set.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * import * as api from '@opentelemetry/api'
 * const telemetry = openTelemetry({ api, provider: 'openai', model: 'gpt-5-mini' })
 * createHandler({ …, onTrace: telemetry.onTrace, onEvent: telemetry.onEvent })
 */
export function openTelemetry(options: OtelOptions): Telemetry {
  options = readOptions(options, OTEL_OPTIONS)
  const { api, parent = 'active', redact } = options
  const { trace, metrics } = api ?? {}
  if (typeof trace?.getTracer !== 'function' || typeof metrics?.getMeter !== 'function') {
    throw wrong('api', 'the module @opentelemetry/api')
  }
  if (parent !== 'active' && parent !== 'root') throw wrong('parent', 'active or root')
  if (redact !== undefined && typeof redact?.redact !== 'function') {
    throw wrong('redact', 'a redactor')
  }
  const shared = new Shared(options)
  const legs = new Legs(shared)
  const follow = <Run extends AsyncIterable<{ type: string }>>(
    name: string,
    run: Run,
    within?: Within,
  ): Run => {
    void watchRun(shared, name, run, within).catch(() => {})
    return run
  }
  return {
    onTrace: (event, session) => legs.trace(event, session?.tenant ?? ''),
    onEvent(event, about) {
      const redactor = about?.redactor
      legs.event(event, about?.tenant ?? '', redactor && ((value) => redactor.value(value)))
    },
    turn(start) {
      let spans: TurnSpans | undefined
      const turn = start((event) => (spans ??= new TurnSpans(shared, event)).trace(event))
      const { content } = shared
      const reported = (async () => {
        // Only spans with content need the events.
        if (content) for await (const event of turn) spans?.event(event)
      })()
      void Promise.all([turn.result, reported]).then(([{ status, error, usage }]) => {
        spans?.end({ status, code: error?.code, usage })
      })
      return turn
    },
    pass(start, within) {
      let spans: PassSpans | undefined
      const pass = start((event) => (spans ??= new PassSpans(shared, event, within)).trace(event))
      pass.then(
        () => spans?.end(),
        (error: unknown) => spans?.end(String(member(error, 'code') ?? 'failed')),
      )
      return pass
    },
    bundle: (bundle, within) => follow('bundle', bundle, within),
    chain: (chain, within) => follow('chain', chain, within),
  }
}
