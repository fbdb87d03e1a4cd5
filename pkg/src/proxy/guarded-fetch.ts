/** A request of a client in this process: watched as by the proxy, sent by the client's own `fetch`. */
import { Refusal } from '../server/refusal.js'
import { quietly } from '../shared/quietly.js'
import type { GuardFetchOptions } from '../generated/proxy.js'
import { refusalResponse } from './errors.js'
import type { WatchedExchange, WatchSettings } from './exchange.js'
import { DEFAULTS, limitsOf } from './options.js'
import { wireOf } from './routes.js'
import { sourceOf, type Source } from './source.js'
import { WatchedRequest } from './watched-request.js'

type Input = string | URL | Request

/** Milliseconds of a timer that is none: the client has its own time limits. */
const NO_LIMIT = 2 ** 31 - 1

/**
 * Sends a request. Only its body may differ from what the client gave. A failure of `send` is thrown
 * as it is, so that the client's own retries see it.
 */
export async function guardedFetch(
  send: typeof fetch,
  input: Input,
  init: RequestInit | undefined,
  options: GuardFetchOptions & { mode: WatchSettings['mode'] },
): Promise<Response> {
  const request = readable(input, init)
  const wire = wireOf(new URL(request.url).pathname)
  if (!wire) return send(input, init)
  const exchange = new ClientExchange(request, options)
  const route = {
    async send(body: Uint8Array, isDecoded: boolean) {
      try {
        return await send(...withBody(input, init, request, body, isDecoded))
      } catch (error) {
        exchange.failure = { error }
        throw error
      }
    },
    headersFor: (response: Response) => headersOf(response),
  }
  try {
    const watched = new WatchedRequest(exchange, wire, { tenant: '' }, route)
    const { status, headers, body } = await watched.respond()
    const response = new Response(body && abortable(body, request.signal), { status, headers })
    return Object.defineProperty(response, 'url', { value: request.url })
  } catch (error) {
    if (exchange.failure) throw exchange.failure.error
    if (request.signal.aborted) throw request.signal.reason
    if (error instanceof Refusal) return refusalResponse(error, wire.name)
    throw error
  }
}

/** A copy of a request, whose body is read here. */
function readable(input: Input, init: RequestInit | undefined): Request {
  const given = input instanceof Request ? input.clone() : absolute(input)
  return new Request(given, {
    ...init,
    ...(init?.body != null && { duplex: 'half' }),
  } as RequestInit)
}

/** A page may give a path. */
function absolute(input: string | URL): string | URL {
  const { location } = globalThis as { location?: { href: string } }
  return typeof input === 'string' && location ? new URL(input, location.href) : input
}

/** The client's own arguments, with another body if it was changed. */
function withBody(
  input: Input,
  init: RequestInit | undefined,
  request: Request,
  body: Uint8Array,
  isDecoded: boolean,
): [Input, RequestInit | undefined] {
  const headers = new Headers(request.headers)
  const isCoded = isDecoded && headers.has('content-encoding')
  if (isCoded) headers.delete('content-encoding')
  const hasLength = headers.has('content-length')
  if (hasLength) headers.set('content-length', String(body.byteLength))
  return [
    input,
    {
      ...init,
      // Of a `Request`, what `fetch` takes from `init` replaces what it has.
      ...((isCoded || hasLength) && { headers }),
      body: body as Uint8Array<ArrayBuffer>,
    },
  ]
}

/** The provider's headers, without those of a body that `fetch` has decoded. */
function headersOf({ headers }: Response): Headers {
  const result = new Headers(headers)
  for (const name of ['content-encoding', 'content-length']) result.delete(name)
  return result
}

/** A body that fails with the reason of the client's signal, as that of `fetch` does. */
function abortable(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) =>
        signal.addEventListener('abort', () => controller.error(signal.reason), { once: true }),
      async pull(controller) {
        const { done, value } = await reader.read()
        if (signal.aborted) return
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

class ClientExchange implements WatchedExchange {
  readonly settings: WatchSettings
  readonly request: Request
  readonly context = {}
  readonly began = Date.now()
  readonly limits
  /** What the client's `fetch` threw. */
  failure: { error: unknown } | undefined
  readonly #options: GuardFetchOptions
  readonly #sources = new Set<Source>()

  constructor(request: Request, options: GuardFetchOptions & { mode: WatchSettings['mode'] }) {
    const { mode, policy = {}, limits, onReport, repairOnError = true } = options
    this.request = request
    this.#options = options
    this.settings = { mode, policy, repairOnError, ...(onReport && { onReport }) }
    this.limits = limitsOf(limits, { ...DEFAULTS, idleMs: NO_LIMIT })
  }

  abort(): void {
    for (const source of this.#sources) source.cancel()
  }

  onLeave(listener: () => void): void {
    this.request.signal.addEventListener('abort', listener)
  }

  reportError(error: unknown): void {
    if (this.failure?.error === error) return
    quietly(() => this.#options.onError?.(error, this.request))
  }

  refusalFor(error: unknown): Refusal {
    if (error instanceof Refusal) return error
    if (this.request.signal.aborted) return new Refusal(499, 'client.left', 'the client has left')
    return new Refusal(502, 'model.unreachable', 'the provider was not reached')
  }

  source(body: ReadableStream<Uint8Array>): Source {
    const source = sourceOf(body, this.limits.idleMs, () => this.abort())
    this.#sources.add(source)
    return source
  }
}
