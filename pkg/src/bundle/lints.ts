/** The lint lane: quick checks beside the work, on a small budget of their own. They never gate. */
import { TurnlockError } from '../errors.js'
import { Feed } from '../feed.js'
import { describe } from '../serialize.js'

/** Something small that could be better. */
export interface Nit {
  message: string
  /** JSON Pointer into the input, or whatever the lint calls a place. */
  field?: string
  severity?: 'info' | 'warning' | 'error'
}

/** A nit with the lint that found it. */
export type FoundNit = Nit & { lint: string }

type Nits = Iterable<Nit> | AsyncIterable<Nit> | Nit | null | undefined

/** A check. It may answer at once, later, or one nit at a time. */
export type Lint<I> = (input: I, context: { signal: AbortSignal }) => Nits | Promise<Nits>

export interface RunLintsOptions<I> {
  lints: Record<string, Lint<I>>
  input: I
  /** Milliseconds of all together. @defaultValue 200 */
  budgetMs?: number
  signal?: AbortSignal
}

/** What came of the lints. */
export interface LintReport {
  nits: FoundNit[]
  /** How each lint ended. */
  lints: Record<string, 'done' | 'failed' | 'out_of_budget'>
  /** What a lint threw. */
  errors: Record<string, string>
}

/** Nits as they are found; `result` when all lints are done or the budget is spent. Never rejects. */
export interface RunningLints extends AsyncIterable<FoundNit> {
  readonly result: Promise<LintReport>
}

/** Nits of one lint that are kept. */
const MOST = 100

/**
 * Runs lints beside each other. A lint that throws or takes too long ends alone.
 *
 * @throws TurnlockError `options.invalid`
 */
export function runLints<I>(options: RunLintsOptions<I>): RunningLints {
  const { lints, input, budgetMs = 200, signal } = options
  if (!(budgetMs > 0))
    throw new TurnlockError('options.invalid', '`budgetMs`: expected a number above 0')
  for (const [name, lint] of Object.entries(lints ?? {})) {
    if (typeof lint === 'function') continue
    throw new TurnlockError('options.invalid', `\`lints.${name}\`: expected a function`)
  }
  const controller = new AbortController()
  const feed = new Feed<FoundNit>()
  const report: LintReport = { nits: feed.items, lints: {}, errors: {} }
  const over = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true })
  })
  // Whoever answers because it was told is too late.
  const onAbort = () => {
    for (const name of Object.keys(lints ?? {})) report.lints[name] ??= 'out_of_budget'
    controller.abort()
  }
  const timer = setTimeout(onAbort, Math.min(budgetMs, 2 ** 31 - 1))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })

  const run = async (name: string, lint: Lint<I>): Promise<void> => {
    let found = 0
    const keep = (nit: Nit) => {
      if (!controller.signal.aborted && found++ < MOST) feed.push({ ...nit, lint: name })
    }
    try {
      // Not before the caller can read.
      await null
      const nits = await lint(input, { signal: controller.signal })
      if (nits && typeof nits === 'object' && Symbol.asyncIterator in nits) {
        for await (const nit of nits) {
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
