/** What a callback may return: a text, its pieces, a turn, or the result of one. */
import { TurnlockError } from '../errors.js'
import { member } from '../shared/quietly.js'
import type { SpokenTurn, TurnText } from './types.js'

type Made = (Partial<SpokenTurn> & Partial<AsyncIterable<unknown>> & Partial<TurnText>) | null

/** The pieces of a text; `undefined` for a value that is there at once. */
export function piecesOf(made: unknown): AsyncIterable<unknown> | undefined {
  const given = made as Made | undefined
  return given?.textStream ?? (given?.[Symbol.asyncIterator] && (given as AsyncIterable<unknown>))
}

/**
 * The text of a value that is there at once.
 *
 * @throws TurnlockError for what is no text, and for the result of a turn that did not complete
 */
export function textOf(made: unknown, kind: string): string {
  const { text = made, status = 'complete', error } = (made ?? {}) as TurnText
  if (typeof text !== 'string') {
    throw new TurnlockError('chain.invalid_result', `\`${kind}\`: expected a text`)
  }
  if (status === 'complete') return text
  const why = error?.message ?? `the turn ended as ${status}`
  throw new TurnlockError(error?.code ?? `turn.${status}`, why)
}

/**
 * What a search found: of a turn, or of the result of one, the object or the text. Throws as
 * {@link textOf} does.
 */
export async function foundBy(made: unknown, kind: string): Promise<unknown> {
  const value = (member(made, 'textStream') && (await member(made, 'result'))) ?? made
  // By this a turn's result is told from what else a search may find.
  if (typeof member(value, 'fullContent') !== 'string') return value
  const text = textOf(value, kind)
  return member(value, 'object') ?? text
}
