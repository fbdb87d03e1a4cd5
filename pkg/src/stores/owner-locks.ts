/**
 * Web Locks that show which owners of turns are alive. They do not decide who may write; the
 * store's rule does. They only save a reader the wait after a tab was closed.
 */
export class OwnerLocks {
  readonly #prefix: string
  readonly #held = new Map<string, { turn: string; release: () => void }>()
  readonly #asked = new Map<string, Promise<void>>()

  constructor(prefix: string) {
    this.#prefix = `turnlock:${prefix}`
  }

  /** `undefined` in old browsers and insecure contexts. */
  get #locks(): LockManager | undefined {
    return globalThis.navigator?.locks
  }

  /** Whether `owner` holds its lock, or held it when the page was suspended. */
  has(owner: string): boolean {
    return this.#held.has(owner)
  }

  /** Acquires an owner's lock if Web Locks exist. Returns whether it was not held before. */
  async acquire(turn: string, owner: string): Promise<boolean> {
    if (!this.#locks || this.#held.has(owner)) return false
    const before = this.#asked.get(owner)
    const request = before ?? this.#take(turn, owner).finally(() => this.#asked.delete(owner))
    if (!before) this.#asked.set(owner, request)
    await request
    return !before && this.#held.has(owner)
  }

  #take(turn: string, owner: string): Promise<void> {
    return new Promise((resolve) => {
      const onGranted = (release: () => void) => {
        this.#held.set(owner, { turn, release })
        resolve()
      }
      // If it is not available, another store of this owner holds it, which has the same effect.
      const options = { ifAvailable: true }
      const wait = (lock: Lock | null) =>
        lock ? new Promise<void>((release) => onGranted(release)) : onGranted(() => {})
      // A document that may not use locks, or is being unloaded, continues without one.
      this.#locks?.request(this.#prefix + owner, options, wait).catch(() => resolve())
    })
  }

  release(owner: string): void {
    this.#held.get(owner)?.release()
    this.#held.delete(owner)
  }

  /** Releases the locks of a turn's former owners, because a turn has at most one owner. */
  releaseOthers(turn: string, owner: string | null): void {
    for (const [each, held] of this.#held) {
      if (held.turn === turn && each !== owner) this.release(each)
    }
  }

  /** Releases all locks, which would prevent the page from being suspended. */
  suspend(): void {
    for (const { release } of this.#held.values()) release()
  }

  /** Acquires the locks again after the page returns. */
  resume(): void {
    const before = [...this.#held]
    this.#held.clear()
    for (const [owner, { turn }] of before) void this.acquire(turn, owner)
  }

  /** Whether any page of the origin holds the lock of `owner`; true if this is unknown. */
  async isHeld(owner: string): Promise<boolean> {
    try {
      const { held = [] } = (await this.#locks?.query()) ?? {}
      return !this.#locks || held.some(({ name }) => name === this.#prefix + owner)
    } catch {
      return true
    }
  }
}
