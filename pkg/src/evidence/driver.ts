/**
 * Performs the effects of a bundle: runs and cancels replicates, and sets timers. It makes no
 * decisions.
 *
 * @module
 */
import type { EvidenceGlue } from '../core/glue.js'
import { answer, encode, LazyPart } from '../core/instance.js'
import type {
  BundleEffect,
  BundleInput,
  BundleOutcome,
  BundleStrategy,
} from '../generated/evidence.js'
import type { ReplyRepair } from '../generated/common.js'
import { Loop } from '../driver/loop.js'
import { TurnlockError } from '../errors.js'
import { member } from '../shared/quietly.js'
import { deep, type Redact } from '../shared/redact.js'
import { errorLine, strictJson } from './json.js'
import type { ReplicateSchema } from './schema.js'
import type { BundleEvent, ReportedUsage } from './types.js'

/** The context of a replicate. */
export interface ReplicateContext {
  /** `r1`, `r2`, … */
  id: string
  /** A seed for providers that take one; always a label. */
  seed: number
  /** Its strategy, if the bundle has any. */
  strategy?: BundleStrategy | undefined
  /** From 1; higher only with `retries`. */
  attempt: number
  /** Aborted when the result is no longer needed. Pass it on: to `fetch`, to `runTurn`. */
  signal: AbortSignal
  /** With a schema: whether it accepts a value. */
  accepts?(data: unknown): Promise<boolean>
  /** Reports the total usage so far, so that limits apply while the replicate runs. */
  report(usage: ReportedUsage): void
}

/** The result of a replicate. */
export interface ReplicateResult {
  data: unknown
  usage?: ReportedUsage | undefined
  /** The model that was used, for `meta` and prices. Default: that of the strategy or the bundle. */
  model?: string | undefined
  /** Whether the seed could not be sent, for `meta`. */
  seedUnsent?: boolean | undefined
  /** What was dropped around the JSON of the model's answer, for `meta`. */
  repairs?: ReplyRepair[] | undefined
}

/** Runs one replicate. What it throws or rejects with is that replicate's failure. */
export type RunReplicate = (context: ReplicateContext) => Promise<ReplicateResult> | ReplicateResult

export interface BundleHost {
  replicate: RunReplicate
  schema: ReplicateSchema
  /** What the core is told of a text that it may cut: half of a secret is known to no redaction. */
  hide?: Redact | undefined
  onEvent(event: BundleEvent): void
  /** The bundle has ended; no event follows. */
  onDone(): void
  /** The core trapped; no event follows. */
  onFault(error: TurnlockError): void
}

type Run = Extract<BundleEffect, { type: 'run' }>

/** What an attempt used. */
type Used = Pick<
  Extract<BundleInput, { type: 'settled' }>,
  'usage' | 'model' | 'seed_unsent' | 'repairs'
>

/** An input as sent to the core: milliseconds since the start, JSON, data of a replicate. */
export type Fact = [at: number, input: string, data: string | null]

/** The part with the machines of bundles. */
export const machines = async () => lazy.ready ?? (await lazy.load())

const lazy = new LazyPart<EvidenceGlue>(
  async () => (await import('../core/parts/evidence.js')).evidence,
)

export class BundleDriver {
  readonly facts: Fact[] = []
  readonly #host: BundleHost
  readonly #loop: Loop<BundleEffect, EvidenceGlue>
  readonly #running = new Map<number, AbortController>()
  readonly #record: boolean

