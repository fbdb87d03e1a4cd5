/** The options of `createHandler`, checked once. */
import { TurnlockError } from '../errors.js'
import type { Keep } from '../kept.js'
import type { Model } from '../models/model.js'
import type { Store } from '../stores/store.js'
import type { Tool } from '../tools.js'
import type { Policy, TraceEvent } from '../types.js'
import { Cors, type CorsOptions } from './cors.js'
import { limitsOf, type ServerLimits } from './limits.js'
import type { Environment, TwoStageOption } from './two-stage.js'

/** The client of a request. Further members from `authorize` are passed to the other callbacks. */
export interface Session {
  /** The owner of all turns: ids of one tenant are unknown to others. Not empty. */
  tenant: string
  /** Replaces the one in the request. Without it, the client's project id is not verified. */
  projectId?: string | null
}

/** A value, or a function that makes it for each request from the session, without the body. */
export type PerRequest<T, S> =
  T | ((request: Request, session: S, env: Environment | undefined) => T | Promise<T>)

/** The options of `createHandler`. */
export interface HandlerOptions<S extends Session = Session> {
  /** The model, from `openaiChat`, `anthropic` or `customModel`. */
  model: PerRequest<Model, S>
  /** The tools by name. @defaultValue {} */
  tools?: PerRequest<Record<string, Tool>, S>
  /** The store of the turns. All instances of the handler must share it. */
  store: PerRequest<Store, S>
  /**
   * Identifies the client from the request's headers; it must not read the body. `null`,
   * `undefined` or an exception leads to a 401. A response is sent unchanged.
   */
  authorize(
    request: Request,
    env: Environment | undefined,
  ): S | Response | null | undefined | Promise<S | Response | null | undefined>
  /** The switches of the two-stage route. The environment can change them without a rebuild. */
  twoStage?: TwoStageOption
  /**
   * The policy of every turn. Requests can set `maxTools`, up to `twoStage.maxTools`, and
   * `pauseAfterTools`.
   */
  policy?: Policy
  /** Prepares the history of a turn: adds a system prompt, or removes messages of the client. */
  prepare?(messages: unknown[], session: S, request: Request): unknown[] | Promise<unknown[]>
  /** How much of a turn is stored, and for how long. */
  keep?: Keep
  cors?: CorsOptions
  limits?: ServerLimits
  /** @defaultValue "/api/chat" */
  basePath?: string
  /**
   * What happens to a turn whose client disconnects: it continues and can be followed again, or
   * it is cancelled. @defaultValue "continue"
   */
  clientGone?: 'continue' | 'stop'
  /** Receives the trace events of every turn. Its exceptions are ignored. */
  onTrace?(event: TraceEvent, session: S): void
  /** Receives server errors, including those of models and stores. Clients get no details. */
  onError?(error: unknown, request: Request): void
}

/** The host's context of a request. */
export interface RequestContext {
  /** Environment variables: a worker's `env`, Hono's `c.env`. Default: those of the process. */
  env?: Environment | undefined
  /** Keeps the host running until a turn ends whose client has disconnected. */
  waitUntil?(promise: Promise<unknown>): void
}

/** Options with their defaults. */
export type Settings<S extends Session> = HandlerOptions<S> & {
  tools: PerRequest<Record<string, Tool>, S>
  twoStage: TwoStageOption
  clientGone: 'continue' | 'stop'
  basePath: string
  limits: Required<ServerLimits>
  origins: Cors
}

/** @throws TurnlockError `options.invalid` */
export function settingsOf<S extends Session>(options: HandlerOptions<S>): Settings<S> {
  const invalid = (what: string) => new TurnlockError('options.invalid', what)
  const {
    basePath = '/api/chat',
    clientGone = 'continue',
    twoStage = {},
    tools = {},
  } = options ?? {}
  if (typeof options?.authorize !== 'function') {
    throw invalid('`authorize`: expected a function that gives the tenant of a request')
  }
  if (!options.model) throw invalid('`model`: expected a model, or a function that gives one')
  if (!options.store) throw invalid('`store`: expected a store, or a function that gives one')
  if (!/^(\/[\w.~-]+)*\/?$/.test(basePath))
    throw invalid('`basePath`: expected a path, such as /api/chat')
  if (clientGone !== 'continue' && clientGone !== 'stop') {
    throw invalid('`clientGone`: expected continue or stop')
  }
  if (!['object', 'function'].includes(typeof twoStage) || twoStage === null) {
    throw invalid('`twoStage`: expected values, or a function that gives them')
  }
  return {
    ...options,
    ...{ tools, twoStage, clientGone },
    basePath: basePath.replace(/\/$/, ''),
    limits: limitsOf(options.limits),
    origins: new Cors(options.cors),
  }
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
