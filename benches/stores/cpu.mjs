// CPU time of processes, from /proc.
import { readdirSync, readFileSync } from 'node:fs'

/** A hundredth of a second. */
const TICK_MS = 10

function processes() {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const text = /^\d/.test(pid) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ''
      if (!text) return []
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
      const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
      const [parent, user, system] = [1, 11, 12].map((at) => Number(fields[at]))
      return [{ pid: Number(pid), name, parent, ms: (user + system) * TICK_MS }]
    } catch {
      return [] // It has ended.
    }
  })
}

/** Children of this process with that name. */
export const childrenNamed = (word) =>
  processes()
    .filter(({ parent, name }) => parent === process.pid && name.includes(word))
    .map(({ pid }) => pid)

/** Milliseconds of CPU that a process and all below it have used so far. */
export function cpuOf(root) {
  const all = processes()
  const below = (pid) => all.filter(({ parent }) => parent === pid).flatMap((one) => tree(one))
  const tree = (one) => [one, ...below(one.pid)]
  return all
    .filter(({ pid }) => pid === root)
    .flatMap(tree)
    .reduce((sum, { ms }) => sum + ms, 0)
}
