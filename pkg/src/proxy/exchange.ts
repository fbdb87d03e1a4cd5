/** A client's request, and the provider's answer to it. */
import type { RequestContext } from '../server/options.js'
import { clientLeft, Refusal } from '../server/refusal.js'
import { quietly } from '../shared/quietly.js'
import type { ProxyLimits, ProxySession, Settings } from './options.js'
import type { Filled } from '../options.js'
import type { Conversations } from './conversation.js'
import { sourceOf, type Source } from './source.js'

/** What a watched request needs of its client and its provider. */
export interface WatchedExchange {
  readonly settings: WatchSettings
  readonly request: Request
  readonly context: RequestContext
  readonly began: number
  readonly limits: Filled<ProxyLimits>
  /** The responses that later requests may continue, if there is a store. */
  readonly conversations?: Conversations | undefined
  abort(): void
  onLeave(listener: () => void): void
  reportError(error: unknown): void
  refusalFor(error: unknown): Refusal
  source(body: ReadableStream<Uint8Array>): Source
}

/** The settings of a watched request. */
export type WatchSettings = Pick<
  Settings<ProxySession>,
  'mode' | 'policy' | 'repairOnError' | 'clientGone' | 'decode' | 'onReport'
>

/** How a watched request reaches its provider. */
export interface Route {
  /** @param isDecoded whether the body is no longer compressed */
  send(body: Uint8Array, isDecoded: boolean): Promise<Response>
  /** The headers that the client gets. */
  headersFor(response: Response): Headers
}

/** A request of a client with the time limits and the abort signal of its request to the provider. */
export class Exchange<S extends ProxySession> implements WatchedExchange {
  readonly settings: Settings<S>
  readonly request: Request
  readonly context: RequestContext
  readonly conversations: Conversations | undefined
  /** When the client's request arrived, in milliseconds. */
  readonly began = Date.now()
  /** The limits of the session; those of the proxy until the session is known. */
  limits: Settings<S>['limits']
  readonly #abort = new AbortController()
  #leaveListener: (() => void) | undefined

  constructor(
    settings: Settings<S>,
    request: Request,
    context: RequestContext,
    conversations: Conversations | undefined,
  ) {
    this.settings = settings
    this.conversations = conversations
    this.request = request
    this.context = context
    this.limits = settings.limits
  }

  /** Ends the request to the provider, and its response. */
  abort(): void {
    this.#abort.abort()
  }

  /** Sets the listener that is called at once when the client leaves. */
  onLeave(listener: () => void): void {
    this.#leaveListener = listener
  }

  /** The client has left. The request to the provider ends, unless it `continues`. */
  leave(continues: boolean): void {
    this.#leaveListener?.()
    if (!continues) this.abort()
  }

  /** Reports an error to the host. */
  reportError(error: unknown): void {
    quietly(() => this.settings.onError?.(error, this.request))
  }

  /** The refusal that the client gets for an error. Errors that are no refusals are reported. */
  refusalFor(error: unknown): Refusal {
    if (error instanceof Refusal) return error
    this.reportError(error)
    if (this.request.signal.aborted) return clientLeft()
    return new Refusal(500, 'proxy.failed', 'the proxy failed')
  }

  /** A body of the provider, with `limits.idleMs`. */
  source(body: ReadableStream<Uint8Array>, onIdle?: (error: Error) => void): Source {
    return sourceOf(body, this.limits.idleMs, (error) => {
      onIdle?.(error)
      this.abort()
    })
  }

  /**
   * Sends a request to the provider.
   *
   * @throws Refusal for a provider that does not answer, or with a redirect or an invalid status
   */
  async send(address: string, init: RequestInit & { duplex?: string }): Promise<Response> {
    return acceptable(await this.#fetch(address, init))
  }

  async #fetch(address: string, init: RequestInit): Promise<Response> {
    const { fetch: hostFetch } = this.settings
    const { signal } = this.#abort
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.abort()
    }, this.limits.firstByteMs)
    try {
      const send = hostFetch ?? fetch
      return await send(address, { ...init, signal, redirect: 'manual' })
    } catch (error) {
      if (isLate) throw new Refusal(504, 'model.timeout', 'the provider did not answer in time')
      if (signal.aborted) throw clientLeft()
      this.reportError(error)
      throw new Refusal(502, 'model.unreachable', 'the provider was not reached')
    } finally {
      clearTimeout(timer)
    }
  }
}

/** @throws Refusal for a redirect, and for a status with which no `Response` can be constructed */
function acceptable(response: Response): Response {
  const { status, type } = response
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)
  if (!isRedirect && status >= 200 && status <= 599) return response
  response.body?.cancel().catch(() => {})
  const answer = isRedirect ? 'a redirect' : `the status ${status}`
  const code = isRedirect ? 'model.redirected' : 'model.status'
  throw new Refusal(502, code, `the provider answered with ${answer}`)
}
