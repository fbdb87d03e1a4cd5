/** Reports equal calls of a user turn, whatever their results. */

/** A call of a response that was made often in the current user turn. */
export interface Repeat {
  name: string
  /** As `signature({ tool, args })`. */
  signature: string
  /** Equal calls of the user turn, with this one. */
  times: number
}

/** Fewer equal calls are not reported. */
const LEAST = 3

/** Adds repeated calls to a report, each once; they are not refused for it. */
export class RepeatCount {
  readonly #reported = new Map<string, Repeat>()
  readonly #repeats: Repeat[]

  constructor(repeats: Repeat[]) {
    this.#repeats = repeats
  }

  add(repeat: Repeat): void {
    const reported = this.#reported.get(repeat.signature)
    if (reported) reported.times = repeat.times
    else if (repeat.times >= LEAST) {
      this.#reported.set(repeat.signature, repeat)
      this.#repeats.push(repeat)
    }
  }
}
