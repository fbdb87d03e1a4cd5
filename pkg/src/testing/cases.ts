/** Helpers for the cases of the conformance suite. */
import type { Commit, Store } from '../stores/store.js'
import { same } from './check.js'

/** The environment of a case. */
export interface Bench {
  /** Makes a store. All stores share the same data. */
  make(): Promise<Store>
  /** How long to wait for a condition that must eventually hold, in milliseconds. */
  patienceMs: number
}

export type Case = readonly [name: string, run: (bench: Bench) => Promise<void>]

export const HOUR = 3_600_000

function random(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

export const newOwner = random
/** The name of a turn, in the package's format. */
export const nameOf = (tenant: string, id: string) => JSON.stringify([tenant, id])
export const newTurn = (tenant = 'conformance') => nameOf(tenant, random())

/** A commit with defaults. */
export function commitOf(owner: string, revision: number, more: Partial<Commit> = {}): Commit {
  return {
    owner,
    revision,
    takeOver: false,
    replaces: null,
    open: true,
    records: [],
    events: null,
    forget: 0,
    state: revision === 1 ? 'state 1' : null,
    reusable: [],
    ttlMs: HOUR,
    ...more,
  }
}

/** Writes a commit that must be applied. */
export async function applied(store: Store, turn: string, commit: Commit, what = 'a commit') {
  same(await store.commit(turn, commit), { ok: true }, `${what} must be applied`)
}

/** Begins a turn and returns its owner. */
export async function begin(store: Store, turn: string, more: Partial<Commit> = {}) {
  const owner = newOwner()
  await applied(store, turn, commitOf(owner, 1, more), 'revision 1 of an unknown turn')
  return owner
}

/** A stored turn without its idle time, and its events. */
export async function all(store: Store, turn: string) {
  const stored = await store.read(turn)
  if (stored) Reflect.deleteProperty(stored, 'idleMs')
  return { kept: stored, events: await store.events(turn, 0, 1000) }
}
