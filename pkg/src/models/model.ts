/** The interface between a turn and a model. */
import { checkFunctions, checkValues, isObject } from '../checks.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import { member } from '../shared/quietly.js'
import type { HttpModelOptions } from '../generated/models.js'
import { present } from '../options.js'
import type { Delta, Dialect, TextToolCalls, ThinkTags } from '../types.js'
import type { ModelHistory } from '../generated/turn.js'

/**
 * The body of a request, in the dialect's wire format: the members that the core decides, and if the
 * model has a name, its own. The declared ones are those of OpenAI Chat, which a `customModel` gets.
 */
export interface ModelRequest {
  messages: unknown[]
  system?: unknown
  tools?: unknown[]
  tool_choice?: unknown
  /** `strategy: "thread"`: the thread that the messages continue, of `conversationId`. */
  threadId?: string
  /** Only in a request pass with structured output. */
  response_format?: unknown
}

/** Where and how a body is sent. */
export interface Sending {
  signal: AbortSignal
  /** The path behind the base address. */
  path: string
  /** The headers that the provider needs, except the key. */
  headers: Record<string, string>
}

/** A model, as created by `openaiChat`, `anthropic`, `gemini`, `customModel` and others. */
export interface Model {
  /** The wire format of requests and responses. */
  readonly dialect: Dialect
  /** Maximum retries of a request that failed before any part of its response arrived. */
  readonly maxRetries: number
  /** The provider's name of the model. Without it, a body has only what the core decides. */
  readonly model?: string
  /** Whether the model keeps the conversation, so that turns may have `strategy: "thread"`. */
  readonly threads?: boolean
  /** Whether a `<think>` block at the beginning of a response is reasoning. @defaultValue `auto` */
  readonly thinkTags?: ThinkTags
  /** What becomes of tool calls in a response's text. @defaultValue `report` */
  readonly textToolCalls?: TextToolCalls
  /** Added to every body. */
  readonly body?: Record<string, unknown> | undefined
  /** What the model wants back of the responses in its history. */
  readonly history?: ModelHistory | undefined
  /** The model's keys, which no error message shows: some providers repeat them. */
  secrets?(): string[]
  /** Sends a request. Returns a response whose body is the stream, or deltas. */
  open(request: ModelRequest, options: Sending): Promise<Response> | AsyncIterable<Delta>
}

/** What a machine of the core is told of a model. */
export const modelOptions = ({ dialect, maxRetries, model, body }: Model) => ({
  dialect,
  maxRetries,
  model,
  body,
})

/** The options of a turn that come from its model. */
export const turnModelOptions = (model: Model) => {
  const { thinkTags, textToolCalls, history } = model
  return { ...modelOptions(model), ...present({ thinkTags, textToolCalls, history }) }
}

/** The options of a turn that come from its fallbacks. */
export const fallbackOptions = (models: Model[] = []) =>
  models.length > 0 && { fallbacks: models.map(turnModelOptions) }

/** A request that `bedrock`'s `sign` signs: it is sent as it stands here. */
export interface SignableRequest {
  method: 'POST'
  /** The whole address. */
  url: string
  /** Names in lower case, except those of the host. */
  headers: Record<string, string>
  /** JSON text. */
  body: string
}

/** The headers that sign a request. */
export type SignedHeaders = Record<string, string> | Headers

/** A model behind HTTP: `own` are the headers that hold its key. */
export function httpModel(
  dialect: Dialect,
  options: HttpModelOptions,
  baseURL: unknown,
  own: Record<string, string>,
): Model {
  checkAddress(baseURL)
  const { apiKey, model, maxRetries = 2, body, fetch } = options
  // `fetch` sends `undefined` as that word.
  const headers = present(options.headers ?? {})
  checkValues({ headers }, { headers: { map: 'text' } })
  // A `Headers` or a `Map` has no members: its headers, and the key in them, would be lost.
  const given: object = options.headers ?? {}
  if (!isObject(given) || Symbol.iterator in given) throw wrong('headers', 'an object')
  checkFunctions({ fetch })
  if (apiKey !== undefined && (typeof apiKey !== 'string' || /[^\x21-\x7e]/.test(apiKey))) {
    throw wrong('apiKey', 'visible ASCII characters only')
  }
  if (typeof model !== 'string' || !model) throw wrong('model', "the provider's name of a model")
  return {
    dialect,
    maxRetries,
    model,
    body,
    secrets: () => secretsOf({ ...headers, ...own }),
    open: (request, sending) => post({ ...options, headers }, baseURL, own, request, sending),
  }
}

