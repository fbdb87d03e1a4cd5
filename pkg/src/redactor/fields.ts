/**
 * Finds fields in JSON that stands in a text: an answer, a result that is a text, the beginning of
 * one that was cut. It reads a character at a time and holds nothing back, since the path of a value
 * is known before the value. What is no JSON ends it, and the next `{` or `[` begins another one.
 */
import { behindName, type Path } from './paths.js'

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
}

/** Levels below which nothing is shown, and characters of a name that are kept. */
const [DEEPEST, LONGEST_NAME] = [256, 1024]

export class Fields {
  readonly #paths: ReadonlySet<Path>
  #reads: Reads = 'text'
  #levels: Level[] = []
  #name = ''
  #escaped = false
  /** The value that is being read is hidden; how many levels of it are open. */
  #hides = false
  #inner = 0
  /** What is open within the value that comes. */
  #open: ReadonlySet<Path>

  constructor(paths: readonly Path[]) {
    this.#paths = this.#open = new Set(paths)
  }

  /** Whether JSON has begun that has not ended. */
  get isOpen(): boolean {
    return this.#reads !== 'text'
  }

  /** Where the next part of a text has values of fields. */
  feed(chunk: string): Span[] {
    const spans: Span[] = []
    let span = this.#hides ? { from: 0, to: chunk.length, begins: false } : undefined
    for (let at = 0; at < chunk.length; at++) {
      const [hid, one] = [this.#hides, chunk.charAt(at)]
      if (this.#reads === 'text' && one !== '{' && one !== '[') continue
      this.#take(one)
      if (!hid && this.#hides) span = { from: at, to: chunk.length, begins: true }
      if (!span || this.#hides) continue
      // The first character behind a hidden number is shown.
      spans.push({ ...span, to: this.#ended ? at + 1 : at })
      span = undefined
    }
    return span ? [...spans, span] : spans
  }
  /** Whether the last character belonged to the value that ended. */
  #ended = false

  #take(one: string): void {
    switch (this.#reads) {
      case 'string':
      case 'in name':
        return this.#inString(one)
      case 'scalar':
        if (/[\w.+-]/.test(one)) return
        this.#valueEnds(false)
        return this.#take(one)
    }
    if (/\s/.test(one)) return
    if (this.#hides) return this.#inHidden(one)
    switch (this.#reads) {
      case 'value':
        if (one === ']' && this.#levels.at(-1)!.index === 0) return this.#close()
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
      case 'comma':
        return this.#comma(one)
      default:
        return this.#lost(one)
    }
  }

  #inString(one: string): void {
    const isName = this.#reads === 'in name'
    if (isName && one !== '"' && this.#name.length < LONGEST_NAME) this.#name += one
    if (this.#escaped) this.#escaped = false
    else if (one === '\\') this.#escaped = true
    else if (one === '"') {
      if (isName) this.#reads = 'colon'
      else if (this.#inner > 0) this.#reads = 'comma'
      else this.#valueEnds(true)
    } else if (one === '\n' && !this.#hides) this.#lost(one)
  }

  /** Within a hidden object or list. */
  #inHidden(one: string): void {
    if (one === '"') this.#reads = 'string'
    else if (one === '{' || one === '[') this.#inner++
    else if ((one === '}' || one === ']') && --this.#inner === 0) this.#valueEnds(true)
  }

  #value(one: string): void {
    if (!/["\w{[-]/.test(one)) return this.#lost(one)
    const isOpening = one === '{' || one === '['
    this.#hides = this.#coming || (isOpening && this.#levels.length >= DEEPEST)
    if (!isOpening) this.#reads = one === '"' ? 'string' : 'scalar'
    else if (!this.#hides) this.#push(one)
    else {
      this.#inner = 1
      this.#reads = 'comma'
    }
  }

  #push(one: string): void {
    this.#levels.push({ open: this.#open, index: one === '[' ? 0 : undefined })
    if (one === '[') this.#expect('0')
    else this.#reads = 'name'
  }

  /** A value comes behind a name. */
  #expect(name: string): void {
    const { open, ends } = behindName(this.#levels.at(-1)!.open, unescaped(name))
    this.#open = open
    this.#reads = 'value'
    this.#coming = ends
  }
  /** Whether the value that comes is hidden. */
  #coming = false

  #comma(one: string): void {
    const level = this.#levels.at(-1)!
    if (one === '}' || one === ']') return this.#close()
    if (one !== ',') return this.#lost(one)
    if (level.index === undefined) this.#reads = 'name'
    else this.#expect(String(++level.index))
  }

  #close(): void {
    this.#levels.pop()
    this.#reads = this.#levels.length > 0 ? 'comma' : 'text'
  }

  #valueEnds(withIt: boolean): void {
    this.#ended = withIt
    this.#hides = false
    this.#inner = 0
    this.#reads = 'comma'
  }

  /** It was no JSON; another one may begin. */
  #lost(one: string): void {
    this.#levels = []
    this.#open = this.#paths
    this.#reads = 'text'
    if (one === '{' || one === '[') this.#push(one)
  }
}

function unescaped(name: string): string {
  try {
    return name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name
  } catch {
    return name
  }
}
