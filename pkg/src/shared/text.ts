/** JSON text and its characters. */
import { TurnlockError } from '../errors.js'
import { describe } from './describe.js'

/** `JSON.stringify` with a typed error for values that it cannot serialize. */
export function stringify(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    // The stack of this runtime is used up.
    if (error instanceof RangeError && /stack/i.test(error.message)) {
      throw new TurnlockError('json.too_deep', 'the value is nested too deep: pass a flatter one')
    }
    throw new TurnlockError('json.not_serializable', `the value has no JSON: ${describe(error)}`)
  }
  if (text === undefined) {
    throw new TurnlockError('json.not_serializable', `a ${typeof value} has no JSON`)
  }
  return text
}

/** Refuses a text with lone surrogates. */
export function requireWellFormed(text: string): void {
  // TextEncoder would turn two different lone surrogates into the same replacement character.
  const at = isWellFormed(text) ? -1 : text.search(LONE)
  if (at >= 0) {
    throw new TurnlockError('json.lone_surrogate', `lone surrogate at ${at}`, { offset: at })
  }
}

const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

/** Whether a text has no lone surrogates. */
export function isWellFormed(text: string): boolean {
  const native = text as { isWellFormed?(): boolean }
  return native.isWellFormed ? native.isWellFormed() : !LONE.test(text)
}

/**
 * Controls of C0 and C1 (except for tab and line feed), marks of direction, separators of lines and
 * paragraphs, tag characters: what a terminal obeys, or a person does not see.
 */
const CONTROLS =
  /[\0-\x08\v-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** A text without characters that nobody sees. */
export const withoutControls = (text: string): string => text.replace(CONTROLS, '')
