/** Whether a call may run, judged by the history that the client sends: nothing is stored. */
import { signature } from '../signature.js'
import type { ProxyPolicy } from '../generated/proxy.js'

/** A call of a model. `args` is JSON text, or free text of a custom tool. */
export interface Call {
  name: string
  args: string
}

/** A call of a history. `result` is `undefined` while there is none. */
export interface PastCall extends Call {
  result: string | undefined
}

/** Why a call may not run. */
export interface Refused {
  name: string
  /** As `signature({ tool, args })`. */
  signature: string
  /** `form`: it stood where its wire has no calls. */
  reason: 'duplicate' | 'budget' | 'form'
  /** Earlier calls with the same arguments and result, in a row. */
  repeats: number
}

/** The identity of a call; free text counts as a string. */
function identityOf({ name, args }: Call): string {
  try {
    return signature({ tool: name, args: args || '{}' })
  } catch {
    // A lone surrogate has no canonical form; it is one in no other call either.
    return signature({ tool: whole(name), args: JSON.stringify(whole(args)) })
  }
}

const whole = (text: string): string => text.replace(/[\uD800-\uDFFF]/g, '\uFFFD')

/** A call in a place where its wire has none: clients may read it, so it is left out. */
export const misplaced = (call: Call): Refused => ({
  name: call.name,
  signature: identityOf(call),
  reason: 'form',
  repeats: 0,
})

interface Streak {
  result: string
  times: number
}

/** The calls of the current user turn. */
export class Judge {
  readonly #most: number
  #left: number
  readonly #streaks = new Map<string, Streak>()

  constructor(policy: ProxyPolicy, past: readonly PastCall[]) {
    this.#most = policy.maxRepeats ?? 2
    const settled = past.filter((call) => call.result !== undefined)
    this.#left = (policy.maxTools ?? Infinity) - settled.length
    for (const call of settled) {
      const key = identityOf(call)
      const result = call.result as string
      const streak = this.#streaks.get(key)
      // Another result: the call told something new, so it is no loop.
      const times = streak?.result === result ? streak.times + 1 : 1
      this.#streaks.set(key, { result, times })
    }
  }

  /** Whether no call may run any more. */
  get isSpent(): boolean {
    return this.#left <= 0
  }

  /** The refusal of a call of the response; `undefined` if it may run, which uses the budget. */
  refuse(call: Call): Refused | undefined {
    const key = identityOf(call)
    const repeats = this.#streaks.get(key)?.times ?? 0
    const isRepeated = repeats >= this.#most
    if (!isRepeated && this.#left > 0) {
      this.#left--
      return undefined
    }
    const reason = isRepeated ? 'duplicate' : 'budget'
    return { name: call.name, signature: key, reason, repeats }
  }
}

/** The refusal of a call, or `undefined` if it may run. Either is reported. */
export function judged(
  judge: Judge | undefined,
  call: Call,
  report: { calls: string[]; blocked: Refused[] },
): Refused | undefined {
  const refused = judge?.refuse(call)
  if (refused) report.blocked.push(refused)
  else report.calls.push(call.name)
  return refused
}

/** The text of a result, without what changes between requests. */
export function resultText(value: unknown): string {
  if (typeof value === 'string') return value
  return (
    JSON.stringify(value, (name, member: unknown) =>
      name === 'cache_control' ? undefined : member,
    ) ?? ''
  )
}

/** What coding agents add to what the user says; it is no message of the user. */
const INJECTED = /^\s*<(system-reminder|environment_context|user_instructions)>[\s\S]*<\/\1>\s*$/

/** Whether a text of a user message is the user's. */
export const isSaid = (said: unknown): boolean =>
  typeof said === 'string' && said.trim() !== '' && !INJECTED.test(said)
