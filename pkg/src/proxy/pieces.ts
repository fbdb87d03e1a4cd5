/** The arguments of a call, which come in pieces, as each kind of client puts them together. */
export class Pieces {
  /** With pieces whose index is of no call. */
  #args = ''
  /** Without those. */
  #known = ''
  /** With what came last with an id or a name, in place of what came before. */
  #replaced = ''
  /** With a piece that begins with all that came before in place of that. */
  #restated = ''
  /** With the pieces of later calls of the same index. */
  #merged = ''
  #brackets = new Brackets()

  /** `isDrifting`: the index of the piece is missing, or of no call. */
  add(piece: string, isDrifting = false): void {
    this.#args += piece
    this.#replaced += piece
    this.#merged += piece
    this.#restated = piece.startsWith(this.#restated) ? piece : this.#restated + piece
    if (!isDrifting) this.#known += piece
    this.#brackets.feed(piece)
  }

  /** The piece that was added came with an id or a name, again. */
  repeat(piece: string): void {
    if (piece !== '') this.#replaced = piece
  }

  /** Adds a piece of a later call of the same index. */
  merge(piece: string): void {
    this.#merged += piece
  }

  get args(): string {
    return this.#args
  }

  /** What other clients read. */
  get others(): string[] {
    const all = [this.#known, this.#replaced, this.#restated, this.#merged]
    return all.filter((text) => text !== this.#args)
  }

  get merged(): string {
    return this.#merged
  }

  get isWhole(): boolean {
    return this.#brackets.isJson(this.#args)
  }
}

/** Tells when arguments are whole, and parses them once: they arrive in many pieces. */
class Brackets {
  #depth = 0
  #inString = false
  #escapes = false
  #state: 'open' | 'closed' | 'spoiled' = 'open'
  #isJson: boolean | undefined

  feed(piece: string): void {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (code <= 32 && !this.#inString) continue
      if (this.#state === 'closed') this.#state = 'spoiled'
      if (this.#escapes) this.#escapes = false
      else if (this.#inString) {
        if (code === BACKSLASH) this.#escapes = true
        else if (code === QUOTE) this.#inString = false
      } else if (code === QUOTE) this.#inString = true
      else if (code === 91 || code === 123) this.#depth++
      else if ((code === 93 || code === 125) && --this.#depth === 0) this.#state = 'closed'
    }
  }

  isJson(args: string): boolean {
    if (this.#state !== 'closed') return false
    return (this.#isJson ??= parses(args))
  }
}

const [QUOTE, BACKSLASH] = [34, 92]

function parses(args: string): boolean {
  try {
    return typeof JSON.parse(args) === 'object'
  } catch {
    return false
  }
}
