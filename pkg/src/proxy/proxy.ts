/** Handles a request: whose it is, where it goes, and what comes back. */
import { isTurnlockError } from '../errors.js'
import type { ProxyOptions, Upstream } from '../generated/proxy.js'
import { quietly } from '../shared/quietly.js'
import type { Handler } from '../server/handler.js'
import type { RequestContext } from '../server/options.js'
import { readBody } from '../server/bytes.js'
import { EXCESS, jsonExcess } from '../server/json-density.js'
import { clientLeft, Refusal } from '../server/refusal.js'
import { isPartial } from '../history/partial.js'
import { whenGone } from '../server/stream.js'
import { decoded } from './body.js'
import { chat } from './chat.js'
import { refusalResponse } from './errors.js'
import { isAsciiLike } from './frames.js'
import { foreign } from './gate.js'
import { addressOf, plainPath, REPORT, requestHeaders, responseHeaders } from './headers.js'
import { mend } from './history.js'
import { Judge } from './judge.js'
import { list, parse, withMember, type Members } from './json.js'
import { messages } from './messages.js'
import { checkMode, limitsOf, policyOf, settingsOf, upstreamOf } from './options.js'
import type { ProxySession, Settings } from './options.js'
import { relayed } from './relay.js'
import { headerOf, sessionOf, type ProxyReport } from './report.js'
import { responses } from './responses.js'
import { sourceOf, streamOf } from './source.js'
import type { Wire } from './wire.js'

/**
 * What the path of each API ends with. What stands before differs: versions (`/v1/beta/messages`),
 * deployments (`/openai/deployments/x/chat/completions`), prefixes of gateways.
 */
const ROUTES: readonly [RegExp, Wire][] = [
  [/\/chat\/completions$/, chat],
  [/\/responses$/, responses],
  // A message that is added to a thread of OpenAI's Assistants is no request for an answer.
  [/(?<!\/threads\/[^/]+)\/messages$/, messages],
]

/** The API of a path; `undefined` for one that passes unwatched. */
const wireOf = (path: string): Wire | undefined => {
  const plain = plainPath(path)
  return ROUTES.find(([end]) => end.test(plain))?.[1]
}

