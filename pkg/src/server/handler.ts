/** Handles a request: authorization, routing, and the response as JSON or a stream. */
import { isTurnlockError } from '../errors.js'
import { followTurn } from '../follow.js'
import { turnKey } from '../kept.js'
import { quietly } from '../quietly.js'
import { endTurn, pauseTurn, resumeTurn } from '../resume.js'
import type { Store } from '../stores/store.js'
import { runTurn, type Turn } from '../turn.js'
import type { Policy, TurnEvent, TurnResult } from '../types.js'
import {
  approvalsOf,
  checkContentType,
  droppedOf,
  type Fields,
  given,
  invalid,
  needed,
  readObject,
} from './body.js'
import { tellEnd, tellEvents } from './ends.js'
import { failed, failureOf, historyRefusal, isOurs, refusalFor } from './failures.js'
import { Rate, Running } from './limits.js'
import {
  perRequest,
  settingsOf,
  type HandlerOptions,
  type RequestContext,
  type Session,
  type Settings,
} from './options.js'
import { json, Refusal, refusalOf } from './refusal.js'
import { routeOf, type Route } from './routes.js'
import { listPassEvents, serveRun } from './serve.js'
import { asKept, streamed, turnEventText, TurnStream, whenGone } from './stream.js'
import { twoStageFor, type TwoStage } from './two-stage.js'

/**
 * Responds to a request. Never rejects. What runtimes pass beside the request (`Deno.serve`,
 * `Bun.serve`, Next) is no context, and is ignored.
 */
export type Handler = (request: Request, context?: RequestContext | object) => Promise<Response>

/**
 * Makes a handler of the chat routes, for any runtime with `Request` and `Response`.
 *
 * | below `basePath` | |
 * |---|---|
 * | `POST /messages` | a unified turn |
 * | `POST /messages_two_stage` | a two-stage turn; 404 `route.disabled` if it is switched off |
 * | `POST` on the base itself | the default one of the two |
 * | `POST …/resume` | continues a turn: `{ requestId, toolBatchId?, approvals?, results? }` |
 * | `POST …/cancel` | cancels a turn: `{ requestId, reason? }` → `{ requestId, status }` |
 * | `POST …/pause` | asks for a pause behind the tools: `{ requestId }` → `{ requestId, status }` |
 * | `GET …/:requestId/events` | the events of a turn after `Last-Event-ID` or `?after=` |
 * | `POST /passes/:name`, `/bundles/:name`, `/chains/:name` | what the host starts of the body |
 * | `GET /agents/events` | trace events of passes: `?plan_id=`, `?after=`, `?limit=` → `{ events }` |
 * | `GET` on the base itself | `{ twoStage, default }`: the switches and the default route's path |
 *
 * A turn starts with the body `{ messages, requestId?, projectId?, conversationId?, policy?: {
 * maxTools?, pauseAfterTools? } }`; other members are ignored. The response is `text/event-stream`,
 * or `{ error: { code, message } }` with a status of 400 or above.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * const handler = createHandler({
 *   model: openaiChat({ baseURL, model: 'gpt-5-mini', apiKey }),
 *   tools: { list_files },
 *   store: memoryStore(),
 *   authorize: async (request) => userOf(request.headers.get('authorization')),
 *   cors: { origins: ['https://app.example'] },
 * })
 */
export function createHandler<S extends Session = Session>(options: HandlerOptions<S>): Handler {
  const shared = new Shared(settingsOf(options))
  return (request, context = {}) => new Exchange(shared, request, context).respond()
}

/** State shared by all requests of a handler. */
class Shared<S extends Session> {
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

class Exchange<S extends Session> {
  readonly #shared: Shared<S>
  readonly #settings: Settings<S>
  readonly #request: Request
  readonly #context: RequestContext
  #switches: Promise<TwoStage> | undefined

  constructor(shared: Shared<S>, request: Request, context: RequestContext) {
    this.#shared = shared
    this.#settings = shared.settings
    this.#request = request
    this.#context = context
  }

