/** The call guard for agent loops of other frameworks. */
import { isObject } from '../checks.js'
import { isTurnlockError, TurnlockError, wrong } from '../errors.js'
import type {
  GuardCall,
  GuardedTool,
  GuardOptions,
  GuardState,
  PastCall,
} from '../generated/guard.js'
import { GUARD_POLICY } from '../generated/rows.js'
import type { GuardPolicy } from '../generated/tools.js'
import type { RefusalReason } from '../generated/turn.js'
import { readOptions } from '../options.js'
import { stringify } from '../shared/text.js'
import { callSignature, GuardMachine } from './machine.js'

export type { GuardedTool, GuardPolicy, GuardState }

/** A call that a model requests. */
export interface GuardedCall {
  name: string
  /** An object, or its JSON text as the model wrote it. */
  args: unknown
  /** Part of the signature, for tools with several actions. */
  action?: string | null | undefined
  /** Whether the arguments fit the tool's schema, as far as the host has checked it. Default: true. */
  valid?: boolean | undefined
  /** The user's decision about a call whose verdict was `ask`. Default: none yet. */
  approved?: boolean | undefined
}

/** What to do with a call. */
export type CallVerdict<Outcome = unknown> =
  /**
   * `run`: execute it, then report the outcome: `settle(call, outcome)`. `ask`: execute it only if
   * the user approves it; judge it again with the decision in `approved`. `args`: the arguments to
   * execute it with, if they were fitted to the tool's `inputSchema`.
   */
  | {
      action: 'run' | 'ask'
      args?: Record<string, unknown>
      reason?: undefined
      notice?: undefined
      outcome?: undefined
    }
  /**
   * Do not execute it: its outcome is that of the same earlier call, or a promise of it while that
   * call runs. It is what the JSON of the outcome says.
   */
  | {
      action: 'replay'
      args?: undefined
      reason?: undefined
      notice?: undefined
      outcome: Outcome | Promise<Outcome>
    }
  /** Do not execute it. `notice` is what the model reads in place of a result. */
  | {
      action: 'block'
      args?: undefined
      reason: RefusalReason
      notice: string
      outcome?: undefined
    }

/** Judges and counts the calls of an agent loop. */
export interface CallGuard<Outcome = unknown> {
  /** Judges a call. A call that runs counts from now on. */
  judge(call: GuardedCall): CallVerdict<Outcome>
  /**
   * Records the outcome of a call that ran. `undefined` counts as `null`. Of equal calls that run at
   * the same time, it is that of the first. The first outcome of a call stays.
   *
   * @throws TurnlockError `options.invalid` for a call that was never judged to run,
   * `json.not_serializable` and the other `json.*` codes for an outcome without JSON
   */
  settle(call: GuardedCall, outcome: Outcome): void
  /**
   * Begins the next turn, or the next turn of the user, which is also a turn. Calls of an earlier
   * window do not count.
   */
  begin(next: 'turn' | 'user_turn'): void
  /** Ends the tool phase: every later call of this turn is blocked as `tools_disabled`. */
  close(): void
  /** Whether calls may still be executed: not closed, and budget is left. */
  readonly isOpen: boolean
  /** The state as JSON: `createCallGuard({ …, state })` continues with it. */
  state(): GuardState
}

/** A call of a history. Without a `result`, it counts as not executed. */
export interface RecordedCall extends Pick<GuardedCall, 'name' | 'args' | 'action'> {
  result?: unknown
}

/** A call guard that also takes the calls of a history. */
export interface RecordingGuard<Outcome> extends CallGuard<Outcome> {
  record(calls: readonly RecordedCall[]): void
}

/**
 * Makes a call guard: the rules by which a turn judges calls, for a loop of your own. A call runs
 * once for each signature, at most `maxCalls` run, and a call that may not run is blocked with a
 * notice that redirects the model.
 *
 * @throws TurnlockError `options.invalid`
 * @example
 * const guard = createCallGuard({ tools: { read: { readOnly: true } }, maxCalls: 3 })
 * const verdict = guard.judge({ name, args })
 * if (verdict.action === 'run') guard.settle({ name, args }, await execute(name, args))
 */
export function createCallGuard<Outcome = unknown>(policy: GuardPolicy = {}): CallGuard<Outcome> {
  return createRecordingGuard(policy)
}

