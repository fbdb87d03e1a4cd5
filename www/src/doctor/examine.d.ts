// For the command `turnlock doctor`, which examines as the page does.
import type { Dialect, NormalizedHistory, Violation } from 'turnlock'
import type { Call } from '../trace/calls.js'

export interface Examined {
  what?: string
  beside?: string[]
  history?: unknown[]
  traced?: { calls: Call[] }
  refused?: string[]
  violations?: Violation[]
  result?: NormalizedHistory
  left?: Violation[]
  error?: Error
}

export function examine(
  text: string,
  options: { dialect: Dialect; strategy: 'reconstruct' },
): Examined
