/**
 * Events that were told, kept small. Text comes in pieces of a few characters, each an event with the
 * same members; an object takes 90 bytes, a place in a text 4.
 */

/** An item with a piece of text. */
interface Piece {
  seq: number
  chunk: string
}

/** Pieces with successive numbers that are alike in all else. */
class Run<T> {
  readonly #first: T & Piece
  readonly #text: string
  /** Where each piece ends in the text. */
  readonly #ends: Uint32Array

  constructor(pieces: readonly (T & Piece)[]) {
    this.#first = pieces[0] as T & Piece
    this.#text = pieces.map(({ chunk }) => chunk).join('')
    let end = 0
    this.#ends = Uint32Array.from(pieces, ({ chunk }) => (end += chunk.length))
  }

  unpack(into: T[]): void {
    const { seq } = this.#first
    let from = 0
    for (const [at, to] of this.#ends.entries()) {
      into.push({ ...this.#first, seq: seq + at, chunk: this.#text.slice(from, to) })
      from = to
    }
  }
}

/** Items, of which the runs of pieces are kept as one text each. */
export class Packed<T> {
  readonly #parts: (Run<T> | T)[] = []

  constructor(items: readonly T[]) {
    for (let at = 0; at < items.length;) {
      const from = at++
      const first = items[from] as T
      if (isPiece(first)) while (follows(items[at - 1], items[at])) at++
      const run = items.slice(from, at) as (T & Piece)[]
      this.#parts.push(run.length > 2 ? new Run(run) : first)
      if (run.length === 2) this.#parts.push(run[1] as T)
    }
  }

  /** The items, equal to those that were packed. */
  unpack(): T[] {
    const all: T[] = []
    for (const part of this.#parts) {
      if (part instanceof Run) part.unpack(all)
      else all.push(part)
    }
    return all
  }
}

const isPiece = (item: unknown): item is Piece =>
  typeof item === 'object' && item !== null && 'chunk' in item && typeof item.chunk === 'string'

function follows(before: unknown, item: unknown): boolean {
  if (!isPiece(before) || !isPiece(item) || item.seq !== before.seq + 1) return false
  const [had, has] = [before as unknown as Fields, item as unknown as Fields]
  const names = Object.keys(has)
  const alike = (name: string) =>
    name === 'seq' || name === 'chunk' || (name in had && has[name] === had[name])
  return names.length === Object.keys(had).length && names.every(alike)
}

type Fields = Record<string, unknown>