  constructor(host: BundleHost, options: string, record: boolean) {
    this.#host = host
    this.#record = record
    const origin = performance.now()
    const bytes = encode(options)
    this.#loop = new Loop(
      [lazy],
      {
        make: (glue) => glue.bundle_new(bytes),
        bytes: bytes.length,
        deadline: (glue, handle) => glue.bundle_deadline(handle),
        free: (glue, handle) => glue.bundle_free(handle),
      },
      {
        perform: (effect) => this.#perform(effect),
        now: () => performance.now() - origin,
        due: () => this.send({ type: 'timer' }),
        fault: (error) => {
          this.#close()
          host.onFault(error)
        },
      },
    )
  }

  /** Sends an input to the core. */
  send(input: BundleInput, data?: string): void {
    if (this.#loop.isOver) return
    // Whole milliseconds, so that a recording contains exactly what the core received.
    const at = Math.floor(this.#loop.now())
    const text = JSON.stringify(input)
    const [bytes, own] = [encode(text), encode(data ?? '')]
    const work = (glue: EvidenceGlue, handle: number) => {
      if (this.#record) this.facts.push([at, text, data ?? null])
      return glue.bundle_handle(handle, at, bytes, own)
    }
    this.#loop.tell(work, input.type === 'cancel')
  }

  #perform(effect: BundleEffect): void {
    switch (effect.type) {
      case 'emit':
        return this.#host.onEvent(effect.event)
      case 'run':
        return void this.#run(effect)
      case 'cancel':
        this.#running.get(effect.replicate)?.abort(new DOMException(effect.reason, 'AbortError'))
        return void this.#running.delete(effect.replicate)
      case 'done':
        this.#close()
        this.#loop.free()
        return this.#host.onDone()
      default:
        effect satisfies never
    }
  }

  async #run({ replicate, seed, attempt, strategy }: Run): Promise<void> {
    const controller = new AbortController()
    this.#running.set(replicate, controller)
    const settle = (used: Used, outcome: BundleOutcome, data?: string) =>
      this.send({ type: 'settled', replicate, attempt, ...used, ...outcome }, data)
    const context: ReplicateContext = {
      id: `r${replicate + 1}`,
      seed,
      attempt,
      signal: controller.signal,
      ...(strategy && { strategy }),
      ...(this.#host.schema.checked && {
        accepts: async (data) => (await this.#host.schema.check(data)).errors.length === 0,
      }),
      report: (usage) =>
        this.send({ type: 'usage', replicate, attempt, usage: whole(usage) ?? {} }),
    }
    let spent: Used = { usage: null }
    try {
      // Other effects may be queued after this one, for example to start a second replicate.
      await null
      // One of them has cancelled it: the bundle may be over.
      if (controller.signal.aborted) return
      const result = await this.#host.replicate(context)
      const { data } = result ?? {}
      spent = used(result)
      if (data === undefined) throw new TurnlockError('json.not_serializable', NO_DATA)
      // Serialize before validation, because a validator may not terminate on a cycle.
      strictJson(data)
      const verdict = await this.#host.schema.check(data)
      let [errors, json] = [verdict.errors, strictJson(verdict.data)]
      const { hide } = this.#host
      if (hide) [errors, json] = [errors.map(hide), JSON.stringify(deep(JSON.parse(json), hide))]
      settle(spent, { errors }, json)
    } catch (error) {
      const line = errorLine(error)
      const failed = this.#host.hide?.(line) ?? line
      if (!spent.usage) spent = { ...used(member(error, 'details')), ...known(spent) }
      settle(spent, { failed })
    }
  }

  #close(): void {
    this.#loop.close()
    for (const controller of this.#running.values()) controller.abort()
    this.#running.clear()
  }
}

const NO_DATA = 'expected `replicate` to return { data }'

/** What a replicate used, of its result or of the details of its error, as the core is told it. */
function used(by: unknown): Used {
  const model = member(by, 'model')
  return {
    usage: whole(member(by, 'usage')),
    ...(typeof model === 'string' && { model }),
    ...(member(by, 'seedUnsent') === true && { seed_unsent: true }),
    ...repaired(member(by, 'repairs')),
  }
}

const REPLY_REPAIRS: readonly ReplyRepair[] = [
  'byte_order_mark_dropped',
  'thinking_dropped',
  'fence_dropped',
  'words_dropped',
]

/** The known repairs of a reply, if there are any. */
function repaired(repairs: unknown): Pick<Used, 'repairs'> {
  const known = Array.isArray(repairs) ? REPLY_REPAIRS.filter((one) => repairs.includes(one)) : []
  return known.length ? { repairs: known } : {}
}

/** Without members that are null. */
const known = (used: Used): Partial<Used> =>
  Object.fromEntries(Object.entries(used).filter(([, value]) => value !== null))

/** Drops members that are not whole numbers of at least 0; their values count as unknown. */
function whole(usage: unknown): ReportedUsage | null {
  if (typeof usage !== 'object' || usage === null) return null
  const fits = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
  try {
    return Object.fromEntries(Object.entries(usage).filter(([, value]) => fits(value)))
  } catch {
    return null
  }
}
