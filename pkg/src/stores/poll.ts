import type { Store } from './store.js'
import { Watchers } from './watchers.js'

/** The writer and the number of the last commit, which is only compared. */
interface Seen {
  owner?: string | undefined
  revision?: number | string | null | undefined
}

/**
 * `watch` of a store whose database does not tell of commits: one question for each turn that is
 * watched and each `ms`, however many watch it. A question that fails is asked again.
 */
export function polling(
  ms: number,
  ask: (turn: string) => Promise<Seen>,
): NonNullable<Store['watch']> {
  const watchers = new Watchers()
  const polls = new Map<string, ReturnType<typeof setInterval>>()

  const start = (turn: string) => {
    // No number: at the first look a change cannot be excluded, and an extra call is harmless.
    let lastValue: unknown = polls
    let asking = false
    const look = async () => {
      if (asking) return
      asking = true
      try {
        const { owner, revision } = await ask(turn)
        if (revision !== lastValue) watchers.tell(turn, owner)
        lastValue = revision
      } catch {
        // The next look tries again.
      } finally {
        asking = false
      }
    }
    void look()
    return setInterval(look, ms)
  }

  return (turn, changed) => {
    let poll = polls.get(turn)
    if (!poll) polls.set(turn, (poll = start(turn)))
    const stop = watchers.add(turn, changed)
    // What a new watcher has not seen cannot be known.
    watchers.tell(turn, undefined)
    return () => {
      stop()
      if (watchers.has(turn)) return
      clearInterval(poll)
      polls.delete(turn)
    }
  }
}
