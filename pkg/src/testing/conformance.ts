import type { Store } from '../stores/store.js'
import type { Bench } from './cases.js'
import { data } from './data-cases.js'
import { rules } from './rule-cases.js'
import { times } from './time-cases.js'

/** One check of a store. */
export interface ConformanceCase {
  /** What must hold; unique. */
  name: string
  /** Rejects, with what was expected and what came instead, where it does not hold. */
  run(): Promise<void>
}

/** How to run {@link storeConformance}. */
export interface ConformanceOptions {
  /**
   * How long a case waits for what must happen some time, such as expiry, before it gives up; in
   * milliseconds. No case demands that anything is fast. @defaultValue 10000
   */
  patienceMs?: number
}

/**
 * Everything that a {@link Store} must do, as cases for any test runner and any runtime. A store
 * that passes keeps the package's promise: every tool call is claimed once, by one owner.
 *
 * Cases use names of their own, so they run in any order, side by side, and in a database that
 * holds other things; what they leave behind expires within an hour.
 *
 * @param make gives a store. Each call's store must be over the **same data**, by a connection of
 * its own where the database has connections: owners race through several.
 *
 * @example
 * // A store in Postgres, tested with node:test.
 * import test from 'node:test'
 * import pg from 'pg'
 * import { storeConformance } from 'turnlock/testing'
 * import { postgresStore } from './postgres-store.js'
 *
 * // One transaction per commit: `SELECT … FROM turns WHERE turn = $1 FOR UPDATE`, the rule, the
 * // writes. Two first commits of a turn find no row to lock: `INSERT … ON CONFLICT DO NOTHING`,
 * // then the rule again. Columns `bytea`, for a `text` holds no NUL and no lone surrogate.
 * for (const { name, run } of storeConformance(() => postgresStore(new pg.Pool({ max: 4 })))) {
 *   test(name, run)
 * }
 */
export function storeConformance(
  make: () => Store | Promise<Store>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const bench: Bench = { make: async () => make(), patienceMs: options.patienceMs ?? 10_000 }
  return [...rules, ...data, ...times].map(([name, run]) => ({ name, run: () => run(bench) }))
}
