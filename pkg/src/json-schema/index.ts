/** A JSON Schema as a function that checks data with bounded work. */
import { describe } from '../shared/serialize.js'
import { Compiler, type CompileOptions } from './compile.js'
import { MOST_STEPS, NO, Run, type Issue } from './run.js'

export { MOST_STEPS, type Issue }

export interface Verdict {
  valid: boolean
  errors: Issue[]
  /** Steps that were taken, at most {@link MOST_STEPS} and those of its last keyword. */
  steps: number
}

export interface Validator {
  validate(data: unknown): Verdict
  /** Why a part of the schema cannot be checked by. Data that comes to it is not valid. */
  readonly broken: string | undefined
  /** Why nothing can be checked: the root has a keyword of an invalid form. */
  readonly rootBroken: string | undefined
}

/**
 * Compiles a schema: an object of plain JSON.
 *
 * @throws Error in words for a reference that leads nowhere, or an invalid regular expression
 */
export function compile(schema: object, options: CompileOptions): Validator {
  const { root, broken, notes } = new Compiler(options).compile(schema)
  return {
    broken,
    rootBroken: typeof root === 'object' ? root.broken : undefined,
    validate(data) {
      // Without short cuts, a schema that refers to itself in `anyOf` takes exponential time.
      const quick = new Run(true, notes)
      try {
        if (quick.evaluate(root, data, undefined) !== NO)
          return { valid: true, errors: [], steps: quick.steps }
      } catch (error) {
        return { valid: false, errors: [unusable(error)], steps: quick.steps }
      }
      const run = new Run(false, notes)
      try {
        run.evaluate(root, data, undefined)
      } catch (error) {
        if (run.errors.length === 0) run.errors.push(unusable(error))
      }
      return { valid: false, errors: run.errors, steps: quick.steps + run.steps }
    },
  }
}

function unusable(error: unknown): Issue {
  // The stack of this runtime is used up.
  const isTooDeep = error instanceof RangeError
  const words = isTooDeep ? 'the schema follows too many references' : describe(error)
  return { instanceLocation: '#', error: words }
}
