/**
 * Returns the median: the middle of a list, or the mean of its two middles.
 * @param {number[]} list
 * @returns {number}
 */
export function median(list) {
  const sorted = list.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

/**
 * Returns the median of the ratios of the rounds.
 * @param {number[]} times @param {number[]} others
 */
export const medianRatio = (times, others) => median(times.map((time, at) => time / others[at]))
