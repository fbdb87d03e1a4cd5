/**
 * Writes masks into a text so that JSON in it stays JSON: a masked number becomes a string, a mask is
 * escaped as the string that holds it, and no mask covers a quote or punctuation of JSON. JSON is read
 * wherever `{` or `[` begins it, or a quote that no word stands before: a string of JSON may stand
 * alone. It is read in strings of JSON, too, eight levels deep, a character at a time, so the output
 * does not depend on how the text was cut.
 */
import type { RedactKind } from './scanner.js'
import { chars, within } from './view.js'

/** Levels of JSON within strings of JSON that are read. */
export const DEEPEST = 8
/** Characters that are held back of a number, or of an escape at an inner level. */
const MOST_HELD = 512

/** JSON at one level: in the text, or in a string of the level above. */
interface Level {
  /** What is expected or read: `text` is anything but JSON. */
  state:
    | 'text'
    | 'first value'
    | 'value'
    | 'first name'
    | 'name'
    | 'colon'
    | 'comma'
    | 'scalar'
    | 'string'
  /** Whether the string is the name of a member. */
  isName: boolean
  /** Whether a quote begins a string here, in a `text`. */
  mayQuote: boolean
  /** Open objects and lists. */
  open: string[]
  /** The part of an escape that was read, and where it begins in the unit. */
  escape: string
  from: number
}

/** A number or a literal: held back until the character after it shows that it is JSON. */
interface Scalar {
  level: number
  /** Its characters, without those of escapes. */
  text: string
  /** As it stands in the text, with a mask in place of what is hidden. */
  parts: (string | { mask: RedactKind })[]
  raw: string
  isMasked: boolean
  /** White space after it, and what of that no match hides. */
  space: string
  visible: string
  /** `shown`: a part of it was emitted; `closed`: its mask was emitted, and the rest is dropped. */
  emitted?: 'shown' | 'closed'
}

/** What a unit is; `more`: it is not complete. */
type Shape = 'more' | 'structure' | 'scalar' | 'space' | number

const levelOfText = (): Level => ({
  state: 'text',
  isName: false,
  mayQuote: true,
  open: [],
  escape: '',
  from: 0,
})

export class JsonText {
  readonly #mask: (kind: RedactKind) => string
  #levels: Level[] = [levelOfText()]
  #scalar: Scalar | undefined
  /** Characters that are read together: an escape, at an inner level an escape of an escape. */
  #unit = ''
  #unitKind: RedactKind | undefined
  #unitBegins = false
  /** Characters of the unit that were emitted when the text was divided. */
  #unitShown = 0
  /** Whether those were emitted as they are, without a mask. */
  #isUnitPlain = false
  /** Whether the mask of the current match was emitted in this token. */
  #isTold = false
  /** Characters that are still to come and are not read. */
  #context: number
  #out = ''

  /** @param context characters at the beginning that only tell what follows: they are not read */
  constructor(mask: (kind: RedactKind) => string, context: number) {
    this.#mask = mask
    this.#context = context
  }

  /** Whether something is held back. */
  get holds(): boolean {
    return this.#unit.length > this.#unitShown || (!!this.#scalar && !this.#scalar.emitted)
  }

