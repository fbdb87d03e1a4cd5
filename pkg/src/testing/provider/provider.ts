/**
 * The scripted provider: a request in, a response out.
 *
 * ```text
 * POST   /s/<session>/<script>/v1/<path of a wire format>   wire/index.ts lists them
 * GET    /s/<session>/<script>/v1/models                    one model, with the name of the script
 * GET    /s/<session>/requests                              the requests of the session, in order
 * POST   /s/<session>/cut                                   cuts the connection that waits for it
 * DELETE /s/<session>                                       discards the session
 * ```
 *
 * `<script>` is the URL-encoded name of a behaviour, or `<kind>:<rest>` for the scripts of a host.
 */
import { checkFunctions, checkValues, isObject } from '../../checks.js'
import { wrong } from '../../errors.js'
import { SCRIPTED_PROVIDER_OPTIONS } from '../../generated/rows.js'
import type { ScriptedProviderOptions } from '../../generated/testing.js'
import type { Fetch } from '../../models/model.js'
import { readOptions } from '../../options.js'
import { BEHAVIOURS, fitToTools, observe, type Observation } from './behaviours.js'
import { describeInvalidBody, modelsAt } from './requests.js'
import { Client, responseStream, type Playback } from './response-stream.js'
import { Sessions, type ProviderRequest } from './sessions.js'
import type { RequestView, ScriptEntry, StreamEvent, Wire } from './wire/entry.js'
import { endpointAt, WIRES, type Endpoint, type WireName } from './wire/index.js'

export type { ScriptedProviderOptions }

/** A recorded response, which is sent as it is, whether or not the request asks for a stream. */
export interface RecordedEntry {
  events: readonly StreamEvent[]
  /** Bytes of one write. @defaultValue one event */
  bytes?: number | undefined
  /** HTTP status. @defaultValue 200 */
  status?: number | undefined
  /** Headers that are added, or replace those of a stream. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** What a script answers. */
export interface ScriptContext {
  /** The requests of the session, in order. The last one is answered. */
  requests: readonly ProviderRequest[]
  wire: WireName
  /** The query of the address: empty, or with its `?`. */
  search: string
  /** The content of the last request. */
  view: RequestView
}

/** Returns the response to the last request of a session; undefined leads to a 404. */
export type Script = (
  rest: string,
  context: ScriptContext,
) => ScriptEntry | RecordedEntry | undefined

/** A scripted provider. Providers share no sessions. */
export interface ScriptedProvider {
  /** The `fetch` option of a model client: answers without a network. */
  readonly fetch: Fetch
  /** Name → description of each behaviour. */
  readonly behaviours: Readonly<Record<string, string>>
  /**
   * Answers a request of a server.
   *
   * @param path the path of the provider, if it is mounted below a prefix. Default: that of the address
   */
  handle(request: Request, path?: string): Promise<Response>
  /** Returns the requests of a session, in order. */
  requests(session: string): readonly ProviderRequest[]
}

const ROUTE = /^\/s\/([^/]+)(?:\/(.+?)\/v1\/(.+)|\/(requests|cut))?$/

const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-allow-methods': '*',
  'access-control-expose-headers': '*',
}

/** Headers that are not stored. */
const SECRET_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key', 'cookie']

/**
 * Makes a provider that speaks every wire format, streamed or not, and answers as scripted. A model
 * client reaches it with the base address `<origin>/s/<session>/<script>/v1`: a session is any id, and
 * a script is the name of a behaviour or `<kind>:<rest>` for one of `scripts`.
 *
 * Like the APIs, it rejects requests that break their rules, with their error messages. It needs no
 * module of a runtime, so it works in a page, too.
 *
 * @example
 * const provider = scriptedProvider()
 * const baseURL = 'http://model.test/s/1/one-call/v1'
 * const model = openaiChat({ baseURL, model: 'scripted', fetch: provider.fetch })
 * const { text } = await runTurn({ model, messages, tools }).result
 * assert.equal(provider.requests('1').length, 2)
 *
 * @throws TurnlockError `options.invalid`
 */
