/** What the proxy knows of a wire: its requests, and what it says in responses of its own. */
import type { Dialect } from '../types.js'
import type { Repair } from '../generated/common.js'
import type { Elements } from './history.js'
import type { RememberedCall } from './conversation.js'
import type { PastCall } from './judge.js'
import type { Members } from './json.js'

export interface Wire {
  name: 'chat' | 'responses' | 'messages' | 'gemini'
  dialect: Dialect
  /** The member of a request with the history. */
  history: 'messages' | 'input' | 'contents'
  /** The member, and its value, of a request whose answer is to have no call. */
  noTools(body: Members): [string, string]
  /** Whether the history has no references to elements that only the provider has. */
  isWhole(body: Members): boolean
  /** Whether the client reads a stream. */
  isStream(body: Members, path: string): boolean
  /** How many answers a request asks for. */
  choices(body: Members): number
  /** Results without a call that `diagnoseHistory` takes for ones whose call the provider keeps. */
  orphans(history: readonly unknown[]): Repair[]
  /**
   * Leaves out the results that the repairs name, and adds those of the calls that they name. Without
   * it, a history that has such faults is written anew.
   *
   * @param result the text of an added result. Default: {@link INTERRUPTED}
   */
  mend?(
    elements: Elements,
    history: readonly unknown[],
    repairs: readonly Repair[],
    result?: string,
  ): void
  /** Whether the user says something in an element of a history. */
  isSpoken(element: Members): boolean
  /**
   * The calls since the user's last message, in their order.
   *
   * @param before calls of the same turn, whose results may be in the history
   */
  turn(history: readonly unknown[], before?: readonly RememberedCall[]): PastCall[]
  /** A comment, or an event that every client ignores. */
  ping: string
  /** The error in the stream of a response that `bound` refuses. */
  failure(code: string, message: string): string
}

/** APIs whose body says whether the client reads a stream, and of how many answers. */
export const SAID_IN_BODY: Pick<Wire, 'isStream' | 'choices'> = {
  isStream: ({ stream }) => stream === true,
  choices: ({ n }) => Number(n ?? 1),
}

/** What a call is answered with that never was. */
export const INTERRUPTED = 'Tool call was interrupted before it returned a result.'

/** Of each element, the last place of the row of parts behind it. */
export function rowEnds(
  history: readonly unknown[],
  isPart: (element: unknown) => boolean,
): number[] {
  const ends: number[] = []
  for (let at = history.length - 1; at >= 0; at--) {
    const isLast = at + 1 === history.length || !isPart(history[at + 1])
    ends[at] = isLast ? at : (ends[at + 1] as number)
  }
  return ends
}
