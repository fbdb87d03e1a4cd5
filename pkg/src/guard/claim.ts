/**
 * Claims of calls in a store: a call is claimed before it starts, by one process, and has one recorded
 * outcome. Each call is a turn of its own in the store, so the rule of commits decides who runs it.
 */
import type { Commit, CommitResult, Store } from '../stores/store.js'
import { quietly } from '../shared/quietly.js'
import { randomHex } from '../shared/random.js'
import { lost, record, replayed, type Settled } from './outcome.js'

/** Milliseconds between two reads of a call that runs elsewhere, where the store has no `watch`. */
const POLL_MS = 200

/** Times that the commit of an outcome is tried. */
const TRIES = 3

export interface ClaimOptions {
  store: Store
  leaseMs: number
  ttlMs: number
  /** Whether the call may run again if its process is gone. */
  repeatable: boolean
  /** Finds out what became of a call whose process is gone. */
  reconcile?: (() => Promise<Settled | undefined>) | undefined
  /** Aborted when nobody waits for the outcome. */
  signal?: AbortSignal | undefined
}

/** A claim that was granted. */
export interface Claim {
  /** Records the outcome. It never throws: without a store, the outcome is still the caller's. */
  settle(outcome: Settled): Promise<void>
  /** Gives the call back: it has not run, and may be claimed again. */
  release(): Promise<void>
}

/**
 * Claims a call. Waits for a call that runs elsewhere.
 *
 * @returns the claim, or the outcome of the call that another one ran
 * @throws TurnlockError what the store throws: the call must not run then
 */
export async function claimCall(name: string, options: ClaimOptions): Promise<Claim | Settled> {
  const { store, signal } = options
  const owner = randomHex(16)
  let answer = await store.commit(name, commitOf(options, owner, 1, RUNNING))
  for (;;) {
    if (answer.ok) return new Held(name, options, owner, 1)
    const { open, state = '' } = answer
    // It has expired since.
    if (open === undefined) {
      answer = await store.commit(name, commitOf(options, owner, 1, RUNNING))
      continue
    }
    if (!open) return replayed(state)
    if (state === RELEASED) {
      const revision = (answer.revision ?? 0) + 1
      const taken = takeOver(commitOf(options, owner, revision, RUNNING), answer.owner)
      answer = await store.commit(name, taken)
      if (answer.ok) return new Held(name, options, owner, revision)
      continue
    }
    const stored = await store.read(name)
    const { idleMs = 0 } = stored ?? {}
    if (stored?.open && idleMs > options.leaseMs) {
      const revision = stored.revision + 1
      const { repeatable, reconcile } = options
      const found = repeatable ? undefined : ((await reconcile?.()) ?? lost)
      const made = commitOf(options, owner, revision, found ? record(found) : RUNNING, !found)
      answer = await store.commit(name, takeOver(made, stored.owner))
      if (answer.ok) return found ?? new Held(name, options, owner, revision)
      continue
    }
    if (stored?.open && stored.state !== RELEASED) {
      signal?.throwIfAborted()
      await change(store, name, Math.min(options.leaseMs - idleMs + 1, POLL_MS), signal)
    }
    answer = answerOf(await store.read(name))
  }
}

const RUNNING = '{"status":"running"}'
const RELEASED = '{"status":"released"}'

const answerOf = (stored: Awaited<ReturnType<Store['read']>>): CommitResult =>
  stored ? { ...stored, ok: false } : { ok: false }

function commitOf(
  { ttlMs }: ClaimOptions,
  owner: string,
  revision: number,
  state: string | null,
  open = true,
): Commit {
  const written = { records: [], events: null, forget: 0, reusable: [] }
  return { owner, revision, takeOver: false, open, state, ttlMs, ...written }
}

const takeOver = (commit: Commit, replaces: string | undefined): Commit => ({
  ...commit,
  takeOver: true,
  replaces: replaces ?? null,
})

/** Waits for a change of a turn, at most so long. */
async function change(store: Store, name: string, ms: number, signal: AbortSignal | undefined) {
  let stop: (() => void) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let wake = () => {}
  try {
    await new Promise<void>((resolve) => {
      wake = resolve
      timer = setTimeout(resolve, Math.max(1, ms))
      signal?.addEventListener('abort', wake)
      stop = store.watch?.(name, () => resolve())
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', wake)
    quietly(() => stop?.())
  }
}

class Held implements Claim {
  readonly #name: string
  readonly #options: ClaimOptions
  readonly #owner: string
  #revision: number
  /** The last commit, so that no two overlap. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #timer: ReturnType<typeof setInterval>

  constructor(name: string, options: ClaimOptions, owner: string, revision: number) {
    this.#name = name
    this.#options = options
    this.#owner = owner
    this.#revision = revision
    // Signs of life.
    this.#timer = setInterval(
      () => void this.#commit(null, true).catch(() => {}),
      options.leaseMs / 3,
    )
    const { unref } = this.#timer as { unref?(): void }
    // The call itself keeps the process.
    unref?.call(this.#timer)
  }

  async settle(outcome: Settled): Promise<void> {
    clearInterval(this.#timer)
    const state = record(outcome)
    for (let tried = 1; tried <= TRIES; tried++) {
      try {
        await this.#commit(state, false)
        return
      } catch {
        // Without its outcome, the call is `unknown` to other processes once the lease is over.
        await new Promise((resolve) => setTimeout(resolve, 100 * tried))
      }
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await this.#commit(RELEASED, true).catch(() => {})
  }

  #commit(state: string | null, open: boolean): Promise<unknown> {
    const next = async () => {
      const revision = this.#revision + 1
      const commit = commitOf(this.#options, this.#owner, revision, state, open)
      const { ok } = await this.#options.store.commit(this.#name, commit)
      if (ok) this.#revision = revision
    }
    return (this.#last = this.#last.then(next, next))
  }
}
