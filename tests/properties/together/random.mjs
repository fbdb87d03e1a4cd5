// Random numbers of one seed (mulberry32).
export function randomOf(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n) => Math.floor(next() * n)
  return {
    next,
    below,
    /** Once in `of` times. */
    once: (of) => below(of) === 0,
    pick: (all) => all[below(all.length)],
    from: (low, high) => low + below(high - low + 1),
  }
}
