/** What `createHandler` takes, checked once. */
import { TurnlockError } from '../errors.js'
import type { Keep } from '../kept.js'
import type { Model } from '../models/model.js'
import type { Store } from '../stores/store.js'
import type { Tool } from '../tools.js'
import type { Policy, TraceEvent } from '../types.js'
import { Cors, type CorsOptions } from './cors.js'
import { limitsOf, type ServerLimits } from './limits.js'
import type { Environment, TwoStageOption } from './two-stage.js'

/** Who asks. What else `authorize` gives along, reaches the other callbacks. */
export interface Session {
  /** To whom every turn belongs: ids of one tenant mean nothing to another. Not empty. */
  tenant: string
  /** Takes the place of the one in the request; without it, a project is the client's mere claim. */
  projectId?: string | null
}

/** A value, or what makes it for each request. It is given the session, never the body. */
export type PerRequest<T, S> =
  T | ((request: Request, session: S, env: Environment | undefined) => T | Promise<T>)

/** What `createHandler` takes. */
export interface HandlerOptions<S extends Session = Session> {
  /** From `openaiChat`, `anthropic` or `customModel`. */
  model: PerRequest<Model, S>
  /** By name. @defaultValue {} */
  tools?: PerRequest<Record<string, Tool>, S>
  /** Where turns are kept: one that all instances of the handler share. */
  store: PerRequest<Store, S>
  /**
   * Who asks, from the request's headers (its body is not to be read). Nothing (`null`) or an
   * exception: 401. A response is sent as it is.
   */
  authorize(
    request: Request,
    env: Environment | undefined,
  ): S | Response | null | undefined | Promise<S | Response | null | undefined>
  /** The switches of the two-stage route; they follow the environment too, without a rebuild. */
  twoStage?: TwoStageOption
  /** The policy of every turn. Requests set `maxTools`, at most `twoStage.maxTools`, and may ask for `pauseAfterTools`. */
  policy?: Policy
  /** The history that a turn is given: the place for a system prompt, and to drop what a client may not say. */
  prepare?(messages: unknown[], session: S, request: Request): unknown[] | Promise<unknown[]>
  /** How much of a turn is kept, and for how long. */
  keep?: Keep
  cors?: CorsOptions
  limits?: ServerLimits
  /** @defaultValue "/api/chat" */
  basePath?: string
  /** What becomes of a turn whose client goes away: it goes on and can be attached to again, or is cancelled. @defaultValue "continue" */
  clientGone?: 'continue' | 'stop'
  /** Gets the trace events of every turn; what it throws is ignored. */
  onTrace?(event: TraceEvent, session: S): void
  /** Gets what went wrong on the server (its model and its store included), which clients are not told. */
  onError?(error: unknown, request: Request): void
}

/** What a host knows of one request. */
export interface RequestContext {
  /** Variables: `env` of a worker, `c.env` of Hono. Without it, those of the process. */
  env?: Environment | undefined
  /** Keeps the host awake until a turn is over whose client has left. */
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

/** A callback's value for this request, or the value itself. */
export async function perRequest<T extends object, S>(
  given: PerRequest<T, S>,
  request: Request,
  session: S,
  env: Environment | undefined,
): Promise<T> {
  return typeof given === 'function' ? given(request, session, env) : given
}