  async respond(): Promise<Response> {
    const { origins } = this.#settings
    const response = await this.#answerOrRefuse()
    try {
      return origins.apply(this.#request, response)
    } catch (error) {
      // A response of the host that cannot be sent: its body was read, or it is that of an error.
      return origins.apply(this.#request, this.#refusalFor(error).toResponse())
    }
  }

  async #answerOrRefuse(): Promise<Response> {
    try {
      return await this.#answer()
    } catch (error) {
      const refusal = error instanceof Refusal ? error : this.#refusalFor(error)
      return refusal.toResponse()
    }
  }

  /** The refusal for an error of a turn or a store. Details of server errors are not sent. */
  #refusalFor(error: unknown): Refusal {
    const refusal = isTurnlockError(error) ? refusalFor(error) : failed()
    if (refusal.status >= 500) this.#report(error)
    return refusal
  }

  async #answer(): Promise<Response> {
    const { basePath, origins, served } = this.#settings
    const { method, url } = this.#request
    origins.check(this.#request)
    const { pathname } = new URL(url)
    const below = pathname === basePath || pathname.startsWith(`${basePath}/`)
    const route = below ? routeOf(pathname.slice(basePath.length), served) : undefined
    if (!route) throw new Refusal(404, 'route.not_found', 'there is no such route')
    if (method === 'OPTIONS') return origins.preflight(route.methods)
    if (!route.methods.includes(method)) {
      const allow = { allow: route.methods.join(', ') }
      throw new Refusal(405, 'route.method', `expected ${route.methods.join(' or ')}`, allow)
    }
    const mode = await this.#modeOf(route)
    const session = await this.#authorize()
    if (session instanceof Response) return session
    if (route.name === 'events') return this.#follow(session, route.requestId)
    if (route.name === 'pass_events') return listPassEvents(this.#exchange(session))
    if (method === 'GET') return this.#describe()
    // Before the callbacks below run and before the body is read.
    checkContentType(this.#request)
    if (route.name === 'resume') return this.#resume(session)
    if (route.name === 'cancel') return this.#cancel(session)
    if (route.name === 'pause') return this.#pause(session)
    if (route.name === 'run') return serveRun(this.#exchange(session), route, await this.#body())
    return this.#start(session, mode)
  }

  /**
   * The mode of a route. The switch is read only if a two-stage turn is to run. If it is off,
   * running turns can still be followed and cancelled.
   */
  async #modeOf(route: Route): Promise<'unified' | 'two_stage'> {
    const { name } = route
    if (name !== 'start' && name !== 'resume') return 'unified'
    const { prefix } = route
    if (prefix === 'unified' || (prefix === 'default' && name !== 'start')) return 'unified'
    const switches = await this.#twoStage()
    if (prefix === 'default') return switches.enabled && switches.default ? 'two_stage' : 'unified'
    if (switches.enabled) return 'two_stage'
    throw new Refusal(404, 'route.disabled', 'the two-stage route is switched off')
  }

  /** The switches, read once per request so that they do not change within it. */
  #twoStage(): Promise<TwoStage> {
    const report = (error: unknown) => this.#report(error)
    const { twoStage } = this.#settings
    return (this.#switches ??= twoStageFor(
      ...([twoStage, this.#request, this.#context.env, report] as const),
      this.#settings.policy?.maxTools,
    ))
  }

  async #authorize(): Promise<S | Response> {
    let session: S | Response | null | undefined
    try {
      session = await this.#settings.authorize(this.#request, this.#context.env)
    } catch (error) {
      this.#report(error)
    }
    if (session instanceof Response) return session
    // An empty tenant usually means a missing one, and would be shared by all clients.
    if (typeof session?.tenant === 'string' && session.tenant !== '') return session
    throw new Refusal(401, 'auth.required', 'this needs an authorized request')
  }

  async #describe(): Promise<Response> {
    const twoStage = await this.#twoStage()
    const name = twoStage.enabled && twoStage.default ? 'messages_two_stage' : 'messages'
    return json({ twoStage, default: `${this.#settings.basePath}/${name}` })
  }

