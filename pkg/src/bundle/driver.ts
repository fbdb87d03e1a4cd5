/**
 * Does what the machine of a bundle asks for: runs replicates, cancels them, waits. Decides
 * nothing.
 *
 * @module
 */
import { encode } from '../core.js'
import { Loop } from '../loop.js'
import type { TurnlockError } from '../errors.js'
import { describe } from '../serialize.js'
import { errorLine, strictJson } from './json.js'
import type { ReplicateSchema } from './schema.js'
import type { BundleEvent, ReportedUsage } from './types.js'

/** What a replicate is told. */
export interface ReplicateContext {
  /** `r1`, `r2`, … */
  id: string
  /** For the provider, where it takes one; a label anyway. */
  seed: number
  /** 1, and on with `retries`. */
  attempt: number
  /** Aborted when nobody waits any longer. Pass it on: to `fetch`, to `runTurn`. */
  signal: AbortSignal
  /** Says what was used so far, all of it: ceilings then hold while the replicate runs. */
  report(usage: ReportedUsage): void
}

/** What a replicate came to. */
export interface ReplicateResult {
  data: unknown
  usage?: ReportedUsage
  /** Where it differs from the bundle's, for prices. */
  model?: string
}

export type RunReplicate = (context: ReplicateContext) => Promise<ReplicateResult> | ReplicateResult

export interface BundleHost {
  replicate: RunReplicate
  schema: ReplicateSchema
  onEvent(event: BundleEvent): void
  /** Nothing follows. */
  onDone(): void
  /** The core trapped; nothing follows. */
  onFault(error: TurnlockError): void
}

type Effect =
  | Run
  | { type: 'cancel'; replicate: number; reason: string }
  | { type: 'emit'; event: BundleEvent }
  | { type: 'done' }

interface Run {
  type: 'run'
  replicate: number
  seed: number
  attempt: number
}

/** A fact as the core was told it: milliseconds since the start, JSON, data of a replicate. */
export type Fact = [at: number, input: string, data: string | null]

export class BundleDriver {
  readonly facts: Fact[] = []
  readonly #host: BundleHost
  readonly #loop: Loop<Effect>
  readonly #running = new Map<number, AbortController>()
  readonly #record: boolean

  /** @throws TurnlockError for options that the core refuses */
  constructor(host: BundleHost, options: string, record: boolean) {
    this.#host = host
    this.#record = record
    const origin = performance.now()
    const bytes = encode(options)
    this.#loop = new Loop(
      {
        make: (glue) => glue.bundle_new(bytes),
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

  /** Reports a fact. */
  send(input: Record<string, unknown>, data?: string): void {
    if (this.#loop.isOver) return
    // Whole milliseconds, so that a recording says exactly what the core was told.
    const at = Math.floor(this.#loop.now())
    const text = JSON.stringify(input)
    if (this.#record) this.facts.push([at, text, data ?? null])
    const [bytes, own] = [encode(text), encode(data ?? '')]
    this.#loop.tell((glue, handle) => glue.bundle_handle(handle, at, bytes, own))
  }

  #perform(effect: Effect): void {
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
    }
  }

  async #run({ replicate, seed, attempt }: Run): Promise<void> {
    const controller = new AbortController()
    this.#running.set(replicate, controller)
    const say = (type: string, own: Record<string, unknown>, data?: string) =>
      this.send({ type, replicate, attempt, ...own }, data)
    const context: ReplicateContext = {
      ...{ id: `r${replicate + 1}`, seed, attempt, signal: controller.signal },
      report: (usage) => say('usage', { usage: whole(usage) }),
    }
    let told: Record<string, unknown> = {}
    try {
      // Behind this effect others may wait, a second replicate among them.
      await null
      const result = await this.#host.replicate(context)
      const { data, usage, model } = result ?? {}
      told = { usage: whole(usage), ...(typeof model === 'string' && { model }) }
      // First as it is: a validator may not end on a cycle.
      strictJson(data)
      const verdict = await this.#host.schema.check(data)
      say('settled', { ...told, errors: verdict.errors }, strictJson(verdict.data))
    } catch (error) {
      const { details } = (error ?? {}) as { details?: { usage?: ReportedUsage } }
      const usage = told['usage'] ?? whole(details?.usage)
      say('settled', { ...told, usage, failed: errorLine(error, describe) })
    }
  }

  #close(): void {
    this.#loop.close()
    for (const controller of this.#running.values()) controller.abort()
    this.#running.clear()
  }
}

/** Whole numbers from 0 on; what is none is unknown. */
function whole(usage: ReportedUsage | undefined): ReportedUsage | null {
  if (typeof usage !== 'object' || usage === null) return null
  const fits = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => fits(value)))
}