export function scriptedProvider(options: ScriptedProviderOptions = {}): ScriptedProvider {
  options = readOptions(options, SCRIPTED_PROVIDER_OPTIONS)
  const { scripts = {}, onError = console.error, maxSessions = 2000, maxCharacters } = options
  if (!isObject(scripts)) throw wrong('scripts', 'an object')
  for (const [kind, script] of Object.entries(scripts)) {
    checkFunctions({ [`scripts.${kind}`]: script })
  }
  checkFunctions({ onError })
  checkValues({ maxSessions, maxCharacters }, LIMIT_CHECKS)
  const sessions = new Sessions({ maxSessions, maxCharacters: maxCharacters ?? Infinity })
  const isKnown = (script: string) =>
    Object.hasOwn(scripts, splitScript(script)[0]) || Object.hasOwn(BEHAVIOURS, script)

  async function respond(request: Request, path: string, signal: AbortSignal): Promise<Response> {
    const { method } = request
    if (method === 'OPTIONS') return emptyResponse()
    const [, id, encodedScript, place = '', route] = ROUTE.exec(path) ?? []
    if (!id) return notFound()
    if (method === 'DELETE') {
      sessions.discard(id)
      return emptyResponse()
    }
    if (method === 'GET' && route === 'requests') return jsonResponse(sessions.requests(id))
    if (method === 'POST' && route === 'cut') {
      sessions.cut(id)
      return emptyResponse()
    }
    if (!encodedScript) return notFound()
    const script = decodeName(encodedScript)
    const models = method === 'GET' && isKnown(script) && modelsAt(place, script)
    if (models) return jsonResponse(models)
    const endpoint = endpointAt(place)
    if (method !== 'POST' || !endpoint) return notFound()
    const session = sessions.open(id)
    const cut = request.headers.has('x-cut')
      ? new Promise<void>((resolve) => (session.cut = resolve))
      : undefined
    try {
      const text = await request.text()
      sessions.addCharacters(id, text.length)
      const { requests } = session
      return await new Exchange({ request, signal, text, requests, script, endpoint, cut }).answer({
        scripts,
        isKnown,
      })
    } catch (error) {
      onError(error)
      return jsonResponse(WIRES[endpoint.name].failure(500, 'The scripted provider failed.'), 500)
    }
  }

  return {
    fetch(url, init) {
      const request = new Request(url, init)
      // Not the request's own signal: in Node, that follows the client's by a weak reference.
      return respond(request, new URL(url).pathname, init?.signal ?? request.signal)
    },
    handle: (request, path = new URL(request.url).pathname) =>
      respond(request, path, request.signal),
    behaviours: Object.fromEntries(
      Object.entries(BEHAVIOURS).map(([name, { about }]) => [name, about]),
    ),
    requests: (session) => sessions.requests(session),
  }
}

const LIMIT_CHECKS = { maxSessions: { whole: [1] }, maxCharacters: { whole: [1] } } as const

const jsonResponse = (value: unknown, status = 200, headers = {}) =>
  Response.json(value, { status, headers: { ...CORS_HEADERS, ...headers } })

const htmlPage = (page: string) =>
  new Response(page, { headers: { ...CORS_HEADERS, 'content-type': 'text/html; charset=utf-8' } })

const emptyResponse = () => new Response(null, { status: 204, headers: CORS_HEADERS })

const notFound = () => jsonResponse({ error: { message: 'no such path' } }, 404)

interface ExchangeOptions {
  request: Request
  signal: AbortSignal
  /** The body of the request. */
  text: string
  /** The requests of the session, to which this one is added. */
  requests: ProviderRequest[]
  script: string
  endpoint: Endpoint
  /** Settles when a connection may be cut; undefined if the client does not decide that. */
  cut: Promise<void> | undefined
}

interface ScriptSource {
  scripts: Record<string, Script>
  isKnown(script: string): boolean
}

/** A request and its response. */
class Exchange {
  readonly #options: ExchangeOptions
  readonly #wire: Wire
  readonly #body: object | undefined
  readonly #error: string | undefined
  readonly #record: ProviderRequest
  /** The position of the request in its session, from 1. */
  readonly #n: number

