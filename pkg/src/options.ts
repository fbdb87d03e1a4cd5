/** The check of options by name, and the types that generated declarations need. */
import { TurnlockError } from './errors.js'

/** The names of an object's options. Where an inner object is checked too, with its names. */
export interface Rows {
  readonly [name: string]: Rows | 0
}

/**
 * A function as an option that may be missing. Its parameters are compared as those of a method: a
 * host may declare narrower ones.
 */
export type Method<Parameters extends unknown[], Result> = {
  method(...parameters: Parameters): Result
}['method']

/** Options that all have a value. */
export type Filled<T> = { [Name in keyof T]-?: Exclude<T[Name], undefined> }

/** The members of options that have a value, to lay them over defaults. */
export function present<T extends object>(
  options: T,
): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as ReturnType<typeof present<T>>
}

/**
 * Refuses members that are no options.
 *
 * Looks at own, enumerable members with a value; does not call getters of known ones. An instance
 * of a class may have members for its own purposes, so it is not checked.
 *
 * @param at the path of `given` in the options
 * @throws TurnlockError `options.invalid` with the path of the member
 */
export function checkOptions(given: unknown, rows: Rows, at = ''): void {
  if (typeof given !== 'object' || given === null) {
    if (at) return // The function that reads the option says what it expects.
    throw new TurnlockError('options.invalid', '`options`: expected an object')
  }
  if (isInstance(given)) return
  const values = given as Record<string, unknown>
  for (const name of Object.keys(given)) {
    const inner = Object.hasOwn(rows, name) ? rows[name] : undefined
    const path = at ? `${at}.${name}` : name
    if (inner) checkOptions(values[name], inner, path)
    else if (inner === undefined && values[name] !== undefined) {
      throw unknownOption(path, name, rows)
    }
  }
}

/** The error of a member that is no option, with the one that may be meant. */
export function unknownOption(path: string, name: string, rows: object): TurnlockError {
  const near = (most: number) => Object.keys(rows).find((known) => isNear(known, name, most))
  const meant = near(1) ?? near(Math.min(2, name.length >> 1))
  const hint = meant ? `; did you mean \`${meant}\`?` : ''
  return new TurnlockError('options.invalid', `\`${path}\`: expected an option that exists${hint}`)
}

function isInstance(given: object): boolean {
  const prototype = Object.getPrototypeOf(given) as object | null
  if (!prototype || !Object.hasOwn(prototype, 'constructor')) return false
  // By name: plain objects of another realm have another `Object`.
  return prototype.constructor?.name !== 'Object'
}

/** Whether `a` becomes `b` if at most `most` letters are added, left out or replaced. */
function isNear(a: string, b: string, most: number): boolean {
  if (a === b || most < 1) return a === b
  let same = 0
  while (a[same] === b[same]) same++
  const [x, y] = [a.slice(same), b.slice(same)]
  const [shortX, shortY] = [x.slice(1), y.slice(1)]
  const near = (one: string, other: string) => isNear(one, other, most - 1)
  return near(shortX, y) || near(x, shortY) || near(shortX, shortY)
}
