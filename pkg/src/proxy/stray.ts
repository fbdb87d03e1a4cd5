/** Names that some clients read in any case. */

/** A name in small letters. There are others than ASCII that stand for one in another case. */
export const folded = (name: string): string =>
  name.toUpperCase().toLowerCase().replaceAll(DOTTED, 'i')

/** The small form of U+0130. */
const DOTTED = 'i\u0307'
