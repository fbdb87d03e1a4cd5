/** Text of files and models as a terminal can show it: nothing in it moves the cursor or stays hidden. */

/**
 * Characters that a terminal obeys or does not show: controls (C0, C1), line and paragraph separators,
 * format characters (bidirectional controls, zero width), variation selectors, tags, fillers, and
 * halves of a pair.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** The escapes of JSON for each half of a character. */
const escaped = (character: string) =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')

/** A text with escapes for what cannot be seen. Its lines and tabs stay. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (one) => (one === '\n' || one === '\t' ? one : escaped(one)))

/** A value as JSON with escapes for what cannot be seen; it is read as the same value. */
export const asJson = (value: unknown, indent?: number): string =>
  visible(JSON.stringify(value, null, indent))

/** A text on a line, with escapes for what cannot be seen, and cut. */
export const line = (text: string, most = 160): string => {
  // What is cut need not be read: an escape has up to 12 characters, a cut one is dropped.
  const clean = visible(text.slice(0, most + 1).replace(/[\t\n\r\f\v ]+/g, ' '))
  if (clean.length <= most && text.length <= most) return clean
  return `${clean.slice(0, most - 1).replace(/\\u[\da-f]{0,3}$/, '')}…`
}
