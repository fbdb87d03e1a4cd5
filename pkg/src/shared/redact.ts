/** Applies a host's redaction to texts before they are delivered. */
import { isObject } from '../checks.js'
import { quietly } from './quietly.js'

/** Returns the part of a text that may be shown. */
export type Redact = (text: string) => string

/** Wraps a redaction so that a text is dropped if the redaction throws or gives no text. */
export function guarded(redact: Redact): Redact {
  return (text) => {
    let redacted: unknown
    quietly(() => (redacted = redact(text)))
    return typeof redacted === 'string' ? redacted : '[redaction failed]'
  }
}

/** Redacts every text in a value, including member names. */
export function deep(value: unknown, hide: Redact): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((item) => deep(item, hide))
  if (!isObject(value)) return value
  return mapMembers(value, (name, item) => [hide(name), deep(item, hide)])
}

/** A copy of an object, in which each member is what `change` makes of it. */
export const mapMembers = (
  value: object,
  change: (name: string, own: unknown) => [name: string, own: unknown],
): object => Object.fromEntries(Object.entries(value).map(([name, own]) => change(name, own)))
