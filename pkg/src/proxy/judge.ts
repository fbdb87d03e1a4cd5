/** Whether a call may run: the call guard, over the history that the client sends. */
import { isTurnlockError } from '../errors.js'
import type { GuardOptions, GuardState } from '../generated/guard.js'
import type { ProxyPolicy } from '../generated/proxy.js'
import { callSignature, guardLimit, GuardMachine } from '../guard/machine.js'
import type { ResponseRecord } from './conversation.js'
import { asDeclared } from './declared.js'
import { membersOf, object, stringify, type Members } from './json.js'
import { repairArguments } from './repair-arguments.js'
import { RepeatCount, type Repeat } from './repeats.js'

/** A call of a model. */
export interface Call {
  name: string
  /** JSON text. */
  args: string
  /** What its result names it by. */
  id?: string
  /** Whether `args` is free text, of a custom tool. */
  isText?: boolean
  /** What other clients read, who put the pieces of calls together in another way. */
  readings?: readonly Pick<Call, 'name' | 'args'>[]
  /** Other texts of the same arguments. A call is refused if they differ in meaning. */
  copies?: string[]
  /** Whether clients read different calls. */
  isUnclear?: boolean
}

/** A call of a history. `result` is `undefined` while there is none. */
export interface PastCall extends Call {
  result: string | undefined
  /** Those of a call that was remembered, whose arguments are not. */
  signatures?: readonly string[]
}

type Reason = 'duplicate' | 'budget' | 'form' | 'unjudged'

/** Why a call may not run. */
export interface Refused {
  name: string
  /** As `signature({ tool, args })`. */
  signature: string
  /**
   * `form`: it stood where its wire has no calls, clients read different arguments in it, or its
   * arguments cannot be read.
   * `unjudged`: it was longer than `heldBytes`, or the history could not be read.
   */
  reason: Reason
  /** Earlier calls with the same arguments and result, in a row. */
  repeats: number
}

interface Identity {
  /** The signature. */
  key: string
  /** Whether every client reads the same arguments. */
  isClear: boolean
  /** Whether the arguments are JSON. */
  isJson: boolean
}

/** Codes of JSON whose value depends on who reads it: it may be anything. */
const UNCLEAR = new Set([
  'json.duplicate_key',
  'json.too_deep',
  'json.too_large',
  'json.number_range',
])

/** The identity of a call; arguments that are not JSON, and cannot be repaired, count as a string. */
export const identityOf = (call: Call): Identity => readingsOf(call).identity

function identify(name: string, args: string): Identity {
  try {
    return {
      key: callSignature({ tool: name, args: args.trim() || '{}' }),
      isClear: true,
      isJson: true,
    }
  } catch (error) {
    const code = isTurnlockError(error) ? error.code : ''
    const [tool, text] = [wellFormed(name), wellFormed(args)]
    // A lone surrogate has no canonical form, and is written in several ways.
    if (code === 'json.lone_surrogate' && (tool !== name || text !== args)) {
      return identify(tool, text)
    }
    return { key: textKey(tool, text), isClear: !UNCLEAR.has(code), isJson: false }
  }
}

interface Readings {
  identity: Identity
  /** The signatures of what clients read in the call, with names in one spelling. */
  keys: Set<string>
  /** Whether its arguments are JSON, or can be repaired. */
  isReadable: boolean
}

/** How clients read arguments by the schema of their tool. */
interface Declared {
  schema: Members
  /** The arguments as the schema wants them; `undefined` if they do not change. */
  fit(args: string): string | undefined
}

/**
 * What clients read in a call, some of which repair its arguments, fit them to the schema of the tool,
 * or find names in any spelling.
 */
