import fc from 'fast-check'

/** Code points of halves of pairs, which are no characters. */
const [FIRST, COUNT] = [0xd800, 0x800]

/**
 * Any character, as the unit of a `fc.string`: the same as fast-check's `binary`, which makes a table of
 * a million entries in each process.
 */
export const anyCharacter = fc.nat(0x10ffff - COUNT).map(
  (at) => String.fromCodePoint(at < FIRST ? at : at + COUNT),
  (character) => {
    const code = typeof character === 'string' ? character.codePointAt(0) : undefined
    if (code === undefined || String.fromCodePoint(code) !== character)
      throw new Error('no character')
    return code < FIRST ? code : code - COUNT
  },
)
