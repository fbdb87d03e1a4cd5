/** Tools: their arguments, the check of these, and their execution. */
import { checkFunctions, checkValues, isObject } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import type { Dedupe } from '../generated/common.js'
import { TOOL_SPEC } from '../generated/checks.js'
import { TOOL_OPTIONS } from '../generated/rows.js'
import type { ToolOptions } from '../generated/tools.js'
import { present, readOptions } from '../options.js'
import { issueLine } from '../shared/issues.js'
import { describe } from '../shared/serialize.js'
import type { Usage } from '../types.js'
import { completeSchema } from './complete-schema.js'
import { validatorOf } from './validate.js'
import type { FromJsonSchema, Literal } from './json-schema-types.js'
import { quietly } from '../shared/quietly.js'

export type { ToolOptions }

/** The context that a tool receives with its arguments. */
export interface ToolContext {
  /** Aborted when the result is no longer needed: after a time-out or a cancelled turn. */
  signal: AbortSignal
  requestId: string
  toolBatchId: number
  toolCallId: string
  /** The same whenever this call is started again; pass it to the service that does the work. */
  idempotencyKey: string
  projectId: string | null
  conversationId?: string | undefined
  /** Reports progress in a `tool_progress` event with this data, at most 64 KiB of JSON. */
  report(data: unknown): void
  /**
   * Adds tokens that the tool has used to the turn's `totalUsage`, for example those of models that
   * it has called. Reports add up; what is reported after the call has ended is ignored.
   */
  reportUsage(usage: Partial<Usage>): void
}

/** A call that may have run, as the events show it. */
export interface PendingCall {
  id: string
  name: string
  /** The arguments: those that the validator returned, if the signature is made of them. */
  args: unknown
  signature: string
}

/** The context in which a tool is asked what became of a call. */
export interface ReconcileContext {
  /** The key with which the call was started. */
  idempotencyKey: string
  /** Aborted when the answer is no longer needed. */
  signal: AbortSignal
}

/** What became of a call; `undefined` if nobody knows. */
export type ReconciledOutcome =
  { result: unknown } | { error: string | { message: string; code?: string } } | undefined

/** The answer of a `reconcile`. */
export type Reconciled = ReconciledOutcome | Promise<ReconciledOutcome>

/** The part of the Standard Schema interface (standardschema.dev) that is used here. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly jsonSchema?: {
      readonly input: MakeJsonSchema
      readonly output?: MakeJsonSchema
    }
  }
}

type MakeJsonSchema = (options: {
  target: string
  libraryOptions?: Record<string, unknown>
}) => Record<string, unknown>

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string
        readonly path?: readonly unknown[] | undefined
      }[]
    }

/** A JSON Schema object. */
export type JsonSchema = Record<string, unknown>

/** The type of arguments by a schema. */
export type Args<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : unknown
  : FromJsonSchema<S>

/**
 * Whether a call may run: `true` and `"ask"` request the user's approval. The model reads the reason of
 * a denial, cut to 500 bytes.
 */
export type ApprovalDecision =
  | boolean
  | 'allow'
  | 'ask'
  | 'deny'
  | { decision: 'allow' | 'ask' | 'deny'; reason?: string | undefined }

/** A decision in the core's terms. An unknown value requests an approval. */
function readDecision(made: unknown): { approval: boolean; denied?: string } {
  const isNamed = typeof made === 'object' && made !== null
  const { decision, reason } = (isNamed ? made : { decision: made }) as Record<string, unknown>
  if (decision === 'deny') {
    return { approval: false, denied: typeof reason === 'string' ? reason : '' }
  }
  return { approval: decision !== 'allow' && (isNamed || Boolean(made)) }
}

/** The result of the check of arguments. */
export type Checked =
  | { valid: true; args: unknown; action: string | null; approval?: boolean; denied?: string }
  | { valid: false; errors: string }

/** A tool for `runTurn`. `Result` is what its `execute` returns. */
export interface Tool<Result = unknown> {
  readonly description: string
  /** JSON Schema for the model. */
  readonly inputSchema: JsonSchema
  readonly readOnly: boolean
  readonly idempotent: boolean
  readonly dedupe?: Dedupe
  /** Whether calls may need approval. */
  readonly needsApproval: boolean
  readonly reuseMs?: number
  readonly timeoutMs?: number
  readonly maxResultBytes?: number
  /** Maximum calls that are executed in one turn. */
  readonly maxCalls?: number
  /** Whether its results have text of other people. */
  readonly untrusted?: boolean
  /** Whether a page runs it: it has no `execute`. */
  readonly page?: boolean
  /** Checks arguments, and decides whether the call needs an approval. */
  check(args: unknown): Checked | Promise<Checked>
  /** Checks arguments of a call whose approval is decided. */
  validate(args: unknown): Checked | Promise<Checked>
  execute(args: unknown, context: ToolContext): Result
  reconcile?(call: PendingCall, context: ReconcileContext): Reconciled
}

/**
 * Makes a tool for `runTurn`.
 *
 * @throws TurnlockError `options.invalid`; `tool.invalid_schema` for an invalid schema
 */
