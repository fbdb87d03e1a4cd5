/** Refusals in the form that the clients of a route expect. */
import { json, type Refusal } from '../server/refusal.js'
import { geminiError } from './gemini.js'
import type { Wire } from './wire.js'

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
}

/** `error.code` is the stable code; `error.type` is one that the provider's clients know. */
export function refusalResponse(refusal: Refusal, route: Wire['name'] | undefined): Response {
  const { status, code, message, headers } = refusal
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return json(errorBody({ status, type, message, code }, route), status, headers)
}

/** An error in the form of a route. `status`: of HTTP. Default: 500 */
export function errorBody(
  { status = 500, type, message, code }: Described,
  route: Wire['name'] | undefined,
) {
  if (route === 'gemini') return { error: geminiError(status, code, message) }
  return route === 'messages'
    ? { type: 'error', error: { type, message, code } }
    : { error: { message, type, code, param: null } }
}

interface Described {
  status?: number
  type: string
  message: string
  code: string
}
