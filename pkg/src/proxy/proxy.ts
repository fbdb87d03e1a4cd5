/** Handles a request: whose it is, where it goes, and what comes back. */
import type { ProxyOptions, Upstream } from '../generated/proxy.js'
import type { Handler } from '../server/handler.js'
import { readBody } from '../server/bytes.js'
import { Refusal } from '../server/refusal.js'
import { whenGone } from '../server/stream.js'
import { Conversations } from './conversation.js'
import { refusalResponse } from './errors.js'
import { Exchange } from './exchange.js'
import { addressOf, queryOf, REPORT, requestHeaders, responseHeaders } from './headers.js'
import { limitsOf, settingsOf, upstreamOf } from './options.js'
import type { ProxySession, Settings } from './options.js'
import { wireOf } from './routes.js'
import { streamOf } from './source.js'
import { WatchedRequest } from './watched-request.js'
import type { Wire } from './wire.js'

/**
 * Makes a proxy in front of a provider, for any runtime with `Request` and `Response`. Clients reach
 * it by their `baseURL`; they need no other change.
 *
 * `POST` to paths that end with `/chat/completions`, `/responses` or `/messages`, and to the methods
 * `generateContent` and `streamGenerateContent` of Gemini, is watched; every other path below
 * `basePath` goes to the provider as it is. A stream passes byte for byte, unless `bound` refuses a
 * call of it. The header `x-turnlock-report` says what was changed before the response began,
 * `onReport` everything.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * const proxy = createProxy({
 *   upstream: { url: 'https://api.openai.com/v1', apiKey },
 *   authorize: async (request) => userOf(request.headers.get('authorization')),
 *   onReport: (report) => console.log(report.repairs, report.blocked),
 * })
 */
export function createProxy<S extends ProxySession = ProxySession>(
  options: ProxyOptions<S>,
): Handler {
  const settings = settingsOf(options)
  const conversations = settings.store && new Conversations(settings.store)
  return (request, context = {}) =>
    new ProxiedRequest(settings, new Exchange(settings, request, context, conversations)).respond()
}

class ProxiedRequest<S extends ProxySession> {
  readonly #settings: Settings<S>
  readonly #exchange: Exchange<S>
  readonly #url: URL
  readonly #path: string
  readonly #wire: Wire | undefined

  constructor(settings: Settings<S>, exchange: Exchange<S>) {
    this.#settings = settings
    this.#exchange = exchange
    this.#url = new URL(exchange.request.url)
    this.#path = this.#url.pathname.slice(settings.basePath.length)
    this.#wire = wireOf(this.#path)
  }

  async respond(): Promise<Response> {
    const { origins } = this.#settings
    const { request } = this.#exchange
    let response: Response
    try {
      origins.check(request)
      // Throws for a response of the host whose body was read, or which is that of an error.
      response = origins.apply(request, await this.#answer())
    } catch (error) {
      const refusal = this.#exchange.refusalFor(error)
      response = origins.apply(request, refusalResponse(refusal, this.#wire?.name))
    }
    if (response.headers.has('access-control-expose-headers')) {
      response.headers.append('access-control-expose-headers', REPORT)
    }
    return response
  }

  async #answer(): Promise<Response> {
    const { basePath } = this.#settings
    const { method, headers } = this.#exchange.request
    const { pathname } = this.#url
    if (pathname !== basePath && !pathname.startsWith(`${basePath}/`)) {
      throw new Refusal(404, 'route.not_found', 'there is no such route')
    }
    // The only answer to which Codex falls back to POST at once.
    if (headers.has('upgrade')) {
      throw new Refusal(426, 'request.upgrade', 'this server speaks HTTP only')
    }
    if (method === 'OPTIONS' && headers.has('access-control-request-method')) {
      return this.#preflight()
    }
    // Claude Code's probe.
    if (method === 'HEAD' && /^\/?$/.test(this.#path)) return new Response(null)
    const session = await this.#authorize()
    return session instanceof Response ? session : this.#forward(session)
  }

  /** A page may send whatever header its client library sends: unknown ones pass. */
  #preflight(): Response {
    const response = this.#settings.origins.preflight(['GET', 'POST', 'DELETE'])
    const requested = this.#exchange.request.headers.get('access-control-request-headers')
    if (requested) response.headers.set('access-control-allow-headers', requested)
    return response
  }

  async #authorize(): Promise<S | Response> {
    const { request, context } = this.#exchange
    let session: S | Response | null | undefined
    try {
      session = await this.#settings.authorize(request, context.env)
    } catch (error) {
      this.#exchange.reportError(error)
    }
    if (session instanceof Response) return session
    if (typeof session?.tenant === 'string' && session.tenant !== '') return session
    throw new Refusal(401, 'auth.required', 'this needs an authorized request')
  }

  async #forward(session: S): Promise<Response> {
    const exchange = this.#exchange
    exchange.limits = limitsOf(session.limits, this.#settings.limits)
    const upstream = await this.#upstream(session)
    const address = addressOf(upstream, this.#path, queryOf(exchange.request, upstream))
    const wire = exchange.request.method === 'POST' ? this.#wire : undefined
    // What continues without its client, for its report, is cancelled by nobody.
    const continues = this.#settings.clientGone === 'continue' && wire !== undefined
    whenGone(exchange.request, () => exchange.leave(continues))
    if (!wire) return this.#pass(upstream, address)
    const { request } = exchange
    return new WatchedRequest(exchange, wire, session, {
      send: (body, isDecoded) =>
        exchange.send(address, {
          method: 'POST',
          headers: requestHeaders(request, upstream, isDecoded, this.#settings.forwarded),
          body: body as Uint8Array<ArrayBuffer>,
        }),
      headersFor: ({ headers }) => responseHeaders(headers),
    }).respond()
  }

  async #upstream(session: S): Promise<Upstream> {
    const { upstream } = this.#settings
    if (typeof upstream !== 'function') return upstreamOf(upstream)
    const route = this.#wire?.name ?? 'other'
    return upstreamOf(await upstream({ session, route, env: this.#exchange.context.env }))
  }

  /** Passes a request of which nothing is known. */
  async #pass(upstream: Upstream, address: string): Promise<Response> {
    const { request, limits } = this.#exchange
    const { method, headers, body } = request
    // Some providers refuse bodies of unknown length.
    const isShort = Number(headers.get('content-length') ?? NaN) <= limits.bodyBytes
    const requestBody = body && isShort ? await readBody(request, limits.bodyBytes) : body
    const response = await this.#exchange.send(address, {
      method,
      headers: requestHeaders(request, upstream, false, this.#settings.forwarded),
      ...(requestBody && { body: requestBody as BodyInit, duplex: 'half' }),
    })
    const onIdle = (error: Error) => this.#exchange.reportError(error)
    const source = response.body && this.#exchange.source(response.body, onIdle)
    return new Response(source && streamOf(source), {
      status: response.status,
      headers: responseHeaders(response.headers),
    })
  }
}
