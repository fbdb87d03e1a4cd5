// Times subjects beside one another. Knows no page; runs in a worker.

/** The clocks of browsers are coarse (up to 1 ms), so a sample lasts at least this long. */
const SAMPLE_MS = 30

/**
 * The middle of a list, or the mean of its two middles.
 * @param {number[]} list
 * @returns {number}
 */
export function median(list) {
  const sorted = list.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

/**
 * The median of the ratios of the rounds.
 * @param {number[]} times @param {number[]} others
 */
export const medianRatio = (times, others) => median(times.map((time, at) => time / others[at]))

/**
 * Interleaved rounds; the first one warms up, finds how many calls make a sample, and is not told.
 * @param {Record<string, () => unknown>} subjects name → one call; gives what `isRight` takes
 * @param {{ rounds: number, isRight: (made: unknown) => boolean,
 *   tell: (round: number, times: Record<string, number>) => void }} options `times` are ms for a call
 */
export async function compare(subjects, { rounds, isRight, tell }) {
  const names = Object.keys(subjects)
  const calls = {}
  for (const name of names) {
    // Twice: the first call compiles.
    for (let time = 0; time < 2; time++) {
      const began = performance.now()
      if (!isRight(await subjects[name]())) throw new Error(`${name} gave something else`)
      calls[name] = Math.ceil(SAMPLE_MS / Math.max(performance.now() - began, 0.1))
    }
  }
  for (let round = 0; round < rounds; round++) {
    const times = {}
    for (let at = 0; at < names.length; at++) {
      // Another one begins each round: none always runs behind the one that leaves the most garbage.
      const name = names[(at + round) % names.length]
      const began = performance.now()
      for (let call = 0; call < calls[name]; call++) await subjects[name]()
      times[name] = (performance.now() - began) / calls[name]
    }
    tell(round + 1, times)
  }
}