  async #start(session: S, mode: 'unified' | 'two_stage'): Promise<Response> {
    const { limits, prepare, policy, keep } = this.#settings
    const body = await this.#body()
    const messages = needed(body.list('messages'), 'messages')
    if (messages.length === 0 || messages.length > limits.messages) {
      throw invalid('messages', `1 to ${limits.messages} messages`)
    }
    const options = {
      requestId: body.id('requestId') ?? crypto.randomUUID(),
      projectId:
        session.projectId === undefined ? (body.id('projectId') ?? null) : session.projectId,
      ...given('keep', keep),
      ...given('conversationId', body.text('conversationId', 256)),
      policy: mode === 'unified' ? (policy ?? {}) : await this.#policyOf(body.object('policy')),
    }
    const { requestId, conversationId } = options
    const about = { requestId, ...given('conversationId', conversationId) }
    const prepared = prepare ? await prepare(messages, session, this.#request, about) : messages
    const common = await this.#common(session)
    const begin = () => runTurn({ ...common, ...options, mode, messages: prepared })
    return this.#run(session, common.store, begin, prepared)
  }

  /** The server's policy, with the members that a request may set. */
  async #policyOf(asked: Fields | undefined): Promise<Policy> {
    const { policy = {} } = this.#settings
    const most = (await this.#twoStage()).maxTools
    const maxTools = asked?.count('maxTools') ?? policy.maxTools ?? most
    const pauseAfterTools = asked?.boolean('pauseAfterTools') === true || !!policy.pauseAfterTools
    return { ...policy, maxTools: Math.min(maxTools, most), pauseAfterTools }
  }

  async #resume(session: S): Promise<Response> {
    const body = await this.#body()
    const requestId = needed(body.id('requestId'), 'requestId')
    const options = {
      requestId,
      ...given('toolBatchId', body.count('toolBatchId')),
      ...given('approvals', approvalsOf(body.list('approvals'))),
      ...given('results', droppedOf(body.list('results'))),
    }
    this.#shared.resumes.use(session.tenant, requestId)
    const common = await this.#common(session)
    return this.#run(session, common.store, () => resumeTurn({ ...common, ...options }))
  }

  async #cancel(session: S): Promise<Response> {
    const body = await this.#body()
    const requestId = needed(body.id('requestId'), 'requestId')
    const reason = body.text('reason', 256)
    const store = await this.#store(session)
    const { tenant } = session
    const { ended, ...status } = await endTurn({
      ...{ requestId, store, tenant },
      ...given('reason', reason),
    })
    if (ended) {
      void tellEvents(this.#settings, tenant, ended)
      const over = ended.result.then((result) => this.#end(tenant, store, result))
      this.#context.waitUntil?.(over)
    }
    return json(status)
  }

  async #pause(session: S): Promise<Response> {
    const body = await this.#body()
    const requestId = needed(body.id('requestId'), 'requestId')
    const store = await this.#store(session)
    this.#shared.turns.get(turnKey(session.tenant, requestId))?.pause()
    return json(await pauseTurn({ requestId, store, tenant: session.tenant }))
  }

  async #follow(session: S, requestId: string | undefined): Promise<Response> {
    const seen =
      // A browser that reconnects sends it in the header; its URL is that of the first request.
      this.#request.headers.get('last-event-id') ||
      new URL(this.#request.url).searchParams.get('after') ||
      '0'
    if (!/^\d{1,15}$/.test(seen)) throw invalid('Last-Event-ID', 'the seq of an event')
    const unknown = refusalOf('turn.not_found')
    if (requestId === undefined) throw unknown
    const { readers } = this.#shared
    const key = turnKey(session.tenant, requestId)
    const store = await this.#store(session)
    const left = new AbortController()
    const leave = () => left.abort()
    whenGone(this.#request, leave)
    const events = this.#reader(session, store, requestId, left.signal)(Number(seen))
    readers.enter(key)
    const counted = this.#watched(events, () => readers.leave(key))
    return this.#stream(requestId, counted, leave)
  }

  /** Reports failures of the store. They are not stored, so each reader reports its own. */
  async *#watched(
    events: AsyncIterable<TurnEvent>,
    over: () => void,
  ): AsyncGenerator<TurnEvent, void, undefined> {
    try {
      for await (const event of events) {
        if (event.type === 'error' && event.code.startsWith('store.')) {
          this.#report(failureOf(event))
        }
        yield event
      }
    } finally {
      over()
    }
  }

