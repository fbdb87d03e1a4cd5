/** The options of `createHandler`, checked once. */
import { checkFunctions } from '../checks.js'
import { wrong } from '../errors.js'
import { HANDLER_OPTIONS } from '../generated/rows.js'
import type { HandlerOptions, ServerLimits } from '../generated/server.js'
import { readOptions, type Filled, type Method } from '../options.js'
import type { Redactor } from '../redactor/index.js'
import { answerOf, type Tool } from '../tools/tools.js'
import { checkStore } from '../stores/store.js'
import { keepOptions } from '../turn/kept.js'
import { checkFallbacks, checkModel, checkTurn, THREAD, wireTools } from '../turn/turn.js'
import { Cors } from './cors.js'
import { loadFormat, type Format } from './format.js'
import { limitsOf } from './limits.js'
import { checkPassEvents, memoryPassEvents, type PassEvents } from './pass-events.js'
import type { RunKind, Served } from './routes.js'
import { checkRuns } from './runs.js'
import { tracesOf, type TraceSettings } from './traces.js'
import { checkActionTools, checkSwitches } from './two-stage.js'
import type { ActionTools, Environment, TwoStageOption } from './two-stage.js'

export type { HandlerOptions }

/** What `prepare` is told of a turn. */
export interface About {
  requestId: string
  conversationId?: string | undefined
}

/** The turn of an event. */
export interface EventOf extends About {
  tenant: string
  /** The redactor of `redact` for this request. The event itself is not redacted. */
  redactor?: Redactor
}

/** The turn that has ended. */
export interface EndOf extends About {
  tenant: string
  /** The history that it began with. */
  messages: unknown[]
}

/** Prepares the history of a turn. */
export type Prepare<S> = Method<
  [messages: unknown[], session: S, request: Request, about: About],
  unknown[] | Promise<unknown[]>
>

/** The body of a request for a new turn. */
export interface TurnBody {
  /** The history, the user's message last. */
  messages: unknown[]
  /** 1 to 128 of `A-Z a-z 0-9 . _ : -`. @defaultValue a random one */
  requestId?: string | undefined
  /** As `requestId`. Ignored if the session has a `projectId`. */
  projectId?: string | undefined
  /** At most 256 characters. */
  conversationId?: string | undefined
  /** The client's wishes, which the handler bounds. */
  policy?:
    | {
        maxTools?: number | undefined
        pauseAfterTools?: boolean | undefined
        actionTools?: ActionTools | undefined
      }
    | undefined
  /** With `format`: the members of its bodies. Other members are ignored. */
  [member: string]: unknown
}

/** Returns `responseId` of the last turn of a conversation. */
export type PreviousResponseId<S> = Method<
  [about: About, session: S, request: Request],
  string | undefined | Promise<string | undefined>
>

/** Makes the body of a new turn of any JSON, which is untrusted and of type `any` as parsed JSON is. */
export type ReadBody<S> = Method<
  [body: any, session: S, request: Request],
  TurnBody | Response | Promise<TurnBody | Response>
>

/** The client of a request. Further members from `authorize` are passed to the other callbacks. */
export interface Session {
  /** The owner of all turns: ids of one tenant are unknown to others. Not empty. */
  tenant: string
  /** Replaces the one in the request. Without it, the client's project id is not verified. */
  projectId?: string | null | undefined
}

/** A value, or a function that makes it for each request from the session, without the body. */
export type PerRequest<T, S> =
  T | ((request: Request, session: S, env: Environment | undefined) => T | Promise<T>)

/** The host's context of a request. */
export interface RequestContext {
  /** Environment variables: a worker's `env`, Hono's `c.env`. Default: those of the process. */
  env?: Environment | undefined
  /** Keeps the host running until a turn ends whose client has disconnected. */
  waitUntil?: Method<[promise: Promise<unknown>], void> | undefined
}

/** Options with their defaults. */
export type Settings<S extends Session> = Omit<HandlerOptions<S>, 'traces'> & {
  traces: TraceSettings<S> | undefined
  served: Served
  passEvents: PerRequest<PassEvents, S>
  tools: PerRequest<Record<string, Tool>, S>
  twoStage: TwoStageOption
  clientGone: 'continue' | 'stop'
  basePath: string
  limits: Filled<ServerLimits>
  origins: Cors
  /** That of other clients, if the handler has one. */
  loadFormat: (() => Promise<Format>) | undefined
}

const RUN_KINDS: readonly RunKind[] = ['passes', 'bundles', 'chains']

