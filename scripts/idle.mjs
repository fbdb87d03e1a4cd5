// How much of the processors' time is left.
import { cpus } from 'node:os'

/**
 * Gives a function that answers which share of the processors' time was idle since its last call, 0 to 1.
 * @param {() => { times: Record<string, number> }[]} read the times of each processor in milliseconds
 */
export function idleness(read = cpus) {
  const sums = () => {
    const times = read().map((one) => one.times)
    const all = times.flatMap((one) => Object.values(one)).reduce((sum, ms) => sum + ms, 0)
    return { all, idle: times.reduce((sum, { idle }) => sum + idle, 0) }
  }
  let before = sums()
  return () => {
    const now = sums()
    const { all, idle } = { all: now.all - before.all, idle: now.idle - before.idle }
    before = now
    return all > 0 ? idle / all : 0
  }
}
