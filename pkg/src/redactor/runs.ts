/** Runs of the characters of a set, with which matches go on. Positions are those of the whole text. */
import type { Match } from './output.js'
import type { Reading } from './reading.js'
import { runEnd, type Chars } from './view.js'

/** A run of a set, and the match that goes on to its end. */
export interface Run {
  from: number
  to: number
  match: Match | undefined
}

export class Runs {
  readonly #reading: Reading
  readonly #sets: readonly Chars[]
  /** By set: its last run in the text. */
  readonly #runs: Run[]
  /** Up to where runs have been followed. */
  #end = 0

  constructor(reading: Reading, sets: readonly Chars[]) {
    this.#reading = reading
    this.#sets = sets
    this.#runs = sets.map(() => ({ from: 0, to: -1, match: undefined }))
  }

  /** Lets a match go on as long as a set does. */
  goOn(match: Match, set: number): void {
    match.run = this.#at(set, match.to)
    match.to = match.run.to
  }

  /** Follows the runs that ended where the text did into what came. Tells of matches that go on. */
  grow(extend: (match: Match, to: number) => void): void {
    this.#runs.forEach((run, set) => {
      if (run.to < this.#end) return
      run.to = this.#endOf(set, run.to)
      if (run.match) extend(run.match, run.to)
    })
    this.#end = this.#reading.end
  }

  /** The run of a set that a position is in; each character of one is read once. */
  #at(set: number, from: number): Run {
    const last = this.#runs[set] as Run
    if (from >= last.from && from <= last.to) return last
    const to = this.#endOf(set, from)
    if (to === last.to) {
      last.from = from
      return last
    }
    const run = { from, to, match: undefined }
    // The last one of the text may grow. One before it has ended.
    if (from > last.to) this.#runs[set] = run
    return run
  }

  #endOf(set: number, from: number): number {
    const { base } = this.#reading
    return base + runEnd(this.#reading, this.#sets[set] as Chars, from - base, Infinity)
  }
}
