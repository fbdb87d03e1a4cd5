/** The schema of replicates, used for validation and for comparison in the core. */
import { TurnlockError } from '../errors.js'
import { isStandard, type JsonSchema, type StandardSchema } from '../tools.js'
import { validatorOf } from '../validate.js'

/** The result of a validation: the data, as transformed by the schema, and the errors. */
export type Verdict = { data: unknown; errors: string[] }

export interface ReplicateSchema {
  /** JSON Schema for the core; `undefined` compares by the types of the values. */
  readonly json: JsonSchema | undefined
  check(data: unknown): Verdict | Promise<Verdict>
}

const ERRORS = 20
const DRAFT = { target: 'draft-2020-12' }

/**
 * Reads JSON Schema or a Standard Schema.
 *
 * @param jsonSchema for the comparison, if a Standard Schema cannot be converted to JSON Schema
 * @throws TurnlockError `options.invalid` for an invalid schema
 */
export function replicateSchema(schema: unknown, jsonSchema?: JsonSchema): ReplicateSchema {
  if (schema === undefined) return { json: jsonSchema, check: (data) => ({ data, errors: [] }) }
  if (isStandard(schema)) {
    const { jsonSchema: own } = schema['~standard'] as Described
    return {
      json: jsonSchema ?? own?.output?.(DRAFT) ?? own?.input?.(DRAFT),
      check: standard(schema),
    }
  }
  const validate = ofReplicates(schema)
  return {
    json: jsonSchema ?? (schema as JsonSchema),
    check(data) {
      const { valid, errors } = validate(data)
      if (valid) return { data, errors: [] }
      const said = errors.map((one) => `${one.instanceLocation}: ${one.error}`)
      return { data, errors: said.slice(0, ERRORS) }
    },
  }
}

interface Described {
  jsonSchema?: Partial<Record<'input' | 'output', (options: { target: string }) => JsonSchema>>
}

function ofReplicates(schema: unknown) {
  try {
    return validatorOf(schema)
  } catch (error) {
    const why = error instanceof Error ? error.message.replace('`inputSchema`', '`schema`') : ''
    throw new TurnlockError('options.invalid', why)
  }
}

function standard(schema: StandardSchema): ReplicateSchema['check'] {
  return (data) => {
    const read = (
      result: Awaited<ReturnType<StandardSchema['~standard']['validate']>>,
    ): Verdict => {
      if (!result.issues) return { data: result.value, errors: [] }
      const said = result.issues.map(({ message, path = [] }) => {
        const keys = path.map((one) =>
          String(typeof one === 'object' && one !== null && 'key' in one ? one.key : one),
        )
        return keys.length ? `/${keys.join('/')}: ${message}` : message
      })
      return { data, errors: said.slice(0, ERRORS) }
    }
    const result = schema['~standard'].validate(data)
    return result instanceof Promise ? result.then(read) : read(result)
  }
}
