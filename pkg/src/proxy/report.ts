/** What the proxy did with a request. */
import type { Repair } from '../generated/common.js'
import type { Refused } from './judge.js'
import type { Repeat } from './repeats.js'

/** A report of one request; for `observe`, of what the other modes would have done. */
export interface ProxyReport {
  mode: 'observe' | 'repair' | 'bound'
  route: 'chat' | 'responses' | 'messages' | 'gemini'
  tenant: string
  /** What the client's own headers say of its session, such as `x-claude-code-session-id`. */
  session: Record<string, string>
  /**
   * `partial`: the request continues state at the provider (`thread`, `previous_response_id`,
   * `conversation`, references to items). Its earlier calls are not known here, so `bound` judges
   * the calls of its response alone. `remembered`: they are known from `store`.
   */
  history: 'whole' | 'partial' | 'remembered'
  /** Changes of the history; `index` is the place in the request. Not applied in `observe`. */
  repairs: Repair[]
  /** The names of calls that may run; of a response that is too long to be judged, none. */
  calls: string[]
  /** Calls that may not run. They are refused in `bound` only. */
  blocked: Refused[]
  /**
   * Calls of the response that were made three times or more in the user turn, whatever their
   * results. They are not refused for it: a poll repeats too.
   */
  repeats: Repeat[]
  /** Why the answer was forced; only `bound` forces it. */
  forced: null | Refused['reason']
  /** The usage of each response of the provider, as it said it. */
  usage: unknown[]
  /** The status that the client got. */
  status: number
  /**
   * `complete` from the terminal event on, also if the client closes the connection there;
   * `cancelled` if it closes the connection earlier; `failed` if the provider's connection breaks.
   */
  outcome: 'complete' | 'cancelled' | 'failed'
  /** Milliseconds until the provider's response began, and until it ended. */
  firstByteMs: number
  ms: number
  /** Bytes of the request as it came, and of the response as it went. */
  bytes: { request: number; response: number }
  /** Why the request was not read or judged, or the response failed: a stable code. */
  error?: string
}

/**
 * Repairs and refusals that the header lists at most.
 *
 * Limit | repairs and refusals in a header | entries | counted
 */
const MOST = 20

/** The header `x-turnlock-report`: JSON in ASCII, of what is known before the response. */
export function headerOf({ mode, history, repairs, forced, error }: ProxyReport): string {
  const listed = repairs.slice(0, MOST).map(({ code, action, index }) => ({ code, action, index }))
  const more = repairs.length - MOST
  return JSON.stringify({
    mode,
    applied: mode !== 'observe',
    history,
    repairs: listed,
    more: more > 0 ? more : undefined,
    forced,
    error,
  })
}

const SESSION = [
  'x-claude-code-session-id',
  'x-claude-code-agent-id',
  'x-claude-code-parent-agent-id',
  'session_id',
  'session-id',
  'conversation_id',
  'x-litellm-trace-id',
]

/** Headers are the client's: short, and only for the host's report. */
export function sessionOf(headers: Headers): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of SESSION) {
    const value = headers.get(name)
    if (value !== null) found[name] = value.slice(0, 256)
  }
  return found
}
