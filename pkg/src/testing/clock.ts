/** A clock that stands still until a test moves it. */
export interface FakeClock {
  /** Milliseconds since the clock was made. */
  readonly now: number
  /**
   * Moves the clock. Timers that are due run in order, each at its own time, and what they cause
   * happens before the next one.
   */
  advance(ms: number): Promise<void>
  /** Gives the global timers and clocks back. Timers that have not run never do. */
  restore(): void
}

interface Timer {
  due: number
  run(): void
}

/**
 * Replaces `setTimeout`, `clearTimeout`, `Date.now` and `performance.now` of this process or page
 * until `restore()`, so that time limits, back-off and expiry are tested without waiting. Where a
 * test runner has fake timers that replace `performance.now` too, those do as well. Call
 * `await init()` before, so that no part of the core is still being loaded.
 *
 * @example
 * await init()
 * const clock = fakeClock()
 * const turn = runTurn({ model, messages, tools: { slow }, policy: { toolTimeoutMs: 60_000 } })
 * await clock.advance(60_000)
 * const { status } = await turn.result
 * clock.restore()
 */
export function fakeClock(): FakeClock {
  const real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    date: Date.now,
    monotonic: performance.now,
  }
  const [date, monotonic] = [real.date.call(Date), real.monotonic.call(performance)]
  const timers = new Map<number, Timer>()
  let now = 0
  let last = 0

  const set = (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): number => {
    last += 1
    timers.set(last, { due: now + Math.max(0, Number(ms) || 0), run: () => run(...args) })
    return last
  }
  globalThis.setTimeout = set as unknown as typeof globalThis.setTimeout
  globalThis.clearTimeout = ((id: number) => timers.delete(id)) as typeof globalThis.clearTimeout
  Date.now = () => date + now
  performance.now = () => monotonic + now

  /** Lets what is under way go on: promises, streams, modules that are loaded. */
  const settle = async () => {
    for (let turn = 0; turn < SETTLE; turn++) {
      await new Promise<void>((resolve) => real.setTimeout.call(globalThis, resolve, 0))
    }
  }
  const next = (until: number) => {
    let first: [number, Timer] | undefined
    for (const timer of timers) {
      if (timer[1].due <= until && (!first || timer[1].due < first[1].due)) first = timer
    }
    return first
  }

  return {
    get now() {
      return now
    },
    async advance(ms) {
      const until = now + ms
      await settle()
      for (let timer = next(until); timer; timer = next(until)) {
        timers.delete(timer[0])
        now = Math.max(now, timer[1].due)
        timer[1].run()
        await settle()
      }
      now = until
      await settle()
    },
    restore() {
      globalThis.setTimeout = real.setTimeout
      globalThis.clearTimeout = real.clearTimeout
      Date.now = real.date
      performance.now = real.monotonic
      timers.clear()
    },
  }
}

/** Rounds of the event loop that what is under way gets. */
const SETTLE = 5
