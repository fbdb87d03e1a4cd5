/**
 * Web Locks that say which owners of turns are alive. They decide nothing: the store's rule does.
 * They only spare a reader the wait when a tab was closed.
 */
export class OwnerLocks {
  readonly #prefix: string
  readonly #held = new Map<string, { turn: string; release: () => void }>()
  readonly #asked = new Map<string, Promise<void>>()

  constructor(prefix: string) {
    this.#prefix = `turnlock:${prefix}`
  }

  /** Missing in old browsers and insecure contexts. */
  get #locks(): LockManager | undefined {
    return globalThis.navigator?.locks
  }

  /** Whether `owner` has its lock (or had, while the page sleeps). */
  has(owner: string): boolean {
    return this.#held.has(owner)
  }

  /** Takes the lock of an owner, where there are locks; tells whether it was not held before. */
  async acquire(turn: string, owner: string): Promise<boolean> {
    if (!this.#locks || this.#held.has(owner)) return false
    const before = this.#asked.get(owner)
    const asked = before ?? this.#take(turn, owner).finally(() => this.#asked.delete(owner))
    if (!before) this.#asked.set(owner, asked)
    await asked
    return !before && this.#held.has(owner)
  }

  #take(turn: string, owner: string): Promise<void> {
    return new Promise((resolve) => {
      const held = (release: () => void) => {
        this.#held.set(owner, { turn, release })
        resolve()
      }
      // Not available: another store of this owner has it, which says as much.
      const options = { ifAvailable: true }
      const wait = (lock: Lock | null) =>
        lock ? new Promise<void>((release) => held(release)) : held(() => {})
      // A document that may not have locks, or is being unloaded, goes without.
      this.#locks?.request(this.#prefix + owner, options, wait).catch(() => resolve())
    })
  }

  release(owner: string): void {
    this.#held.get(owner)?.release()
    this.#held.delete(owner)
  }

  /** A turn has one owner, or none: those that it had before need no locks any more. */
  releaseOthers(turn: string, owner: string | null): void {
    for (const [each, held] of this.#held) {
      if (held.turn === turn && each !== owner) this.release(each)
    }
  }

  /** The page is going to sleep: its locks would keep it from doing so. */
  suspend(): void {
    for (const { release } of this.#held.values()) release()
  }

  /** The page is back: its owners are alive again, unless they were replaced meanwhile. */
  resume(): void {
    const before = [...this.#held]
    this.#held.clear()
    for (const [owner, { turn }] of before) void this.acquire(turn, owner)
  }

  /** Whether any page of the origin holds the lock of `owner`; true when nobody can say. */
  async isHeld(owner: string): Promise<boolean> {
    try {
      const { held = [] } = (await this.#locks?.query()) ?? {}
      return !this.#locks || held.some(({ name }) => name === this.#prefix + owner)
    } catch {
      return true
    }
  }
}