function readingsOf({ name, args, isText = false }: Call, tool?: Declared): Readings {
  const json = isText ? JSON.stringify(args) : args
  const exact = identify(name, json)
  const isRepairable = !isText && (!exact.isJson || /^\s*"/.test(args))
  const repaired = (isRepairable ? repairArguments(args) : []).map((text) => {
    return { text, ...identify(name, text) }
  })
  const read = repaired.filter(({ isJson }) => isJson)
  const [only, ...others] = exact.isJson ? [] : read
  // Of several objects in a row, it is not known which one the client takes.
  const key = only && others.length === 0 ? only.key : exact.key
  const isClear = exact.isClear && repaired.every((reading) => reading.isClear)
  const texts = [...(exact.isJson ? [json] : []), ...read.map(({ text }) => text)]
  const fitted = tool && !isText ? texts.flatMap((text) => tool.fit(text) ?? []) : []
  const all = [...texts, ...fitted]
  const declared = tool ? all.map((text) => asDeclared(text, tool.schema)) : []
  const plain = [...new Set([...all, ...declared])].map(plainArguments)
  const keys = (plain.length ? plain : [json]).map((text) => identify(plainName(name), text).key)
  return { identity: { ...exact, key, isClear }, keys: new Set(keys), isReadable: texts.length > 0 }
}

/** A name in small letters. There are others than ASCII that stand for one in another case. */
const folded = (name: string): string => name.toUpperCase().toLowerCase().replaceAll(DOTTED, 'i')

/** The small form of U+0130. */
const DOTTED = 'i\u0307'

/** A name of a tool or a parameter in the spelling of the most lenient client. */
const plainName = (name: string): string => folded(name.replace(/[\p{Cf}\s_-]/gu, ''))

/** Arguments, of which each parameter has its plain name, if that is no other's. */
function plainArguments(json: string): string {
  // White space that JSON does not have included.
  const text = json.trim()
  if (!text.startsWith('{')) return json
  const members = new Map<string, string>()
  const all = membersOf(text)
  for (const [name, { start, end }] of all) members.set(plainName(name), text.slice(start, end))
  if (members.size < all.size) return json
  return `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

function textKey(tool: string, text: string): string {
  try {
    return callSignature({ tool, args: JSON.stringify(text) })
  } catch {
    return ''
  }
}

/** A text without surrogates, be they escapes or not. Nothing is lost but which ones they were. */
const wellFormed = (text: string): string =>
  text.replace(/[\uD800-\uDFFF]/g, '\uFFFD').replace(/\\u[dD][89a-fA-F][\da-fA-F]{2}/g, '\\ufffd')

/** A call in a place where its wire has none: clients may read it, so it is left out. */
export const misplaced = (call: Call): Refused => ({
  name: call.name,
  signature: identityOf(call).key,
  reason: 'form',
  repeats: 0,
})

/** A call without a verdict. `isWhole`: all of its arguments are there. */
export const unjudged = (call: Call, isWhole: boolean): Refused => ({
  name: call.name,
  signature: isWhole ? identityOf(call).key : '',
  reason: 'unjudged',
  repeats: 0,
})

/**
 * Characters of a result whose lines are compared without volatile ones.
 *
 * Limit | a result that is compared by its lines | characters | compared as a whole, within a request
 */
const LONGEST_RESULT = 1 << 18

/** Judges the calls of the current user turn. */
export class Judge {
  readonly #machine: GuardMachine
  /** Whether the history has results. */
  readonly hasResults: boolean
  readonly #repeats: RepeatCount
  readonly #schemas: ReadonlyMap<string, Members>

  /**
   * @param repeats receives calls of the response that were made often
   * @param schemas of the request's tools
   * @param remembered the state of the guard before the past calls. Results are then compared with
   * those of other requests
   */
  constructor(
    policy: ProxyPolicy,
    past: readonly PastCall[],
    repeats: Repeat[],
    schemas: ReadonlyMap<string, Members>,
    remembered?: { state: GuardState | undefined },
  ) {
    this.#schemas = schemas
    this.#machine = machineOf(policy, schemas, remembered?.state)
    this.#repeats = new RepeatCount(repeats)
    this.hasResults =
      past.some(({ result }) => result !== undefined) || remembered?.state !== undefined
    this.#machine.record(this.#recordOf(past, remembered !== undefined))
  }

  /** What the guard compares of past calls. */
  #recordOf(past: readonly PastCall[], comparesAll: boolean) {
    const counts = new Map<string, number>()
    const signed = past.map((call) => {
      const signatures = [...(call.signatures ?? this.signaturesOf(call))]
      for (const signature of signatures) counts.set(signature, (counts.get(signature) ?? 0) + 1)
      return { call, signatures }
    })
    const long = new Map<string, number>()
    const compared = (result: string, signatures: readonly string[]): string => {
      // Of a call that was made once, no results are compared.
      const isRepeated = signatures.some((signature) => counts.get(signature)! > 1)
      if (!isRepeated && !comparesAll) return ''
      if (result.length <= LONGEST_RESULT) return result
      long.set(result, long.get(result) ?? long.size)
      return `result ${long.get(result)} of those that are too long`
    }
    return signed.map(({ call: { name, result }, signatures }) => ({
      name,
      signatures,
      result: result === undefined ? undefined : compared(result, signatures),
    }))
  }

  /** The signatures by which a call is a repeat. */
  signaturesOf(call: Call): string[] {
    return signaturesOf([this.#read(call)])
  }

  /** The state of the guard, for a request that continues this one. */
  get state(): GuardState {
    return this.#machine.state()
  }

  /** Whether no call may run any more. */
  get isSpent(): boolean {
    return !this.#machine.isOpen
  }

  /** The refusal of a call of the response; `undefined` if it may run, which uses the budget. */
  refuse(call: Call): Refused | undefined {
    const { name, readings = [], copies = [] } = call
    const first = this.#read(call)
    const { key } = first.identity
    const all = [first, ...readings.map((reading) => this.#read({ ...call, ...reading }))]
    // Of arguments that nobody can repair, it is not known which call they are.
    let clear = call.isUnclear !== true && first.isReadable
    for (const { identity } of all) clear &&= identity.isClear
    for (const text of new Set(copies)) clear &&= identityOf({ ...call, args: text }).key === key
    const verdict = this.#machine.judge({ name, signatures: signaturesOf(all), clear })
    this.#repeats.add({ name, signature: key, times: verdict.times, row: verdict.row })
    if (verdict.action === 'run') return undefined
    return { name, signature: key, reason: verdict.reason as Reason, repeats: verdict.repeats }
  }

  #read(call: Call): Readings {
    const schema = this.#schemas.get(call.name)
    const fit = (args: string) => this.#machine.fit(call.name, args)
    return readingsOf(call, schema && { schema, fit })
  }

  /** Gives the memory back. */
  free(): void {
    this.#machine.free()
  }
}

/** The guard of a user turn. It fits arguments to the schemas. */
function machineOf(
  { maxRepeats, maxTools, maxSameCall, volatilePrefixes }: ProxyPolicy,
  schemas: ReadonlyMap<string, Members>,
  state: GuardState | undefined,
) {
  const options: GuardOptions = {
    repeatBy: 'result',
    maxSameCall: maxSameCall && guardLimit(maxSameCall),
    volatilePrefixes,
    state,
    maxRepeats: maxRepeats && guardLimit(maxRepeats),
    maxCalls: maxTools === undefined ? maxTools : guardLimit(maxTools),
  }
  const tools = [...schemas].map(([name, inputSchema]) => [name, { inputSchema }] as const)
  try {
    return new GuardMachine({ ...options, perTool: Object.fromEntries(tools) })
  } catch (error) {
    // Schemas that are too large or too deep for the core: no arguments are fitted to them.
    if (!isTurnlockError(error) || !error.code.startsWith('json.')) throw error
    return new GuardMachine(options)
  }
}

/** The signatures by which a call is a repeat. That of the call as it is stands first. */
const signaturesOf = (readings: readonly Readings[]): string[] => [
  ...new Set(readings.flatMap(({ identity, keys }) => [identity.key, ...keys])),
]

/** The refusal of a call, or `undefined` if it may run. Either is reported. No call runs unjudged. */
export function judged(
  judge: Judge | undefined,
  call: Call,
  { report, record, holds }: Judged,
): Refused | undefined {
  if (judge) record?.judgedFrom(() => judge.state)
  const refused = judge ? judge.refuse(call) : unjudged(call, true)
  if (refused) report.blocked.push(refused)
  else report.calls.push(call.name)
  if (refused && holds) record?.withheld(call, refused.reason)
  else record?.passed(call, judge?.signaturesOf(call) ?? [])
  return refused
}

/** Where a verdict is noted. */
interface Judged {
  report: { calls: string[]; blocked: Refused[] }
  record: ResponseRecord | undefined
  /** Whether a refused call is withheld from the client. */
  holds: boolean
}

/** The text of a result, without what changes between requests. */
export function resultText(value: unknown): string {
  if (typeof value === 'string') return value
  // The lines of texts are compared as those of one text.
  if (Array.isArray(value)) return value.map(partText).join('\n')
  return stringify(value, withoutCacheControl)
}

function partText(part: unknown): string {
  const { text: said, ...others } = object(part)
  if (typeof said !== 'string') return stringify(part, withoutCacheControl)
  return `${said}\n${stringify(others, withoutCacheControl)}`
}

const withoutCacheControl = (name: string, member: unknown) =>
  name === 'cache_control' ? undefined : member

/** What coding agents add to what the user says; it is no message of the user. */
const INJECTED = /^\s*<(system-reminder|environment_context|user_instructions)>[\s\S]*<\/\1>\s*$/

/** Whether a text of a user message is the user's. */
export const isSaid = (said: unknown): boolean =>
  typeof said === 'string' && said.trim() !== '' && !INJECTED.test(said)
