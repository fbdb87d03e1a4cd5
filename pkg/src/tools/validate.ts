/** Checks data against a JSON Schema, with bounded work: a model wrote the data. */
import { isObject } from '../checks.js'
import { TurnlockError } from '../errors.js'
import { dereference, regexOf, validate } from '../json-schema.js'
import { describe } from '../shared/serialize.js'
import type { JsonSchema } from './tools.js'

/** References that one check may follow. A recursive schema takes one for each level and branch. */
const MOST_REFERENCES = 100_000

/** Characters that `uniqueItems` may compare in one check: of each list, its items × its length. */
const MOST_COMPARED = 50_000_000

/**
 * Characters that a `pattern` is tried on. Some take time that grows with their square, such as `\s+$`.
 * The schema's author answers for those that take exponential time.
 */
const MOST_MATCHED = 10_000

export interface Verdict {
  valid: boolean
  errors: { instanceLocation: string; error: string }[]
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

// What was made last: summaries of replicates ask for that of their schema again and again.
let known = ''
let made: (data: unknown) => Verdict

/**
 * A function that checks data against a JSON Schema, draft 2020-12. It never throws: data that
 * takes more than the bounds above is not valid. What is done to the schema later has no effect.
 *
 * @param option the name of the schema in the error
 * @throws TurnlockError with `code`
 */
export function validatorOf(
  schema: unknown,
  option: string,
  code = 'tool.invalid_schema',
): (data: unknown) => Verdict {
  let text = ''
  try {
    text = JSON.stringify(schema)
  } catch {
    // It has a cycle, say: what is wrong is found below.
  }
  if (!text || text !== known) {
    const wrong = (why: string) => new TurnlockError(code, `\`${option}\`: ${why}`)
    made = make(text ? JSON.parse(text) : schema, text, wrong)
  }
  known = text
  return made
}

function make(
  schema: unknown,
  text: string,
  wrong: (why: string) => TurnlockError,
): (data: unknown) => Verdict {
  // What other libraries make has the schema within: nothing would be checked.
  if (!isObject(schema) || Array.isArray(schema) || 'jsonSchema' in schema) {
    throw wrong('expected a JSON Schema object or a Standard Schema')
  }
  const { type } = schema as { type?: unknown }
  const types = type === undefined ? [] : Array.isArray(type) ? type : [type]
  if (!types.every((one) => TYPES.includes(one as string))) throw wrong('`type` is no JSON type')
  let check: ReturnType<typeof bounded>
  try {
    check = bounded(eachSchema(schema, withShortTexts) as JsonSchema)
    check({}, true)
  } catch (error) {
    throw wrong(describe(error))
  }
  const comparesItems = text.includes('"uniqueItems":true')
  const matchesNames = text.includes('"patternProperties":')
  return (data) => {
    if (comparesItems && comparisons(data) > MOST_COMPARED) {
      return refused('too many items to compare')
    }
    if (matchesNames && hasLongName(data)) return refused('the name of a member is too long')
    let verdict: Verdict | undefined
    try {
      // Without short cuts, a schema that refers to itself in `anyOf` takes exponential time.
      verdict = check(data, true)
      return verdict.valid ? verdict : check(data, false)
    } catch (error) {
      // Of the stack, too: a reference that leads to itself, errors without number.
      const isTooMuch = error instanceof RangeError
      const why = `the schema follows more than ${MOST_REFERENCES} references`
      return verdict ?? refused(isTooMuch ? why : describe(error))
    }
  }
}

/** A copy of a schema in which each schema is what `change` makes of it. */
export function eachSchema(schema: unknown, change: (own: JsonSchema) => JsonSchema): unknown {
  if (Array.isArray(schema)) return schema.map((item) => eachSchema(item, change))
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).map(([name, own]) => [
    name,
    // Values, which are no schemas.
    name === 'enum' || name === 'const' ? own : eachSchema(own, change),
  ])
  return change(Object.fromEntries(entries) as JsonSchema)
}

function withShortTexts({ pattern, ...own }: JsonSchema): JsonSchema {
  if (typeof pattern !== 'string') return pattern === undefined ? own : { pattern, ...own }
  const short = { maxLength: MOST_MATCHED }
  const all = Array.isArray(own['allOf']) ? (own['allOf'] as unknown[]) : []
  return { ...own, allOf: [...all, { if: short, then: { pattern }, else: short }] }
}

const hasLongName = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, own]) => name.length > MOST_MATCHED || hasLongName(own))

const refused = (error: string): Verdict => ({
  valid: false,
  errors: [{ instanceLocation: '#', error }],
})

interface Checked {
  /** What the validator writes into a schema with a reference. */
  readonly __absolute_ref__?: string
  readonly $ref?: string
  readonly pattern?: string
}

/** `quick` stops at the first error. Throws when more than the most references are followed. */
function bounded(schema: JsonSchema): (data: unknown, quick: boolean) => Verdict {
  let left = 0
  const known = dereference(schema)
  // What cannot be checked is found here, not in the middle of a turn.
  for (const { __absolute_ref__: to, $ref, pattern } of Object.values(known) as Checked[]) {
    regexOf(pattern ?? '')
    if (to && !(to in known)) throw new Error(`\`$ref\` leads nowhere: ${$ref}`)
  }
  const schemas = new Proxy(known, {
    get(_, uri) {
      if (--left < 0) throw new RangeError()
      return known[uri as string]
    },
  })
  return (data, quick) => {
    left = MOST_REFERENCES
    return validate(data, schema, '2020-12', schemas, quick)
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
