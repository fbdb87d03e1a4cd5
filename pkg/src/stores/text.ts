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
