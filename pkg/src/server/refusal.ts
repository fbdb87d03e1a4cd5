/** Responses without a stream: JSON, and refusals with a stable code. */

/** A request that is refused. The client receives the message, so it has no server details. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Record<string, string>

  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.headers = headers
  }
}

export const responseOf = ({ code, message, status, headers }: Refusal): Response =>
  json({ error: { code, message } }, status, headers)

export const clientLeft = (): Refusal => new Refusal(499, 'client.left', 'the client left')

export const routeDisabled = (): Refusal =>
  new Refusal(404, 'route.disabled', 'the two-stage route is switched off')

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  })
}

/** The statuses of failures that a turn can have before its first event. */
const STATUS: Record<string, [status: number, message: string]> = {
  // The same response for an unknown turn, an expired one and another tenant's.
  'turn.not_found': [404, 'there is no such turn'],
  'turn.conflict': [409, 'the turn exists, has ended, has continued, or runs elsewhere'],
  'turn.cancelled': [409, 'this turn was stopped'],
  'tool.no_result': [400, 'results: the turn has no result of such a call, or it is named twice'],
  'tool.no_approval': [400, 'approvals: no call with such a signature waits'],
  'tool.missing': [409, 'approvals: the tool of such a call is not there'],
  'tool.no_call': [400, 'no such call waits for a page'],
  'tool.no_claim': [409, 'outcomes: nobody has claimed such a call'],
  'turn.events_gone': [410, 'these events are not kept any longer'],
}

/**
 * The refusal for a terminal code before any other event; `undefined` if it has no status.
 *
 * @param why the core's message, which says which of its causes a conflict has
 */
export function refusalOf(code: string, why?: string): Refusal | undefined {
  const row = Object.hasOwn(STATUS, code) ? STATUS[code] : undefined
  if (row) return new Refusal(row[0], code, (code === 'turn.conflict' && why) || row[1])
  if (code.startsWith('store.')) return new Refusal(503, code, 'the store failed')
  return undefined
}
