// For the commands `turnlock doctor` and `turnlock replay`, which read as the page does.
import type { Dialect, NormalizedHistory, Violation } from 'turnlock'
import type { Call } from '../trace/calls.js'

export interface Examined {
  what?: string
  beside?: string[]
  /** The whole request, with its history as it was pasted. */
  body?: Record<string, unknown>
  history?: unknown[]
  traced?: { calls: Call[] }
  refused?: string[]
  /** Whether the request continues state at the provider. */
  partial?: boolean
  violations?: Violation[]
  result?: NormalizedHistory
  left?: Violation[]
  error?: Error
}

export function examine(
  text: string,
  options: { dialect: Dialect; strategy: 'reconstruct' },
): Examined

/** @throws TurnlockError for what cannot be read, or has no history in it */
export function read(text: string): Examined
