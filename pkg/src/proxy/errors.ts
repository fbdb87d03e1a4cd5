/** Refusals in the form that the clients of a route expect. */
import { json, type Refusal } from '../server/refusal.js'
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
  return json(errorBody({ type, message, code }, route), status, headers)
}

/** An error in the form of a route. */
export const errorBody = (
  { type, message, code }: { type: string; message: string; code: string },
  route: Wire['name'] | undefined,
) =>
  route === 'messages'
    ? { type: 'error', error: { type, message, code } }
    : { error: { message, type, code, param: null } }
