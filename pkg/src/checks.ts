/**
 * The check of options by value, before the core is loaded: what the core's reader would refuse is
 * refused here, in the same words. `src/json/table` is the reader.
 */
import { wrong } from './errors.js'
import { reading, unknownOption, type Present, type Rows } from './options.js'

/** The values that an option may have; `0`: any. `undefined` and `null` stand for the default. */
export type Check =
  | 0
  | 'text'
  | 'flag'
  | 'number'
  /** A whole number from … to …; without an end, below 2^64. */
  | { readonly whole: readonly [least: number, most?: number] }
  | { readonly real: readonly [least: number, most?: number] }
  /** One of these names. */
  | { readonly names: string }
  | { readonly list: Check }
  | { readonly map: Check }
  | { readonly rows: Checks }
  /** `expected`: the one message for everything that is wrong with the value. */
  | { readonly check: Check; readonly expected?: string; readonly required?: true }

/** The options of an object. */
export interface Checks {
  readonly [name: string]: Check
}

/**
 * As `readOptions`, for entries that must be small: without the hint, which weighs as much as
 * the rest, and with the path of the object where a getter throws. What is no object has no members.
 *
 * @param at what stands before the names, such as `policy.`
 * @throws TurnlockError `options.invalid` with the path of the member
 */
export function takeOptions<T extends object>(given: T, rows: Rows, at = ''): Present<T> {
  const values: Partial<T> = reading('options', () => {
    const copy = { ...given }
    // A proxy that cannot be used is refused here.
    for (const value of Object.values(copy)) Object.getPrototypeOf(Object(value))
    return copy
  })
  for (const name in values) {
    if (values[name] === undefined) delete values[name]
    else if (!Object.hasOwn(rows, name)) throw wrong(at + name, 'a known option')
  }
  return values as Present<T>
}

/**
 * Checks the options of a machine.
 *
 * @throws TurnlockError `options.invalid` with the path of the option
 */
export function checkValues(given: object, rows: Checks): void {
  members(given, rows, '')
}

function members(given: unknown, rows: Checks, at: string): void {
  if (!isObject(given)) throw wrong(at, 'an object')
  for (const [name, value] of Object.entries(given)) {
    const path = at ? `${at}.${name}` : name
    if (!Object.hasOwn(rows, name)) {
      if (value === undefined) continue
      throw unknownOption(path, name, rows)
    }
    if (value !== undefined && value !== null) checkValue(value, rows[name] as Check, path)
  }
  for (const [name, row] of Object.entries(rows)) {
    if (typeof row !== 'object' || !('required' in row)) continue
    const value: unknown = given[name]
    if (value !== undefined && value !== null) continue
    const { check, expected } = row
    const wholeNumber = typeof check === 'object' && 'whole' in check && 'a whole number'
    const kind = wholeNumber || (check === 'text' ? 'a string' : 'a value')
    throw wrong(at ? `${at}.${name}` : name, expected ?? kind)
  }
}

function checkValue(value: unknown, row: Check, path: string): void {
  if (row === 0) return
  if (row === 'text') return expect(typeof value === 'string', path, 'a string')
  if (row === 'flag') return expect(typeof value === 'boolean', path, 'true or false')
  if (row === 'number') return expect(Number.isFinite(value), path, 'a number')
  if ('whole' in row) {
    const [least, most] = row.whole
    const fits = Number.isInteger(value) && isWithin(value as number, least, most ?? LARGEST)
    return expect(fits, path, `a whole number ${range(least, most)}`)
  }
  if ('real' in row) {
    const [least, most] = row.real
    const fits = Number.isFinite(value) && isWithin(value as number, least, most)
    return expect(fits, path, `a number ${range(least, most)}`)
  }
  if ('names' in row) {
    const names = row.names.split(' ')
    const fits = typeof value === 'string' && names.includes(value)
    return expect(fits, path, `${names.slice(0, -1).join(', ')} or ${names.at(-1) as string}`)
  }
  if ('list' in row) {
    expect(Array.isArray(value), path, 'an array')
    return (value as unknown[]).forEach((item, at) => checkItem(item, row.list, `${path}[${at}]`))
  }
  if ('map' in row) {
    if (!isObject(value)) throw wrong(path, 'an object')
    for (const [name, item] of Object.entries(value)) checkItem(item, row.map, `${path}.${name}`)
    return
  }
  if ('rows' in row) return members(value, row.rows, path)
  try {
    checkValue(value, row.check, path)
  } catch (error) {
    throw row.expected ? wrong(path, row.expected) : error
  }
}

/** An item has no default. */
function checkItem(item: unknown, row: Check, path: string): void {
  checkValue(item ?? null, row, path)
}

function expect(fits: boolean, path: string, expected: string): void {
  if (!fits) throw wrong(path, expected)
}

/** 2^64 - 2^11: below 2^64, which doubles do not tell from 2^64 - 1. As a number, which bundlers drop. */
const LARGEST = 18_446_744_073_709_549_568

const isWithin = (value: number, least: number, most = Infinity) => value >= least && value <= most

const range = (least: number, most: number | undefined) =>
  most === undefined ? `of at least ${least}` : `from ${least} to ${most}`

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** @throws TurnlockError `options.invalid` for what is given, and not null, and no function */
export function checkFunctions(given: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(given)) {
    if (value != null && typeof value !== 'function') throw wrong(name, 'a function')
  }
}

/** @throws TurnlockError `options.invalid` for what is given and is no signal */
export function checkSignal(signal: AbortSignal | null | undefined): void {
  if (signal === undefined || signal === null) return
  if (typeof signal.addEventListener !== 'function') throw wrong('signal', 'an AbortSignal')
}
