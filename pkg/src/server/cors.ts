/** Which origins may call: those on the list and the handler's own, and nobody else. */
import { TurnlockError } from '../errors.js'
import { Refusal } from './refusal.js'

export interface CorsOptions {
  /**
   * Allowed origins, such as `https://app.example`. `"*"`, alone and without `credentials`,
   * lets every site call. The origin of the request's own address is always allowed; behind a
   * proxy that changes it, list the public one.
   * @defaultValue []
   */
  origins?: readonly string[]
  /** Lets listed origins send cookies. @defaultValue false */
  credentials?: boolean
  /** Seconds that a browser may keep the answer to a preflight. @defaultValue 600 */
  maxAge?: number
  /** Request headers beyond `content-type`, `authorization` and `last-event-id`. @defaultValue [] */
  headers?: readonly string[]
}

const HEADERS = ['content-type', 'authorization', 'last-event-id']
const EXPOSED = 'x-request-id, retry-after'

export class Cors {
  readonly #origins: Set<string>
  readonly #credentials: boolean
  readonly #maxAge: number
  readonly #headers: string

  /** @throws TurnlockError `options.invalid` */
  constructor({ origins = [], credentials = false, maxAge = 600, headers = [] }: CorsOptions = {}) {
    const wrong = (what: string) => new TurnlockError('options.invalid', `\`cors.${what}`)
    if (!Array.isArray(origins)) throw wrong('origins`: expected a list')
    for (const origin of origins as unknown[]) {
      if (origin === '*' && credentials) throw wrong('origins`: "*" with credentials')
      if (origin !== '*' && !isOrigin(origin)) {
        throw wrong('origins`: expected origins such as https://app.example, without a path')
      }
    }
    this.#origins = new Set(origins)
    this.#credentials = credentials
    this.#maxAge = maxAge
    this.#headers = [...HEADERS, ...headers].join(', ')
  }

  /** Throws for a browser's request from where it may not come. A request without an origin is no browser's. */
  check(request: Request): void {
    const origin = request.headers.get('origin')
    if (origin !== null ? this.#allows(origin, request) : !isCrossSite(request)) return
    throw new Refusal(403, 'origin.denied', 'this origin is not allowed')
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

  /** The response, readable for an allowed origin and for nobody else. */
  apply(request: Request, response: Response): Response {
    const origin = request.headers.get('origin')
    const headers = new Headers(response.headers)
    // One that a callback sent along would undo the list.
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

  #allows(origin: string, request: Request): boolean {
    if (this.#origins.has(origin) || this.#origins.has('*')) return true
    return origin === new URL(request.url).origin
  }
}

function isOrigin(value: unknown): value is string {
  try {
    return typeof value === 'string' && /^https?:/.test(value) && new URL(value).origin === value
  } catch {
    return false
  }
}

/** Browsers leave out the origin of images, scripts and navigations; they say this instead. */
function isCrossSite(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  return site === 'cross-site' || site === 'same-site'
}
