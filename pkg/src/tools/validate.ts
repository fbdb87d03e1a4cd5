/** Checks data against a JSON Schema, with bounded work: a model wrote the data. */
import { isObject } from '../checks.js'
import { TurnlockError } from '../errors.js'
import { dereference, regexOf, validate, type Lookup } from '../json-schema.js'
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
  if (!isObject(schema) || 'jsonSchema' in schema) {
    throw wrong('expected a JSON Schema or a Standard Schema')
  }
  const { type } = schema as { type?: unknown }
  const types = type === undefined ? [] : [type].flat()
  if (!types.every((one) => TYPES.includes(one as string))) throw wrong('`type` is no JSON type')
  let check: ReturnType<typeof bounded>
  try {
    check = bounded(schema as JsonSchema)
    // A keyword of the root that has another form throws.
    check({}, true)
  } catch (error) {
    throw wrong(describe(error))
  }
  const comparesItems = text.includes('"uniqueItems":true')
  const matchesNames = text.includes('"patternProperties":')
  return (data) => {
    if (comparesItems && comparisons(data) > MOST_COMPARED) {
      return refused('too many items')
    }
    if (matchesNames && hasLongName(data)) return refused('a name is too long')
    let verdict: Verdict | undefined
    try {
      // Without short cuts, a schema that refers to itself in `anyOf` takes exponential time.
      verdict = check(data, true)
      return verdict.valid ? verdict : check(data, false)
    } catch (error) {
      // Of the stack, too: a reference that leads to itself, errors without number.
      const isTooMuch = error instanceof RangeError
      return (
        verdict ?? refused(isTooMuch ? 'the schema follows too many references' : describe(error))
      )
    }
  }
}

const hasLongName = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, own]) => name.length > MOST_MATCHED || hasLongName(own))

const refused = (error: string): Verdict => ({
  valid: false,
  errors: [{ instanceLocation: '#', error }],
})

interface Known {
  /** What the validator writes into a schema with a reference. */
  readonly __absolute_ref__?: string
  readonly $ref?: string
  readonly patternProperties?: object
  pattern?: string
  allOf?: unknown[]
}

/**
 * The schemas within a schema, by the addresses that refer to them. What cannot be checked is found
 * here, not in the middle of a turn; and each pattern is now tried on short texts alone.
 */
function schemasOf(schema: JsonSchema): Lookup {
  const all = dereference(schema)
  const ready = new Set<unknown>()
  // A reference may add the schemas of another place.
  for (let count = -1; count < ready.size;) {
    count = ready.size
    for (const own of Object.values(all)) {
      if (!ready.has(own)) prepare(own as Known, all)
      ready.add(own)
    }
  }
  return all
}

function prepare(own: Known, all: Lookup): void {
  const { __absolute_ref__: to, $ref, pattern, patternProperties } = own
  if (to && !(to in all)) {
    const found = pointedTo(to, all)
    if (found === undefined) throw new Error(`\`$ref\` leads nowhere: ${$ref}`)
    all[to] = found
  }
  Object.keys(patternProperties ?? {}).forEach(regexOf)
  if (typeof pattern !== 'string') return
  regexOf(pattern)
  delete own.pattern
  const short = { maxLength: MOST_MATCHED }
  own.allOf = [...(own.allOf ?? []), { if: short, then: { pattern }, else: short }]
}

/**
 * What a pointer leads to that names no place of a schema, such as OpenAPI's `components`, or spells
 * it in another way (RFC 6901, 6).
 */
function pointedTo(to: string, all: Lookup): object | boolean | undefined {
  const [base = '', pointer = ''] = to.split('#/')
  let at: unknown = all[base]
  for (const part of decodeURIComponent(pointer).split('/')) {
    at = Object(at)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  if (typeof at !== 'boolean' && !isObject(at)) return undefined
  dereference(at, all, new URL(base), `/${pointer}`)
  return at
}

/** `quick` stops at the first error. Throws when more than the most references are followed. */
function bounded(schema: JsonSchema): (data: unknown, quick: boolean) => Verdict {
  let left = 0
  const known = schemasOf(schema)
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
