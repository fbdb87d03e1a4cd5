/** A request that is answered, and what all requests of a handler share. */
import { isTurnlockError } from '../errors.js'
import { followTurn } from '../turn/follow.js'
import type { Redactor } from '../redactor/index.js'
import { quietly } from '../shared/quietly.js'
import type { Store } from '../stores/store.js'
import type { Turn } from '../turn/turn.js'
import type { TraceEvent, TurnEvent } from '../types.js'
import { Fields, invalid, readJson } from './body.js'
import { failed, historyRefusal, refusalFor } from './failures.js'
import type { Writer } from './format.js'
import { Rate, Running } from './limits.js'
import { perRequest, type PerRequest, type RequestContext } from './options.js'
import type { Session, Settings } from './options.js'
import { refusalOf, responseOf, type Refusal } from './refusal.js'
import { streamed, turnEventText } from './stream.js'
import type { TraceStore } from './traces.js'
import { twoStageFor, type TwoStage } from './two-stage.js'

/** State shared by all requests of a handler. */
export class Shared<S extends Session> {
  readonly settings: Settings<S>
  readonly resumes: Rate
  readonly running: Running
  readonly readers: Running
  /** The turns that run here, by tenant and id: they hear of a pause at once. */
  readonly turns = new Map<string, Turn>()

  constructor(settings: Settings<S>) {
    this.settings = settings
    this.resumes = new Rate(settings.limits.resumesPerMinute)
    const { turnsPerTenant, readersPerTurn } = settings.limits
    this.running = new Running(turnsPerTenant, 'limit.turns', 'too many turns at the same time')
    this.readers = new Running(readersPerTurn, 'limit.readers', 'too many readers of this turn')
  }
}

export class Exchange<S extends Session> {
  readonly shared: Shared<S>
  readonly settings: Settings<S>
  readonly request: Request
  readonly context: RequestContext
  /** Whose request it is, once that is known. */
  session: S | undefined
  #switches: Promise<TwoStage> | undefined

  constructor(shared: Shared<S>, request: Request, context: RequestContext) {
    this.shared = shared
    this.settings = shared.settings
    this.request = request
    this.context = context
  }

  report(error: unknown): void {
    quietly(() => this.settings.onError?.(error, this.request))
  }

  /** The refusal for an error of a turn or a store. Details of server errors are not sent. */
  refusalFor(error: unknown): Refusal {
    const refusal = isTurnlockError(error) ? refusalFor(error) : failed()
    if (refusal.status >= 500) this.report(error)
    return refusal
  }

  /** A refusal as a response. Its words may be those of the host's functions, or of the client. */
  async refuse(refusal: Refusal): Promise<Response> {
    const redactor = this.session && (await this.redactor(this.session))
    if (redactor) refusal.message = redactor.redact(refusal.message)
    return responseOf(refusal)
  }

  /** The switches, read once per request so that they do not change within it. */
  twoStage(): Promise<TwoStage> {
    const report = (error: unknown) => this.report(error)
    const { twoStage, policy } = this.settings
    return (this.#switches ??= twoStageFor(
      ...([twoStage, this.request, this.context.env, report] as const),
      policy?.maxTools,
    ))
  }

  /** The JSON object of the request. */
  async body(): Promise<Fields> {
    return new Fields(await this.#json(), '')
  }

  /** The body of a new turn: the client's, or that which `readBody` makes of it. */
  async startBody(session: S): Promise<Fields | Response> {
    const { readBody } = this.settings
    if (!readBody) return this.body()
    const given = await this.#json()
    let made: unknown
    try {
      made = await readBody(given, session, this.request)
    } catch (error) {
      this.report(error)
      throw invalid('the body', 'one that this server reads')
    }
    return made instanceof Response ? made : new Fields(made, '')
  }

  #json(): Promise<unknown> {
    return readJson(this.request, this.settings.limits.bodyBytes)
  }

  /** The host's value for this request. */
  given<T extends object>(value: PerRequest<T, S>, session: S): Promise<T> {
    return perRequest(value, this.request, session, this.context.env)
  }

  store(session: S): Promise<Store> {
    return this.given(this.settings.store, session)
  }

  /** The common options of starting and resuming. None of them comes from the body. */
  async common(session: S) {
    const { model, fallbacks, tools, onTrace, traces, answerSchema } = this.settings
    const redactor = onTrace && (await this.redactor(session))
    const trace = (event: TraceEvent) => {
      if (traces) this.#traced = this.#append(session, event)
      onTrace?.(redactor?.trace(event) ?? event, session)
    }
    return {
      model: await this.given(model, session),
      ...(fallbacks && { fallbacks: await this.given(fallbacks, session) }),
      tools: await this.given(tools, session),
      store: await this.store(session),
      tenant: session.tenant,
      ...(answerSchema && { answerSchema }),
      ...((onTrace || traces) && { onTrace: trace }),
    }
  }

  /** Where trace events are stored, if the host wants traces. */
  async traceStore(session: S): Promise<TraceStore | undefined> {
    const { traces } = this.settings
    this.#traceStore ??= traces && this.given<TraceStore>(traces.store, session)
    return this.#traceStore
  }
  #traceStore: Promise<TraceStore> | undefined

  /** Settles when the trace events so far are stored. Never rejects. */
  traced(): Promise<void> {
    return this.#traced
  }
  #traced = Promise.resolve()

  /** Stores a trace event after those before it. A failure is reported; the turn goes on. */
  async #append(session: S, event: TraceEvent): Promise<void> {
    const before = this.#traced
    try {
      await before
      await (await this.traceStore(session))?.append(session.tenant, event)
    } catch (error) {
      this.report(error)
    }
  }

  /** What runs beside turns needs of a request. */
  asked(session: S) {
    const report = (error: unknown) => this.report(error)
    const { settings, request, context } = this
    return { settings, request, context, session, running: this.shared.running, report }
  }

  /** Reads a turn's events after a `seq`, until the signal is aborted. */
  reader({ tenant }: S, store: Store, requestId: string, signal: AbortSignal) {
    return (after: number) => followTurn({ requestId, store, tenant, after, signal })
  }

  /** The redactor of this request, if the host has one. It is made once. */
  async redactor(session: S): Promise<Redactor | undefined> {
    const { redact } = this.settings
    this.#redactor ??= redact && this.given(redact, session)
    return this.#redactor
  }
  #redactor: Promise<Redactor> | undefined

  /** The events of a turn as a response. */
  stream(
    requestId: string,
    events: AsyncIterable<TurnEvent>,
    onLeave: () => void,
    writer?: Writer,
  ): Promise<Response> {
    return streamed(events, {
      text: writer ? (event) => writer.text(event) : turnEventText,
      ...(writer && { end: () => writer.end() }),
      refuse: (event) =>
        event.type === 'error'
          ? (refusalOf(event.code, event.message) ?? historyRefusal(event.code, event.message))
          : undefined,
      keepAliveMs: this.settings.limits.keepAliveMs,
      onLeave,
      onError: (error) => this.report(error),
      headers: { 'x-request-id': requestId, ...writer?.headers },
    })
  }
}