export function defineTool<const S extends JsonSchema | StandardSchema, Result = unknown>(
  options: ToolOptions<S, Result> & { inputSchema: Literal<S> },
): Tool<Result>
export function defineTool(options: ToolOptions): Tool {
  options = readOptions(options, TOOL_OPTIONS)
  const { description, inputSchema, execute, action, reconcile, needsApproval = false } = options
  // A page's tool says so by leaving it out.
  checkFunctions({ execute: execute === null || execute, action, reconcile })
  const page = execute === undefined
  if (page && needsApproval) {
    throw wrong('needsApproval', 'an `execute` with it')
  }
  // Anything else, but for a function, would count as no.
  if (typeof needsApproval !== 'function' && typeof needsApproval !== 'boolean') {
    throw wrong('needsApproval', 'true, false or a function')
  }
  const { dedupe, reuseMs, timeoutMs, maxResultBytes, maxCalls, untrusted } = options
  const { readOnly, idempotent } = options
  const limits = present({ dedupe, reuseMs, timeoutMs, maxResultBytes, maxCalls, untrusted })
  checkValues({ ...limits, name: '', readOnly, idempotent }, TOOL_SPEC)
  const validate = checkOf(inputSchema, 'inputSchema')
  const asks = (args: never) =>
    typeof needsApproval === 'function' ? needsApproval(args) : needsApproval
  const finish = (checked: Checked): Checked | Promise<Checked> => {
    if (!checked.valid) return checked
    const args = checked.args as never
    const value: unknown = action?.(args)
    // `action` is not awaited: what a promise of it rejects with ends nothing.
    quietly(() => value)
    const named = { ...checked, action: action ? String(value) : null }
    const made = page || asks(args)
    return made instanceof Promise
      ? made.then((decision) => ({ ...named, ...readDecision(decision) }))
      : { ...named, ...readDecision(made) }
  }
  return {
    description: description ?? '',
    inputSchema: completeSchema(wireSchema(inputSchema, options.jsonSchema, 'jsonSchema')),
    readOnly: readOnly ?? false,
    idempotent: idempotent ?? false,
    needsApproval: needsApproval !== false,
    ...(page && { page }),
    ...limits,
    check(args) {
      const checked = validate(args)
      return checked instanceof Promise ? checked.then(finish) : finish(checked)
    },
    validate,
    execute: (args, context) => execute?.(args as never, context),
    ...(reconcile && { reconcile: (call, context) => reconcile(call, context) }),
  }
}

/** Whether a schema is a Standard Schema. */
export function isStandard(schema: unknown): schema is StandardSchema {
  // arktype's schemas are functions.
  const holds = typeof schema === 'object' || typeof schema === 'function'
  return holds && schema !== null && '~standard' in schema
}

/** Checks a value against a schema, which is the option of this name. */
function checkOf(schema: unknown, name: string): (value: unknown) => Checked | Promise<Checked> {
  return isStandard(schema) ? standard(schema) : jsonSchema(schema, name)
}

/** The answer of a turn: the schema that the model reads, and the check. */
export interface AnswerSchema {
  readonly schema: JsonSchema
  readonly check: (answer: unknown) => Checked | Promise<Checked>
}

/** @throws TurnlockError `tool.invalid_schema` */
export function answerOf(schema: unknown): AnswerSchema | undefined {
  if (schema === undefined) return undefined
  const check = checkOf(schema, 'answerSchema')
  return { schema: wireSchema(schema, undefined), check }
}

function standard(schema: StandardSchema): (args: unknown) => Checked | Promise<Checked> {
  const read = (result: StandardResult<unknown>): Checked =>
    result.issues
      ? { valid: false, errors: result.issues.slice(0, 5).map(issueLine).join('; ') }
      : { valid: true, args: result.value, action: null }
  return (args) => {
    const result = schema['~standard'].validate(args)
    return result instanceof Promise ? result.then(read) : read(result)
  }
}

function jsonSchema(schema: unknown, name: string): (args: unknown) => Checked {
  const validate = validatorOf(schema, { option: name })
  return (args) => {
    const { valid, errors } = validate(args)
    if (valid) return { valid: true, args, action: null }
    const messages = errors.map((error) => `${error.instanceLocation}: ${error.error}`)
    return { valid: false, errors: messages.slice(0, 5).join('; ') }
  }
}

/**
 * The JSON Schema that a model reads: the host's own, or what the schema itself says.
 * <https://standardschema.dev/json-schema>; older versions have methods of their own.
 *
 * @param option the option that may have the host's own
 * @throws TurnlockError `tool.invalid_schema`
 */
