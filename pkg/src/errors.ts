import type { ErrorCode } from './generated/error-codes.js'

/**
 * The error type of this package. `code` is stable (`area.reason`), `message` is for developers.
 *
 * @example
 * try { canonicalize('{"a":1,"a":2}') } catch (error) {
 *   if (isTurnlockError(error) && error.code === 'json.duplicate_key') …
 * }
 */
export class TurnlockError extends Error {
  /**
   * Stable, machine-readable name, such as `json.syntax`: one of this package, or of a host's own
   * callbacks.
   */
  readonly code: ErrorCode | (string & {})
  /** Further details, such as `{ status }` or `{ offset }`. */
  readonly details?: Record<string, unknown>

  constructor(code: string, message: string, details?: Record<string, unknown>, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'TurnlockError'
    this.code = code
    if (details) this.details = details
  }
}

/** The error of an option that is not what is expected. */
export const wrong = (path: string, expected: string, cause?: unknown): TurnlockError =>
  new TurnlockError('options.invalid', `\`${path}\`: expected ${expected}`, undefined, cause)

/** Whether `error` is a {@link TurnlockError}; also across two copies of the package. */
export function isTurnlockError(error: unknown): error is TurnlockError {
  try {
    return (
      error instanceof Error &&
      error.name === 'TurnlockError' &&
      typeof (error as TurnlockError).code === 'string'
    )
  } catch {
    return false
  }
}