  /**
   * Takes the next characters. Returns what can be shown.
   *
   * @param kind of the match that hides them
   * @param begins whether the match begins with the first of them
   */
  take(text: string, kind: RedactKind | undefined, begins: boolean): string {
    const context = Math.min(this.#context, text.length)
    this.#context -= context
    if (kind && context > 0) this.#hide(kind, begins, 0)
    else this.#out += text.slice(0, context)
    for (let at = context; at < text.length; at++) {
      if (this.#unit === '') {
        const plain = this.#plain(text, at, kind)
        if (plain > at) {
          if (!kind) this.#out += text.slice(at, plain)
          else this.#hide(kind, begins && at === 0, this.#levels.length - 1)
          at = plain - 1
          continue
        }
      }
      if (begins && at === 0) this.#unitBegins = true
      this.#unit += text.charAt(at)
      this.#unitKind ??= kind
      const shape = this.#read(0, text.charCodeAt(at), this.#unit.length - 1)
      if (shape !== 'more') this.#write(shape)
      else if (this.#unit.length > MOST_HELD) {
        if (this.#scalar) this.#finish(false)
        this.#levels.length = 2
        this.#write(1)
      }
    }
    return this.#flushed()
  }

  /** Where characters end that need no reading: all text without JSON, and plain text in a string. */
  #plain(text: string, at: number, kind: RedactKind | undefined): number {
    const level = this.#levels.at(-1)
    if (level?.state !== 'text') return at
    const isText = this.#levels.length === 1
    if (isText && kind) {
      level.mayQuote = false
      return text.length
    }
    const pattern = isText ? TEXT : PLAIN
    pattern.lastIndex = at
    if (!pattern.test(text)) return at
    level.mayQuote = within(BEFORE_QUOTE, text.charCodeAt(pattern.lastIndex - 1))
    return pattern.lastIndex
  }

  /** Returns what is held back, as if the text were cut here; it may go on. */
  pause(): string {
    this.#cut(true)
    const unshown = this.#unit.slice(this.#unitShown)
    if (unshown && this.#unitKind && !this.#isUnitPlain)
      this.#hide(this.#unitKind, this.#unitBegins, this.#levels.length - 1)
    else this.#out += unshown
    if (unshown && this.#unitShown === 0) this.#isUnitPlain = !this.#unitKind
    if (unshown) [this.#unitShown, this.#unitBegins] = [this.#unit.length, false]
    return this.#flushed()
  }

  /** Returns the rest. */
  end(): string {
    if (this.#scalar) this.#finish(false)
    if (this.#unit) this.#write(this.#levels.length - 1)
    return this.#flushed()
  }

  /** The text is another one from here on, unless what is open goes on. */
  divide(next: string): void {
    if (this.#levels[0]!.state !== 'string' || !/^\s*[[{]/.test(next)) return
    this.#levels = [levelOfText()]
    this.#scalar = undefined
    this.#unit = ''
    this.#unitShown = 0
    this.#isUnitPlain = false
  }

  #flushed(): string {
    const out = this.#out
    this.#out = ''
    return out
  }

  /** Writes the mask of a match, once in each token. */
  #hide(kind: RedactKind, begins: boolean, level: number): void {
    if (begins) this.#isTold = false
    if (!this.#isTold) this.#out += escaped(this.#mask(kind), level)
    this.#isTold = true
  }

  #write(shape: Exclude<Shape, 'more'>): void {
    const [unit, kind, shown] = [this.#unit, this.#unitKind, this.#unitShown]
    const [begins, isPlain] = [this.#unitBegins, this.#isUnitPlain]
    this.#unit = ''
    this.#isUnitPlain = false
    this.#unitKind = undefined
    this.#unitShown = 0
    this.#unitBegins = false
    if (shape === 'structure') {
      this.#out += unit.slice(shown)
      this.#isTold = false
    } else if (shape === 'scalar' || shape === 'space')
      this.#append(unit.slice(shown), kind, begins, shape)
    else if (kind && !isPlain) this.#hide(kind, begins, shape)
    else {
      // The rest of an escape whose beginning was emitted belongs to it; the match goes on after it.
      this.#out += unit.slice(shown)
      this.#isTold = false
    }
  }

  #append(unit: string, kind: RedactKind | undefined, begins: boolean, shape: 'scalar' | 'space') {
    const scalar = this.#scalar as Scalar
    if (scalar.emitted) {
      // A number of which a part was emitted stays a number.
      if (shape === 'space') this.#out += unit
      else if (scalar.emitted === 'shown') {
        // After a sign alone a zero could not be followed by digits.
        const zero = /\d/.test(scalar.text.slice(0, -1)) ? '0' : '1'
        this.#out += kind ? unit.replace(/\d$/, zero) : unit
      }
      return
    }
    if (shape === 'space') {
      scalar.space += unit
      if (!kind) scalar.visible += unit
    } else {
      scalar.raw += unit
      if (begins) this.#isTold = false
      if (!kind) scalar.parts.push(unit)
      else if (!this.#isTold) {
        scalar.parts.push({ mask: kind })
        this.#isTold = scalar.isMasked = true
      }
    }
    if (scalar.raw.length + scalar.space.length > MOST_HELD) this.#cut(true)
  }

  /** Emits a scalar before its end. */
  #cut(isJson: boolean): void {
    const scalar = this.#scalar
    if (!scalar || scalar.emitted) return
    this.#emit(scalar, isJson)
    scalar.emitted = scalar.isMasked ? 'closed' : 'shown'
  }

  #finish(isJson: boolean): void {
    const scalar = this.#scalar as Scalar
    this.#scalar = undefined
    if (!scalar.emitted) this.#emit(scalar, isJson && SCALAR.test(scalar.text))
    if (!isJson) return
    this.#isTold = false
  }

  #emit({ raw, parts, level, isMasked, space, visible }: Scalar, isString: boolean): void {
    const quote = isString && isMasked ? escaped('"', level) : ''
    const inside = quote ? level + 1 : level
    const text = parts.map((part) =>
      typeof part === 'string' ? part : escaped(this.#mask(part.mask), inside),
    )
    this.#out += (isMasked ? quote + text.join('') + quote : raw) + (isString ? space : visible)
  }

  /**
   * Reads a character of a level.
   *
   * @param from where it begins in the unit
   */
  #read(index: number, code: number, from: number): Shape {
    const level = this.#levels[index] as Level
    const character = String.fromCharCode(code)
    switch (level.state) {
      case 'string':
        return this.#inString(level, index, character, from)
      case 'text':
        return this.#inText(level, index, character)
      case 'scalar': {
        const scalar = this.#scalar as Scalar
        if (isSpace(code)) return 'space'
        if (scalar.space === '' && within(SCALAR_CHARS, code)) {
          scalar.text += scalar.text.length > MOST_HELD ? '' : character
          return 'scalar'
        }
        const ends = /[,\]}]/.test(character)
        this.#finish(ends)
        if (!ends) return this.#lose(level, index, character)
        level.state = 'comma'
        break
      }
    }
    if (isSpace(code)) return 'structure'
    switch (level.state) {
      case 'first name':
        if (character === '}') return this.#close(level)
      // falls through
      case 'name':
        return character === '"'
          ? this.#string(level, index, true)
          : this.#lose(level, index, character)
      case 'colon':
        if (character !== ':') return this.#lose(level, index, character)
        level.state = 'value'
        return 'structure'
      case 'comma': {
        const list = level.open.at(-1) === '['
        if (character === (list ? ']' : '}')) return this.#close(level)
        if (character !== ',') return this.#lose(level, index, character)
        level.state = list ? 'value' : 'name'
        return 'structure'
      }
      default:
        if (character === ']' && level.state === 'first value') return this.#close(level)
        if (character === '"') return this.#string(level, index, false)
        if (character === '{' || character === '[') return this.#open(level, character)
        if (!/[-\dtfn]/.test(character)) return this.#lose(level, index, character)
        level.state = 'scalar'
        this.#isTold = false
        this.#scalar = {
          level: index,
          text: character,
          parts: [],
          raw: '',
          isMasked: false,
          space: '',
          visible: '',
        }
        return 'scalar'
    }
  }

