/**
 * Finds fields in JSON that stands in a text: an answer, a result that is a text, the beginning of
 * one that was cut. JSON in a string of JSON is read as well, eight levels deep. It reads a character
 * at a time and holds back no more than an escape, since the path of a value is known before the
 * value. What is no JSON ends it, and the next `{` or `[` begins another one.
 */
import { BEFORE_QUOTE, DEEPEST as MOST_STRINGS, decoded } from './json-text.js'
import { behindName, type Path } from './paths.js'
import { within } from './view.js'

interface Level {
  open: ReadonlySet<Path>
  /** The index of the element, in a list. */
  index: number | undefined
}

/** What is read: text around JSON, or what stands next in it. */
type Reads = 'text' | 'value' | 'name' | 'colon' | 'comma' | 'scalar' | 'string' | 'in name'

/** A part of a text that is hidden; `begins`: the value begins there, and not in the part before. */
export interface Span {
  from: number
  to: number
  begins: boolean
  /** How many strings of JSON the value is in. */
  depth: number
}

/** What a character belongs to: an escape of which more has to come, a shown or a hidden value. */
type Unit = 'more' | 'shown' | { depth: number }

/** Levels below which nothing is shown, characters of a name that are kept, and of an escape. */
const [DEEPEST, LONGEST_NAME, LONGEST_ESCAPE] = [256, 1024, 1024]

export class Fields {
  readonly #reader: Reader
  /** Characters of an escape of which more has to come. */
  #pending = 0
  #hides = false

  constructor(paths: Iterable<Path>) {
    this.#reader = new Reader(new Set(paths), 0)
  }

  /** Whether JSON has begun that has not ended. */
  get isOpen(): boolean {
    return this.#reader.isOpen
  }

  /** Characters at the end of which more has to come before it is known whether they are hidden. */
  get pending(): number {
    return this.#pending
  }

