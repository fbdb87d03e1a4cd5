/** Which headers pass, and where a request goes. */
import { Refusal } from '../server/refusal.js'
import type { Upstream } from '../generated/proxy.js'

/** They are about one connection (RFC 9110, 7.6.1 and 10.1.1). `fetch` refuses `expect`. */
const HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])
/** Sent by the client's browser, or about the name that the client called. */
const BROWSER = new Set([
  'cookie',
  'cookie2',
  'set-cookie',
  'origin',
  'referer',
  'host',
  'from',
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
])
/** The client's keys for the provider. */
const KEYS = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'ocp-apim-subscription-key',
  'x-amz-security-token',
])
/** Whose account the client's key bills: it belongs to no other key. */
const ACCOUNTS = new Set([
  'openai-organization',
  'openai-project',
  'anthropic-workspace-id',
  'chatgpt-account-id',
  'x-goog-user-project',
])
/** Credentials under any other name. */
const CREDENTIAL = new RegExp(
  [
    '(^|[-_])(auth|authz|authorization2?|authentication|bearer|token|jwt|secret|password|passwd|pwd)([-_]|$)',
    '(^|[-_])(credentials?|apikey)([-_]|$)|[-_](sid|vk|signature)$|(?<!idempotency|cache)[-_]key$',
    '(^|[-_])(api|access|secret|subscription|virtual|auth|private|master|account)[-_]?key([-_]|$)',
  ].join('|'),
)
/**
 * Added by browsers, networks and servers before this proxy: the client's address, place, certificate
 * and identity.
 */
const CLIENT = new RegExp(
  [
    '^(via$|sec-|cf-|cdn-|forwarded|x-forwarded|x-original-|cloudfront-|fastly-|fly-|do-connecting-)',
    '^(akamai-|x-akamai-|x-appengine-|x-azure-|x-envoy-|x-vercel-|x-nf-|x-arr-|tailscale-)',
    '(^|[-_])ip([-_]|$)|(client|remote|socket|user|real)[-_]?ip$',
    '(^|[-_])(client|remote|peer|external|source|real)[-_](addr|address|host|port)$',
    '(^|[-_])geo(ip)?([-_]|$)|(^|[-_])forwarded([-_]|$)|^x-?ff$|^x-(host|rewrite-url|socket-address)$',
    '(^|[-_])client[-_]?(cert|dn|city|region|country)|(^|[-_])ssl[-_]client',
    '^x-user([-_]?(id|e?mail|name|groups?|info))?$|userinfo$|authenticated-user|^x-consumer-',
    '(^|[-_])remote[-_](user|groups?|email|name)$|^x-webauth-|^x-auth-request-|^x-pomerium-',
    '^x-authentik-|^x-goog-(authenticated-user|iap)-|^x-amzn-oidc-|^x-ms-(client-principal|token)',
  ].join('|'),
)
/** Of other gateways: their credentials, and headers with which a client chooses the provider. */
const GATEWAY =
  /^(helicone-|x-portkey-|portkey-|x-bt-|braintrust-|x-langfuse-|x-langsmith-|x-kong-|x-tfy-)|^x-llm-provider$|(^|[-_])(base|target|upstream)[-_]url$/
/** `accept-encoding` makes providers buffer; what `fetch` decodes is its own business. */
const REMADE = new Set(['accept-encoding', 'content-length'])
/** `fetch` has decoded the body, and it may get longer. Cookies of a provider are for the proxy. */
const DECODED = new Set(['content-encoding', 'content-length', 'set-cookie'])
/** The report of a request. */
export const REPORT = 'x-turnlock-report'

const connectionNames = (headers: Headers): string[] =>
  (headers.get('connection') ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())

/** Whether a header can never be forwarded: it is about one connection, or made anew. */
export const isConnectionHeader = (name: string): boolean =>
  HOP.has(name) || REMADE.has(name) || name === 'host' || name === 'content-encoding'

/** Whether a header is the client's key for the provider, which `passAuthorization` forwards. */
export const isKeyHeader = (name: string): boolean => KEYS.has(name)

/**
 * The headers for the provider.
 *
 * @param isDecoded the body is no longer compressed
 * @param forwarded names of headers that are sent although they are dropped by default
 */
