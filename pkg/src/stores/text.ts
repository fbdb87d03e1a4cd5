/** Any JavaScript string as a text that survives UTF-8 and C strings, and back. */

/** Marks an escaped text. */
const ESCAPED = '\u0001'
const UNSAFE = /\p{Surrogate}|\0/u

/** Lone surrogates have no UTF-8, and SQLite's own functions end a text at NUL. */
export function pack(text: string): string {
  return text.startsWith(ESCAPED) || UNSAFE.test(text) ? ESCAPED + JSON.stringify(text) : text
}

export function unpack(text: string): string {
  return text.startsWith(ESCAPED) ? (JSON.parse(text.slice(1)) as string) : text
}
