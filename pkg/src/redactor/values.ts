/** Values that the host registered, in every encoding that they travel in. */

/** Finds values: an automaton that reads a character at a time and never goes back. */
export interface Values {
  /** The state behind a character. */
  step(state: number, code: number): number
  /** The length of the longest value that ends at a state; 0: none. */
  length: readonly number[]
  /** Characters back from here at which a value may have begun. */
  depth: readonly number[]
  /** The length of the longest value. */
  longest: number
}

const COLUMNS = 65536
const ASCII = 128

/** @param values texts that are looked for, as they are */
export function valuesOf(values: Iterable<string>): Values {
  const edges = new Map<number, number>()
  const [length, depth, fail, parent, by] = [[0], [0], [0], [0], [0]] as [
    ...[number[], number[], number[], number[], number[]],
  ]
  for (const value of values) {
    let node = 0
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at)
      let to = edges.get(node * COLUMNS + code)
      if (to === undefined) {
        to = depth.push(at + 1) - 1
        length.push(0)
        fail.push(0)
        parent.push(node)
        by.push(code)
        edges.set(node * COLUMNS + code, to)
      }
      node = to
    }
    if (value) length[node] = value.length
  }
  const follow = (state: number, code: number) => {
    let node = state
    for (;;) {
      const to = edges.get(node * COLUMNS + code)
      if (to !== undefined) return to
      if (node === 0) return 0
      node = fail[node] as number
    }
  }
  // By depth: what is nearer to the root is needed first.
  const order = [...depth.keys()].sort((a, b) => (depth[a] as number) - (depth[b] as number))
  for (const node of order) {
    if ((depth[node] as number) < 2) continue
    const to = follow(fail[parent[node] as number] as number, by[node] as number)
    fail[node] = to
    length[node] = Math.max(length[node] as number, length[to] as number)
  }
  // Most of a text is of no value, and stays in states near the root: what ASCII leads to from there
  // stands in rows, by the only character of the state, at the end that of the root. Each is made when
  // it is needed.
  const rows = new Array<Int32Array | undefined>(ASCII + 1)
  const step = (state: number, code: number) => {
    const at = state === 0 ? ASCII : (by[state] as number)
    const isNear = state === 0 || (depth[state] === 1 && at < ASCII)
    if (code >= ASCII || !isNear) return follow(state, code)
    const next = () => Int32Array.from({ length: ASCII }, (_, code) => follow(state, code))
    return (rows[at] ??= next())[code] as number
  }
  return { step, length, depth, longest: length.reduce((a, b) => Math.max(a, b)) }
}

/**
 * A value as it is, in base64 and in hexadecimal, and in JSON within JSON: what `escapes.ts` does not
 * read.
 */
export function* encodings(value: string): Generator<string> {
  // A half of a pair is no text in UTF-8.
  const bytes = new TextEncoder().encode(value)
  const texts = new Set([value, value.trim()])
  for (const text of [...texts]) {
    for (const inJson of spelled(quoted(text))) texts.add(quoted(inJson))
  }
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0'))
  texts.add(hex.join('')).add(hex.join('').toUpperCase())
  for (const text of base64s(bytes)) texts.add(text).add(url(text))
  for (const text of texts) if (text.length >= SHORTEST) yield text
}

/** Characters of the shortest value: what is shorter may be a part of any word. */
export const SHORTEST = 6

const quoted = (text: string) => JSON.stringify(text).slice(1, -1)
/** A text in JSON as its writers spell it: with more than ASCII, without, for HTML, for PHP. */
const spelled = (text: string) => [
  text,
  ascii(text),
  ...[text, ascii(text)].map((one) =>
    one.replace(/[<>&]/g, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`),
  ),
  ...[text, ascii(text)].map((one) => one.replaceAll('/', '\\/')),
]
const ascii = (text: string) =>
  text.replace(/[^\0-~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
const url = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_')

/**
 * A value alone, and within other bytes: behind as many bytes as leave 0, 1 or 2 of a group of
 * three. Of the groups at its edges only the characters that the value alone decides.
 */
function* base64s(bytes: Uint8Array): Generator<string> {
  const alone = base64(bytes)
  yield alone
  yield alone.replaceAll('=', '')
  for (let offset = 0; offset < 3; offset++) {
    const shifted = new Uint8Array(offset + bytes.length)
    shifted.set(bytes, offset)
    const bits = shifted.length * 8
    yield base64(shifted).slice(Math.ceil((offset * 8) / 6), Math.floor(bits / 6))
  }
}

function base64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}
