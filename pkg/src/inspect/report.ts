/** A text → its format, the violations in its history, and the repaired messages. */
import {
  diagnoseHistory,
  explainProviderError,
  normalizeHistory,
  type NormalizedHistory,
} from '../history/history.js'
import type { Strategy } from '../generated/common.js'
import type { Dialect, Violation } from '../types.js'
import { recognizeFormat, type RecognizedText } from './format.js'
import { traceCalls, type CallTrace } from './loops.js'

/** What `inspectText` finds. With `error`, the other members are what was known before it. */
export interface InspectReport extends Partial<RecognizedText> {
  /** The calls in it; undefined if the history cannot be read. */
  trace?: CallTrace
  /** Rules that the provider's error names, in the text or in `providerError`. */
  refused?: string[]
  /** Of the history as it stands in the text. */
  violations?: Violation[]
  /** The repaired history. */
  result?: NormalizedHistory
  /** Violations of the repaired messages: empty. */
  remaining?: Violation[]
  error?: Error
}

/** Options of `inspectText`. */
export interface InspectOptions {
  /** The provider whose rules the history must follow. */
  dialect: Dialect
  /** Default: `"reconstruct"`. */
  strategy?: Strategy
  /** For the strategy `"thread"`. */
  conversationId?: string
  /** A provider's error about this request. */
  providerError?: string
}

/** Inspects a text in any format of `recognizeFormat`. Does not throw: see `error`. */
export function inspectText(text: string, options: InspectOptions): InspectReport {
  const { dialect, strategy = 'reconstruct', conversationId, providerError } = options ?? {}
  const report: InspectReport = {}
  try {
    const recognized = recognizeFormat(text)
    Object.assign(report, recognized)
    const refusal = providerError || recognized.providerError
    if (refusal) report.refused = explainProviderError(refusal)
    if (recognized.providerError) return report
    const { history, partial } = recognized
    const trace = readableTrace(history)
    if (trace) report.trace = trace
    report.violations = diagnoseHistory(history, { dialect, partial })
    const thread = strategy === 'thread' && conversationId ? { conversationId } : {}
    report.result = normalizeHistory(history, { dialect, strategy, partial, ...thread })
    const { messages } = report.result
    // A thread that has everything is sent nothing, which no rule about messages fits.
    report.remaining = messages.length ? diagnoseHistory(messages, { dialect, partial }) : []
  } catch (error) {
    report.error = error as Error
  }
  return report
}

/** Returns undefined for a history that cannot be read: the diagnosis reports why. */
function readableTrace(history: readonly unknown[]): CallTrace | undefined {
  try {
    return traceCalls(history)
  } catch {
    return undefined
  }
}
