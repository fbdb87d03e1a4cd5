/** Bundles: k replicates of one task, evidence computed from them, and one atomic result. */
import { answer, call, core, encode } from '../core.js'
import { TurnlockError } from '../errors.js'
import { Feed } from '../feed.js'
import type { Redact } from '../redact.js'
import type { JsonSchema, StandardSchema } from '../tools.js'
import { BundleDriver, type Fact, type RunReplicate } from './driver.js'
import { normalized, quietly, type EventManager } from './events.js'
import { strictJson } from './json.js'
import { redactEvent } from './redact.js'
import { replicateSchema } from './schema.js'
import type {
  BundleBudget,
  BundleEvent,
  BundleLimits,
  EvidenceBundle,
  Price,
  ReplicateLimits,
} from './types.js'

/** Settings shared by all replicates of a bundle. */
export interface BundleSettings {
  /** The task of the replicates. */
  task: string
  /** Maximum number of replicates, 1 to 128. @defaultValue 3 */
  k?: number
  /** Mean distance up to which replicates agree, 0 to 1. @defaultValue 0.2 */
  epsilon?: number
  /** JSON Pointers of fields that must be equal (one class) for an early stop. @defaultValue [] */
  must_agree?: string[]
  /**
   * The stop rule. `agreement`: mean distance within `epsilon`. `majority_lock`: further replicates
   * can no longer change the leading answer at any field of `must_agree`, or at any field if that
   * is empty. `never`: all replicates run. @defaultValue "agreement"
   */
  stop?: 'agreement' | 'majority_lock' | 'never'
  /** All different; missing seeds count up from the largest. @defaultValue [11, 23, 47] */
  seeds?: number[]
  /** Number of replicates to start with. @defaultValue 2; with `stop: "never"`, all */
  parallel?: number
  /** Maximum number of concurrent replicates. @defaultValue 6, the limit of edge runtimes */
  concurrency?: number
  /** Maximum further attempts after a replicate failed or was invalid. @defaultValue 0 */
  retries?: number
  /** JSON Schema with `x-compare`, `x-range`, `x-weight`, `x-key`, `ignore`, or Standard Schema. */
  schema?: JsonSchema | StandardSchema
  /** The schema for comparison, if a Standard Schema cannot be converted to JSON Schema. */
  jsonSchema?: JsonSchema
  schemaUri?: string
  schemaVersion?: string
  /** Whether a member that is `null` counts as absent. @defaultValue false */
  null_is_missing?: boolean
  /** One for each of the `k` replicates; adds `confidence_weighted` to the summary. */
  weights?: number[]
  /** @defaultValue no cap */
  limits?: BundleLimits
  perReplicate?: ReplicateLimits
  budget?: BundleBudget
  /** Prices by model name; `*` applies to every other model. */
  prices?: Record<string, Price>
  /** JSON Pointers of members to show; computations use all. @defaultValue everything */
  fields?: string[]
  /** `provider:model@version`, for `meta` and prices. */
  model?: string
  /** `metadata.source` of every event. @defaultValue `task` */
  source?: string
  /** Replicates as deltas, numbers with six decimals. @defaultValue false; `bundleTool`: true */
  compact?: boolean
  /** Receives every text of replicates before an event or the bundle is delivered. */
  redact?: Redact
  /** Receives the events under normalized names. */
  eventManager?: EventManager
}

/** The options of `runBundle`. */
export interface RunBundleOptions extends BundleSettings {
  /** Runs one replicate. If it throws or its data has no JSON form, the replicate is invalid. */
  replicate: RunReplicate
  /** Cancels the bundle, which then contains the results so far. */
  signal?: AbortSignal
  /** Whether to record what `replayBundle` needs, with unredacted data. @defaultValue false */
  record?: boolean
}

/** All inputs to the core. Contains data before redaction. */
export interface BundleRecording {
  version: 1
  options: string
  facts: Fact[]
}

/** A running bundle. Iterate over its events, or await its result, or both. */
export interface RunningBundle extends AsyncIterable<BundleEvent> {
  /** Resolves with the bundle, even if replicates fail. Rejects only with `core.fault`. */
  readonly result: Promise<EvidenceBundle>
  /** Ends the bundle with the results so far and aborts the signals of running replicates. */
  cancel(reason?: string): void
  /** With `record`: complete once the result has settled. */
  readonly recording: BundleRecording | undefined
}

/**
 * Runs replicates until they agree, all have run, or a budget is spent.
 *
 * Two start at once; a third runs only if they differ (or one is invalid). Iteration throws only
 * `core.fault`. Leaving it with `break` cancels the bundle.
 *
 * @throws TurnlockError `options.invalid` with the option in its message, before anything is
 * started; `core.load`
 */
export function runBundle(options: RunBundleOptions): RunningBundle {
  return new Running(options)
}

