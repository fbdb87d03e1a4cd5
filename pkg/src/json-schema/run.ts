/** One evaluation of a compiled schema: its counted steps, its errors, and its dynamic scope. */
import type { Resource, Schema } from './compile.js'
import { typeOf } from './values.js'

/**
 * Steps of one evaluation. A step is a keyword, a member, an item, or 32 characters that are read.
 *
 * Limit | one check against a JSON Schema | steps: keywords, members, items, 32 characters | the call is refused
 */
export const MOST_STEPS = 1_000_000

/**
 * Schemas that may be evaluated within each other. Arguments have at most 128 levels.
 *
 * Limit | schemas within each other in one check | levels | the call is refused
 */
const MOST_LEVELS = 1_000

/**
 * Errors that an evaluation collects.
 *
 * Limit | errors of one check | errors | the others are left out
 */
const MOST_ERRORS = 20

/**
 * The result of a keyword or a schema. `MAYBE`: it depends on a regular expression that is not run.
 * The values are ordered: all of several is their minimum, any of them the maximum.
 */
export const [NO, MAYBE, YES] = [0, 1, 2] as const
export type Result = typeof NO | typeof MAYBE | typeof YES

/** Where a value stands in the data; `undefined` is its root. */
export type Path = { readonly parent: Path; readonly key: string | number } | undefined

export interface Issue {
  /** `#` and a JSON pointer. */
  instanceLocation: string
  error: string
}

/** Members and items that a schema has evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
export class Seen {
  readonly names = new Set<string>()
  readonly items = new Set<number>()

  add(other: Seen): number {
    for (const name of other.names) this.names.add(name)
    for (const item of other.items) this.items.add(item)
    return other.names.size + other.items.size
  }
}

/** Ends an evaluation: its data takes too much work, or a schema in it is unusable. */
export class Unusable extends Error {}

export class Run {
  readonly errors: Issue[] = []
  /** The resources through which references have led, outermost first. */
  readonly scope: Resource[] = []
  readonly #quick: boolean
  readonly #notes: boolean
  #left = MOST_STEPS
  #level = 0

  /**
   * @param quick whether the first error ends the evaluation, and none is collected
   * @param notes whether schemas note what they have evaluated
   */
  constructor(quick: boolean, notes: boolean) {
    this.#quick = quick
    this.#notes = notes
  }

  get steps(): number {
    return MOST_STEPS - this.#left
  }

  /** @throws Unusable after too many steps */
  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) {
      throw new Unusable(
        `the check takes more than ${MOST_STEPS} steps: too many items, or the schema follows too many references`,
      )
    }
  }

  /** Counts the characters of a text that is read. */
  read(text: string): void {
    this.spend(text.length >> 5)
  }

  /** Whether nothing is left to find out after a keyword that does not hold. */
  get ends(): boolean {
    return this.#quick || this.errors.length >= MOST_ERRORS
  }

  below(parent: Path, key: string | number): Path {
    return this.#quick ? undefined : { parent, key }
  }

  fail(path: Path, error: () => string): typeof NO {
    if (!this.ends) this.errors.push({ instanceLocation: pointerOf(path), error: error() })
    return NO
  }

  /**
   * Evaluates a schema.
   *
   * @param seen where it notes what it has evaluated, if that counts for a schema around it
   * @throws Unusable
   */
  evaluate(
    schema: Schema,
    value: unknown,
    path: Path,
    seen = this.#notes ? new Seen() : undefined,
  ): Result {
    this.spend(1)
    typeOf(value)
    if (typeof schema === 'boolean') {
      return schema ? YES : this.fail(path, () => 'is not allowed here')
    }
    if (schema.broken !== undefined) throw new Unusable(schema.broken)
    const changesScope = this.scope.at(-1) !== schema.resource
    if (changesScope) this.scope.push(schema.resource)
    if (++this.#level > MOST_LEVELS) {
      throw new Unusable(`the schema follows too many references: over ${MOST_LEVELS} levels`)
    }
    let result: Result = YES
    for (const check of schema.checks) {
      this.spend(1)
      const found = check(this, value, path, seen)
      if (found < result) result = found
      if (result === NO && this.ends) break
    }
    this.#level -= 1
    if (changesScope) this.scope.pop()
    return result
  }

  /** Evaluates what does not fail the value by itself: `errors` are dropped unless `keep` says so. */
  attempt(evaluate: () => Result, keep: (result: Result) => boolean): Result {
    const before = this.errors.length
    const result = evaluate()
    if (!keep(result)) this.errors.length = before
    return result
  }
}

/**
 * Characters of a name in a location.
 *
 * Limit | a name in the place of an error | characters | it is cut
 */
const MOST_OF_NAME = 100

function pointerOf(path: Path): string {
  const parts: string[] = []
  for (let at = path; at; at = at.parent) {
    const name = String(at.key).slice(0, MOST_OF_NAME)
    parts.push(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
  return `#${parts.reverse().join('')}`
}