export function requestHeaders(
  request: Request,
  upstream: Upstream,
  isDecoded: boolean,
  forwarded: ReadonlySet<string>,
): Headers {
  const listed = connectionNames(request.headers)
  const headers = new Headers()
  const { apiKey, passAuthorization = false } = upstream
  for (const [name, value] of request.headers) {
    if (HOP.has(name) || REMADE.has(name) || listed.includes(name)) continue
    if (isDecoded && name === 'content-encoding') continue
    if (forwarded.has(name) || isForwarded(name, passAuthorization && apiKey === undefined)) {
      headers.append(name, value)
    }
  }
  if (apiKey !== undefined) {
    const isAnthropic = request.headers.has('anthropic-version') && !isVertex(request)
    if (isAnthropic) headers.set('x-api-key', apiKey)
    else if (isGemini(request)) headers.set('x-goog-api-key', apiKey)
    else headers.set('authorization', `Bearer ${apiKey}`)
  }
  for (const [name, value] of Object.entries(upstream.headers ?? {})) headers.set(name, value)
  return headers
}

/** A method of an API of Google. Those of Vertex AI have `/projects/`, and take bearer tokens. */
const METHOD = /\/[^/]+:\w+$/
const VERTEX = /\/projects\/[^]*:\w+$/
/** Collections of Gemini's own API. */
const COLLECTIONS =
  /\/v1(alpha|beta)?\/(models|files|cachedcontents|tunedmodels|interactions|operations|batches)(\/|$)/
/** Keys of Google's AI Studio begin so. */
const GOOGLE_KEY = /^(AIza|AQ\.)/
/** Members of a query with which clients of Google authenticate themselves. */
const QUERY_KEYS = ['key', '$key', 'access_token', 'oauth_token']

const googlePath = ({ url }: Request): string => plainPath(new URL(url).pathname, METHOD_EXTENSION)

const isVertex = (request: Request): boolean => VERTEX.test(googlePath(request))

const hasGoogleKey = ({ url }: Request): boolean =>
  GOOGLE_KEY.test(new URL(url).searchParams.get('key') ?? '')

/** Whether a request is in the form of Gemini's clients, whose key is no bearer token. */
function isGemini(request: Request): boolean {
  if (isVertex(request)) return false
  const path = googlePath(request)
  if (METHOD.test(path) || hasGoogleKey(request)) return true
  // Google's OpenAI-compatible API takes bearer tokens.
  const { headers } = request
  return headers.has('x-goog-api-key') && !headers.has('authorization')
}

/** The query for the provider: the client's key in that of Google's APIs is treated as its header. */
export function queryOf(request: Request, { apiKey, passAuthorization = false }: Upstream): string {
  const { search } = new URL(request.url)
  if (passAuthorization && apiKey === undefined) return search
  const path = googlePath(request)
  const isGoogle = METHOD.test(path) || COLLECTIONS.test(path) || hasGoogleKey(request)
  const query = new URLSearchParams(search)
  const keys = QUERY_KEYS.filter((name) => query.has(name))
  if (!isGoogle || keys.length === 0) return search
  for (const name of keys) query.delete(name)
  const text = String(query)
  return text ? `?${text}` : ''
}

/** An extension behind the method of a path; the name of a model before it may have dots. */
export const METHOD_EXTENSION = /\.[^:]*$/

function isForwarded(name: string, passesKeys: boolean): boolean {
  if (BROWSER.has(name)) return false
  if (KEYS.has(name) || ACCOUNTS.has(name)) return passesKeys
  if (CLIENT.test(name) || GATEWAY.test(name)) return false
  return passesKeys || !CREDENTIAL.test(name)
}

/** The headers for the client. */
export function responseHeaders(from: Headers): Headers {
  const listed = connectionNames(from)
  const headers = new Headers()
  for (const [name, value] of from) {
    if (HOP.has(name) || DECODED.has(name) || listed.includes(name)) continue
    // The proxy's own say who may read, and what was done.
    if (name === REPORT || name.startsWith('access-control-')) continue
    headers.append(name, value)
  }
  if (STREAMED.test(from.get('content-type') ?? '')) keepUnbuffered(headers)
  return headers
}