/** The options for the core, as JSON. */
function coreOptions(options: BundleSettings, schema: JsonSchema | undefined): string {
  const { replicate, signal, record, redact, eventManager, jsonSchema, ...own } =
    options as RunBundleOptions
  for (const name of Object.keys(own)) {
    if (!KNOWN.has(name)) {
      throw new TurnlockError('options.invalid', `\`${name}\`: expected an option that exists`)
    }
  }
  try {
    return strictJson({ ...own, schema })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new TurnlockError('options.invalid', `\`options\`: ${why}`)
  }
}

const KNOWN = new Set<string>([
  ...['task', 'k', 'epsilon', 'must_agree', 'stop', 'seeds', 'parallel', 'concurrency', 'retries'],
  ...['schema', 'schemaUri', 'schemaVersion', 'null_is_missing', 'weights', 'limits', 'fields'],
  ...['perReplicate', 'budget', 'prices', 'model', 'source', 'compact'],
])

class Running implements RunningBundle {
  readonly result: Promise<EvidenceBundle>
  readonly recording: BundleRecording | undefined
  readonly #driver: BundleDriver
  readonly #feed = new Feed<BundleEvent>()
  readonly #options: RunBundleOptions
  #settle!: (bundle: EvidenceBundle) => void
  #fail!: (error: TurnlockError) => void
  #forget: () => void = () => {}

  constructor(options: RunBundleOptions) {
    const { replicate, signal, record = false } = options ?? {}
    if (typeof replicate !== 'function') {
      throw new TurnlockError('options.invalid', '`replicate`: expected a function')
    }
    const schema = replicateSchema(options.schema, options.jsonSchema)
    const text = coreOptions(options, schema.json)
    this.#options = options
    this.result = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
    })
    // The events report the error too, so the promise may stay unhandled.
    this.result.catch(() => {})
    this.#driver = new BundleDriver(
      {
        ...{ schema, replicate: (context) => replicate(context) },
        onEvent: (event) => this.#show(event),
        onDone: () => this.#finish(),
        onFault: (error) => this.#fault(error),
      },
      text,
      record,
    )
    if (record) this.recording = { version: 1, options: text, facts: this.#driver.facts }
    const onAbort = () => this.cancel(abortReason(signal))
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#forget = () => signal?.removeEventListener('abort', onAbort)
    this.#driver.send({ type: 'start' })
    if (signal?.aborted) onAbort()
  }

  cancel(reason = 'cancelled by the host'): void {
    this.#driver.send({ type: 'cancel', reason: String(reason) })
  }

  [Symbol.asyncIterator](): AsyncGenerator<BundleEvent, void, undefined> {
    return this.#feed.read(() => this.cancel('the reader left'))
  }

  #show(raw: BundleEvent): void {
    const { redact, eventManager } = this.#options
    const event = redactEvent(raw, redact)
    this.#feed.push(event)
    if (eventManager) normalized(event, eventManager)
    if (event.type === 'bundle_ready') this.#settle(event.bundle)
  }

  #finish(): void {
    this.#forget()
    this.#feed.end()
  }

  #fault(error: TurnlockError): void {
    const { task, source = task, eventManager } = this.#options
    const { code, message } = error
    quietly(() => eventManager?.on_error?.({ task, metadata: { source }, code, message }))
    this.#forget()
    this.#fail(error)
    this.#feed.end(error)
  }
}

function abortReason(signal: AbortSignal | undefined): string {
  const reason: unknown = signal?.reason
  if (typeof reason === 'string') return reason
  return reason instanceof Error && reason.message ? reason.message : 'aborted'
}

/**
 * Replays a recorded bundle without running replicates. The events and the bundle are the same,
 * byte for byte.
 *
 * @param options the `redact` of the recorded run, to get the same output
 * @throws TurnlockError `options.invalid` if `recording` is not a recording
 */
export function replayBundle(
  recording: BundleRecording,
  options: { redact?: Redact } = {},
): { events: BundleEvent[]; result: EvidenceBundle } {
  const { version, options: text, facts } = recording ?? {}
  if (version !== 1 || typeof text !== 'string' || !Array.isArray(facts)) {
    throw new TurnlockError('options.invalid', '`recording`: expected one of version 1')
  }
  const on = core()
  const made = encode(text)
  const handle = Number(answer(call(on, (glue) => glue.bundle_new(made))))
  const events: BundleEvent[] = []
  try {
    for (const [at, input, data] of facts) {
      const [bytes, own] = [encode(input), encode(data ?? '')]
      const said = answer(call(on, (glue) => glue.bundle_handle(handle, at, bytes, own)))
      const effects =
        said === '' ? [] : (JSON.parse(said) as { type: string; event: BundleEvent }[])
      for (const { type, event } of effects) {
        if (type === 'emit') events.push(redactEvent(event, options.redact))
      }
    }
  } finally {
    call(on, (glue) => glue.bundle_free(handle))
  }
  const last = events.at(-1)
  if (last?.type !== 'bundle_ready') {
    throw new TurnlockError('options.invalid', '`recording`: expected one of a bundle that ended')
  }
  return { events, result: last.bundle }
}
