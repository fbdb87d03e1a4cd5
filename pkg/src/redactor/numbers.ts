/**
 * Numbers that are spelled with a point or an exponent, read as the plain digits of their value:
 * `4111111111111111.0` and `4.111111111111111e15` are `4111111111111111`. So what is found does not
 * depend on who wrote the JSON.
 */

/** A part of a text: as it came, and as it is read. */
export interface Piece {
  raw: string
  read: string
}

/** A digit that begins a number, and no part of a word, an address, a date or an id. */
const BEGIN = /(?<![\w.]|[\w.]-|[\w:]:)\d/g
/** What may follow none. */
const NO_END = /[\w:]/
/** Characters before a digit that tell whether it begins a number. */
const BEFORE = 2
/** Characters of a number behind its first one. */
const REST = /[\d.e+-]*/iy
const PARTS = /^(0|[1-9]\d*)(?:\.(\d+))?(?:e([-+]?\d+))?$/i
/** Characters of a number that are read, and digits of a value. */
const [LONGEST, MOST_DIGITS] = [512, 40]
/** Digits of the shortest number that any name makes a secret. */
const LEAST_DIGITS = 4

export class Numbers {
  /** The beginning of what may be a number, until its end is known. */
  #pieces: Piece[] = []
  #size = 0
  /** The last characters that were read. */
  #last = ''

  /** The beginning of a number, as it came. */
  get held(): string {
    return this.#pieces.map(({ raw }) => raw).join('')
  }

  /** Takes the next part: plain text, or an escape that is read as another text. Returns known parts. */
  take(raw: string, read: string): Piece[] {
    return raw === read ? this.#takeText(read) : this.#takeEscape(raw, read)
  }

  #takeText(read: string): Piece[] {
    const pieces: Piece[] = []
    const text = this.#last + read
    let at = this.#last.length
    while (at < text.length) {
      if (this.#pieces.length === 0) {
        const from = beginOf(text, at)
        if (from > at) pieces.push(plain(text.slice(at, from)))
        if (from < text.length) this.#hold(plain(text.charAt(from)))
        at = from + 1
      } else {
        const to = endOfRest(text, at)
        if (to > at) this.#hold(plain(text.slice(at, to)))
        if (to < text.length) pieces.push(...this.#finish(text.charAt(to)))
        else if (this.#size > LONGEST) pieces.push(...this.#end(undefined))
        at = to
      }
    }
    this.#last = text.slice(-BEFORE)
    return pieces
  }

  #takeEscape(raw: string, read: string): Piece[] {
    const text = this.#last + read
    const [isHeld, at] = [this.#pieces.length > 0, this.#last.length]
    const isOfNumber = isHeld ? endOfRest(text, at) === text.length : beginOf(text, at) === at
    const pieces = isHeld && !isOfNumber ? this.#finish(read.charAt(0)) : []
    if (isOfNumber) this.#hold({ raw, read })
    else pieces.push({ raw, read })
    this.#last = text.slice(-BEFORE)
    return pieces
  }

  /** Ends the waiting, as if the text were cut: what follows is no part of the number. */
  release(): Piece[] {
    const spelled = this.#spelled.replace(/(?:\.|e[-+]?)$/i, '')
    return this.#end(digitsOf(spelled) ?? (PARTS.test(spelled) ? spelled : undefined))
  }

  /** Ends a text: what is held is a number, or is not. */
  flush(): Piece[] {
    return this.#finish('')
  }

  #hold(piece: Piece): void {
    this.#pieces.push(piece)
    this.#size += piece.raw.length
  }

  get #spelled(): string {
    return this.#pieces.map(({ read }) => read).join('')
  }

  #finish(next: string): Piece[] {
    return this.#end(NO_END.test(next) ? undefined : digitsOf(this.#spelled))
  }

  /** @param read how the number is read, if not as it is spelled */
  #end(read: string | undefined): Piece[] {
    const [pieces, raw] = [this.#pieces, this.held]
    this.#pieces = []
    this.#size = 0
    return read === undefined || raw === read ? pieces : [{ raw, read }]
  }
}

const plain = (text: string): Piece => ({ raw: text, read: text })

function endOfRest(text: string, at: number): number {
  REST.lastIndex = at
  REST.test(text)
  return REST.lastIndex
}

/** Where the next number begins; the end of the text, if none does. */
function beginOf(text: string, at: number): number {
  BEGIN.lastIndex = at
  return BEGIN.exec(text)?.index ?? text.length
}

/** The value of a number in plain digits, if it is spelled in another way. */
function digitsOf(spelled: string): string | undefined {
  const [, whole = '', fraction = '', exponent] = PARTS.exec(spelled) ?? []
  if (fraction === '' && exponent === undefined) return undefined
  const digits = whole + fraction
  const point = whole.length + Number(exponent ?? 0)
  if (Math.abs(point) > MOST_DIGITS) return undefined
  const padded = '0'.repeat(Math.max(0, -point)) + digits.padEnd(point, '0')
  const before = padded.slice(0, Math.max(0, point)).replace(/^0+(?=\d)/, '') || '0'
  const after = padded.slice(Math.max(0, point)).replace(/0+$/, '')
  // A price is read as it stands.
  if (after !== '' && exponent === undefined) return undefined
  const value = after === '' ? before : `${before}.${after}`
  return value === spelled || value.replace(/\D/g, '').length < LEAST_DIGITS ? undefined : value
}
