/** The judge of calls without a turn: for agent loops of other frameworks. */
import { answer, encode } from '../core/instance.js'
import { signature as part } from '../core/parts/signature.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import type { Dedupe } from '../generated/common.js'
import type { RefusalReason } from '../generated/turn.js'
import { GUARD_POLICY } from '../generated/rows.js'
import type { GuardPolicy } from '../generated/tools.js'
import { readOptions } from '../options.js'
import { signature } from '../signature.js'

export type { GuardPolicy }

/** What a guard needs to know of a tool; a `Tool` of `defineTool` says it. */
export interface GuardedTool {
  /** Whether it has no side effects: a repeated call gets the recorded outcome. */
  readonly readOnly?: boolean
  /** How to treat a repeated call. Default: `block`; for a read-only tool, `replay`. */
  readonly dedupe?: Dedupe
  /** Maximum calls that are executed. */
  readonly maxCalls?: number
}

/** A call that a model wants. */
export interface GuardedCall {
  name: string
  /** An object, or its JSON text as the model wrote it. */
  args: unknown
  /** Part of the signature, for tools with several actions. */
  action?: string | null | undefined
  /** Whether the arguments fit the tool's schema, as far as the host has checked it. Default: true. */
  valid?: boolean | undefined
}

/** What to do with a call. */
export type CallVerdict<Outcome = unknown> =
  /** Execute it, then say what came of it: `settled(verdict, outcome)`. */
  | { decision: 'execute'; signature: string }
  /** Do not execute it: the outcome of the same earlier call is its outcome, once there is one. */
  | { decision: 'replay'; signature: string; outcome: Promise<Outcome> }
  /** Do not execute it. `notice` is what the model should read instead of a result. */
  | { decision: 'refuse'; signature: string | null; reason: RefusalReason; notice: string }

/** What a turn knows of its calls, without the turn. */
export interface CallGuard<Outcome = unknown> {
  /** Decides about a call. A call that may be executed counts from now on. */
  judge(call: GuardedCall): CallVerdict<Outcome>
  /** Records what came of a call that was executed. The first outcome stays. */
  settled(call: { signature: string }, outcome: Outcome): void
  /** Ends the tool phase: every later call is refused as `tools_disabled`. */
  close(): void
  /** Whether calls may still be executed: not closed, and budget is left. */
  readonly isOpen: boolean
  /** How many calls may still be executed. */
  readonly left: number
  /** The signatures of calls that were refused or repeated, each once, in order. */
  readonly blockedSignatures: readonly string[]
  /** How often a call was repeated, by its signature. */
  readonly repeats: Readonly<Record<string, number>>
}

const DEDUPES = ['block', 'replay', 'allow'] as const

/**
 * Opens a guard: the rules by which a turn judges calls, for a loop of your own. The same call is
 * executed once, at most `maxTools` are executed, and what may not run is refused with a notice
 * that redirects the model. One guard is for one turn.
 *
 * @throws TurnlockError `options.invalid`
 */
