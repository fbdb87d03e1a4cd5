/** The text that a scanner has before it, and what its matchers share. */

/** Nothing begins here. */
export const NO = -1
/** Whether something begins here is known when more of the text is. */
export const WAIT = -2

/** Where a text was cut: `…`. What stands before it may be the beginning of a match. */
export const CUT = 0x2026

/** Characters behind a position that no matcher reads. */
export const BEHIND = 96

/** A part of the text: all that has come, but for what was shown long ago. */
export interface View {
  text: string
  /** Whether the text ends with it. */
  final: boolean
  /** Characters that matchers have read: the measure of their work. */
  steps: number
}

/** A set of ASCII characters; its index is by code. */
export type Chars = Uint8Array

/** @param pairs characters: from, to */
export function chars(pairs: string): Chars {
  const set = new Uint8Array(128)
  for (let at = 0; at < pairs.length; at += 2) {
    set.fill(1, pairs.charCodeAt(at), pairs.charCodeAt(at + 1) + 1)
  }
  return set
}

/** Sets have no characters beyond ASCII, nor what stands before the beginning (`NaN`). */
export const within = (set: Chars, code: number) => code < 128 && set[code] === 1

export const DIGIT = chars('09')
export const WORD = chars('09AZaz__')
export const LETTER_OR_DIGIT = chars('09AZaz')

/** The text of at most so many characters before `at`. */
export const back = (text: string, at: number, size: number) =>
  text.slice(Math.max(0, at - size), at)

/**
 * Whether a word begins at `at`, whatever stands before it: the end of an escape of JSON, of an
 * address, or of a terminal's colour, or Markdown's `_`.
 */
export const opened = (text: string, at: number) =>
  /(?:\\(?:u[\dA-Fa-f]{4}|[^ux])|%..|\[[\d;]*m|(?:^|\W)__?)$/.test(back(text, at, OPENED))
/** Characters of that at most. */
export const OPENED = 12

/** The end of a run of at most `most` characters. It may end at the end of the view. */
export function runEnd(view: View, set: Chars, from: number, most: number): number {
  const { text } = view
  const last = Math.min(text.length, from + most)
  let at = from
  while (at < last && within(set, text.charCodeAt(at))) at++
  view.steps += at - from + 1
  return at
}

/** Whether what stands at `at` is not known yet. */
export const unknown = (view: View, at: number) => at >= view.text.length && !view.final

/** Bits a character of a text: 0 for one character again and again, 6 for random base64. */
export function entropy(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) {
    const share = count / text.length
    bits -= share * Math.log2(share)
  }
  return bits
}
