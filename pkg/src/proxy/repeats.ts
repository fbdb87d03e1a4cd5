/** Reports equal calls of a user turn, whatever their results. */

/** A call of a response that was made often in the current user turn. */
export interface Repeat {
  name: string
  /** As `signature({ tool, args })`. */
  signature: string
  /** Equal calls of the user turn, with this one. */
  times: number
  /** How many of them came last, with no other call between them. */
  row: number
  /** Whether they are a loop: 8 or more in a row. They are not refused for that alone. */
  isLoop: boolean
}

/** Fewer equal calls are not reported. */
const LEAST = 3

/** As many equal calls in a row are a loop. */
const LOOP = 8

/** Adds repeated calls to a report, each once; they are not refused for it. */
export class RepeatCount {
  readonly #reported = new Map<string, Repeat>()
  readonly #repeats: Repeat[]

  constructor(repeats: Repeat[]) {
    this.#repeats = repeats
  }

  add(counted: Omit<Repeat, 'isLoop'>): void {
    const reported = this.#reported.get(counted.signature)
    const isLoop = counted.row >= LOOP || reported?.isLoop === true
    const repeat = { ...counted, isLoop }
    if (reported) Object.assign(reported, repeat)
    else if (repeat.times >= LEAST) {
      this.#reported.set(repeat.signature, repeat)
      this.#repeats.push(repeat)
    }
  }
}
