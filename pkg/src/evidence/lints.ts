/** The lint lane: quick checks in parallel to the work, with a small budget. They block nothing. */
import { checkSignal, isObject } from '../checks.js'
import { wrong } from '../errors.js'
import { Feed } from '../driver/feed.js'
import type { RunLintsOptions } from '../generated/evidence.js'
import { RUN_LINTS_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { leavable } from '../shared/quietly.js'
import { describe } from '../shared/serialize.js'

export type { RunLintsOptions }

/** A minor finding of a lint. */
export interface LintFinding {
  message: string
  /** A JSON Pointer into the input, or any other location that the lint uses. */
  field?: string | undefined
  severity?: 'info' | 'warning' | 'error' | undefined
}

/** A nit with the lint that found it. */
export type ReportedFinding = LintFinding & { lint: string }

type Nits = Iterable<LintFinding> | AsyncIterable<LintFinding> | LintFinding | null | undefined

/** A check. It returns its nits at once, later, or one at a time. */
export type Lint<I> = (input: I, context: { signal: AbortSignal }) => Nits | Promise<Nits>

/** The result of the lints. */
export interface LintReport {
  nits: ReportedFinding[]
  /** How each lint ended. */
  lints: Record<string, 'done' | 'failed' | 'out_of_budget'>
  /** The messages of the errors that lints threw. */
  errors: Record<string, string>
}

/**
 * Yields nits as they are found. `result` resolves when all lints are done or the budget is spent;
 * it never rejects.
 */
export interface RunningLints extends AsyncIterable<ReportedFinding> {
  readonly result: Promise<LintReport>
}

/**
 * Maximum number of nits of one lint.
 *
 * Limit | nits of one lint | nits | the others are not told
 */
const MOST = 100

/**
 * Runs lints in parallel. A lint that throws or takes too long does not affect the others.
 *
 * @throws TurnlockError `options.invalid`
 */
export function runLints<I>(options: RunLintsOptions<I>): RunningLints {
  options = readOptions(options, RUN_LINTS_OPTIONS)
  const { lints, input, budgetMs = 200, signal } = options
  if (!(budgetMs > 0)) throw wrong('budgetMs', 'a number above 0')
  if (!isObject(lints ?? {})) throw wrong('lints', 'an object')
  for (const [name, lint] of Object.entries(lints ?? {})) {
    if (typeof lint !== 'function') throw wrong(`lints.${name}`, 'a function')
  }
  checkSignal(signal)
  const controller = new AbortController()
  const feed = new Feed<ReportedFinding>()
  const report: LintReport = { nits: [], lints: {}, errors: {} }
  const over = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  // A lint that returns because of the abort is too late: it is marked before the abort.
  const onAbort = () => {
    for (const name of Object.keys(lints ?? {})) report.lints[name] ??= 'out_of_budget'
    controller.abort()
  }
  const timer = setTimeout(onAbort, Math.min(budgetMs, 2 ** 31 - 1))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })

  const run = async (name: string, lint: Lint<I>): Promise<void> => {
    let found = 0
    const keep = (nit: LintFinding) => {
      if (controller.signal.aborted || found++ >= MOST) return
      const one = { ...nit, lint: name }
      report.nits.push(one)
      feed.push(one)
    }
    try {
      // Start only after the caller can read.
      await null
      const nits = await lint(input, { signal: controller.signal })
      if (nits && typeof nits === 'object' && Symbol.asyncIterator in nits) {
        for await (const nit of leavable(nits)) {
          keep(nit)
          if (controller.signal.aborted || found >= MOST) break
        }
      } else if (nits && typeof nits === 'object' && Symbol.iterator in nits) {
        for (const nit of nits) {
          keep(nit)
          if (found >= MOST) break
        }
      } else if (nits) keep(nits)
      report.lints[name] ??= 'done'
    } catch (error) {
      if (report.lints[name]) return
      report.lints[name] = 'failed'
      report.errors[name] = describe(error)
    }
  }
  const all = Object.entries(lints ?? {}).map(([name, lint]) => run(name, lint))
  const result = Promise.race([Promise.all(all), over]).then(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    onAbort()
    feed.end()
    return report
  })
  return { result, [Symbol.asyncIterator]: () => feed.read(() => onAbort()) }
}
