/** How much memory a JSON text takes when it is parsed, before it is. */

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d]

/** Objects and arrays that any text may have. Each takes some 60 bytes, and `{}` is two bytes of text. */
const FREE_CONTAINERS = 10_000
/** Bytes of text for each further object or array, on average. */
const CONTAINER_BYTES = 16
/** Levels that the core reads; a text with too many arrays and deeper ones is too deep. */
const LEVELS = 128

/**
 * The code of the error for a JSON text that takes more than some ten times its size when it is parsed.
 * Common texts take two to four times their size; a list of empty objects takes more than twenty times.
 * Reads nothing but brackets outside of strings, and does not check that the text is JSON.
 */
export function jsonExcess(bytes: Uint8Array): 'json.too_deep' | 'request.json' | undefined {
  const most = FREE_CONTAINERS + bytes.length / CONTAINER_BYTES
  let [containers, level, deepest] = [0, 0, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = stringEnd(bytes, at)
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) level--
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      deepest = Math.max(deepest, ++level)
      if (++containers > most) return deepest > LEVELS ? 'json.too_deep' : 'request.json'
    }
  }
  return undefined
}

/** The place of the quote that ends the string which begins at `start`; the end of an open one. */
function stringEnd(bytes: Uint8Array, start: number): number {
  for (let end = start; ;) {
    end = bytes.indexOf(QUOTE, end + 1)
    if (end < 0) return bytes.length
    let slashes = 0
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
  }
}
