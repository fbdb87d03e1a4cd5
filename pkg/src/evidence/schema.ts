/** Schemas of data that a model or the host returned: of replicates, and of plans. */
import { isObject } from '../checks.js'
import { issueLine } from '../shared/issues.js'
import { isStandard, convertDates, type JsonSchema, type StandardSchema } from '../tools/tools.js'
import { validatorOf } from '../tools/validate.js'

/** The result of a validation: the data, as transformed by the schema, and the errors. */
export type Verdict = { data: unknown; errors: string[] }

/** Checks data. */
export type Check = (data: unknown) => Verdict | Promise<Verdict>

export interface ReplicateSchema {
  /** JSON Schema for the core; `undefined` compares by the types of the values. */
  readonly json: JsonSchema | undefined
  readonly check: Check
  /** Whether there is a schema to check with. */
  readonly checked: boolean
}

/** Limit | errors of a replicate | errors | the others are not told */
const ERRORS = 20
const DRAFT = { target: 'draft-2020-12' }

/**
 * Reads JSON Schema or a Standard Schema.
 *
 * @param jsonSchema for the comparison, if a Standard Schema cannot be converted to JSON Schema
 * @throws TurnlockError `options.invalid` for an invalid schema
 */
export function replicateSchema(schema: unknown, jsonSchema?: object): ReplicateSchema {
  const given = jsonSchema as JsonSchema | undefined
  if (schema === undefined)
    return { json: given, check: (data) => ({ data, errors: [] }), checked: false }
  const check = checkOf(schema, 'schema')
  if (!isStandard(schema)) return { json: given ?? (schema as JsonSchema), check, checked: true }
  return {
    json: given ?? convert(schema, 'output') ?? convert(schema, 'input'),
    check,
    checked: true,
  }
}

/** Converts a schema; `undefined` if it has no converter or a type has no JSON form. */
function convert(schema: StandardSchema, side: 'input' | 'output'): JsonSchema | undefined {
  try {
    return schema['~standard'].jsonSchema?.[side]?.(DRAFT)
  } catch {
    const converted = convertDates(schema, side)
    return typeof converted === 'object' ? converted : undefined
  }
}

/**
 * The check of a JSON Schema or a Standard Schema, which is the value of this option.
 *
 * @throws TurnlockError `options.invalid` for an invalid schema
 */
export function checkOf(schema: unknown, option: string): Check {
  if (isStandard(schema)) return standard(schema)
  const validate = validatorOf(schema, { option, code: 'options.invalid' })
  return (data) => {
    const { valid, errors } = validate(data)
    if (valid) return { data, errors: [] }
    const said = errors.map((one) => `${one.instanceLocation}: ${one.error}`)
    return { data, errors: said.slice(0, ERRORS) }
  }
}

function standard(schema: StandardSchema): Check {
  return (data) => {
    const read = (
      result: Awaited<ReturnType<StandardSchema['~standard']['validate']>>,
    ): Verdict => {
      if (!isObject(result) || !('issues' in result || 'value' in result)) {
        return { data, errors: ['the validator gave neither `value` nor `issues`'] }
      }
      if (!result.issues) return { data: result.value, errors: [] }
      return { data, errors: result.issues.slice(0, ERRORS).map(issueLine) }
    }
    const result = schema['~standard'].validate(data)
    return result instanceof Promise ? result.then(read) : read(result)
  }
}