/**
 * Makes a proxy in front of a provider, for any runtime with `Request` and `Response`. Clients reach
 * it by their `baseURL`; they need no other change.
 *
 * `POST` to paths that end with `/chat/completions`, `/responses` or `/messages` is watched; every
 * other path below `basePath` goes to the provider as it is. A stream passes byte for byte, unless `bound`
 * refuses a call of it. The header `x-turnlock-report` says what was changed before the response
 * began, `onReport` everything.
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
  return (request, context = {}) => new Exchange(settings, request, context).respond()
}

interface Body {
  bytes: Uint8Array
  json: string
  members: Members
}

class Exchange<S extends ProxySession> {
  readonly #settings: Settings<S>
  readonly #request: Request
  readonly #context: RequestContext
  readonly #url: URL
  readonly #path: string
  readonly #wire: Wire | undefined
  readonly #abort = new AbortController()
  readonly #began = Date.now()
  #limits!: Settings<S>['limits']
  /** Tells the response that is on its way that its client has left. */
  #left: (() => void) | undefined

  constructor(settings: Settings<S>, request: Request, context: RequestContext) {
    this.#settings = settings
    this.#request = request
    this.#context = context
    this.#url = new URL(request.url)
    this.#path = this.#url.pathname.slice(settings.basePath.length)
    this.#wire = wireOf(this.#path)
  }

  async respond(): Promise<Response> {
    const { origins } = this.#settings
    let sent: Response
    try {
      origins.check(this.#request)
      // Throws for a response of the host whose body was read, or which is that of an error.
      sent = origins.apply(this.#request, await this.#answer())
    } catch (error) {
      const refusal = this.#refusalFor(error)
      sent = origins.apply(this.#request, refusalResponse(refusal, this.#wire?.name))
    }
    if (sent.headers.has('access-control-expose-headers')) {
      sent.headers.append('access-control-expose-headers', REPORT)
    }
    return sent
  }

  #refusalFor(error: unknown): Refusal {
    if (error instanceof Refusal) return error
    this.#report(error)
    if (this.#request.signal.aborted) return clientLeft()
    return new Refusal(500, 'proxy.failed', 'the proxy failed')
  }

  #report(error: unknown): void {
    quietly(() => this.#settings.onError?.(error, this.#request))
  }

  async #answer(): Promise<Response> {
    const { basePath } = this.#settings
    const { method, headers } = this.#request
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
    if (session instanceof Response) return session
    this.#limits = limitsOf(session.limits, this.#settings.limits)
    const upstream = await this.#upstream(session)
    const address = addressOf(upstream, this.#path, this.#url.search)
    const wire = method === 'POST' ? this.#wire : undefined
    const leave = () => {
      this.#left?.()
      // What continues without its client, for its report, is cancelled by nobody.
      if (this.#settings.clientGone !== 'continue' || !wire) this.#abort.abort()
    }
    whenGone(this.#request, leave)
    return wire ? this.#exchange(wire, session, upstream, address) : this.#pass(upstream, address)
  }

  /** A page may send whatever header its client library sends: unknown ones pass. */
  #preflight(): Response {
    const response = this.#settings.origins.preflight(['GET', 'POST', 'DELETE'])
    const asked = this.#request.headers.get('access-control-request-headers')
    if (asked) response.headers.set('access-control-allow-headers', asked)
    return response
  }

  async #authorize(): Promise<S | Response> {
    let session: S | Response | null | undefined
    try {
      session = await this.#settings.authorize(this.#request, this.#context.env)
    } catch (error) {
      this.#report(error)
    }
    if (session instanceof Response) return session
    if (typeof session?.tenant === 'string' && session.tenant !== '') return session
    throw new Refusal(401, 'auth.required', 'this needs an authorized request')
  }

  async #upstream(session: S): Promise<Upstream> {
    const { upstream } = this.#settings
    if (typeof upstream !== 'function') return upstreamOf(upstream)
    const route = this.#wire?.name ?? 'other'
    return upstreamOf(await upstream({ session, route, env: this.#context.env }))
  }

  /** Passes a request of which nothing is known. */
  async #pass(upstream: Upstream, address: string): Promise<Response> {
    const { method, headers, body } = this.#request
    const most = this.#limits.bodyBytes
    // Some providers refuse bodies of unknown length.
    const isShort = Number(headers.get('content-length') ?? NaN) <= most
    const sent = body && isShort ? await readBody(this.#request, most) : body
    const response = await this.#send(address, {
      method,
      headers: requestHeaders(this.#request, upstream, false, this.#settings.forwarded),
      ...(sent && { body: sent as BodyInit, duplex: 'half' }),
    })
    const { status, body: got } = response
    const made = { status, headers: responseHeaders(response.headers) }
    const tell = (error: Error) => this.#report(error)
    return new Response(got && streamOf(this.#source(got, tell)), made)
  }

  #source(body: ReadableStream<Uint8Array>, onIdle?: (error: Error) => void) {
    return sourceOf(body, this.#limits.idleMs, (error) => {
      onIdle?.(error)
      this.#abort.abort()
    })
  }

  /** @throws Refusal for a provider that does not answer */
  async #send(address: string, init: RequestInit & { duplex?: string }): Promise<Response> {
    const { fetch: given } = this.#settings
    const { signal } = this.#abort
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#abort.abort()
    }, this.#limits.firstByteMs)
    let response: Response
    try {
      const send = given ?? fetch
      response = await send(address, { ...init, signal, redirect: 'manual' })
    } catch (error) {
      if (late) throw new Refusal(504, 'model.timeout', 'the provider did not answer in time')
      if (signal.aborted) throw clientLeft()
      this.#report(error)
      throw new Refusal(502, 'model.unreachable', 'the provider was not reached')
    } finally {
      clearTimeout(timer)
    }
    const { status, type } = response
    const isRedirect =
      type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)
    // No response can be made with another status.
    if (isRedirect || status < 200 || status > 599) {
      response.body?.cancel().catch(() => {})
      const what = isRedirect ? 'a redirect' : `the status ${status}`
      const code = isRedirect ? 'model.redirected' : 'model.status'
      throw new Refusal(502, code, `the provider answered with ${what}`)
    }
    return response
  }

  async #exchange(wire: Wire, session: S, upstream: Upstream, address: string): Promise<Response> {
    const { mode: own, policy: common } = this.#settings
    const mode = session.mode ?? own
    checkMode(mode)
    const policy = { ...common, ...policyOf(session.policy) }
    const came = await readBody(this.#request, this.#limits.bodyBytes)
    const report: ProxyReport = {
      mode,
      route: wire.name,
      tenant: session.tenant,

      session: sessionOf(this.#request.headers),
      history: 'whole',
      repairs: [],
      calls: [],
      blocked: [],
      repeats: [],
      forced: null,
      usage: [],
      status: 0,
      outcome: 'complete',
      firstByteMs: 0,
      ms: 0,
      bytes: { request: came.byteLength, response: 0 },
    }
    const read = await this.#read(came, report)
    let sent = { bytes: read?.bytes ?? came, json: read?.json ?? '', members: read?.members }
    const partial = read !== undefined && (isPartial(read.members) || !wire.isWhole(read.members))
    if (partial) report.history = 'partial'
    const mended = read && this.#openly(report, () => mend(read.json, read.members, wire))
    if (mended) {
      report.repairs = mended.repairs
      if (mode !== 'observe') {
        sent = { bytes: encode(mended.json), json: mended.json, members: mended.body }
      }
    }
    const holds = mode === 'bound' && read !== undefined
    // The calls of a partial history are a part of those of the turn, so only its response is judged.
    const past = () => (partial ? [] : wire.turn(list(sent.members?.[wire.history])))
    let known: { judge: Judge | undefined } | undefined
    // Not before a call is there: most responses have none. A history that cannot be read is read once.
    const judge = () => {
      const made = () => new Judge(policy, past(), report.repeats)
      return (known ??= { judge: this.#openly(report, made) }).judge
    }
    const { tools, functions } = sent.members ?? {}
    const hasTools = list(tools).length + list(functions).length > 0
    const isSpent = hasTools && policy.maxTools !== undefined && judge()?.isSpent === true
    if (isSpent) report.forced = 'budget'
    const forced = holds && isSpent
    const quiet = () => encode(withMember(sent.json, ...wire.noTools(sent.members ?? {})))
    const { forwarded } = this.#settings
    const headers = requestHeaders(this.#request, upstream, read !== undefined, forwarded)
    const ask = (bytes: Uint8Array) =>
      this.#send(address, { method: 'POST', headers, body: bytes as Uint8Array<ArrayBuffer> })
    const ended = this.#ender(report)
    const end: typeof ended = (outcome, error) => {
      known?.judge?.free()
      ended(outcome, error)
    }
    let response: Response
    try {
      response = await ask(forced ? quiet() : sent.bytes)
    } catch (error) {
      const refusal = this.#refusalFor(error)
      report.error = refusal.code
      report.status = refusal.status
      end(refusal.status === 499 ? 'cancelled' : 'failed')
      throw refusal
    }
    if (holds && response.ok && !isAsciiLike(response.headers)) {
      response.body?.cancel().catch(() => {})
      const { code, message } = foreign()
      report.error = code
      report.status = 502
      end('failed')
      throw new Refusal(502, code, message)
    }
    const { status, body } = response
    report.status = status
    report.firstByteMs = Date.now() - this.#began
    const answered = responseHeaders(response.headers)
    answered.set(REPORT, headerOf(report))
    // Without `statusText`: no response can be made with one that is not Latin.
    const made = { status, headers: answered }
    if (!body) {
      end('complete')
      return new Response(null, made)
    }
    const again = async () => {
      const second = await ask(quiet())
      if (second.ok && isAsciiLike(second.headers)) {
        return second.body ? this.#source(second.body) : undefined
      }
      second.body?.cancel().catch(() => {})
      return undefined
    }
    const isStream = sent.members?.stream === true
    const relay = relayed({
      isStream,
      wire,
      report,
      judge,
      forced,
      again,
      body: this.#source(body),
      onEnd: end,
      // Tools may be declared elsewhere: by a stored prompt. What a provider says of a failure passes:
      // clients match its words.
      holds: holds && response.ok,
      isFailure: !response.ok,
      most: this.#limits.heldBytes,
      keepAliveMs: this.#limits.keepAliveMs,
      choices: Number(sent.members?.n ?? 1),
      abort: () => this.#abort.abort(),
      hasLeft: () => this.#request.signal.aborted,
      onLeave: (left) => (this.#left = left),
      clientGone: this.#settings.clientGone ?? 'stop',
      waitUntil: (promise) => this.#context.waitUntil?.(promise),
    })
    return new Response(relay, made)
  }

  /** The body, where it can be read. `bound` refuses one that cannot; the others pass it. */
  async #read(came: Uint8Array, report: ProxyReport): Promise<Body | undefined> {
    const encoding = this.#request.headers.get('content-encoding')
    const unread = (status: number, code: string, message: string) => {
      if (report.mode === 'bound') throw new Refusal(status, code, message)
      report.error = code
      return undefined
    }
    const { bodyBytes } = this.#limits
    const bytes = await decoded(came, encoding, bodyBytes, this.#settings.decode ?? {})
    if (!bytes) {
      return unread(415, 'request.content_encoding', 'this content-encoding cannot be read here')
    }
    const excess = jsonExcess(bytes)
    if (excess) {
      return unread(400, 'request.json', EXCESS[excess])
    }
    try {
      const json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
      const members = parse(json)
      if (members) return { bytes, json, members }
    } catch {
      // Said below.
    }
    return unread(400, 'request.json', 'the body is not a JSON object in UTF-8')
  }

  /** What fails in reading a history never fails the request. */
  #openly<T>(report: ProxyReport, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      report.error ??= isTurnlockError(error) ? error.code : 'proxy.failed'
      this.#report(error)
      return undefined
    }
  }

  /** Reports once. */
  #ender(report: ProxyReport) {
    return (outcome: ProxyReport['outcome'], error?: unknown) => {
      report.outcome = outcome
      report.ms = Date.now() - this.#began
      if (error !== undefined) this.#report(error)
      const told = (async () => this.#settings.onReport?.(report))().catch((thrown: unknown) =>
        this.#report(thrown),
      )
      this.#context.waitUntil?.(told)
    }
  }
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
