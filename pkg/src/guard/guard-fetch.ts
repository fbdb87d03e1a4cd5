/** The rules of the proxy inside a client: a `fetch` for clients of OpenAI, Anthropic, Gemini and others. */
import { checkFunctions } from '../checks.js'
import { wrong } from '../errors.js'
import type { Fetch } from '../models/model.js'
import type { GuardFetchOptions } from '../generated/proxy.js'
import { GUARD_FETCH_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { checkFlags, checkMode, DEFAULTS, limitsOf, policyOf } from '../proxy/options.js'

export type { GuardFetchOptions }

/** The `fetch` of the project's types: that of the DOM or of Node, where there is one. */
export type HostFetch = typeof globalThis extends { fetch: infer Own } ? Own : Fetch

/** Whether a path may be that of a watched API. `wireOf` decides. */
const MAY_BE_WATCHED = /completions|responses|messages|generatecontent|%/i

/**
 * Makes a `fetch` for a client of a model: it repairs the history of a request, bounds repeated calls
 * and reports, as `createProxy` does, without a server. Other requests pass. The client's arguments
 * stay as they are, but for the body. The core is loaded with the first request of a watched API.
 *
 * @param given sends the requests. Default: the global `fetch` at the time of the request
 * @throws TurnlockError `options.invalid`
 * @example
 * const client = new OpenAI({ fetch: guardFetch() })
 */
export function guardFetch(
  given?: HostFetch | undefined,
  options: GuardFetchOptions = {},
): HostFetch {
  if (given !== undefined && typeof given !== 'function') throw wrong('fetch', 'a function')
  const read = readOptions(options, GUARD_FETCH_OPTIONS)
  const { mode = 'bound', onReport, onError } = read
  checkMode(mode)
  checkFunctions({ onReport, onError })
  checkFlags({ repairOnError: read.repairOnError })
  const policy = policyOf(read.policy)
  limitsOf(read.limits, DEFAULTS)
  return async (input, init) => {
    const send = given ?? globalThis.fetch
    const isRequest = typeof input === 'object' && 'method' in input
    const method = init?.method ?? (isRequest ? input.method : 'GET')
    const address = isRequest ? input.url : String(input)
    if (method.toUpperCase() !== 'POST' || !MAY_BE_WATCHED.test(address)) return send(input, init)
    const { guardedFetch } = await import('../proxy/guarded-fetch.js')
    return guardedFetch(send, input, init, { ...read, mode, policy })
  }
}
