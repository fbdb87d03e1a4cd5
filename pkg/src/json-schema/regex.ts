/** The regular expressions of a host's schema. */

/**
 * Characters that a regular expression is tried on. Some take time that grows with their square, such as
 * `\s+$`. The schema's author answers for those that take exponential time.
 *
 * Limit | a text for a `pattern` | characters | the call is refused
 */
export const MOST_MATCHED = 10_000

/**
 * A pattern as a regular expression, with `u` where it can be one: `^\d{4}\-\d{2}$` cannot.
 *
 * @throws SyntaxError
 */
export function regexOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}