/** @throws TurnlockError `options.invalid` */
export function createRecordingGuard<Outcome = unknown>(
  policy: GuardPolicy,
): RecordingGuard<Outcome> {
  const { projectId = null, ...rules } = readOptions(policy, GUARD_POLICY)
  if (projectId !== null && typeof projectId !== 'string') throw wrong('projectId', 'a string')
  const guardOptions = optionsOf(rules)
  const machine = new GuardMachine(guardOptions)
  const all = [guardOptions.tools, guardOptions.perTool].flatMap((tools) =>
    Object.entries(tools ?? {}),
  )
  const withSchema = new Set(all.filter(([, tool]) => tool.inputSchema).map(([name]) => name))
  /** The replays that wait for a call, by its number. */
  const waiting = new Map<number, { outcome: Promise<Outcome>; resolve(value: Outcome): void }>()
  const signedBy = (name: string, args: unknown, action: string | null) => {
    const fitted = withSchema.has(name) ? machine.fit(name, textOf(args)) : undefined
    return { fitted, signed: sign(name, fitted ?? args, action, projectId) }
  }
  /** A call as the machine reads it, and the JSON of its arguments if they were changed. */
  const guarded = (call: GuardedCall): { call: GuardCall; fitted: string | undefined } => {
    const { name, args, action = null, valid = true, approved } = Object(call) as GuardedCall
    if (typeof name !== 'string') throw wrong('name', 'a string')
    const { fitted, signed } = signedBy(name, args, action)
    const made = { name, signatures: signed === null ? [] : [signed] }
    return { call: { ...made, valid: valid === true && signed !== null, approved }, fitted }
  }
  const outcomeOf = (number: number): Promise<Outcome> => {
    let pending = waiting.get(number)
    if (!pending) {
      let resolve: (value: Outcome) => void = () => {}
      const outcome = new Promise<Outcome>((settle) => (resolve = settle))
      pending = { outcome, resolve }
      waiting.set(number, pending)
    }
    return pending.outcome
  }
  return {
    record(calls) {
      const past = calls.map(({ name, args, action = null, result }): PastCall => {
        const { signed } = signedBy(name, args, action)
        const signatures = signed === null ? [] : [signed]
        return { name, signatures, ...(result !== undefined && { result: stringify(result) }) }
      })
      machine.record(past)
    },
    judge(call) {
      const { call: own, fitted } = guarded(call)
      const { action, reason, notice, outcome, call: number } = machine.judge(own)
      if (action === 'block') return { action, reason: reason as RefusalReason, notice: notice! }
      if (action !== 'replay') {
        if (fitted === undefined) return { action }
        return { action, args: JSON.parse(fitted) as Record<string, unknown> }
      }
      const [known] = (outcome ?? []) as Outcome[]
      return { action, outcome: outcome?.length ? (known as Outcome) : outcomeOf(number!) }
    },
    settle(call, outcome) {
      const text = stringify(outcome === undefined ? null : outcome)
      const number = machine.settle(guarded(call).call, text)
      if (number === undefined) return
      waiting.get(number)?.resolve(JSON.parse(text) as Outcome)
      waiting.delete(number)
    },
    begin(next) {
      if (next !== 'turn' && next !== 'user_turn') throw wrong('next', 'turn or user_turn')
      machine.begin(next)
    },
    close: () => machine.begin('close'),
    get isOpen() {
      return machine.isOpen
    },
    state: () => machine.state(),
  }
}

/** The options of the core, of which JSON keeps what a host may get wrong. */
function optionsOf(policy: Omit<GuardPolicy, 'projectId'>): GuardOptions {
  const { tools, perTool, allow, maxCalls, ...others } = policy
  const options: GuardOptions = { ...others }
  for (const [name, value] of Object.entries({ ...others, maxCalls })) {
    // JSON makes null of NaN and Infinity, and null is the default.
    const isUnlimited = name === 'maxCalls' && value === Infinity
    if (typeof value === 'number' && !Number.isFinite(value) && !isUnlimited) {
      throw wrong(name, 'a whole number')
    }
  }
  if (maxCalls !== Infinity) options.maxCalls = maxCalls
  // A list of the caller may be of constants.
  if (allow !== undefined) options.allow = allow as string[]
  if (tools !== undefined) options.tools = flagsOf(tools, 'tools')
  if (perTool !== undefined) options.perTool = flagsOf(perTool, 'perTool')
  return options
}

const FLAGS: Record<keyof GuardedTool, 0> = {
  readOnly: 0,
  dedupe: 0,
  maxCalls: 0,
  maxRepeats: 0,
  maxSameCall: 0,
  needsApproval: 0,
  untrusted: 0,
  inputSchema: 0,
}

/** The flags of tools. A tool of `defineTool` has other members too. */
function flagsOf(tools: Record<string, GuardedTool | number>, option: string) {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    throw wrong(option, 'an object: name → tool')
  }
  const flags = Object.entries(tools).map(([name, tool]): [string, GuardedTool] => {
    const options = typeof tool === 'number' && option === 'perTool' ? { maxCalls: tool } : tool
    if (typeof options !== 'object' || options === null) throw wrong(`${option}.${name}`, 'a tool')
    const values: Record<string, unknown> = {}
    for (const flag of Object.keys(FLAGS) as (keyof GuardedTool)[]) {
      const value: unknown = options[flag]
      if (typeof value === 'number' && !Number.isFinite(value)) {
        throw wrong(`${option}.${name}.${flag}`, 'a whole number')
      }
      // A function decides call by call, so each call may need an approval.
      values[flag] = flag === 'needsApproval' && typeof value === 'function' ? true : value
      if (flag === 'inputSchema') values[flag] = isJsonSchema(value) ? value : undefined
    }
    return [name, values as GuardedTool]
  })
  return Object.fromEntries(flags)
}

/** Whether a schema is JSON. Tools of other libraries have schemas of their own, which are not read. */
function isJsonSchema(schema: unknown): boolean {
  if (!isObject(schema) || '~standard' in schema) return false
  try {
    stringify(schema)
    return !Object.values(schema).some((value) => typeof value === 'function')
  } catch {
    return false
  }
}

/** The text of arguments; empty if they have none. */
function textOf(args: unknown): string {
  if (typeof args === 'string') return args
  try {
    return stringify(args)
  } catch {
    return ''
  }
}

/** The signature of a call whose arguments are an object; otherwise null. */
export function sign(
  tool: string,
  args: unknown,
  action: string | null,
  projectId: string | null,
): string | null {
  const isText = typeof args === 'string'
  // A model that calls without arguments often writes nothing.
  const value = isText && args.trim() === '' ? {} : args
  if (!isText && (typeof args !== 'object' || args === null || Array.isArray(args))) return null
  if (isText && value === args && !args.trimStart().startsWith('{')) return null
  try {
    return callSignature({ tool, args: value, action, projectId })
  } catch (error) {
    if (isTurnlockError(error) && error.code.startsWith('json.')) return null
    throw error instanceof TurnlockError ? error : wrong('args', 'an object, or its JSON text')
  }
}
