/** Tools: their arguments, the check of these, and their execution. */
import { TurnlockError } from './errors.js'
import { Validator } from './json-schema.js'

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
  /** Reports progress in a `tool_progress` event with this data, at most 64 KiB of JSON. */
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
  : // A JSON Schema provides no types to the type checker.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    any

/** The options of `defineTool`. */
export interface ToolOptions<S extends JsonSchema | StandardSchema = JsonSchema> {
  /** The description for the model. */
  description: string
  /** JSON Schema (2020-12 or older), or any Standard Schema (zod, valibot, arktype). */
  inputSchema: S
  /** The schema for the model, if a Standard Schema cannot be converted to JSON Schema. */
  jsonSchema?: JsonSchema
  /**
   * Runs the tool. The returned value must have a JSON form; `undefined` counts as `null`.
   * Arguments are values of `JSON.parse`, so ids beyond 2^53 must be strings.
   */
  execute(args: Args<S>, context: ToolContext): unknown
  /** Whether it has no side effects. @defaultValue false */
  readOnly?: boolean
  /** Whether it may run twice with the same idempotency key. @defaultValue false */
  idempotent?: boolean
  /** Part of the signature, for tools with several actions. */
  action?(args: Args<S>): string
  /**
   * Whether the user must approve a call before it runs: the turn pauses, and
   * `resumeTurn({ approvals })` continues it. Requires a store. @defaultValue false
   */
  needsApproval?: boolean | ((args: Args<S>) => boolean)
  /**
   * Read-only tools, with a store: milliseconds for which another turn of the tenant may use an
   * outcome of the same signature instead of executing. @defaultValue never
   */
  reuseMs?: number
  /** What to do with a repeated call. @defaultValue "block"; "replay" for read-only tools */
  dedupe?: 'block' | 'replay' | 'allow'
  /** Timeout in milliseconds. @defaultValue `policy.toolTimeoutMs` */
  timeoutMs?: number
  /** Maximum bytes of the result as JSON. @defaultValue `policy.maxToolResultBytes` */
  maxResultBytes?: number
}

/** The result of the check of arguments. */
export type Checked =
  | { valid: true; args: unknown; action: string | null; approval?: boolean }
  | { valid: false; errors: string }

/** A tool for `runTurn`. */
export interface Tool {
  readonly description: string
  /** JSON Schema for the model. */
  readonly inputSchema: JsonSchema
  readonly readOnly: boolean
  readonly idempotent: boolean
  readonly dedupe?: 'block' | 'replay' | 'allow'
  /** Whether calls may need approval. */
  readonly needsApproval: boolean
  readonly reuseMs?: number
  readonly timeoutMs?: number
  readonly maxResultBytes?: number
  check(args: unknown): Checked | Promise<Checked>
  execute(args: unknown, context: ToolContext): unknown
}

/**
 * Makes a tool for `runTurn`.
 *
 * @throws TurnlockError `tool.invalid_schema` for an invalid schema
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

/** Makes a validator of a JSON Schema. Throws if the schema is invalid. */
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
    // Resolve references here, not in the middle of a turn.
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
