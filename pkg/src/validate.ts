/** Checks data against a JSON Schema, with bounded work: a model wrote the data. */
import { TurnlockError } from './errors.js'
import { Validator } from './json-schema.js'
import type { JsonSchema } from './tools.js'

/** References that one check may follow. A recursive schema takes one for each level and branch. */
const MOST_REFERENCES = 100_000

/** Characters that `uniqueItems` may compare in one check: of each list, its items × its length. */
const MOST_COMPARED = 50_000_000

export interface Verdict {
  valid: boolean
  errors: { instanceLocation: string; error: string }[]
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/**
 * A function that checks data against a JSON Schema, draft 2020-12. It never throws: data that
 * takes more than the bounds above is not valid.
 *
 * @throws TurnlockError `tool.invalid_schema`
 */
export function validatorOf(schema: unknown): (data: unknown) => Verdict {
  const wrong = (why: string) => new TurnlockError('tool.invalid_schema', `\`inputSchema\`: ${why}`)
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw wrong('expected a JSON Schema object or a Standard Schema')
  }
  const { type } = schema as { type?: unknown }
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type]
  if (!types.every((one) => TYPES.includes(one as string))) throw wrong('`type` is no JSON type')
  let check: ReturnType<typeof bounded>
  try {
    check = bounded(schema as JsonSchema)
    // Resolve references here, not in the middle of a turn.
    check({}, true)
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error))
  }
  const comparesItems = JSON.stringify(schema).includes('"uniqueItems":true')
  return (data) => {
    if (comparesItems && comparisons(data) > MOST_COMPARED) {
      return refused('too many items to find equal ones among them')
    }
    let verdict = refused(`the schema follows more than ${MOST_REFERENCES} references`)
    try {
      // Without short cuts, a schema that refers to itself in `anyOf` takes exponential time.
      verdict = check(data, true)
      return verdict.valid ? verdict : check(data, false)
    } catch {
      return verdict
    }
  }
}

const refused = (error: string): Verdict => ({
  valid: false,
  errors: [{ instanceLocation: '#', error }],
})

/** `quick` stops at the first error. Throws when more than the most references are followed. */
function bounded(schema: JsonSchema): (data: unknown, quick: boolean) => Verdict {
  const validator = new Validator(schema, '2020-12', true)
  let left = 0
  validator.lookup = new Proxy(validator.lookup, {
    get(schemas, uri) {
      if (--left < 0) throw new RangeError('too many references')
      return schemas[uri as string]
    },
  })
  return (data, quick) => {
    left = MOST_REFERENCES
    validator.shortCircuit = quick
    return validator.validate(data)
  }
}

/** Sum over all lists: number of items × characters in them. */
function comparisons(data: unknown): number {
  let sum = 0
  const size = (value: unknown): number => {
    if (typeof value === 'string') return value.length + 1
    if (typeof value !== 'object' || value === null) return 1
    let own = 1
    for (const [key, member] of Object.entries(value)) own += key.length + size(member)
    if (Array.isArray(value)) sum += value.length * own
    return own
  }
  size(data)
  return sum
}
