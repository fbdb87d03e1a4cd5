/** How much memory a JSON text takes when it is parsed, before it is. */

const [QUOTE, BACKSLASH, COMMA, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x30, 0x39]
const [OPEN_BRACE, OPEN_BRACKET, CLOSE_BRACE, CLOSE_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d]

/**
 * Bytes that the values of any text may take.
 *
 * Limit | memory of the values of any body | bytes | 400 `request.json`
 */
const FREE = 400_000
/**
 * Bytes that values may take for each byte of their text.
 *
 * Limit | memory of the values of a body for each further byte of it | bytes | 400 `request.json`
 */
const RATIO = 7
/**
 * Bytes that V8 takes for the parts of a text, measured. An element of a list takes 8 there, and more in
 * the core.
 */
const [CONTAINER, ELEMENT, STRING, MEMBER] = [64, 16, 16, 8]
/**
 * A member with a new name or place makes a hidden class; the first one with an index as its name makes a table.
 *
 * Limit | memory that counts for a name at a new place of a body | bytes | 400 `request.json`
 */
const NEW_SHAPE = 280
/** An object with more members than this is a table, and each further one takes the same. */
const [MOST_OF_SHAPE, OF_TABLE] = [128, 100]
/**
 * Hidden classes that are remembered; further ones count as new.
 *
 * Limit | names at places of a body that are remembered | names | further ones count as new
 */
const MOST_SHAPES = 32_768
/**
 * Levels that the core reads; a text that takes too much and has deeper ones is too deep.
 *
 * Limit | levels of a body whose values take too much | levels | `json.too_deep`
 */
const LEVELS = 128

/** No client knows the factor, so none finds names with the same hash. */
const FACTOR = (Math.floor(Math.random() * 2 ** 31) << 1) | 1

/** The messages of the errors. */
export const EXCESS = {
  'json.too_deep': `the body is nested deeper than ${LEVELS} levels: send a flatter value`,
  'request.json':
    'the body has too many values or names for its length: send large data as text, such as base64',
}

/** An object or a list that is open. */
interface Level {
  isObject: boolean
  /** A hash of the names of the members so far, in their order: stands for the hidden class. */
  shape: number
  members: number
  hasIndex: boolean
}

/**
 * Returns the code of the error for a JSON text whose values take more than some seven times its size.
 * Recorded histories take two to six times their size. A list of empty objects takes more than twenty
 * times, as does one of objects that all have different names. Does not check that the text is JSON.
 */
export function jsonExcess(bytes: Uint8Array): keyof typeof EXCESS | undefined {
  const most = FREE + bytes.length * RATIO
  const shapes = new Set<number>()
  const levels: Level[] = []
  let top: Level | undefined
  let [taken, deepest] = [0, 0]
  /** Whether the next text is a name. */
  let isName = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) {
      const end = stringEnd(bytes, at)
      taken += isName && top ? memberBytes(bytes, at + 1, end, top, shapes) : STRING
      isName = false
      at = end
    } else if (byte === COMMA) {
      isName = !!top?.isObject
      if (!isName) taken += ELEMENT
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      levels.pop()
      top = levels.at(-1)
      isName = false
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      isName = byte === OPEN_BRACE
      top = { isObject: isName, shape: 0, members: 0, hasIndex: false }
      deepest = Math.max(deepest, levels.push(top))
      taken += CONTAINER
    } else continue
    if (taken > most) return deepest > LEVELS ? 'json.too_deep' : 'request.json'
  }
  return undefined
}

/** Returns the bytes of a member without its value. Its name stands from `from` to `to`. */
function memberBytes(
  bytes: Uint8Array,
  from: number,
  to: number,
  object: Level,
  shapes: Set<number>,
): number {
  if (++object.members > MOST_OF_SHAPE) return OF_TABLE
  const first = bytes[from] as number
  if (first >= ZERO && first <= NINE) {
    const isFirst = !object.hasIndex
    object.hasIndex = true
    return isFirst ? NEW_SHAPE : OF_TABLE
  }
  let hash = Math.imul(object.shape ^ (to - from), FACTOR)
  for (let at = from; at < to; at++) {
    hash = Math.imul(hash ^ (bytes[at] as number), FACTOR) ^ (hash >>> 15)
  }
  object.shape = hash
  if (shapes.has(hash)) return MEMBER
  if (shapes.size < MOST_SHAPES) shapes.add(hash)
  return NEW_SHAPE
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
