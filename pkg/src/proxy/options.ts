/** The options of `createProxy`, checked once. */
import { checkFunctions, isObject } from '../checks.js'
import { wrong } from '../errors.js'
import type { ProxyLimits, ProxyOptions, ProxyPolicy, Upstream } from '../generated/proxy.js'
import { PROXY_OPTIONS } from '../generated/rows.js'
import { readOptions, type Filled } from '../options.js'
import { Cors } from '../server/cors.js'
import type { Environment } from '../server/two-stage.js'
import { checkStore } from '../stores/store.js'
import { isConnectionHeader, isKeyHeader } from './headers.js'

export type { DecodeBody } from './body.js'
export type { ProxyLimits, ProxyOptions, ProxyPolicy, Upstream }

/** The client of a request. */
export interface ProxySession {
  /** Whose request it is. Not empty. */
  tenant: string
  /** These replace the proxy's. */
  mode?: 'observe' | 'repair' | 'bound' | undefined
  policy?: ProxyPolicy | undefined
  limits?: ProxyLimits | undefined
}

/** Of which provider a session's requests are. `route` is what is asked for. */
export type UpstreamFor<S> = (about: {
  session: S
  route: 'chat' | 'responses' | 'messages' | 'gemini' | 'other'
  env: Environment | undefined
}) => string | Upstream | Promise<string | Upstream>

export type Settings<S extends ProxySession> = ProxyOptions<S> & {
  mode: 'observe' | 'repair' | 'bound'
  policy: ProxyPolicy
  limits: Filled<ProxyLimits>
  basePath: string
  origins: Cors
  forwarded: ReadonlySet<string>
}

export const DEFAULTS: Filled<ProxyLimits> = {
  bodyBytes: 33_554_432,
  heldBytes: 8_388_608,
  firstByteMs: 600_000,
  idleMs: 300_000,
  keepAliveMs: 10_000,
  rememberMs: 3_600_000,
}

const UPSTREAM: Record<keyof Upstream, 0> = { url: 0, apiKey: 0, headers: 0, passAuthorization: 0 }

/** @throws TurnlockError `options.invalid` */
export function settingsOf<S extends ProxySession>(options: ProxyOptions<S>): Settings<S> {
  options = readOptions(options, PROXY_OPTIONS)
  const { mode = 'observe', basePath = '', clientGone = 'stop', upstream } = options
  if (typeof options.authorize !== 'function') {
    throw wrong('authorize', 'a function that gives the tenant of a request')
  }
  if (typeof upstream !== 'function') upstreamOf(upstream)
  if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw wrong('basePath', 'a path, such as /llm')
  if (clientGone !== 'stop' && clientGone !== 'continue') {
    throw wrong('clientGone', 'stop or continue')
  }
  const { onReport, onError, fetch, decode } = options
  checkFunctions({ onReport, onError, fetch })
  for (const [coding, read] of Object.entries(members(decode, 'decode'))) {
    if (typeof read !== 'function') throw wrong(`decode.${coding}`, 'a function')
  }
  checkMode(mode)
  checkFlags({ repairOnError: options.repairOnError })
  if (options.store !== undefined) checkStore(options.store)
  return {
    ...options,
    mode,
    limits: limitsOf(options.limits, DEFAULTS),
    policy: policyOf(options.policy),
    basePath: basePath.replace(/\/$/, ''),
    origins: new Cors(options.cors, options.hosts, 'proxy'),
    forwarded: forwardedOf(options.forwardHeaders),
  }
}

/** @throws TurnlockError `options.invalid` */
export function checkFlags(flags: Record<string, boolean | undefined>): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined && typeof value !== 'boolean') throw wrong(name, 'true or false')
  }
}

/** The names in lower case. @throws TurnlockError `options.invalid` */
function forwardedOf(given: string[] | undefined): ReadonlySet<string> {
  const names: unknown = given ?? []
  if (!Array.isArray(names)) throw wrong('forwardHeaders', 'a list of header names')
  return new Set(
    names.map((name: unknown, at) => {
      const path = `forwardHeaders[${at}]`
      if (typeof name !== 'string' || !HEADER_NAME.test(name)) throw wrong(path, 'a header name')
      const lower = name.toLowerCase()
      if (isConnectionHeader(lower)) {
        throw wrong(path, `a header that is not about one connection, unlike ${lower}`)
      }
      if (isKeyHeader(lower)) {
        throw wrong(
          path,
          `a header other than the client's keys; \`upstream.passAuthorization\` forwards ${lower}`,
        )
      }
      return lower
    }),
  )
}

/** A token (RFC 9110, 5.6.2). */
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** What is given, and `others` where it is not. @throws TurnlockError `options.invalid` */
export function limitsOf(
  given: ProxyLimits | undefined,
  others: Filled<ProxyLimits>,
): Filled<ProxyLimits> {
  const limits = { ...others }
  const values = members(given, 'limits')
  for (const name of Object.keys(limits) as (keyof ProxyLimits)[]) {
    const most = name.endsWith('Ms') ? LONGEST_TIMER : Infinity
    limits[name] = count(values[name], `limits.${name}`, 1, most) ?? limits[name]
  }
  return limits
}

/** @throws TurnlockError `options.invalid` */
export function checkMode(mode: unknown): void {
  if (mode !== 'observe' && mode !== 'repair' && mode !== 'bound') {
    throw wrong('mode', 'observe, repair or bound')
  }
}

/** @throws TurnlockError `options.invalid` */
export function policyOf(given: ProxyPolicy | undefined): ProxyPolicy {
  const policy = members(given, 'policy')
  count(policy.maxRepeats, 'policy.maxRepeats', 1)
  count(policy.maxTools, 'policy.maxTools', 0)
  count(policy.maxSameCall, 'policy.maxSameCall', 1)
  const prefixes: unknown = policy.volatilePrefixes ?? []
  if (!Array.isArray(prefixes) || !prefixes.every((prefix) => typeof prefix === 'string')) {
    throw wrong('policy.volatilePrefixes', 'a list of strings')
  }
  return policy
}

/** The members of what is given: a number or a list in its place has none of those. */
function members<T extends object>(given: T | null | undefined, path: string): Partial<T> {
  const value = given ?? {}
  if (!isObject(value)) throw wrong(path, 'an object')
  return value as Partial<T>
}

/** A timer of more milliseconds fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1

function count(value: number | undefined, path: string, least: number, most = Infinity) {
  const fits = Number.isSafeInteger(value) && value! >= least && value! <= most
  if (value === undefined || fits) return value
  throw wrong(path, `a whole number from ${least}${most < Infinity ? ` to ${most}` : ''}`)
}

/** @throws TurnlockError `options.invalid` */
export function upstreamOf(given: string | Upstream | undefined): Upstream {
  const options = typeof given === 'string' ? { url: given } : given
  const upstream = readOptions(options, UPSTREAM, 'upstream')
  let url: URL | undefined
  try {
    url = new URL(upstream?.url as string)
  } catch {
    // Said below.
  }
  if (!upstream || !url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw wrong('upstream.url', 'an address such as https://api.openai.com/v1')
  }
  return upstream
}
