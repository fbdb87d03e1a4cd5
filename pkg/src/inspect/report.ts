/** A text → its format, the violations in its history, and the repaired messages. */
import {
  diagnoseHistory,
  explainProviderError,
  normalizeHistory,
  type NormalizedHistory,
} from '../history/history.js'
import type { Strategy } from '../generated/common.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import type { HistoryOptions } from '../generated/history.js'
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
  /** Violations of the repaired messages: empty. Undefined if they cannot be diagnosed. */
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

/**
 * Inspects a text in any format of `recognizeFormat`. Does not throw: see `error`. If most elements
 * have no known shape, `format` is `"unknown format"`, `error` has the code
 * `message.unknown_format`, and there are no violations.
 */
export function inspectText(text: string, options: InspectOptions): InspectReport {
  try {
    return inspectHistory(recognizeFormat(text), options)
  } catch (error) {
    return { error: error as Error }
  }
}

/**
 * As `inspectText`, of a text that is recognized already: for several providers in turn.
 *
 * @param recognized of `recognizeFormat`
 */
export function inspectHistory(recognized: RecognizedText, options: InspectOptions): InspectReport {
  const { dialect, strategy = 'reconstruct', conversationId, providerError } = options ?? {}
  const report: InspectReport = { ...recognized }
  try {
    const refusal = providerError || recognized.providerError
    if (refusal) report.refused = explainProviderError(refusal)
    const { history, partial, isConversation = false } = recognized
    if (!history.length && recognized.providerError !== undefined) return report
    const trace = readableTrace(history)
    const violations = diagnosed(history, { dialect, partial })
    report.violations = isConversation ? violations.filter(isWithin) : violations
    if (trace) report.trace = trace
    const thread = strategy === 'thread' && conversationId ? { conversationId } : {}
    const result = normalizeHistory(history, { dialect, strategy, partial, ...thread })
    report.result = isConversation ? withoutContinuation(result) : result
    const remaining = remainingIn(report.result.messages, { dialect, partial })
    if (remaining) report.remaining = isConversation ? remaining.filter(isNotLast) : remaining
  } catch (error) {
    report.error = error as Error
    if (isTurnlockError(error) && error.code === 'message.unknown_format') {
      report.format = 'unknown format'
    }
  }
  return report
}

const isNotLast = ({ code }: { code: string }) => code !== 'LAST_MESSAGE_ROLE'
/**
 * In a recording the prompt may be missing, and the next one follows an answer at its end. An element
 * that is not known here is known to the agent and its provider.
 */
const OF_REQUESTS = ['ELEMENT_UNKNOWN', 'FIRST_MESSAGE_ROLE', 'LAST_MESSAGE_ROLE']
const isWithin = ({ code }: { code: string }) => !OF_REQUESTS.includes(code)

/** Without the message that stands for the next one of the user. */
function withoutContinuation(result: NormalizedHistory): NormalizedHistory {
  const repairs = result.repairs.filter(isNotLast)
  if (repairs.length === result.repairs.length) return result
  return { ...result, messages: result.messages.slice(0, -1), repairs }
}

/**
 * Diagnoses repaired messages; undefined if they are shorter than the given ones, and so many for
 * their length that they exceed the limit.
 */
function remainingIn(
  messages: readonly unknown[],
  options: HistoryOptions,
): Violation[] | undefined {
  // A thread that has everything is sent nothing, which no rule about messages fits.
  if (!messages.length) return []
  try {
    return diagnoseHistory(messages, options)
  } catch (error) {
    if (isTurnlockError(error) && error.code === 'message.too_many_parts') return undefined
    throw error
  }
}

/** Diagnoses a history, unless most of it is unknown: no provider was sent it. */
function diagnosed(history: readonly unknown[], options: HistoryOptions): Violation[] {
  try {
    const violations = diagnoseHistory(history, options)
    if (violations.some(({ code }) => code === 'ELEMENT_UNKNOWN')) checkKnown(history)
    return violations
  } catch (error) {
    if (isTurnlockError(error) && error.code === 'message.unknown_shape') checkKnown(history)
    throw error
  }
}

/** @throws TurnlockError `message.unknown_format` if more than half of the elements are unknown */
function checkKnown(history: readonly unknown[]): void {
  const elements = history.length
  const unknown = history.filter(isUnknown).length
  if (unknown * 2 <= elements) return
  throw new TurnlockError(
    'message.unknown_format',
    `unknown format: ${unknown} of ${elements} elements are not messages, items or events of a known shape`,
    { unknown, elements },
  )
}

function isUnknown(element: unknown): boolean {
  try {
    const violations = diagnoseHistory([element], { dialect: 'openai-chat', partial: true })
    return violations.some(({ code }) => code === 'ELEMENT_UNKNOWN')
  } catch {
    return true
  }
}

/** Returns undefined for a history that cannot be read: the diagnosis reports why. */
function readableTrace(history: readonly unknown[]): CallTrace | undefined {
  try {
    return traceCalls(history)
  } catch {
    return undefined
  }
}
