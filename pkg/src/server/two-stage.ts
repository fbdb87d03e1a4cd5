/** The switches between the two-stage route and the unified one. */
import { TurnlockError, wrong } from '../errors.js'
import type { TwoStageSwitches, TwoStageValues } from '../generated/server.js'
import type { Filled } from '../options.js'
import type { Tool } from '../tools/tools.js'
import type { Policy } from '../types.js'
import { isName } from './cors.js'

export type { TwoStageSwitches, TwoStageValues }

/** Tools of the answer phase: names, every read-only tool, or all. */
export type ActionTools = NonNullable<Policy['actionTools']>

/** The switches of the two-stage route. */
export type TwoStage = Filled<Omit<TwoStageValues, 'actionTools'>> & { actionTools?: ActionTools }

/** Variables of the host: an object with `TWO_STAGE_ENABLED` and the like. */
export type Environment = object

/** Returns the switches for a request. */
export type TwoStageCallback = (
  request: Request,
  env: Environment | undefined,
) => TwoStageValues | Promise<TwoStageValues>

/** Values, or a callback that returns them for each request. */
export type TwoStageOption = TwoStageSwitches | TwoStageCallback

const VARIABLES = {
  enabled: 'TWO_STAGE_ENABLED',
  default: 'TWO_STAGE_DEFAULT',
  maxTools: 'TWO_STAGE_MAX_TOOLS',
  actionTools: 'TWO_STAGE_ACTION_TOOLS',
} as const
const DEFAULTS: TwoStage = { enabled: true, default: true, maxTools: 1 }
const WORDS: Record<string, boolean> = {
  true: true,
  on: true,
  yes: true,
  enabled: true,
  '1': true,
  false: false,
  off: false,
  no: false,
  disabled: false,
  '0': false,
}

/**
 * The switches for this request. Order of precedence: a header that the configuration names, its
 * callback, the environment, its values, the defaults. The environment can therefore override a
 * constant in the code without a rebuild.
 *
 * Values that cannot be read are skipped and reported to `report`. `most`: `maxTools` where nothing
 * says it, the policy's of the host.
 */
export async function twoStageFor(
  option: TwoStageOption,
  request: Request,
  env: Environment | undefined,
  report: (error: unknown) => void,
  most: number = DEFAULTS.maxTools,
): Promise<TwoStage> {
  const called = typeof option === 'function' ? await option(request, env) : {}
  const values = typeof option === 'function' ? {} : option
  const valuesOf = (name: keyof TwoStageValues): unknown[] => {
    const header = values.headers?.[name]
    return [
      header === undefined ? undefined : request.headers.get(header),
      called?.[name],
      variable(VARIABLES[name], env),
      values[name],
    ]
  }
  const first = <T, Other extends T | undefined>(
    name: keyof TwoStageValues,
    read: (value: unknown) => T | undefined,
    other: Other,
  ): T | Other => {
    for (const value of valuesOf(name)) {
      if (value === undefined || value === null || value === '') continue
      const setting = read(value)
      if (setting !== undefined) return setting
      report(new TurnlockError('options.invalid', `twoStage.${name}: a value cannot be read`))
    }
    return other
  }
  const actionTools = first('actionTools', readActionTools, undefined)
  return {
    enabled: first('enabled', readSwitch, DEFAULTS.enabled),
    default: first('default', readSwitch, DEFAULTS.default),
    maxTools: first('maxTools', readCount, most),
    ...(actionTools && { actionTools }),
  }
}

/** The names of tools that `value` selects. */
export const selectedTools = (
  value: ActionTools,
  tools: Readonly<Record<string, Tool>>,
): readonly string[] => {
  if (Array.isArray(value)) return value
  return Object.keys(tools).filter((name) => value === '*' || tools[name]?.readOnly)
}

/**
 * Throws for values of the code that cannot be read. Those of a request or the environment are
 * reported when they are met.
 *
 * @throws TurnlockError `options.invalid`
 */
export function checkSwitches({ headers = {}, ...values }: TwoStageSwitches): void {
  for (const name of Object.keys(VARIABLES) as (keyof TwoStageValues)[]) {
    const value: unknown = values[name] ?? ''
    if (value !== '' && READERS[name](value) === undefined) {
      const isTools = name === 'actionTools'
      throw wrong(`twoStage.${name}`, isTools ? ACTION_TOOLS : 'a switch or a count')
    }
    // Any other name makes every request fail.
    if (!isName(headers?.[name] ?? name)) throw wrong(`twoStage.headers.${name}`, 'a name')
  }
}

function readSwitch(value: unknown): boolean | undefined {
  const word = String(value).trim().toLowerCase()
  return Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
}

function readCount(value: unknown): number | undefined {
  const text = String(value).trim()
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined
}

/** Names in a list, or in a text that a comma separates; `none` for no tool. */
function readActionTools(value: unknown): ActionTools | undefined {
  if (Array.isArray(value)) return value.every(isToolName) ? [...value] : undefined
  const text = String(value).trim()
  if (text === '*') return text
  if (/^readonly$/i.test(text)) return 'readOnly'
  if (/^none$/i.test(text)) return []
  const names = text.split(',').map((name) => name.trim())
  return names.every(isToolName) ? names : undefined
}

const isToolName = (name: unknown): name is string =>
  typeof name === 'string' && /^[\w-]{1,64}$/.test(name)

const ACTION_TOOLS = 'names of tools, readOnly, * or none'
const READERS = {
  enabled: readSwitch,
  default: readSwitch,
  maxTools: readCount,
  actionTools: readActionTools,
} as const

/** Throws for a name of `value` that no tool has. */
export function checkActionTools(value: unknown, tools: Readonly<Record<string, Tool>>): void {
  const read = value === undefined || value === '' ? [] : (readActionTools(value) ?? [])
  const isKnown = selectedTools(read, tools).every((name) => Object.hasOwn(tools, name))
  if (!isKnown) throw wrong('twoStage.actionTools', ACTION_TOOLS)
}

/** A variable of the host's environment, or of the process if the host provides none. */
function variable(name: string, env: Environment | undefined): unknown {
  const bound: unknown = env && Reflect.get(env, name)
  if (bound !== undefined) return bound
  const { process, Deno } = globalThis as {
    process?: { env?: Record<string, string> }
    Deno?: { permissions: { querySync(of: object): { state: string } } }
  }
  try {
    // Without this permission, Deno would prompt in the terminal, or throw.
    const may = Deno?.permissions.querySync({ name: 'env', variable: name }).state ?? 'granted'
    return may === 'granted' ? process?.env?.[name] : undefined
  } catch {
    return undefined
  }
}
