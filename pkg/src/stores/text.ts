/** Encodes any JavaScript string as text that is safe in UTF-8 and C strings, and decodes it. */

/** Marks an escaped text. */
const ESCAPED = '\u0001'
const UNSAFE = /\p{Surrogate}|\0/u

/** Escapes lone surrogates, which have no UTF-8 form, and NUL, where SQLite functions end texts. */
export function pack(text: string): string {
  return text.startsWith(ESCAPED) || UNSAFE.test(text) ? ESCAPED + JSON.stringify(text) : text
}

export function unpack(text: string): string {
  return text.startsWith(ESCAPED) ? (JSON.parse(text.slice(1)) as string) : text
}

// A row of SQLite at Cloudflare holds at most 2 MB, so texts are stored in numbered pieces.
const PIECE = 512 * 1024

/** Packs a text and splits it into at least one piece, never within a surrogate pair. */
export function pieces(text: string): string[] {
  const packed = pack(text)
  const all: string[] = []
  let from = 0
  do {
    let to = Math.min(from + PIECE, packed.length)
    if (to < packed.length && (packed.charCodeAt(to) & 0xfc00) === 0xdc00) to--
    all.push(packed.slice(from, to))
    from = to
  } while (from < packed.length)
  return all
}
