// Properties over generated inputs. `SEED` is the seed of all inputs (fixed without it), `RUNS` the
// number of runs of each property, `MINUTES` a time for each instead of a number.
import fc from 'fast-check'
import { check } from './check.mjs'

export const { SEED = '20261123', RUNS, MINUTES } = process.env

/** Fails with the smallest input found, and the seed and path that make it again. */
export async function holds(name, property, runs, options = {}) {
  const numRuns = await check(name, property, {
    seed: Number(SEED),
    numRuns: Number(RUNS ?? runs),
    ...options,
    ...(MINUTES && {
      numRuns: 1e9,
      interruptAfterTimeLimit: Number(MINUTES) * 60_000,
      markInterruptAsFailure: false,
    }),
  })
  if (RUNS || MINUTES) console.log(`# ${name}: ${numRuns} runs, seed ${SEED}`)
}

/** Cuts bytes at these places, each a share of the length; equal ones give empty pieces. */
export function cutAt(bytes, shares) {
  const places = shares.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b)
  return [...places, bytes.length].map((end, at) => bytes.subarray(places[at - 1] ?? 0, end))
}

/** Where a text is cut: at a few places, or every few bytes. */
export const cuts = fc.oneof(
  fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 12 }),
  fc.integer({ min: 20, max: 400 }).map((n) => Array.from({ length: n }, (_, at) => at / n)),
)
