/** Which headers pass, and where a request goes. */
import { Refusal } from '../server/refusal.js'
import type { Upstream } from '../generated/proxy.js'

/** They are about one connection (RFC 9110, 7.6.1 and 10.1.1). `fetch` refuses `expect`. */
const HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'],
])
/** What the client's browser says, and whom it called. */
const OWN = new Set(['cookie', 'origin', 'referer', 'host'])
/** The client's keys, and whose account they bill: they belong to no other key. */
const KEYS = new Set([
  ...['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-auth-token'],
  ...['ocp-apim-subscription-key', 'x-amz-security-token', 'x-goog-user-project'],
  ...['openai-organization', 'openai-project', 'anthropic-workspace-id'],
])
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

/** The headers for the provider. `isDecoded`: the body is no longer compressed. */
export function requestHeaders(request: Request, upstream: Upstream, isDecoded: boolean): Headers {
  const listed = connectionNames(request.headers)
  const headers = new Headers()
  const { apiKey, passAuthorization = false } = upstream
  for (const [name, value] of request.headers) {
    if (HOP.has(name) || REMADE.has(name) || listed.includes(name)) continue
    if (isDecoded && name === 'content-encoding') continue
    if (/^(sec-|cf-|x-forwarded-|x-real-ip|forwarded$)/.test(name)) continue
    if (OWN.has(name) || (KEYS.has(name) && !(passAuthorization && apiKey === undefined))) continue
    headers.append(name, value)
  }
  if (apiKey !== undefined) {
    const isAnthropic = request.headers.has('anthropic-version')
    if (isAnthropic) headers.set('x-api-key', apiKey)
    else headers.set('authorization', `Bearer ${apiKey}`)
  }
  for (const [name, value] of Object.entries(upstream.headers ?? {})) headers.set(name, value)
  return headers
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
  return headers
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

/** Times that a server may decode a path; `leaves` refuses what is encoded more often. */
const ROUNDS = 4

/**
 * A path as a lenient server reads it: one that is spelled otherwise is watched as well. What is sent
 * on keeps its spelling.
 */
export function plainPath(path: string): string {
  let plain = path
  for (let round = 0; round <= ROUNDS; round++) {
    // One character at a time: of `%zz`, which is no encoding, the rest is read all the same.
    plain = plain.replace(/%([0-7][\da-f])/gi, (_, code: string) =>
      String.fromCharCode(parseInt(code, 16)),
    )
  }
  // Parameters of a segment, and a query that was encoded.
  const segments = plain.replace(/[?#][^]*/, '').split(/[/\\]/)
  const named = segments.map((segment) => segment.replace(/;[^]*/, '').trim()).filter(Boolean)
  return `/${named.join('/')}`.toLowerCase()
}

/** Whether a path names a folder above, in any encoding that a server may undo. */
function leaves(path: string): boolean {
  let decoded = path
  for (let round = 0; round < ROUNDS; round++) {
    if (/(^|[/\\])\.\.?([/\\;]|$)|[\0\r\n]/.test(decoded)) return true
    let next: string
    try {
      next = decodeURIComponent(decoded)
    } catch {
      return decoded !== path
    }
    if (next === decoded) return false
    decoded = next
  }
  return true
}
