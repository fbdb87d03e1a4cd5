// Takes away what a call into the core needs: its stack, its memory.

/**
 * Calls `work` where so many frames are left of an exhausted stack, and returns or throws what it
 * does. What it throws is not looked at before the stack is free again: nothing more could be called.
 */
export function nearTheEnd(frames, work) {
  let left = frames
  let isOver = false
  let told
  const down = () => {
    try {
      down()
    } catch {
      if (isOver || left-- > 0) throw undefined
      isOver = true
      try {
        told = { value: work() }
      } catch (error) {
        told = { error }
      }
    }
  }
  try {
    down()
  } catch {
    // The frames above.
  }
  if ('error' in told) throw told.error
  return told.value
}

/** The pages of memory that a core can have: `limits.test.mjs` reads them in each of its modules. */
const PAGES = (3 * 2 ** 30) / 65_536

/** Takes all memory that an instance can have: from here on, the core gets none. */
export function exhaust({ memory }) {
  // In one piece: V8 collects garbage twice before it refuses one that is too large.
  memory.grow(PAGES - memory.buffer.byteLength / 65_536)
}