/** The values of headers that are secret by their names, without `Bearer`. */
const secretsOf = (headers: Record<string, string>): string[] =>
  Object.entries(headers)
    .filter(([name]) => /auth|key|token|secret/i.test(name))
    .map(([, value]) => String(value).replace(/^\w+ /, ''))

/** A host's `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Whether a recorded model does not have a request: the message says what differs, and may be shown. */
export const isMiss = (error: unknown): error is TurnlockError =>
  isTurnlockError(error) && error.code === 'replay.miss'

/** A request that got no response. Its message may be shown: it has no key and no query. */
export class ConnectionError extends Error {}

/**
 * The code of what caused an error, such as ` (ECONNREFUSED)`; without one, its message, if that is
 * plain words (`bad port`): another may have an address or a key in it.
 */
export function causeOf(error: unknown): string {
  const cause = member(error, 'cause')
  const [code, said] = ['code', 'message'].map((name) => member(cause, name))
  if (typeof code === 'string') return ` (${code})`
  return typeof said === 'string' && /^[a-z]+( [a-z]+){1,5}$/i.test(said) ? ` (${said})` : ''
}

/**
 * Throws for an address that is neither absolute nor begins with `/`: a page would take
 * `api.openai.com/v1` for a path of its own server, and send the key there.
 */
export function checkAddress(baseURL: unknown, name = 'baseURL'): asserts baseURL is string {
  if (typeof baseURL === 'string' && /^(https?:\/\/[^/?#]|\/)/i.test(baseURL)) return
  const what = 'an absolute address, such as https://api.openai.com/v1, or one that begins with /'
  throw wrong(name, what)
}

/** An address without credentials and query. */
function shown(url: string): string {
  const [plain = ''] = url.split(/[?#]/)
  return plain.replace(/^(\w+:\/\/)[^/]*@/, '$1')
}

/** Posts a request. Error messages contain the address, without credentials and query. */
async function post(
  { fetch: given, headers: added }: HttpModelOptions,
  baseURL: string,
  own: Record<string, string>,
  request: ModelRequest,
  sending: Sending,
): Promise<Response> {
  // Called without a receiver, because browsers throw if `fetch` has another `this`.
  const send: Fetch = given ?? ((address, init) => fetch(address, init))
  const url = addressOf(baseURL, sending.path)
  if (!given && url.startsWith('/') && !('location' in globalThis)) {
    const why = `an address without a host needs a page: ${shown(url)}`
    throw new ConnectionError(why)
  }
  const body = JSON.stringify(request)
  const headers = { ...sending.headers, ...own, ...added }
  try {
    return await send(url, {
      method: 'POST',
      headers,
      body,
      signal: sending.signal,
      // The core reports a redirect. To follow it would send the key and the conversation elsewhere.
      redirect: 'manual',
    })
  } catch (error) {
    if (error instanceof ConnectionError || isMiss(error)) throw error
    const why = `the connection to the model at ${shown(url)} failed${causeOf(error)}`
    throw new ConnectionError(why)
  }
}

/** The address of a path behind a base address, whose query (`?api-version=…`) stays behind it. */
function addressOf(baseURL: string, path: string): string {
  const [, base = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(baseURL) ?? []
  const url = base.replace(/\/+$/, '') + path
  return query ? url + (path.includes('?') ? '&' : '?') + query : url
}
