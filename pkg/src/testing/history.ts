/** Assertions on message lists, for any test runner. */
import { diagnoseHistory } from '../history/history.js'
import type { HistoryOptions } from '../generated/history.js'
import type { Dialect, Violation } from '../types.js'

/** What a matcher of vitest or jest returns. */
export interface MatcherResult {
  pass: boolean
  /** What the runner shows if the expectation fails. */
  message(): string
  /** The violations, in order. */
  actual: Violation[]
  /** No violation. */
  expected: Violation[]
}

/**
 * Asserts that a provider accepts a message list as it stands.
 *
 * @param messages the request's message list, in the form of the provider
 * @param dialect the provider, or options as of `diagnoseHistory`
 * @throws Error with a line for each violation; its member `violations` has them. TurnlockError for
 *   what is no history, and for a name that is no dialect
 */
export function expectValidHistory(
  messages: readonly unknown[],
  dialect: Dialect | HistoryOptions,
): void {
  const { pass, message, actual } = toBeValidHistory(messages, dialect)
  if (!pass) throw Object.assign(new Error(message()), { violations: actual })
}

/**
 * The matcher `toBeValidHistory(dialect)` for `expect.extend(historyMatchers)` of vitest and jest.
 *
 * @example
 * expect.extend(historyMatchers)
 * expect(messages).toBeValidHistory('anthropic')
 */
export const historyMatchers: {
  toBeValidHistory(received: readonly unknown[], dialect: Dialect | HistoryOptions): MatcherResult
} = { toBeValidHistory }

function toBeValidHistory(
  received: readonly unknown[],
  dialect: Dialect | HistoryOptions,
): MatcherResult {
  const options = typeof dialect === 'string' ? { dialect } : dialect
  const violations = diagnoseHistory(received, options)
  const name = options?.dialect ?? ''
  const rows = violations.map(({ index, code, message }) => `  [${index}] ${code}: ${message}`)
  const message = () =>
    violations.length
      ? [`${name} rejects this history:`, ...rows].join('\n')
      : `${name} accepts this history`
  return { pass: violations.length === 0, message, actual: violations, expected: [] }
}
