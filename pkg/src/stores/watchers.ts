import { quietly } from '../shared/quietly.js'

type Changed = (owner?: string) => void

/** Callbacks for changes of turns within this process, page or object. */
export class Watchers {
  readonly #turns = new Map<string, Set<Changed>>()

  add(turn: string, changed: Changed): () => void {
    // Wrapped, so that each call has its own entry even if the function is the same.
    const once: Changed = (owner) => changed(owner)
    let all = this.#turns.get(turn)
    if (!all) this.#turns.set(turn, (all = new Set()))
    all.add(once)
    return () => {
      const listeners = this.#turns.get(turn)
      if (listeners?.delete(once) && listeners.size === 0) this.#turns.delete(turn)
    }
  }

  /** Calls the watchers later, so that none runs inside a commit or after it was stopped. */
  tell(turn: string, owner: string | undefined): void {
    if (!this.#turns.has(turn)) return
    queueMicrotask(() => {
      // One that throws must not keep the news from the others.
      for (const changed of this.#turns.get(turn) ?? []) quietly(() => changed(owner))
    })
  }

  /** Notifies all watchers of a possible change by an unknown owner. */
  tellAll(): void {
    for (const turn of this.#turns.keys()) this.tell(turn, '')
  }

  has(turn: string): boolean {
    return this.#turns.has(turn)
  }

  get size(): number {
    return this.#turns.size
  }
}