  /** Where the next part of a text has values of fields. A value may begin in what was pending. */
  feed(chunk: string): Span[] {
    const spans: Span[] = []
    let span: Span | undefined
    for (let at = 0; at < chunk.length; at++) {
      const unit = this.#reader.take(chunk.charAt(at))
      if (unit === 'more' && this.#pending < LONGEST_ESCAPE) {
        this.#pending++
        continue
      }
      const from = at - this.#pending
      this.#pending = 0
      const isHidden = typeof unit === 'object'
      if (!isHidden) span = undefined
      else if (span) span.to = at + 1
      else spans.push((span = { from, to: at + 1, begins: !this.#hides, depth: unit.depth }))
      this.#hides = isHidden
    }
    return spans
  }
}

/** Reads JSON in a text, or in a string of JSON. */
class Reader {
  readonly #paths: ReadonlySet<Path>
  readonly #depth: number
  #reads: Reads = 'text'
  /** Whether a quote begins a string here, in a text. */
  #mayQuote = true
  #levels: Level[] = []
  #name = ''
  /** The escape that is read, in a string. */
  #escape = ''
  /** The text in the string that is read. */
  #text: Reader | undefined
  /** The value that is being read is hidden; how many levels of it are open. */
  #hides = false
  #inner = 0
  /** What is open within the value that comes, and whether that is hidden. */
  #open: ReadonlySet<Path>
  #coming = false

  /** @param depth how many strings the text is in */
  constructor(paths: ReadonlySet<Path>, depth: number) {
    this.#paths = this.#open = paths
    this.#depth = depth
  }

  get isOpen(): boolean {
    return this.#reads !== 'text'
  }

  /** Reads the next character. */
  take(one: string): Unit {
    const unit = this.#take(one)
    if (unit === 'ended' || (unit === undefined && this.#hides)) return { depth: this.#depth }
    return unit ?? 'shown'
  }

  /** Returns `ended` if a hidden value ends with the character. */
  #take(one: string): Unit | 'ended' | undefined {
    switch (this.#reads) {
      case 'text':
        return this.#inText(one)
      case 'string':
        return this.#hides ? this.#inHiddenString(one) : this.#inString(one)
      case 'in name':
        return this.#inName(one)
      case 'scalar':
        if (/[\w.+-]/.test(one)) return
        this.#valueEnds()
        return this.#take(one)
    }
    if (/\s/.test(one)) return
    if (this.#hides) return this.#inHidden(one)
    switch (this.#reads) {
      case 'value':
        if (one === ']' && this.#levels.at(-1)?.index === 0) return this.#close()
        return this.#value(one)
      case 'name':
        if (one === '}') return this.#close()
        if (one !== '"') return this.#lost(one)
        this.#name = ''
        this.#reads = 'in name'
        return
      case 'colon':
        if (one !== ':') return this.#lost(one)
        return this.#expect(this.#name)
      default:
        return this.#comma(one)
    }
  }

  #inText(one: string): undefined {
    if (one === '{' || one === '[') return this.#push(one)
    if (one === '"' && this.#mayQuote) return this.#string()
    this.#mayQuote = within(BEFORE_QUOTE, one.charCodeAt(0))
  }

  #inName(one: string): undefined {
    if (one !== '"' && this.#name.length < LONGEST_NAME) this.#name += one
    if (this.#escape !== '') this.#escape = ''
    else if (one === '\\') this.#escape = one
    else if (one === '"') this.#reads = 'colon'
    else if (one === '\n') this.#lost(one)
  }

  #inHiddenString(one: string): 'ended' | undefined {
    if (this.#escape !== '') this.#escape = ''
    else if (one === '\\') this.#escape = one
    else if (one === '"' && this.#inner > 0) this.#reads = 'comma'
    else if (one === '"') return this.#hiddenEnds()
  }

  /** Within a hidden object or list. */
  #inHidden(one: string): 'ended' | undefined {
    if (one === '"') this.#reads = 'string'
    else if (one === '{' || one === '[') this.#inner++
    else if ((one === '}' || one === ']') && --this.#inner === 0) return this.#hiddenEnds()
  }

  /** A string that is shown: the text in it may be JSON. */
  #inString(one: string): Unit | undefined {
    if (this.#escape !== '' || one === '\\') {
      this.#escape += one
      if (/^\\(?:u[\da-f]{0,3})?$/i.test(this.#escape)) return 'more'
      const code = decoded(this.#escape) ?? one.charCodeAt(0)
      this.#escape = ''
      return this.#text?.take(String.fromCharCode(code))
    }
    if (one === '"') {
      const text = this.#text
      if (this.#levels.length === 0 && text?.expectsString) {
        // JSON stands unescaped between quotes: `log: "{"a":1}"`.
        this.#become(text)
        return this.take(one)
      }
      return this.#valueEnds()
    }
    if (one === '\n' && !this.#text?.hides) return this.#lost(one)
    return this.#text?.take(one)
  }

  /** Whether a value in the text is hidden that has begun. */
  get hides(): boolean {
    return this.#hides || !!this.#text?.hides
  }

  get expectsString(): boolean {
    return this.#reads === 'name' || this.#reads === 'value'
  }

  #become(text: Reader): void {
    this.#reads = text.#reads
    this.#levels = text.#levels
    this.#open = text.#open
    this.#coming = text.#coming
    this.#text = undefined
  }

  #value(one: string): undefined {
    if (!/["\w{[-]/.test(one)) return this.#lost(one)
    const isOpening = one === '{' || one === '['
    this.#hides = this.#coming || (isOpening && this.#levels.length >= DEEPEST)
    if (one === '"') this.#string()
    else if (!isOpening) this.#reads = 'scalar'
    else if (!this.#hides) this.#push(one)
    else {
      this.#inner = 1
      this.#reads = 'comma'
    }
  }

  #string(): undefined {
    this.#reads = 'string'
    if (this.#hides || this.#depth + 1 >= MOST_STRINGS) return
    // Fields of the text are named from its beginning, or from that of the whole.
    const paths = this.#levels.length > 0 ? [...this.#paths, ...this.#open] : this.#paths
    this.#text = new Reader(new Set(paths), this.#depth + 1)
  }

  #push(one: string): undefined {
    this.#levels.push({ open: this.#open, index: one === '[' ? 0 : undefined })
    if (one === '[') this.#expect('0')
    else this.#reads = 'name'
  }

  /** A value comes behind a name. */
  #expect(name: string): undefined {
    const { open, ends } = behindName(this.#levels.at(-1)!.open, unescaped(name))
    this.#open = open
    this.#reads = 'value'
    this.#coming = ends
  }

  #comma(one: string): undefined {
    const level = this.#levels.at(-1)!
    if (one === '}' || one === ']') return this.#close()
    if (one !== ',') return this.#lost(one)
    if (level.index === undefined) this.#reads = 'name'
    else this.#expect(String(++level.index))
  }

  #close(): undefined {
    this.#levels.pop()
    this.#behindValue()
  }

  #valueEnds(): undefined {
    this.#hides = false
    this.#inner = 0
    this.#text = undefined
    this.#behindValue()
  }

  #hiddenEnds(): 'ended' {
    this.#valueEnds()
    return 'ended'
  }

  #behindValue(): undefined {
    this.#reads = this.#levels.length > 0 ? 'comma' : 'text'
    this.#mayQuote = false
    if (this.#levels.length === 0) this.#open = this.#paths
  }

  /** It was no JSON; another one may begin. */
  #lost(one: string): undefined {
    this.#levels = []
    this.#open = this.#paths
    this.#text = undefined
    this.#reads = 'text'
    this.#mayQuote = true
    this.#inText(one)
  }
}

function unescaped(name: string): string {
  try {
    return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name
  } catch {
    return name
  }
}
