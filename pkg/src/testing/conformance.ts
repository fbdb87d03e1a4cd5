import { CONFORMANCE_OPTIONS } from '../generated/rows.js'
import type { ConformanceOptions } from '../generated/testing.js'
import { readOptions } from '../options.js'
import type { Store } from '../stores/store.js'
import type { Bench } from './cases.js'
import { data } from './data-cases.js'
import { rules } from './rule-cases.js'
import { times } from './time-cases.js'

export type { ConformanceOptions }

/** One check of a store. */
export interface ConformanceCase {
  /** What must hold; unique. */
  name: string
  /** Rejects with the expected and the actual value if it does not hold. */
  run(): Promise<void>
}

/**
 * The requirements of a {@link Store}, as cases for any test runner and any runtime. A store that
 * passes fulfils the package's guarantee: every tool call is claimed once, by one owner.
 *
 * Cases use unique names, so they run in any order, in parallel, and in a database with other
 * data. Their data expires within an hour.
 *
 * @param make makes a store. All stores must share the **same data**, and each must have its own
 * connection if the database has connections, because owners race through several stores.
 *
 * @example
 * // A store of yours, tested with node:test.
 * import test from 'node:test'
 * import { storeConformance } from 'turnlock/testing'
 * import { mySqlStore } from './mysql-store.js'
 *
 * // One transaction per commit: the row of the turn is locked, the rule is applied, then it is
 * // written. Two first commits of a turn find no row to lock: one of them inserts it, and the other
 * // applies the rule again. A text may hold NUL and lone surrogates.
 * for (const { name, run } of storeConformance(() => mySqlStore(connection()))) test(name, run)
 */
export function storeConformance(
  make: () => Store | Promise<Store>,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  options = readOptions(options, CONFORMANCE_OPTIONS)
  const bench: Bench = { make: async () => make(), patienceMs: options.patienceMs ?? 10_000 }
  return [...rules, ...data, ...times].map(([name, run]) => ({ name, run: () => run(bench) }))
}