/** Responses whose parts are read as they arrive. */
const STREAMED = /^(text\/event-stream|application\/(x-ndjson|vnd\.amazon\.eventstream))/i

/** As of {@link EVENT_STREAM_HEADERS}: no one between holds a stream back, whatever the provider says. */
function keepUnbuffered(headers: Headers): void {
  const cache = headers.get('cache-control')
  if (!/\bno-transform\b/i.test(cache ?? '')) headers.append('cache-control', 'no-transform')
  headers.set('x-accel-buffering', 'no')
}

/**
 * The address of a path at the provider. The path is the client's; it cannot lead anywhere else.
 *
 * @throws Refusal `request.path`
 */
export function addressOf(upstream: Upstream, path: string, search: string): string {
  const base = new URL(upstream.url)
  const prefix = base.pathname.replace(/\/+$/, '')
  const joined = /\/v1$/.test(prefix) && /^\/v1(\/|$)/.test(path) ? path.slice(3) : path
  const address = new URL(base.origin)
  address.pathname = prefix + joined
  address.search = search
  const isWithin = address.pathname === prefix || address.pathname.startsWith(`${prefix}/`)
  if (leaves(joined) || address.origin !== base.origin || !isWithin) {
    throw new Refusal(400, 'request.path', 'this path is not passed on')
  }
  return address.href
}

/**
 * Times that a server may decode a path; `leaves` refuses what is encoded more often.
 *
 * Limit | times that a path is encoded | times | 400 `request.path`
 */
const ROUNDS = 4

/** Slashes that no normal form has, but some servers (best-fit code pages). */
const SLASHES = /[\u2044\u2215\u29f8\u29f5\u2216]/g

/** Characters in the form that a lenient server may give them: full-width ones, invisible ones. */
const normal = (path: string): string =>
  path
    .normalize('NFKC')
    .replace(/[\p{Cc}\p{Cf}]/gu, '')
    .replace(SLASHES, '/')

/** The segments of a decoded path, without parameters, an encoded query, white space at their ends. */
const segmentsOf = (path: string): string[] =>
  normal(path)
    .split(/[/\\]/)
    .map((segment) => segment.replace(/[;?#][^]*/, '').trim())

/**
 * A path as a lenient server reads it: one that is spelled otherwise is watched as well. What is sent
 * on keeps its spelling.
 *
 * @param extension what is left out of a segment
 */
export function plainPath(path: string, extension = /\.[^]*/): string {
  let plain = path
  // Of `%zz`, which is no encoding, the rest is read all the same.
  for (let round = 0; round <= ROUNDS; round++) plain = plain.replace(/(?:%[\da-f]{2})+/gi, decode)
  // A query that was encoded, and dots or an extension at the end of a segment.
  const segments = segmentsOf(normal(plain).replace(/[?#][^]*/, ''))
  const named = segments.map((segment) => segment.replace(extension, '').trim()).filter(Boolean)
  return `/${named.join('/')}`.toUpperCase().toLowerCase()
}

function decode(codes: string): string {
  try {
    return decodeURIComponent(codes)
  } catch {
    return codes.replace(/%([0-7][\da-f])/gi, (_, code: string) =>
      String.fromCharCode(parseInt(code, 16)),
    )
  }
}

/**
 * Whether a path names a folder above, in any encoding that a server may undo, or in one that servers
 * read differently: overlong and other invalid UTF-8, `%u002e`.
 */
function leaves(path: string): boolean {
  let decoded = path
  for (let round = 0; round < ROUNDS; round++) {
    if (/[\0\r\n]|%u[\da-f]{4}/i.test(decoded)) return true
    // Some servers strip dots and white space at the end of a segment.
    if (segmentsOf(decoded).some((segment) => /^\.[.\s]*$/.test(segment))) return true
    let next: string
    try {
      // A percent sign that begins no encoding is one.
      next = decodeURIComponent(decoded.replace(/%(?![\da-f]{2})/gi, '%25'))
    } catch {
      return true
    }
    if (next === decoded) return false
    decoded = next
  }
  return true
}
