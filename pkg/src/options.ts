/** The check of options by name, and the types that generated declarations need. */
import { TurnlockError, wrong } from './errors.js'
import { nearest } from './near.js'

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

/** The members of options that have a value. */
export type Present<T> = { [Name in keyof T]: Exclude<T[Name], undefined> }

/** The members of options that have a value, to lay them over defaults. */
export function present<T extends object>(options: T): Present<T> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Present<T>
}

/**
 * Refuses members that are no options, and reads each option once: a getter is the host's code, may
 * throw, and may give another value the next time.
 *
 * Looks at own, enumerable members with a value. An instance of a class may have members for its own
 * purposes, so it is not checked, and returned as it is.
 *
 * @param at the path of `given` in the options
 * @throws TurnlockError `options.invalid` with the path of the member
 */
export function readOptions<T>(given: T, rows: Rows, at = ''): T {
  let path = at || 'options'
  const pathOf = (name: string) => (path = at ? `${at}.${name}` : name)
  try {
    if (typeof given !== 'object' || given === null) {
      if (at) return given // The function that reads the option says what it expects.
      throw wrong('options', 'an object')
    }
    const values = given as Record<string, unknown>
    const isOpen = isInstance(given)
    for (const name of isOpen ? [] : Object.keys(given)) {
      if (!Object.hasOwn(rows, name) && values[name] !== undefined) {
        throw unknownOption(pathOf(name), name, rows)
      }
    }
    const result: Record<string, unknown> = {}
    for (const [name, inner] of Object.entries(rows)) {
      pathOf(name)
      const value = values[name]
      // A map of the host, such as of tools, has getters, too.
      if (Object(value) === value && !isInstance(value as object)) Object.values(value as object)
      if (value !== undefined) result[name] = inner ? readOptions(value, inner, path) : value
    }
    return isOpen ? given : (result as T)
  } catch (error) {
    throw unreadable(path, error)
  }
}

/** What `read` gives; what it throws is the error of the option at `path`. */
export function reading<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw unreadable(path, error)
  }
}

function unreadable(path: string, error: unknown): TurnlockError {
  if (error instanceof TurnlockError) return error
  return wrong(path, 'a value that can be read', error)
}

/** The error of a member that is no option, with the one that may be meant. */
export function unknownOption(path: string, name: string, rows: object): TurnlockError {
  // What other libraries call the schema of a tool.
  const suggestion = nearest(name === 'parameters' ? 'inputSchema' : name, Object.keys(rows))
  const hint = suggestion ? `; did you mean \`${suggestion}\`?` : ''
  return wrong(path, `a known option${hint}`)
}

function isInstance(given: object): boolean {
  const prototype = Object.getPrototypeOf(given) as object | null
  if (!prototype || !Object.hasOwn(prototype, 'constructor')) return false
  // By name: plain objects of another realm have another `Object`.
  return prototype.constructor?.name !== 'Object'
}
