/** Values as JSON Schema compares them. */
import { Unusable, type Run } from './run.js'

/** @throws Unusable for what has no JSON */
export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  const type = typeof value
  if (type === 'object' || type === 'string' || type === 'number' || type === 'boolean') return type
  throw new Unusable(`a ${type} has no JSON`)
}

/** A text that two values share when they are equal. Numbers are compared as doubles. */
export function keyOf(value: unknown, run?: Run): string {
  run?.spend(1)
  if (typeof value === 'string') {
    run?.read(value)
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map((item) => keyOf(item, run)).join()}]`
  if (typeof value !== 'object' || value === null) return String(value === 0 ? 0 : value)
  const members = Object.entries(value).map(([name, member]) => {
    run?.read(name)
    return `${JSON.stringify(name)}:${keyOf(member, run)}`
  })
  return `{${members.sort().join()}}`
}

/**
 * The number of code points of a text; of one that is certainly shorter or longer than the bounds, its
 * code units.
 */
export function lengthOf(text: string, shortest: number, longest: number, run: Run): number {
  const units = text.length
  if (units < shortest || units > 2 * longest || (units >= 2 * shortest && units <= longest)) {
    return units
  }
  run.read(text)
  let points = 0
  for (const _ of text) points += 1
  return points
}

/** Whether a number is a multiple of another, both taken as the decimal numbers that JSON has. */
export function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !(divisor > 0)) return false
  if (value % divisor === 0) return true
  const [a, b] = [decimal(value), decimal(divisor)]
  const exponent = Math.min(a.exponent, b.exponent)
  const scaled = (number: typeof a) => number.digits * 10n ** BigInt(number.exponent - exponent)
  return scaled(a) % scaled(b) === 0n
}

function decimal(value: number): { digits: bigint; exponent: number } {
  const [digits = '', exponent = '0'] = String(Math.abs(value)).split('e')
  const [whole = '', fraction = ''] = digits.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}
