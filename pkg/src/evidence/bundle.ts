/** Bundles: k replicates of one task, evidence computed from them, and one atomic result. */
import { checkFunctions, checkSignal, checkValues } from '../checks.js'
import { TurnlockError, wrong } from '../errors.js'
import { closed, eventResponse, readable } from '../shared/events.js'
import type { EventResponseInit } from '../shared/sse.js'
import { Feed } from '../driver/feed.js'
import type { BundleSettings, CoreBundleOptions, RunBundleOptions } from '../generated/evidence.js'
import { CORE_BUNDLE_OPTIONS } from '../generated/checks.js'
import { RUN_BUNDLE_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import { quietly } from '../shared/quietly.js'
import { abortReason } from '../shared/serialize.js'
import type { JsonSchema } from '../tools/tools.js'
import { BundleDriver, type Fact } from './driver.js'
import { normalized } from './events.js'
import { strictJson } from './json.js'
import { arePointers, checkMustAgree } from './must-agree.js'
import { beforeCuts, redactEvent, whole } from './redact.js'
import { replicateSchema } from './schema.js'
import type { BundleEvent, EvidenceBundle } from './types.js'

export type { BundleSettings, RunBundleOptions }

/** All inputs to the core. Contains data before redaction. */
export interface BundleRecording {
  version: 1
  options: string
  facts: Fact[]
}

/** A running bundle. Iterate over its events, or await its result, or both. */
export interface RunningBundle extends AsyncIterable<BundleEvent> {
  /**
   * Resolves with the bundle, even if replicates fail. Rejects with `core.*`, or with
   * `options.invalid` for a schema that the core refuses; nothing is started then.
   */
  readonly result: Promise<EvidenceBundle>
  /** Ends the bundle with the results so far and aborts the signals of running replicates. */
  cancel(reason?: string): void
  /** The events as objects. Cancelling the stream cancels the bundle. */
  toReadableStream(): ReadableStream<BundleEvent>
  /**
   * The events as `text/event-stream`: `id:` is `seq`, `data:` one line of JSON. Where iterating
   * throws, the last event is `{ type: 'error', seq, code, message }`. A client that leaves cancels
   * the bundle.
   */
  toResponse(init?: EventResponseInit): Response
  /** With `record`: complete once the result has settled. */
  readonly recording: BundleRecording | undefined
}

/**
 * Runs replicates until they agree, all have run, or a budget is spent.
 *
 * Two start at once; a third runs only if they differ (or one is invalid). If `result` rejects,
 * iteration throws the same error. Leaving it with `break` cancels the bundle.
 *
 * @throws TurnlockError `options.invalid` with the option in its message, before anything is started
 */
export function runBundle(options: RunBundleOptions): RunningBundle {
  return new Running(options)
}

/** The most replicates of a bundle. */
const REPLICATES = 128

/** The options for the core, as JSON. */
function coreOptions(options: BundleSettings, schema: JsonSchema | undefined): string {
  const { replicate, signal, record, redact, eventManager, jsonSchema, ...own } =
    options as RunBundleOptions
  let text: string
  // Nothing is checked by a `jsonSchema` alone.
  const checked = options.schema !== undefined
  try {
    text = strictJson({ ...own, schema, checked })
  } catch (error) {
    throw new TurnlockError('options.invalid', `\`options\`: ${(error as TurnlockError).message}`)
  }
  checkBundle({ ...own, schema } as CoreBundleOptions)
  return text
}

/** Throws for what the core would refuse, except weights of a schema. */
export function checkBundle(own: CoreBundleOptions): void {
  checkValues(own, CORE_BUNDLE_OPTIONS)
  const { task, weights, prices, perReplicate, budget, strategies = [] } = own
  if (task === '') throw wrong('task', 'a string that is not empty')
  for (const [name, limits] of Object.entries({ perReplicate, budget })) {
    const seconds = limits?.seconds
    if (typeof seconds === 'number' && !(seconds > 0 && seconds < 1e9)) {
      throw wrong(`${name}.seconds`, 'seconds above 0')
    }
  }
  checkMustAgree(own.mustAgree)
  if (!arePointers(own.fields ?? [])) throw wrong('fields', 'JSON Pointers, such as "/label"')
  if (weights && (weights.length !== (own.k ?? 3) || weights.every((weight) => weight === 0))) {
    throw wrong('weights', 'a weight for each replicate, not all of them 0')
  }
  const labels = (strategies ?? []).map(({ label }) => label)
  if (labels.includes('') || new Set(labels).size < labels.length) {
    throw wrong('strategies', 'labels that are not empty, all different')
  }
  if (typeof budget?.cost === 'number' && !Object.keys(prices ?? {}).length) {
    throw wrong('budget.cost', '`prices` beside it')
  }
  const seeds = own.seeds ?? []
  // The core counts up from the largest.
  const whole = seeds.every((seed) => Number.isSafeInteger(seed) && seed < 2 ** 53 - REPLICATES)
  if (!whole || new Set(seeds).size < seeds.length) {
    throw wrong('seeds', 'whole numbers, all different')
  }
}

class Running implements RunningBundle {
  readonly result: Promise<EvidenceBundle>
  readonly recording: BundleRecording | undefined
  readonly #driver: BundleDriver
  readonly #feed = new Feed<BundleEvent>()
  readonly #options: RunBundleOptions
  #settle!: (bundle: EvidenceBundle) => void
  #fail!: (error: TurnlockError) => void
  #forget: () => void = () => {}
  #cancelled = false
  readonly #left = () => this.cancel('the reader left')

  constructor(options: RunBundleOptions) {
    options = readOptions(options, RUN_BUNDLE_OPTIONS)
    const { replicate, signal, record = false, eventManager } = options
    if (typeof replicate !== 'function') {
      throw wrong('replicate', 'a function')
    }
    checkFunctions({ redact: options.redact })
    checkSignal(signal)
    checkValues({ record }, { record: 'flag' })
    // A class may have the listeners, too.
    if (eventManager != null && Object(eventManager) !== eventManager) {
      throw wrong('eventManager', 'an object')
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
        schema,
        replicate: (context) => replicate(context),
        hide: beforeCuts(options),
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
    // A redaction may cancel the bundle whose reason it reads.
    if (this.#cancelled) return
    this.#cancelled = true
    this.#driver.send({ type: 'cancel', reason: whole(this.#options.redact)(String(reason)) })
  }

  [Symbol.asyncIterator](): AsyncGenerator<BundleEvent, void, undefined> {
    return this.#feed.read(this.#left)
  }

  toReadableStream(): ReadableStream<BundleEvent> {
    return readable(this.#feed.read(this.#left), this.#left)
  }

  toResponse(init?: EventResponseInit): Response {
    return eventResponse(readable(closed(this.#feed.read(this.#left)), this.#left), init)
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
