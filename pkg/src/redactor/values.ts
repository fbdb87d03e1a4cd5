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

/** The automaton that finds texts (Aho and Corasick): each state is the beginning of some. */
export function treeOf(texts: Iterable<string>) {
  const edges = new Map<number, number>()
  /** The state to which a character leads on; `undefined` if none of the texts goes on with it. */
  const edge = (state: number, code: number) => edges.get(state * COLUMNS + code)
  /** How long the beginning is; its longest end that is a beginning, too; its last character. */
  const [depth, fail, by] = [[0], [0], [0]] as [number[], number[], number[]]
  const parent = [0]
  for (const text of texts) {
    let node = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      let to = edge(node, code)
      if (to === undefined) {
        to = depth.push(at + 1) - 1
        fail.push(0)
        parent.push(node)
        by.push(code)
        edges.set(node * COLUMNS + code, to)
      }
      node = to
    }
  }
  const follow = (state: number, code: number) => {
    let node = state
    for (;;) {
      const to = edge(node, code)
      if (to !== undefined) return to
      if (node === 0) return 0
      node = fail[node] as number
    }
  }
  // By depth: what is nearer to the root is needed first.
  const order = [...depth.keys()].sort((a, b) => (depth[a] as number) - (depth[b] as number))
  for (const node of order) {
    if ((depth[node] as number) < 2) continue
    fail[node] = follow(fail[parent[node] as number] as number, by[node] as number)
  }
  return { edge, follow, depth, fail, by, order }
}

/** @param values texts that are looked for, as they are */
export function valuesOf(values: ReadonlySet<string> | readonly string[]): Values {
  const { follow, depth, fail, by, order } = treeOf(values)
  const length = depth.map(() => 0)
  for (const value of values) {
    let node = 0
    for (let at = 0; at < value.length; at++) node = follow(node, value.charCodeAt(at))
    length[node] = value.length
  }
  for (const node of order) {
    length[node] = Math.max(length[node] as number, length[fail[node] as number] as number)
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
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  texts.add(hex).add(hex.toUpperCase())
  for (const text of base64s(bytes)) texts.add(text).add(url(text))
  for (const text of texts) if (text.length >= SHORTEST) yield text
}

/** Characters of the shortest value: what is shorter may be a part of any word. */
export const SHORTEST = 6

const quoted = (text: string) => JSON.stringify(text).slice(1, -1)
/** A text in JSON as its writers spell it: with more than ASCII, without, for HTML, for PHP. */
function spelled(text: string): string[] {
  const both = [text, text.replace(/[^\0-~]/g, escape)]
  return [
    ...both,
    ...both.map((one) => one.replace(/[<>&]/g, escape)),
    ...both.map((one) => one.replaceAll('/', '\\/')),
  ]
}
const escape = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
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