/** @throws TurnlockError `options.invalid` */
export function settingsOf<S extends Session>(options: HandlerOptions<S>): Settings<S> {
  options = readOptions(options, HANDLER_OPTIONS)
  const { basePath = '/api/chat', clientGone = 'continue', twoStage = {}, tools = {} } = options
  if (typeof options.authorize !== 'function') {
    throw wrong('authorize', 'a function that gives the tenant of a request')
  }
  if (typeof basePath !== 'string' || !/^(\/[\w.~-]+)*\/?$/.test(basePath))
    throw wrong('basePath', 'a path, such as /api/chat')
  if (clientGone !== 'continue' && clientGone !== 'stop') {
    throw wrong('clientGone', 'continue or stop')
  }
  if (!['object', 'function'].includes(typeof twoStage) || twoStage === null) {
    throw wrong('twoStage', 'values, or a function that gives them')
  }
  const { passes, passEvents, format } = options
  if (format !== undefined && format !== 'ai-sdk' && format !== 'ag-ui') {
    throw wrong('format', 'ai-sdk or ag-ui')
  }
  const { redact } = options
  if (
    redact !== undefined &&
    typeof redact !== 'function' &&
    typeof redact?.events !== 'function'
  ) {
    throw wrong('redact', 'a redactor, or a function that gives one')
  }
  const { readBody, prepare, previousResponseId, system, onTrace, onEvent, onEnd, onError } =
    options
  checkFunctions({ readBody, prepare, previousResponseId, onTrace, onEvent, onEnd, onError })
  if (typeof (system ?? '') !== 'string') checkFunctions({ system })
  answerOf(options.answerSchema)
  if (typeof (options.trustSystem ?? false) !== 'boolean')
    throw wrong('trustSystem', 'true or false')
  if (typeof twoStage === 'object') checkSwitches(twoStage)
  checkTurns(options, tools)
  checkThread(options)
  for (const kind of RUN_KINDS) checkRuns(kind, options[kind])
  checkPassEvents(passEvents)
  const traces = tracesOf(options.traces)
  return {
    ...options,
    traces,
    tools,
    twoStage,
    clientGone,
    passEvents: passEvents ?? memoryPassEvents(),
    served: {
      // Never through the prototype.
      has: (kind, name) => Object.hasOwn(options[kind] ?? {}, name),
      passEvents: passes !== undefined || passEvents !== undefined,
      traces: traces !== undefined,
      chats: format === 'ai-sdk',
    },
    basePath: basePath.replace(/\/$/, ''),
    limits: limitsOf(options.limits),
    origins: new Cors(options.cors, options.hosts),
    loadFormat: format && (() => loadFormat(format)),
  }
}

/** Throws for what every turn would refuse, but for what a function gives of each request. */
function checkTurns<S extends Session>(
  { model, store, policy, keep, twoStage }: HandlerOptions<S>,
  tools: HandlerOptions<S>['tools'],
): void {
  if (typeof model !== 'function') checkModel(model)
  if (typeof store !== 'function') checkStore(store)
  const declared = typeof tools === 'function' ? undefined : wireTools(tools)
  if (typeof tools === 'object' && typeof twoStage === 'object') {
    checkActionTools(twoStage.actionTools, tools)
  }
  // The history and the id are those of a request.
  checkTurn({
    dialect: 'openai-chat',
    messages: [{}],
    requestId: 'any',
    keep: keepOptions('', undefined, keep),
    ...(declared
      ? { tools: declared, policy }
      : { policy: policy && { ...policy, actionTools: [] } }),
  })
}

/** Throws for a strategy that no turn could have. */
function checkThread<S extends Session>(options: HandlerOptions<S>): void {
  const { strategy = 'reconstruct', model, fallbacks, previousResponseId } = options
  if (typeof fallbacks !== 'function') checkFallbacks(fallbacks)
  if (strategy === 'reconstruct') {
    if (previousResponseId) throw wrong('previousResponseId', 'none without the strategy thread')
    return
  }
  const keepsThreads = typeof model === 'function' || model.threads === true
  if (strategy !== 'thread' || !keepsThreads) throw wrong('strategy', THREAD)
  const hasFallbacks = typeof fallbacks === 'function' || !!fallbacks?.length
  if (hasFallbacks) throw wrong('fallbacks', 'none with the strategy thread')
}

/** Returns the callback's value for this request, or the value itself. */
export async function perRequest<T extends object, S>(
  given: PerRequest<T, S>,
  request: Request,
  session: S,
  env: Environment | undefined,
): Promise<T> {
  return typeof given === 'function' ? given(request, session, env) : given
}
