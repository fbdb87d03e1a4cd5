type Changed = (owner?: string) => void

/** Those who wait for news of a turn within this process, page or object. */
export class Watchers {
  readonly #turns = new Map<string, Set<Changed>>()

  add(turn: string, changed: Changed): () => void {
    // An entry of its own for each call: the same function may be given twice.
    const once: Changed = (owner) => changed(owner)
    let all = this.#turns.get(turn)
    if (!all) this.#turns.set(turn, (all = new Set()))
    all.add(once)
    return () => {
      const left = this.#turns.get(turn)
      if (left?.delete(once) && left.size === 0) this.#turns.delete(turn)
    }
  }

  /** Calls come later, so that none runs inside of a commit, and none comes after its stop. */
  tell(turn: string, owner: string): void {
    if (!this.#turns.has(turn)) return
    queueMicrotask(() => {
      for (const changed of this.#turns.get(turn) ?? []) changed(owner)
    })
  }

  /** Something may have happened, and nobody knows by whom. */
  tellAll(): void {
    for (const turn of this.#turns.keys()) this.tell(turn, '')
  }

  get size(): number {
    return this.#turns.size
  }
}
