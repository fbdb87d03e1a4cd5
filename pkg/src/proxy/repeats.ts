/** Counts equal calls of a user turn, whatever their results. */
import type { ProxyPolicy } from '../generated/proxy.js'
import { identityOf, Judge, type Call, type PastCall, type Refused } from './judge.js'

/** A call of a response that was made often in the current user turn. */
export interface Repeat {
  name: string
  /** As `signature({ tool, args })`. */
  signature: string
  /** Equal calls of the user turn, with this one. */
  times: number
}

/** Fewer equal calls are not reported. */
const LEAST = 3

/** A judge that also adds repeated calls to a report; they are not refused for it. */
export class CountingJudge extends Judge {
  readonly #times = new Map<string, number>()
  readonly #reported = new Map<string, Repeat>()
  readonly #repeats: Repeat[]

  constructor(policy: ProxyPolicy, past: readonly PastCall[], repeats: Repeat[]) {
    super(policy, past)
    this.#repeats = repeats
    for (const call of past) this.#count(identityOf(call).key)
  }

  #count(signature: string): number {
    const times = (this.#times.get(signature) ?? 0) + 1
    this.#times.set(signature, times)
    return times
  }

  override refuse(call: Call): Refused | undefined {
    const signature = identityOf(call).key
    const times = this.#count(signature)
    const reported = this.#reported.get(signature)
    if (reported) reported.times = times
    else if (times >= LEAST) {
      const repeat = { name: call.name, signature, times }
      this.#reported.set(signature, repeat)
      this.#repeats.push(repeat)
    }
    return super.refuse(call)
  }
}