  #inText(level: Level, index: number, one: string): Shape {
    // What a match hides begins no JSON.
    if (!this.#unitKind) {
      if (one === '{' || one === '[') return this.#open(level, one)
      if (one === '"' && level.mayQuote) return this.#string(level, index, false)
    }
    level.mayQuote = within(BEFORE_QUOTE, one.charCodeAt(0))
    return index
  }

  #inString(level: Level, index: number, one: string, from: number): Shape {
    if (level.escape !== '') {
      level.escape += one
      if (/^\\u[\da-f]{0,3}$/i.test(level.escape)) return 'more'
      const code = decoded(level.escape)
      level.escape = ''
      return code === undefined
        ? this.#lose(level, index, one)
        : this.#inner(index, code, level.from)
    }
    if (one === '\\') {
      level.escape = one
      level.from = from
      return 'more'
    }
    if (one === '"') {
      if (this.#isUnquoted(index)) {
        this.#levels.splice(index, 1)
        if (this.#scalar) this.#scalar.level--
        return this.#read(index, one.charCodeAt(0), from)
      }
      // The text in it may end within JSON, or within an escape.
      if (this.#scalar) this.#finish(false)
      if (from > 0) {
        const rest = this.#unit.slice(from)
        this.#unit = this.#unit.slice(0, from)
        this.#write(index + 1)
        this.#unit = rest
      }
      this.#levels.length = index + 1
      level.state = level.isName ? 'colon' : stateAfterValue(level)
      return 'structure'
    }
    return one < ' ' ? this.#lose(level, index, one) : this.#inner(index, one.charCodeAt(0), from)
  }

  /**
   * Whether a quote ends no string, but begins one in JSON that stands unescaped between quotes:
   * `log: "{"a":1}"`.
   */
  #isUnquoted(index: number): boolean {
    const inner = this.#levels[index + 1]
    const isAlone = this.#levels[index]?.open.length === 0
    return isAlone && inner !== undefined && BEFORE_STRING.has(inner.state) && this.#unit === '"'
  }

  /** A character that a string holds. */
  #inner(index: number, code: number, from: number): Shape {
    return index + 1 < this.#levels.length ? this.#read(index + 1, code, from) : index + 1
  }

  #string(level: Level, index: number, isName: boolean): Shape {
    level.state = 'string'
    level.isName = isName
    if (index + 1 < DEEPEST) this.#levels.push(levelOfText())
    return 'structure'
  }

  #open(level: Level, one: string): Shape {
    level.open.push(one)
    level.state = one === '[' ? 'first value' : 'first name'
    return 'structure'
  }

  #close(level: Level): Shape {
    level.open.pop()
    level.state = stateAfterValue(level)
    return 'structure'
  }

  /** It was no JSON; another one may begin. */
  #lose(level: Level, index: number, one: string): Shape {
    if (this.#scalar) this.#finish(false)
    this.#levels.length = index + 1
    this.#levels[index] = levelOfText()
    return this.#inText(this.#levels[index], index, one)
  }
}

