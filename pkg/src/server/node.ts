/** Adapts a handler to `node:http` and `node:http2`, without a dependency on its types or code. */
import { NODE_LISTENER_OPTIONS } from '../generated/rows.js'
import type { NodeListenerOptions } from '../generated/server.js'
import { checkFunctions } from '../checks.js'
import { wrong } from '../errors.js'
import { readOptions } from '../options.js'
import { quietly } from '../shared/quietly.js'
import { HOST } from '../shared/host.js'

export type { NodeListenerOptions }

/** The part of `net.Socket` that is used. */
interface NodeSocket {
  once?(event: string, listener: () => void): unknown
  off?(event: string, listener: () => void): unknown
}

/** The part of `http.IncomingMessage` that is used. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Record<string, string | string[] | undefined>
  readonly rawHeaders: string[]
  readonly complete: boolean
  readonly httpVersion?: string
  readonly socket: NodeSocket
  once?(event: string, listener: () => void): unknown
  destroy(): unknown
}

/** The part of `http.ServerResponse` that is used. */
export interface NodeResponse {
  readonly writableFinished: boolean
  readonly destroyed: boolean
  readonly headersSent: boolean
  writeHead(status: number, headers: Record<string, string | string[]>): unknown
  flushHeaders(): void
  write(chunk: Uint8Array): boolean
  /** Whether the connection stays open behind the response. Missing in HTTP/2. */
  readonly shouldKeepAlive?: boolean
  end(finished?: () => void): unknown
  destroy(): unknown
  once(event: string, listener: () => void): unknown
}

/**
 * A listener for `node:http`, the compatible interface of `node:http2`, and frameworks based on them.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * http.createServer(toNodeListener(handler)).listen(8080)
 */
export function toNodeListener(
  handler: (request: Request) => Response | Promise<Response>,
  options: NodeListenerOptions = {},
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  if (typeof handler !== 'function') throw wrong('handler', 'a function')
  options = readOptions(options, NODE_LISTENER_OPTIONS)
  const { protocol = 'http', forwarded = false } = options
  if (protocol !== 'http' && protocol !== 'https') throw wrong('protocol', 'http or https')
  // A text that is true would let every client name its own host.
  if (typeof forwarded !== 'boolean') throw wrong('forwarded', 'true or false')
  checkFunctions({ onError: options.onError })
  const failed = options.onError ?? ((error) => console.error(error))
  return async (incoming, outgoing) => {
    const body = new Body(incoming)
    const clientGone = new AbortController()
    // Referenced until the connection closes. In Node, a request's signal follows another signal by
    // a weak reference, so an unreferenced request is not aborted when its client disconnects.
    let request: Request | undefined
    const closed = new Promise<void>((resolve) => {
      outgoing.once('close', () => {
        resolve()
        if (!outgoing.writableFinished) clientGone.abort()
        request = undefined
      })
    })
    try {
      request = requestOf(incoming, addressOf(incoming, options), body, clientGone.signal)
    } catch {
      // A host that names more than a host (RFC 9112, 3.2), or a method that `fetch` forbids.
    }
    const answer = async (response: Response) => {
      await send(response, outgoing, closed)
      await end(incoming, outgoing, body, response.headers)
    }
    try {
      await answer(request ? await handler(request) : new Response(null, { status: 400 }))
    } catch (error) {
      // Of a client that has left, nothing failed here.
      if (!clientGone.signal.aborted) quietly(() => failed(error))
      if (outgoing.headersSent) outgoing.destroy()
      else await answer(new Response(null, { status: 500 })).catch(() => outgoing.destroy())
    }
  }
}

/** The address of the server, as its clients know it. Throws for one that names more than a host. */
function addressOf({ headers, socket }: NodeRequest, options: NodeListenerOptions): string {
  const { protocol = 'encrypted' in socket ? 'https' : 'http', forwarded = false } = options
  // Each proxy appends to these; the first entry is what the client asked for.
  const before = (name: string) => {
    const value = forwarded ? headers[`x-forwarded-${name}`] : undefined
    return typeof value === 'string' ? value.split(',')[0]?.trim() : undefined
  }
  const scheme = before('proto') ?? protocol
  const host = before('host') ?? String(headers.host ?? headers[':authority'] ?? 'localhost')
  // Anything else could name another path: `x/api/chat/messages?`.
  if (!/^https?$/.test(scheme) || !HOST.test(host)) throw new Error('no address')
  return `${scheme}://${host}`
}

