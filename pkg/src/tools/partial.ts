/** The arguments of a call while they stream, for display. */

/** A JSON object that is still incomplete. */
export interface PartialObject {
  /**
   * The object as far as it is known: the same object each time, which grows. `undefined` before its
   * beginning.
   */
  readonly value: Record<string, unknown> | undefined
  /** Whether the object has ended. */
  readonly complete: boolean
  /** Takes the next piece of the text, split at any position, and returns `value`. */
  feed(piece: string): Record<string, unknown> | undefined
}

type Box = Record<string, unknown> | unknown[]

/** The characters of a string up to its end or an escape. */
const RUN = /[^"\\]*/y
const ESCAPE = /\\(?:u[\da-f]{4}|["\\/bfnrt])/iy
/** The characters of a number, `true`, `false` or `null`. */
const WORD = /[-+.\w]*/y
const HIGH = /[\ud800-\udbff]$/

/**
 * Reads a JSON object while it arrives, such as the arguments of a call: pass it the `text` of each
 * `tool_call_arguments` delta of that call. The time is linear in the length of the text.
 *
 * Members appear when their values begin. A string is there as far as it has arrived; a number,
 * `true`, `false` and `null` only when whole. What is not JSON ends the reading; nothing throws.
 *
 * For display only: a call may run only when its arguments are complete and were checked.
 */
export function partialObject(): PartialObject {
  let value: Record<string, unknown> | undefined
  /** The objects and lists that are open, from the outermost. */
  const open: Box[] = []
  /** Where in the innermost one the current value belongs. */
  let place: string | number = ''
  /** The string that is being read. It is only ever appended to, so that this costs no copy. */
  let text = ''
  let next: 'value' | 'key' | 'colon' | 'comma' | 'text' | 'name' | 'over' = 'value'
  /** The end of the last piece, if only the next one says what it means. */
  let pending = ''
  let complete = false

  const put = (what: unknown) => {
    const box = open.at(-1)
    // Assigned, `__proto__` would be no member.
    const descriptor = { value: what, writable: true, enumerable: true, configurable: true }
    if (box) Object.defineProperty(box, place, descriptor)
  }
  const begin = (box: Box) => {
    put(box)
    open.push(box)
    place = 0
    next = Array.isArray(box) ? 'value' : 'key'
  }
  const end = () => {
    open.pop()
    const box = open.at(-1)
    if (Array.isArray(box)) place = box.length - 1
    complete = !box
    next = box ? 'comma' : 'over'
  }
  const match = (pattern: RegExp, piece: string, at: number): string => {
    pattern.lastIndex = at
    return pattern.exec(piece)?.[0] ?? ''
  }

  /** Reads on in a string. Returns how far; less than the whole if more is needed to go on. */
  const readText = (piece: string, at: number): number => {
    const run = match(RUN, piece, at)
    const last = at + run.length === piece.length && HIGH.test(run) ? 1 : 0
    text += last ? run.slice(0, -1) : run
    at += run.length - last
    if (piece[at] === '"') {
      if (next === 'name') place = text
      else put(text)
      next = next === 'name' ? 'colon' : 'comma'
      return at + 1
    }
    if (piece[at] !== '\\') return at
    const escape = match(ESCAPE, piece, at)
    if (!escape) {
      if (piece.length - at < (piece[at + 1] === 'u' ? 6 : 2)) return at
      if (next === 'text') put(text)
      next = 'over'
      return at
    }
    const char = JSON.parse(`"${escape}"`) as string
    const rest = piece.slice(at + escape.length, at + escape.length + 6)
    // The other half of a character outside of the basic plane may follow.
    if (HIGH.test(char) && rest.length < 6 && '\\u'.startsWith(rest.slice(0, 2))) return at
    text += char
    return at + escape.length
  }

  /** Reads a token that is no string. Returns how far. */
  const step = (piece: string, at: number): number => {
    const char = piece[at] ?? ''
    if (' \t\r\n'.includes(char)) return at + 1
    const box = open.at(-1)
    const list = Array.isArray(box)
    if (box && char === (list ? ']' : '}') && next !== 'colon') end()
    else if (next === 'colon' && char === ':') next = 'value'
    else if (next === 'comma' && char === ',') {
      next = list ? 'value' : 'key'
      if (list) place = box.length
    } else if (char === '"' && (next === 'key' || (next === 'value' && box))) {
      text = ''
      next = next === 'key' ? 'name' : 'text'
    } else if (next === 'value' && char === '{') {
      const made = {}
      value ??= made
      begin(made)
    } else if (next === 'value' && box && char === '[') begin([])
    else if (next === 'value' && box) {
      const word = match(WORD, piece, at)
      // It may go on.
      if (word && at + word.length === piece.length) return at
      try {
        put(JSON.parse(word))
        next = 'comma'
        return at + word.length
      } catch {
        next = 'over'
      }
    } else next = 'over'
    return at + 1
  }

  return {
    get value() {
      return value
    },
    get complete() {
      return complete
    },
    feed(piece) {
      piece = pending + piece
      pending = ''
      let at = 0
      while (at < piece.length && next !== 'over') {
        const inText = next === 'text' || next === 'name'
        const then = inText ? readText(piece, at) : step(piece, at)
        if (then === at) {
          pending = piece.slice(at)
          break
        }
        at = then
      }
      if (next === 'text') put(text)
      return value
    },
  }
}