function wireSchema(schema: unknown, given: object | undefined, option?: string): JsonSchema {
  if (given) return given as JsonSchema
  if (!isStandard(schema)) return schema as JsonSchema
  const { vendor, jsonSchema } = schema['~standard']
  const { toJSONSchema, toJsonSchema } = schema as Converting
  let reason = `${vendor} schemas do not include one`
  try {
    const made =
      jsonSchema?.input(DRAFT) ??
      toJSONSchema?.call(schema, { io: 'input' }) ??
      toJsonSchema?.call(schema)
    const faults = vendor === 'arktype' ? arktypeFaults(schema) : ''
    if (made && !faults) return made
    if (faults) reason = faults
  } catch (error) {
    reason = describe(error)
    const converted = convertDates(schema, 'input')
    if (typeof converted === 'object') return converted
    if (converted) reason = converted
  }
  const converter = CONVERTERS[vendor]
  const source = converter ? `, for example from ${converter}` : ''
  const fix = option ? `pass \`${option}\`${source}` : `use a JSON Schema${source}`
  const message = `the model needs a JSON Schema: ${fix} (${reason})`
  throw new TurnlockError('tool.invalid_schema', message)
}

const DRAFT = { target: 'draft-2020-12' }

/** What schemas of zod (from 4.2) and arktype offer. */
interface Converting {
  toJSONSchema?: (options: object) => JsonSchema
  toJsonSchema?: () => JsonSchema
}

/** How a vendor's schema becomes a JSON Schema. */
const CONVERTERS: Record<string, string> = {
  valibot: '`toJsonSchema` of @valibot/to-json-schema',
  zod: '`z.toJSONSchema`, or zod-to-json-schema for zod 3',
  arktype: '`schema.toJsonSchema`',
  effect: '`Schema.toStandardJSONSchemaV1`, or `JSONSchema.make` of effect 3',
}

/** The argument of zod's `override`. */
interface ZodVisit {
  zodSchema?: { _zod?: { def?: { type?: string; coerce?: boolean; values?: unknown[] } } }
  jsonSchema: JsonSchema
  path?: readonly (string | number)[]
}

/** Zod types without a JSON form. */
const NOT_IN_JSON = 'bigint symbol undefined void date map set transform nan function custom'

/**
 * Converts a zod schema that zod itself refuses to convert. `z.coerce.date()` becomes a string of the
 * format `date-time`.
 *
 * @returns the JSON Schema; a message that names the fields if a type has no JSON form; `undefined` if
 * the cause is unknown
 */
export function convertDates(
  schema: StandardSchema,
  side: 'input' | 'output',
): JsonSchema | string | undefined {
  const { vendor, jsonSchema } = schema['~standard']
  if (vendor !== 'zod') return undefined
  const faults: string[] = []
  let dates = 0
  const override = ({ zodSchema, jsonSchema: made, path = [] }: ZodVisit) => {
    const { type = '', coerce, values = [] } = zodSchema?._zod?.def ?? {}
    const place = path.filter(
      (_, at) => !KEYWORDS.has(String(path[at])) || path[at - 1] === 'properties',
    )
    const named = `\`${place.join('.') || 'the schema itself'}\``
    if (type === 'date' && coerce) {
      dates++
      Object.assign(made, { type: 'string', format: 'date-time' })
    } else if (type === 'date') {
      faults.push(`${named}: a Date is not JSON; use \`z.coerce.date()\``)
    } else if (NOT_IN_JSON.split(' ').includes(type)) {
      faults.push(`${named}: ${type} is not JSON`)
    } else if (
      type === 'literal' &&
      values.some((one) => typeof one === 'bigint' || one === undefined)
    ) {
      faults.push(`${named}: the literal is not JSON`)
    }
  }
  try {
    const libraryOptions = { unrepresentable: 'any', override }
    const made = jsonSchema?.[side]?.({ ...DRAFT, libraryOptions })
    if (faults.length) return [...new Set(faults)].join('; ')
    return dates ? made : undefined
  } catch {
    return undefined
  }
}

/** The member by which a part without a JSON form is found in what arktype makes. */
const NO_JSON = '~noJson'

/**
 * The fields of an arktype schema that no JSON value can fill, such as a `Date`. Its converter declares
 * them as `{}`, and its check then refuses each value.
 *
 * @returns a message that names the fields; empty if there are none
 */
function arktypeFaults(schema: StandardSchema): string {
  const fallback = ({ code, base }: { code: string; base: JsonSchema }) => ({
    ...base,
    [NO_JSON]: code,
  })
  const faults: string[] = []
  const visit = (made: unknown, path: string) => {
    if (!isObject(made)) return
    const { properties, items, [NO_JSON]: code } = made
    // What has a form beside it, such as a predicate of a string, is only declared too widely.
    if (typeof code === 'string' && Object.keys(made).length === 1) {
      const named = `\`${path || 'the schema itself'}\``
      faults.push(
        code === 'date'
          ? `${named}: a Date is not JSON; use \`string.date.iso.parse\``
          : `${named}: its type is not JSON`,
      )
    }
    if (isObject(properties)) {
      for (const [name, one] of Object.entries(properties))
        visit(one, path ? `${path}.${name}` : name)
    }
    visit(items, `${path}[]`)
  }
  visit(schema['~standard'].jsonSchema?.input({ ...DRAFT, libraryOptions: { fallback } }), '')
  return faults.join('; ')
}

/** Keywords in zod's paths that are not field names. */
const KEYWORDS = new Set(['properties', 'items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'])