export function createCallGuard<Outcome = unknown>(options: GuardPolicy = {}): CallGuard<Outcome> {
  options = readOptions(options, GUARD_POLICY)
  const { tools, maxTools = Infinity, allow, projectId = null } = options
  const isCount = maxTools === Infinity || (Number.isInteger(maxTools) && maxTools >= 0)
  if (!isCount) throw wrong('maxTools', 'a whole number from 0 on')
  if (
    tools !== undefined &&
    (typeof tools !== 'object' || tools === null || Array.isArray(tools))
  ) {
    throw wrong('tools', 'an object: name → tool')
  }
  if (allow !== undefined && !Array.isArray(allow)) throw wrong('allow', 'a list of names')
  const known = tools && new Map(Object.entries(tools))
  for (const [name, tool] of known ?? []) {
    const { dedupe, maxCalls = 1 } = Object(tool) as GuardedTool
    if (typeof tool !== 'object' || tool === null) throw wrong(`tools.${name}`, 'a tool')
    if (dedupe !== undefined && !DEDUPES.includes(dedupe)) {
      throw wrong(`tools.${name}.dedupe`, 'block, replay or allow')
    }
    if (!Number.isInteger(maxCalls) || maxCalls < 1) {
      throw wrong(`tools.${name}.maxCalls`, 'a whole number from 1 on')
    }
  }

  const executed = new Map<string, Recorded<Outcome>>()
  const runs = new Map<string, number>()
  const repeats: Record<string, number> = {}
  const blocked = new Set<string>()
  let left = maxTools
  let closed = false

  return {
    judge(call) {
      const { name, args, action = null, valid = true } = call ?? ({} as GuardedCall)
      if (typeof name !== 'string') throw wrong('name', 'a string')
      const signed = sign({ tool: name, args, action, projectId })
      const { readOnly = false, dedupe, maxCalls = Infinity } = known?.get(name) ?? {}
      const before = signed === null ? undefined : executed.get(signed)
      const facts = [
        closed,
        known !== undefined && !known.has(name),
        allow !== undefined && !allow.includes(name),
        valid && signed !== null,
        before !== undefined,
        left < 1 || (runs.get(name) ?? 0) >= maxCalls,
      ].reduce((bits, is, at) => bits | (Number(is) << at), 0)
      const place = dedupe === undefined ? DEDUPES.length : DEDUPES.indexOf(dedupe)
      const decision = answer(part.call((glue) => glue.judge(facts, place, readOnly)))
      if (signed !== null && decision !== 'execute') {
        blocked.add(signed)
        if (before) repeats[signed] = (repeats[signed] ?? 0) + 1
      }
      if (decision === 'replay') {
        return { decision, signature: signed!, outcome: before!.outcome }
      }
      if (decision === 'execute') {
        left -= 1
        runs.set(name, (runs.get(name) ?? 0) + 1)
        executed.set(signed!, record())
        return { decision, signature: signed! }
      }
      const reason = decision as RefusalReason
      const results = [...executed.values()].some(({ has }) => has)
      const of = encode(JSON.stringify({ reason, names: [name.replace(/[^ -~]/g, '_')], results }))
      const notice = answer(part.call((glue) => glue.refusal_notice(of)))
      return { decision: 'refuse', signature: signed, reason, notice }
    },

    settled(call, outcome) {
      const recorded = executed.get(call?.signature)
      if (!recorded) throw wrong('call', 'a call that `judge` let run')
      recorded.settle(outcome)
    },

    close() {
      closed = true
    },

    get isOpen() {
      return !closed && left > 0
    },
    get left() {
      return closed ? 0 : left
    },
    get blockedSignatures() {
      return [...blocked]
    },
    get repeats() {
      return { ...repeats }
    },
  }
}

/** An executed call. */
interface Recorded<Outcome> {
  outcome: Promise<Outcome>
  settle(outcome: Outcome): void
  has: boolean
}

function record<Outcome>(): Recorded<Outcome> {
  let resolve: (outcome: Outcome) => void
  const recorded: Recorded<Outcome> = {
    outcome: new Promise((settle) => (resolve = settle)),
    has: false,
    settle(outcome) {
      recorded.has = true
      resolve(outcome)
    },
  }
  return recorded
}

/** The signature of a call whose arguments are an object; else null. */
function sign(call: Parameters<typeof signature>[0]): string | null {
  const { args } = call
  const isText = typeof args === 'string'
  // A model that calls without arguments often writes nothing.
  const given = isText && args.trim() === '' ? {} : args
  if (!isText && (typeof args !== 'object' || args === null || Array.isArray(args))) return null
  if (isText && given === args && !args.trimStart().startsWith('{')) return null
  try {
    return signature({ ...call, args: given })
  } catch (error) {
    if (isTurnlockError(error) && error.code.startsWith('json.')) return null
    throw error instanceof TurnlockError ? error : wrong('args', 'an object, or its JSON text')
  }
}
