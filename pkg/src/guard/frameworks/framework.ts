/** What adapters of frameworks share. */
import type { GuardOutcome } from '../outcome.js'
import { thrown } from '../tool-guard.js'

/** A tool of a framework. */
export type AnyTool = Record<string, any>

/** A tool with other members. Its class, its symbols and its hidden members stay. */
export function withMembers<T extends object>(tool: T, members: object): T {
  const descriptors = Object.getOwnPropertyDescriptors(tool) as PropertyDescriptorMap
  for (const [name, value] of Object.entries(members)) {
    descriptors[name] = { value, enumerable: true, writable: true, configurable: true }
  }
  return Object.create(Object.getPrototypeOf(tool) as object | null, descriptors) as T
}

/** What a call that is not executed returns: its notice. A tool with a typed result throws it. */
export function valueOf(outcome: GuardOutcome, isTyped = false): unknown {
  if (outcome.status === 'ok') return outcome.result
  if (!('notice' in outcome)) throw thrown.get(outcome) ?? new Error(outcome.error)
  if (isTyped) throw new Error(outcome.notice)
  return outcome.notice
}