  #exchange(session: S) {
    const report = (error: unknown) => this.#report(error)
    const { running } = this.#shared
    const [settings, request, context] = [this.#settings, this.#request, this.#context]
    return { settings, request, context, session, running, report }
  }

  #body(): Promise<Fields> {
    return readObject(this.#request, this.#settings.limits.bodyBytes)
  }

  #store(session: S) {
    return perRequest(this.#settings.store, this.#request, session, this.#context.env)
  }

  /** The common options of starting and resuming. None of them comes from the body. */
  async #common(session: S) {
    const { model, tools, onTrace } = this.#settings
    const { env } = this.#context
    return {
      model: await perRequest(model, this.#request, session, env),
      tools: await perRequest(tools, this.#request, session, env),
      store: await this.#store(session),
      tenant: session.tenant,
      ...(onTrace && {
        onTrace: (event: Parameters<typeof onTrace>[0]) => onTrace(event, session),
      }),
    }
  }

  /** Runs a turn. It continues when its client disconnects, unless `clientGone` is `stop`. */
  #run(session: S, store: Store, begin: () => Turn, messages?: unknown[]): Promise<Response> {
    const { running } = this.#shared
    running.enter(session.tenant)
    let turn: Turn
    try {
      turn = begin()
    } catch (error) {
      running.leave(session.tenant)
      throw error
    }
    const key = turnKey(session.tenant, turn.requestId)
    // One with the id of a turn that runs here ends with a conflict, and does not replace it.
    if (!this.#shared.turns.has(key)) this.#shared.turns.set(key, turn)
    void tellEvents(this.#settings, session.tenant, turn)
    const over = turn.result.then(async (result) => {
      const { error } = result
      running.leave(session.tenant)
      if (this.#shared.turns.get(key) === turn) this.#shared.turns.delete(key)
      if (error && isOurs(error)) this.#report(failureOf(error))
      await this.#end(session.tenant, store, result, messages)
    })
    const stops = this.#settings.clientGone === 'stop'
    if (!stops) this.#context.waitUntil?.(over)
    const left = new AbortController()
    const follow = this.#reader(session, store, turn.requestId, left.signal)
    const stream = new TurnStream(turn)
    const leave = () => {
      left.abort()
      if (stops) turn.cancel('the client left')
      void stream.leave()
    }
    // Some hosts cancel the body only at their next write, or not at all while they cannot write,
    // but abort the request's signal at once.
    whenGone(this.#request, leave)
    return this.#stream(turn.requestId, asKept(stream, follow), leave)
  }

  async #end(tenant: string, store: Store, result: TurnResult, messages?: unknown[]) {
    try {
      await tellEnd(this.#settings, tenant, store, result, messages)
    } catch (thrown) {
      this.#report(thrown)
    }
  }

  /** Reads a turn's events after a `seq`, until the signal is aborted. */
  #reader({ tenant }: S, store: Store, requestId: string, signal: AbortSignal) {
    return (after: number) => followTurn({ requestId, store, tenant, after, signal })
  }

  /** The events of a turn as a response. */
  #stream(
    requestId: string,
    events: AsyncIterable<TurnEvent>,
    onLeave: () => void,
  ): Promise<Response> {
    return streamed(events, {
      text: turnEventText,
      refuse: (event) =>
        event.type === 'error'
          ? (refusalOf(event.code) ?? historyRefusal(event.code, event.message))
          : undefined,
      keepAliveMs: this.#settings.limits.keepAliveMs,
      ...{ onLeave, onError: (error) => this.#report(error) },
      headers: { 'x-request-id': requestId },
    })
  }

  #report(error: unknown): void {
    quietly(() => this.#settings.onError?.(error, this.#request))
  }
}
