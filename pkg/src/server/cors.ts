/** CORS: only listed origins and the handler's own origin may call, and only by a listed name. */
import { isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { CorsOptions } from '../generated/server.js'
import { HOST } from '../shared/host.js'
import { Refusal } from './refusal.js'

export type { CorsOptions }

const HEADERS = ['content-type', 'authorization', 'last-event-id']
const EXPOSED = 'x-request-id, retry-after'

/** Where the two lists are options: what an error names, so that a reader finds them. */
const PLACES = {
  handler: {
    origins: 'Add it to `cors.origins` of `createHandler`.',
    hosts: 'Add it to `hosts` of `createHandler`.',
  },
  proxy: {
    origins:
      'Add it to `cors.origins` of `createProxy`; `turnlock proxy` allows its own origin only.',
    hosts: 'Add it to `hosts` of `createProxy`, or to `--allow-host` of `turnlock proxy`.',
  },
}

export class Cors {
  readonly #origins: Set<string>
  readonly #credentials: boolean
  readonly #maxAge: number
  readonly #headers: string
  readonly #hosts: Set<string> | undefined

  readonly #place: keyof typeof PLACES

  /** @throws TurnlockError `options.invalid` */
  constructor(
    given: CorsOptions | null = {},
    hosts?: readonly string[],
    place: keyof typeof PLACES = 'handler',
  ) {
    this.#place = place
    const options = given ?? {}
    if (!isObject(options as unknown)) throw wrong('cors', 'an object')
    const { origins = [], credentials = false, maxAge = 600, headers = [] } = options
    if (!(Number.isSafeInteger(maxAge) && maxAge >= 0)) throw wrong('cors.maxAge', 'whole seconds')
    const isHost = (host: unknown) => typeof host === 'string' && HOST.test(host)
    if (hosts !== undefined && !(Array.isArray(hosts) && hosts.every(isHost))) {
      throw wrong('hosts', 'names such as app.example or localhost:8080')
    }
    this.#hosts = hosts && new Set(hosts.map((host) => host.toLowerCase()))
    if (!Array.isArray(origins)) throw wrong('cors.origins', 'a list')
    // A text that is true would let cookies pass.
    if (typeof credentials !== 'boolean') throw wrong('cors.credentials', 'true or false')
    if (!Array.isArray(headers) || !headers.every(isName)) {
      throw wrong('cors.headers', 'a list')
    }
    for (const origin of origins as unknown[]) {
      if (origin === '*' && credentials) throw wrong('cors.origins', 'no "*" with credentials')
      if (origin !== '*' && !isOrigin(origin)) {
        throw wrong('cors.origins', 'origins such as https://app.example, without a path')
      }
    }
    this.#origins = new Set(origins)
    this.#credentials = credentials
    this.#maxAge = maxAge
    this.#headers = [...HEADERS, ...headers].join(', ')
  }

  /**
   * Throws for a request by another name, and for a browser's request from an origin that is not
   * allowed. Requests without an `Origin` header are allowed, unless `sec-fetch-site` shows that
   * another site sent them.
   */
  check(request: Request): void {
    if (!this.#isNamed(request)) {
      const { host } = new URL(request.url)
      const message = `${host} is not a name of this server. ${PLACES[this.#place].hosts}`
      throw new Refusal(403, 'host.denied', message)
    }
    const origin = request.headers.get('origin')
    if (origin !== null ? this.#allows(origin, request) : !isCrossSite(request)) return
    const from = origin === null ? 'A page of another site' : `The origin ${origin}`
    const message = `${from} may not call this server. ${PLACES[this.#place].origins}`
    throw new Refusal(403, 'origin.denied', message)
  }

  preflight(methods: readonly string[]): Response {
    return new Response(null, {
      status: 204,
      headers: {
        allow: methods.join(', '),
        'access-control-allow-methods': methods.join(', '),
        'access-control-allow-headers': this.#headers,
        'access-control-max-age': String(this.#maxAge),
      },
    })
  }

  /** Returns the response with headers that let only allowed origins read it. */
  apply(request: Request, response: Response): Response {
    const origin = request.headers.get('origin')
    const headers = new Headers(response.headers)
    // Headers set by a callback would bypass the list.
    for (const name of ['origin', 'credentials']) headers.delete(`access-control-allow-${name}`)
    headers.append('vary', 'Origin')
    headers.set('x-content-type-options', 'nosniff')
    if (origin !== null && this.#allows(origin, request)) {
      headers.set('access-control-allow-origin', this.#origins.has('*') ? '*' : origin)
      headers.set('access-control-expose-headers', EXPOSED)
      if (this.#credentials) headers.set('access-control-allow-credentials', 'true')
    }
    const { status, statusText } = response
    return new Response(response.body, { status, statusText, headers })
  }

  /** Whether the request calls this server by a name of its own. */
  #isNamed({ url }: Request): boolean {
    const { host, hostname } = new URL(url)
    return !this.#hosts || this.#hosts.has(host) || this.#hosts.has(hostname)
  }

  #allows(origin: string, request: Request): boolean {
    if (this.#origins.has(origin) || this.#origins.has('*')) return true
    if (!this.#isNamed(request)) return false
    const { host, hostname, origin: own } = new URL(request.url)
    if (origin === own) return true
    // Behind a proxy that ends TLS or that changes `Host`, the browser alone knows its own origin.
    if (request.headers.get('sec-fetch-site') !== 'same-origin') return false
    if (this.#hosts) return true
    return origin.slice(origin.indexOf('//') + 2) === host || isLoopback(hostname)
  }
}

/** Whether a header can have this name (a token of RFC 9110, 5.6.2). */
export const isName = (name: unknown): boolean =>
  typeof name === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(name)

/** Names that lead to the machine itself. */
const isLoopback = (name: string) =>
  name === 'localhost' ||
  name === '[::1]' ||
  name.endsWith('.localhost') ||
  /^127(\.\d+){3}$/.test(name)

function isOrigin(value: unknown): value is string {
  try {
    return typeof value === 'string' && /^https?:/.test(value) && new URL(value).origin === value
  } catch {
    return false
  }
}

/** Browsers omit the origin of images, scripts and navigations, but send `sec-fetch-site`. */
function isCrossSite(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  return site === 'cross-site' || site === 'same-site'
}
