/** Checks data against a JSON Schema, with bounded work: a model wrote the data. */
import { withNull } from './complete-schema.js'
import { isObject } from '../checks.js'
import { TurnlockError } from '../errors.js'
import { compile, type Issue } from '../json-schema/index.js'
import { describe } from '../shared/serialize.js'

export interface Verdict {
  valid: boolean
  errors: Issue[]
}

export interface ValidatorOptions {
  /** The name of the schema in the error. */
  option: string
  code?: string
  /**
   * Whether the schema is of a server: its regular expressions are not run, because some take minutes
   * and no time-out ends them. A schema that has a keyword of an invalid form is then refused, also if
   * the keyword is not in its root: providers refuse all tools because of such a one.
   */
  foreign?: boolean
}

// The validator that was made last: summaries of replicates need that of their schema again and again.
let lastKey = ''
let last: (data: unknown) => Verdict

/**
 * Returns a function that checks data against a JSON Schema, draft 2020-12, in which `nullable: true`
 * of OpenAPI accepts `null`. It never throws: data that takes more than `MOST_STEPS` is not valid.
 * Later changes of the schema have no effect.
 *
 * @throws TurnlockError with `code`, by default `tool.invalid_schema`
 */
export function validatorOf(
  schema: unknown,
  { option, code = 'tool.invalid_schema', foreign = false }: ValidatorOptions,
): (data: unknown) => Verdict {
  const wrong = (why: string) => new TurnlockError(code, `\`${option}\`: ${why}`)
  // What other libraries make has the schema within: nothing would be checked.
  if (!isObject(schema) || 'jsonSchema' in schema) {
    throw wrong('expected a JSON Schema or a Standard Schema')
  }
  let text: string | undefined
  try {
    text = JSON.stringify(schema)
  } catch (error) {
    throw wrong(describe(error))
  }
  const key = `${foreign} ${text}`
  if (key !== lastKey) {
    last = validator(text, foreign, wrong)
    lastKey = key
  }
  return last
}

function validator(text: string | undefined, foreign: boolean, wrong: (why: string) => Error) {
  const schema: unknown = JSON.parse(text ?? 'null')
  // An object whose `toJSON` makes something else of it.
  if (!isObject(schema)) throw wrong('expected a JSON Schema or a Standard Schema')
  let compiled: ReturnType<typeof compile>
  try {
    const known = text?.includes('"nullable"') ? (withNull(schema) as object) : schema
    compiled = compile(known, { patterns: !foreign })
  } catch (error) {
    // The stack of this runtime is used up.
    throw wrong(error instanceof RangeError ? 'it has too many levels' : describe(error))
  }
  const { broken, rootBroken, validate } = compiled
  const why = rootBroken ?? (foreign ? broken : undefined)
  if (why !== undefined) throw wrong(why)
  return validate
}