function requestOf(
  incoming: NodeRequest,
  address: string,
  body: Body,
  signal: AbortSignal,
): Request {
  const { method = 'GET', url = '/', rawHeaders } = incoming
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at] as string, rawHeaders[at + 1] as string]
    // HTTP/2 has the path and the like among them.
    if (!name.startsWith(':')) pairs.push([name, value])
  }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const init: RequestInit & { duplex?: 'half' } = {
    method,
    signal,
    headers: pairs,
    ...(hasBody && { body: body.stream(), duplex: 'half' }),
  }
  return new Request(address + url, init)
}

/** The body of a request, of which a function reads what it wants. */
class Body {
  readonly #incoming: NodeRequest
  #pieces: AsyncIterator<Uint8Array> | undefined
  /** Whether a function has begun to read it, and has not said that it wants no more. */
  isHeld = false

  constructor(incoming: NodeRequest) {
    this.#incoming = incoming
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    return (this.#pieces ??= this.#incoming[Symbol.asyncIterator]()).next()
  }

  /** Read as it is asked for, and not before: what is not asked for is nobody's. */
  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream(
      {
        pull: async (controller) => {
          this.isHeld = true
          const { done, value } = await this.next()
          if (done) controller.close()
          else controller.enqueue(value)
        },
        cancel: () => {
          this.isHeld = false
        },
      },
      { highWaterMark: 0 },
    )
  }
}

async function send(
  response: Response,
  outgoing: NodeResponse,
  gone: Promise<void>,
): Promise<void> {
  const headers: Record<string, string | string[]> = Object.fromEntries(response.headers)
  const cookies = response.headers.getSetCookie()
  if (cookies.length) headers['set-cookie'] = cookies
  outgoing.writeHead(response.status, headers)
  outgoing.flushHeaders()
  const reader = response.body?.getReader()
  if (reader) {
    let goOn: (() => void) | undefined
    void gone.then(() => {
      goOn?.()
      return reader.cancel().catch(() => {})
    })
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      // Wait for a slow client, so that data does not accumulate here. A race with `gone` would be kept
      // until the connection closes, for each wait.
      if (!outgoing.write(value)) {
        await new Promise<void>((resolve) => outgoing.once('drain', (goOn = resolve)))
      }
    }
  }
}

/** How long the rest of a body is read behind its response: nginx's `lingering_time`. */
const LINGER_MS = 30_000

/**
 * Ends a response, and reads what its client still sends, unless a function reads it. A connection that
 * is closed while bytes are unread is reset, and its client may lose the response (RFC 9112, 9.6); so
 * one that closes with this response ends it behind the last byte.
 */
async function end(
  incoming: NodeRequest,
  outgoing: NodeResponse,
  body: Body,
  headers: Headers,
): Promise<void> {
  const closes =
    outgoing.shouldKeepAlive === false ||
    incoming.httpVersion === '1.0' ||
    /\bclose\b/i.test(headers.get('connection') ?? '')
  if (!closes) outgoing.end()
  if (incoming.complete || (body.isHeld && !closes)) return void outgoing.end()
  const { socket } = incoming
  let over: ReturnType<typeof setTimeout> | undefined
  let leave: (() => void) | undefined
  const closed = new Promise<void>((resolve) => {
    socket.once?.('close', (leave = resolve))
    over = setTimeout(() => {
      outgoing.end(() => incoming.destroy())
      resolve()
    }, LINGER_MS)
    // A server that is closed does not wait for it.
    Object(over).unref?.()
  })
  await Promise.race([closed, body.isHeld ? finished(incoming) : rest(incoming, body)])
  clearTimeout(over)
  if (leave) socket.off?.('close', leave)
  outgoing.end()
}

async function rest(incoming: NodeRequest, body: Body): Promise<void> {
  try {
    while (!incoming.complete && !(await body.next()).done);
  } catch {
    // The client has left.
  }
}

/** Until the function that reads a body has come to its end. */
const finished = (incoming: NodeRequest) =>
  new Promise<void>((resolve) => incoming.once?.('end', resolve))
