/** Remembers the calls of responses for the requests that continue them, whose history only the provider has. */
import { isObject } from '../checks.js'
import type { Repair } from '../generated/common.js'
import type { GuardState } from '../generated/guard.js'
import { callNotice } from '../guard/machine.js'
import { randomHex } from '../shared/random.js'
import type { Store } from '../stores/store.js'
import type { PastCall, Refused } from './judge.js'
import { membersOf, object, text, withMember, type Members } from './json.js'

/** A call of an earlier response, whose result the next request has. */
export interface RememberedCall extends PastCall {
  id: string
}

/** A call of a response that the client did not receive. The provider expects a result of it. */
interface WithheldCall {
  id: string
  name: string
  reason: Refused['reason']
}

/** What is stored of a response. */
interface Remembered {
  /** The guard before the calls of the response; missing if nothing was judged before. */
  state?: GuardState
  calls: { id: string; name: string; signatures: string[] }[]
  withheld: WithheldCall[]
  /** The provider's id of the answer that the client received under the id of the response. */
  answer?: string
}

/**
 * Calls of a response that are remembered.
 *
 * Limit | calls of a response that are remembered | calls | the next request has a partial history
 */
const MOST = 1000

/** The response that a request continues, and where the request names it. */
export function continuedBy(body: Members): { id: string; path: readonly string[] } | undefined {
  const previous = text(body['previous_response_id'])
  if (previous !== '') return { id: previous, path: ['previous_response_id'] }
  const message = text(object(body['thread'])['previous_message_id'])
  return message === '' ? undefined : { id: message, path: ['thread', 'previous_message_id'] }
}

/** Whether the provider keeps the response to a request, so that another request may continue it. */
export const isKept = (route: string, body: Members): boolean =>
  route === 'responses' ? body['store'] !== false : route === 'messages' && isObject(body['thread'])

/** The responses of one proxy. */
export class Conversations {
  readonly #store: Store
  /** Writes that have not ended, by name: a client may be faster than a store. */
  readonly #pending = new Map<string, Promise<unknown>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** What is known of a response. @throws what the store throws */
  async recall(tenant: string, route: string, id: string): Promise<Remembered | undefined> {
    const name = nameOf(tenant, route, id)
    await this.#pending.get(name)?.catch(() => {})
    const stored = await this.#store.read(name)
    return stored && (JSON.parse(stored.state) as Remembered)
  }

  /** Stores a response. @throws what the store throws */
  async remember(
    [tenant, route, id]: readonly [string, string, string],
    response: Remembered,
    ttlMs: number,
  ): Promise<void> {
    const name = nameOf(tenant, route, id)
    const written = this.#store.commit(name, {
      owner: randomHex(16),
      revision: 1,
      takeOver: false,
      open: false,
      state: JSON.stringify(response),
      ttlMs,
      records: [],
      events: null,
      forget: 0,
      reusable: [],
    })
    this.#pending.set(name, written)
    try {
      await written
    } finally {
      this.#pending.delete(name)
    }
  }
}

/** Begins with no tenant's name, so that `listTurns` never shows it. */
const nameOf = (tenant: string, route: string, id: string): string =>
  JSON.stringify(['turnlock:proxy', tenant, route, id])

/** A response, while it is read. */
export class ResponseRecord {
  readonly #calls: Remembered['calls'] = []
  readonly #withheld: WithheldCall[] = []
  #ids: string[] = []
  #state: GuardState | undefined

  /** The first is the one that the client receives; a second one is that of a forced answer. */
  named(id: string): void {
    if (id !== '' && !this.#ids.includes(id)) this.#ids.push(id)
  }

  /** The answer replaces the response, as the client sees it. */
  replaced(): void {
    this.#ids = this.#ids.slice(-1)
    this.#withheld.length = 0
  }

  /** The state of the guard before the first call. */
  judgedFrom(state: () => GuardState): void {
    this.#state ??= state()
  }

  passed(call: { id?: string; name: string }, signatures: string[]): void {
    this.#calls.push({ id: call.id ?? '', name: call.name, signatures })
  }

  withheld(call: { id?: string; name: string }, reason: Refused['reason']): void {
    if (call.id) this.#withheld.push({ id: call.id, name: call.name, reason })
  }

  /** The id that the client knows, and what is to be stored; `undefined` if nothing is. */
  get result(): { id: string; response: Remembered } | undefined {
    const [id, answer] = this.#ids
    const count = this.#calls.length + this.#withheld.length
    if (id === undefined || count === 0 || count > MOST) return undefined
    const state = this.#state && { state: this.#state }
    if (answer !== undefined && answer !== id) {
      return { id, response: { ...state, calls: [], withheld: [], answer } }
    }
    return { id, response: { ...state, calls: this.#calls, withheld: this.#withheld } }
  }
}

/** The calls of a remembered response, for the history of the request that continues it. */
export const callsOf = ({ calls }: Remembered): RememberedCall[] =>
  calls.map((call) => ({ ...call, args: '', result: undefined }))

/** The results that the provider expects of calls that the client did not receive. */
export const missingResults = ({ withheld }: Remembered): { repair: Repair; result: string }[] =>
  withheld.map(({ id, name, reason }) => ({
    repair: {
      index: -1,
      code: 'TOOL_CALL_UNANSWERED',
      action: 'synthesized',
      toolCallId: id,
      detail: `the call to ${name} was withheld (${reason}), and the provider expects a result of it`,
    },
    result: callNotice(reason, [name], true),
  }))

/** A request with another id of the response that it continues. */
export function withContinued(json: string, path: readonly string[], id: string): string {
  const [name = '', ...inner] = path
  const range = membersOf(json).get(name)
  if (!range) return json
  const value = inner.length
    ? withContinued(json.slice(range.start, range.end), inner, id)
    : JSON.stringify(id)
  return withMember(json, name, value)
}

export type { Remembered }
