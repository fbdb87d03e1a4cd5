/** Tools: what they take, how that is checked, how they run. */
import { TurnlockError } from './errors.js'
import { Validator } from './json-schema.js'

/** What a tool is told beside its arguments. */
export interface ToolContext {
  /** Aborted when the result is no longer wanted: a time-out, a cancelled turn. */
  signal: AbortSignal
  requestId: string
  toolBatchId: number
  toolCallId: string
  /** The same whenever this call is started again; send it along to whoever performs the effect. */
  idempotencyKey: string
  projectId: string | null
  /** Shows how far it is: a `tool_progress` event of the turn with this data, at most 64 KiB of JSON. */
  report(data: unknown): void
}

/** The part of the Standard Schema interface (standardschema.dev) that is used here. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly jsonSchema?: {
      readonly input: (options: { target: string }) => Record<string, unknown>
    }
  }
}

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

type Args<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer Output }
    ? Output
    : unknown
  : // A JSON Schema says nothing to the type checker.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    any

/** What `defineTool` takes. */
export interface ToolOptions<S extends JsonSchema | StandardSchema = JsonSchema> {
  /** For the model. */
  description: string
  /** JSON Schema (2020-12 or older), or any Standard Schema (zod, valibot, arktype). */
  inputSchema: S
  /** What the model is shown, for a Standard Schema that cannot say it itself. */
  jsonSchema?: JsonSchema
  /**
   * Runs the tool. What it returns must have JSON; `undefined` counts as `null`. Arguments are
   * values of `JSON.parse`: have ids beyond 2^53 sent as strings.
   */
  execute(args: Args<S>, context: ToolContext): unknown
  /** Has no effect on the world. @defaultValue false */
  readOnly?: boolean
  /** May run twice with the same idempotency key. @defaultValue false */
  idempotent?: boolean
  /** Part of the signature, for tools with several actions. */
  action?(args: Args<S>): string
  /**
   * The user must approve a call before it runs: the turn pauses, and `resumeTurn({ approvals })`
   * goes on. Needs a store. @defaultValue false
   */
  needsApproval?: boolean | ((args: Args<S>) => boolean)
  /**
   * Read-only tools, with a store: milliseconds for which another turn of the tenant may use an
   * outcome of the same signature instead of executing. @defaultValue never
   */
  reuseMs?: number
  /** What to do with a repeated call. @defaultValue "block"; "replay" for read-only tools */
  dedupe?: 'block' | 'replay' | 'allow'
  /** Milliseconds. @defaultValue `policy.toolTimeoutMs` */
  timeoutMs?: number
  /** Bytes of the result as JSON. @defaultValue `policy.maxToolResultBytes` */
  maxResultBytes?: number
}

/** What the check of arguments found. */
export type Checked =
  | { valid: true; args: unknown; action: string | null; approval?: boolean }
  | { valid: false; errors: string }

/** A tool that `runTurn` takes. */
export interface Tool {
  readonly description: string
  /** JSON Schema for the model. */
  readonly inputSchema: JsonSchema
  readonly readOnly: boolean
  readonly idempotent: boolean
  readonly dedupe?: 'block' | 'replay' | 'allow'
  /** Whether calls may have to be approved. */
  readonly needsApproval: boolean
  readonly reuseMs?: number
  readonly timeoutMs?: number
  readonly maxResultBytes?: number
  check(args: unknown): Checked | Promise<Checked>
  execute(args: unknown, context: ToolContext): unknown
}

/**
 * A tool for `runTurn`.
 *
 * @throws TurnlockError `tool.invalid_schema` for a schema that is none
 */
export function defineTool<const S extends JsonSchema | StandardSchema>(
  options: ToolOptions<S>,
): Tool {
  if (typeof options.execute !== 'function') {
    throw new TurnlockError('options.invalid', '`execute`: expected a function')
  }
  const { description, inputSchema, execute, action, needsApproval = false } = options
  const { dedupe, reuseMs, timeoutMs, maxResultBytes } = options
  const validate = isStandard(inputSchema) ? standard(inputSchema) : jsonSchema(inputSchema)
  const asks = (args: Args<S>) =>
    typeof needsApproval === 'function' ? Boolean(needsApproval(args)) : needsApproval
  const finish = (checked: Checked): Checked => {
    if (!checked.valid) return checked
    const args = checked.args as Args<S>
    return { ...checked, action: action ? String(action(args)) : null, approval: asks(args) }
  }
  return {
    description: description ?? '',
    inputSchema: wireSchema(inputSchema, options.jsonSchema),
    readOnly: options.readOnly ?? false,
    idempotent: options.idempotent ?? false,
    needsApproval: needsApproval !== false,
    ...(dedupe && { dedupe }),
    ...(reuseMs !== undefined && { reuseMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxResultBytes !== undefined && { maxResultBytes }),
    check(args) {
      const checked = validate(args)
      return checked instanceof Promise ? checked.then(finish) : finish(checked)
    },
    execute: (args, context) => execute(args as Args<S>, context),
  }
}

/** Whether a schema is a Standard Schema. */
export function isStandard(schema: unknown): schema is StandardSchema {
  // arktype's schemas are functions.
  const holds = typeof schema === 'object' || typeof schema === 'function'
  return holds && schema !== null && '~standard' in schema
}

function standard(schema: StandardSchema): (args: unknown) => Checked | Promise<Checked> {
  const read = (result: StandardResult<unknown>): Checked =>
    result.issues
      ? { valid: false, errors: result.issues.map((issue) => issue.message).join('; ') }
      : { valid: true, args: result.value, action: null }
  return (args) => {
    const result = schema['~standard'].validate(args)
    return result instanceof Promise ? result.then(read) : read(result)
  }
}

function jsonSchema(schema: unknown): (args: unknown) => Checked {
  const validator = compile(schema)
  return (args) => {
    const { valid, errors } = validator.validate(args)
    if (valid) return { valid: true, args, action: null }
    const said = errors.map((error) => `${error.instanceLocation}: ${error.error}`)
    return { valid: false, errors: said.slice(0, 5).join('; ') }
  }
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** A validator of a JSON Schema; throws what is wrong with one that is none. */
export function compile(schema: unknown): Validator {
  const wrong = (why: string) => new TurnlockError('tool.invalid_schema', `\`inputSchema\`: ${why}`)
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw wrong('expected a JSON Schema object or a Standard Schema')
  }
  const { type } = schema as { type?: unknown }
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type]
  if (!types.every((one) => TYPES.includes(one as string))) throw wrong('`type` is no JSON type')
  try {
    const validator = new Validator(schema, '2020-12', false)
    // References are resolved here, and not in the middle of a turn.
    validator.validate({})
    return validator
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error))
  }
}

function wireSchema(schema: unknown, given: JsonSchema | undefined): JsonSchema {
  if (given) return given
  if (!isStandard(schema)) return schema as JsonSchema
  return schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) ?? { type: 'object' }
}