/** States in which a string may begin. */
const BEFORE_STRING = new Set<Level['state']>(['first name', 'name', 'first value', 'value'])

/** The state after the end of a value. */
function stateAfterValue(level: Level): Level['state'] {
  if (level.open.length > 0) return 'comma'
  level.mayQuote = false
  return 'text'
}

/** After these characters, and white space, a quote begins a string. */
export const BEFORE_QUOTE = chars('\t\r  ((,,::==>>')

/** Text that begins no JSON, and what a string of JSON holds that is neither an escape nor JSON. */
const TEXT = /[^"[{]+/y
const PLAIN = /[^"\\[{\0-\x1f]+/y
const isSpace = (code: number) => code === 32 || code === 10 || code === 13 || code === 9
const SCALAR_CHARS = chars('09AZaz__++-.')
const SCALAR = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[-+]?\d+)?|true|false|null)$/i

const CONTROLS: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** The character that an escape stands for. */
export function decoded(escape: string): number | undefined {
  if (/^\\u[\da-f]{4}$/i.test(escape)) return parseInt(escape.slice(2), 16)
  const letter = escape.slice(1)
  return /^["\\/bfnrt]$/.test(letter) ? (CONTROLS[letter] ?? letter).charCodeAt(0) : undefined
}

/** A text as it stands in a string of JSON, in as many strings. */
export function escaped(text: string, levels: number): string {
  let read = text
  for (let level = 0; level < levels; level++) read = JSON.stringify(read).slice(1, -1)
  return read
}
