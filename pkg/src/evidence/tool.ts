/** A bundle as a tool: the orchestrating model calls it and receives all evidence at once. */
import { checkFunctions } from '../checks.js'
import { wrong } from '../errors.js'
import type { BundleToolOptions } from '../generated/evidence.js'
import { BUNDLE_TOOL_OPTIONS } from '../generated/rows.js'
import { readOptions, present } from '../options.js'
import { defineTool, type Tool } from '../tools/tools.js'
import { runBundle, type BundleRecording } from './bundle.js'
import { quietly } from '../shared/quietly.js'
import type { BundleEvent, EvidenceBundle } from './types.js'

export type { BundleToolOptions }

/** The hint for the orchestrating model; appended to the description of every bundle tool. */
export const BUNDLE_HINT =
  'Use `replicates[]` as ground evidence; treat `summary` as statistics. If disagreements ' +
  'exist, cite them by their `field` and justify your choice. Each replicate has an `id` ' +
  '(`replicateIds` in disagreements). The one marked `base` has its `data` in full; the ' +
  '`delta` of another is the JSON Patch that turns the base into it. `omitted` data ' +
  'was left out for length; a text that ends with `… (n characters)` was cut; `counts` says' +
  ' how much is shown.'

/** Caps on the result that the model reads. */
const LIMITS = { maxFields: 100, maxDiffs: 20, maxBytes: 32_768 }
/** Less than a tool's default of 30 seconds, so that the bundle ends with the results so far. */
const SECONDS = 25

/**
 * A tool for `runTurn` whose result is one evidence bundle in compact form: replicates as deltas;
 * by default at most 100 fields, 20 disagreements and 32 KiB (see `limits`), and 25 seconds (see
 * `budget`). While it runs, its events are `tool_progress` events of the turn, which the model
 * does not see.
 *
 * @throws TurnlockError `options.invalid`, `tool.invalid_schema`
 */
export function bundleTool(options: BundleToolOptions): Tool & { readonly name: string } {
  options = readOptions(options, BUNDLE_TOOL_OPTIONS)
  const {
    name,
    description,
    inputSchema = { type: 'object' },
    replicate,
    record,
    ...rest
  } = options
  const { readOnly, idempotent, dedupe, timeoutMs, ...given } = rest
  const settings = present(given)
  if (typeof name !== 'string' || !name) {
    throw wrong('name', 'a string that is not empty')
  }
  if (typeof replicate !== 'function') {
    throw wrong('replicate', 'a function')
  }
  checkFunctions({ record })
  const limits = { ...LIMITS, ...present(settings.limits ?? {}) }
  const budget = { seconds: SECONDS, ...present(settings.budget ?? {}) }
  const bundle = { compact: true, task: name, ...settings, limits, budget, source: name }
  // Report misuse now, not in the middle of a turn.
  const nothing = () => ({ data: null })
  runBundle({ ...bundle, replicate: nothing, signal: AbortSignal.abort() })
  const tool = defineTool({
    description: [description, BUNDLE_HINT].filter(Boolean).join('\n\n'),
    inputSchema,
    readOnly,
    idempotent,
    dedupe,
    timeoutMs: timeoutMs ?? budget.seconds * 1000 + 5000,
    // The bundle applies its own cap; metadata and matrix may exceed it.
    maxResultBytes: Math.max(65_536, 4 * limits.maxBytes),
    async execute(args: unknown, context): Promise<EvidenceBundle> {
      const { signal, report, reportUsage } = context
      const running = runBundle({
        ...bundle,
        signal,
        record: record != null,
        replicate: (context) => replicate(args, context),
      })
      for await (const event of running) report?.(progress(event))
      const result = await running.result
      if (running.recording) quietly(() => record?.(running.recording as BundleRecording, args))
      if (result.meta.usage) reportUsage?.(result.meta.usage)
      return result
    },
  })
  return { name, ...tool }
}

/** Leaves the bundle out of the progress event, because it is already the tool's result. */
function progress(event: BundleEvent): unknown {
  if (event.type !== 'bundle_ready') return event
  const { bundle, ...rest } = event
  const { stopped, usage, cost } = bundle.meta
  return { ...rest, stopped, usage, cost }
}
