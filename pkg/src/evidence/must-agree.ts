/** What replicates must agree on, and other lists of fields. */
import { wrong } from '../errors.js'

/** Whether all are JSON Pointers (RFC 6901). */
export const arePointers = (all: readonly unknown[]) =>
  all.every((path) => typeof path === 'string' && /^(\/([^~]|~[01])*)?$/.test(path))

/** @throws TurnlockError `options.invalid` */
export function checkMustAgree(given: unknown): void {
  if (given == null || given === 'settled' || (Array.isArray(given) && arePointers(given))) return
  throw wrong('mustAgree', 'settled, or JSON Pointers such as "/label"')
}