  constructor(options: ExchangeOptions) {
    const { request, text, requests, script, endpoint } = options
    this.#options = options
    this.#wire = WIRES[endpoint.name]
    const body = parseJson(text)
    this.#error = describeInvalidBody(body, this.#wire)
    this.#body = this.#error === undefined ? (body as object) : undefined
    const { tools, choice, list } = this.#wire.view(this.#body ?? {})
    this.#record = {
      wire: endpoint.name,
      script,
      body: this.#body ?? null,
      tools: tools.map((tool) => tool.name),
      choice,
      messages: list,
      headers: publicHeaders(request.headers),
      closedEarly: false,
    }
    this.#n = requests.push(this.#record)
  }

  async answer({ scripts, isKnown }: ScriptSource): Promise<Response> {
    const { request, requests, script, endpoint } = this.#options
    const body = this.#body
    if (!body) return this.#fail(400, this.#error ?? '')
    if (!isKnown(script)) {
      return this.#fail(
        404,
        `There is no behaviour ${script}: \`turnlock serve --list\` names them.`,
      )
    }
    const isStreamed = endpoint.streams(body)
    const { search } = new URL(request.url)
    const conversations = requests.flatMap(({ conversation }) => conversation ?? [])
    const wire = this.#wire
    const fullBody = wire.withConversation ? wire.withConversation(body, conversations) : body
    if (!fullBody) {
      const { previous_response_id: id } = body as { previous_response_id?: string }
      return this.#fail(400, `Previous response with id '${id}' not found.`)
    }
    if (fullBody !== body) this.#record.whole = fullBody
    const violation = wire.violation(fullBody, { search, streams: isStreamed })
    if (violation) return this.#fail(400, violation)
    const context = { requests: requests.slice(0, this.#n), wire: endpoint.name, search }
    const entry = entryOf(script, scripts, { ...context, view: wire.view(fullBody) })
    if (!entry) return this.#fail(404, `The script ${script} has no entry ${this.#n}.`)
    if ('events' in entry) return this.#replay(entry)
    const { status, message = 'scripted failure' } = entry
    if (status) return this.#fail(status, message, failureHeaders(entry))
    if (entry.page) return htmlPage(entry.page)
    if (!isStreamed && entry.then === 'error') return this.#fail(503, 'The model is overloaded')
    const place = { n: this.#n, body }
    const client = new Client(this.#options.signal, this.#record, entry)
    if (entry.then === 'stall_head') await client.gone
    const events = isStreamed ? wire.stream(entry, place) : [bodyOf(wire, entry, place)]
    this.#record.conversation = wire.storedConversation?.(entry, place, fullBody)
    return this.#send(events, entry, isStreamed, client)
  }

  #fail(status: number, message: string, headers?: object): Response {
    this.#record.failed = true
    return jsonResponse(this.#wire.failure(status, message), status, headers)
  }

  #replay(entry: RecordedEntry): Response {
    const { events, status = 200, headers } = entry
    const response = this.#send(events, entry, true)
    for (const [name, value] of Object.entries(headers ?? {})) response.headers.set(name, value)
    return new Response(response.body, { status, headers: response.headers })
  }

  #send(
    events: readonly StreamEvent[],
    entry: Playback,
    isStreamed: boolean,
    client = new Client(this.#options.signal, this.#record, entry),
  ): Response {
    const { cut } = this.#options
    const type = this.#wire.CONTENT_TYPE ?? 'text/event-stream; charset=utf-8'
    const { body, length } = responseStream(events, entry, client, cut)
    const headers = {
      ...CORS_HEADERS,
      'content-type': isStreamed ? type : 'application/json',
      'cache-control': 'no-cache',
      ...(cut && entry.then === 'cut' && { 'x-cut-behind': `${length}` }),
      'x-request-id': `req_${this.#n}`,
    }
    return new Response(body, { headers })
  }
}

/** Returns the text of a response that is not streamed; half of it if the response breaks off. */
function bodyOf(wire: Wire, entry: ScriptEntry, place: { n: number; body: object }): string {
  const text = JSON.stringify(wire.responseBody(entry, place))
  return entry.then ? text.slice(0, text.length >> 1) : text
}

/** Returns the response to the last request of `context`. */
function entryOf(script: string, scripts: Record<string, Script>, context: ScriptContext) {
  const [kind, rest] = splitScript(script)
  if (Object.hasOwn(scripts, kind)) return scripts[kind]?.(rest, context)
  const observations = context.requests.filter(({ body }) => body).map(observationOf)
  const [now, before] = [observations.at(-1), observations.slice(0, -1)]
  const entry = now && BEHAVIOURS[script]?.play(now, before)
  return entry && fitToTools(entry, now, before)
}

/** What each request contains: a session is read again with every request. */
const OBSERVATIONS = new WeakMap<ProviderRequest, Observation>()

function observationOf(request: ProviderRequest): Observation {
  const { wire, body, whole = body } = request
  const observation = OBSERVATIONS.get(request) ?? observe(WIRES[wire].view(whole as object))
  OBSERVATIONS.set(request, observation)
  return observation
}

/** `kind:rest`. A behaviour has no kind. */
function splitScript(script: string): [kind: string, rest: string] {
  const at = script.indexOf(':')
  return at < 0 ? ['', script] : [script.slice(0, at), script.slice(at + 1)]
}

/** The delay in whole seconds and in milliseconds, as OpenAI sends it, and the redirect target. */
function failureHeaders({ retryAfterMs, location }: ScriptEntry) {
  return {
    ...(retryAfterMs !== undefined && {
      'retry-after': `${Math.ceil(retryAfterMs / 1000)}`,
      'retry-after-ms': `${retryAfterMs}`,
    }),
    ...(location && { location }),
  }
}

function publicHeaders(headers: Headers): Record<string, string> {
  const entries = Array.from(headers).filter(([name]) => !SECRET_HEADERS.includes(name))
  return Object.fromEntries(entries)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

function decodeName(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
