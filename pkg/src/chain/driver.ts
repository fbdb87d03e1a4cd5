/**
 * Performs the effects of a chain (callbacks, timers, the cache) and sends their outcomes to the
 * core. It makes no decisions.
 *
 * @module
 */
import type { ChainGlue } from '../core/glue.js'
import { encode, LazyPart } from '../core/instance.js'
import { TurnlockError } from '../errors.js'
import type { ChainCallBody, ChainEffect, ChainInput } from '../generated/chain.js'
import { Loop } from '../driver/loop.js'
import { leavable, member } from '../shared/quietly.js'
import { describe, refuseEmptied } from '../shared/serialize.js'
import { stringify } from '../shared/text.js'
import { foundBy, piecesOf, textOf } from './text.js'
import type { ChainCache, ChainEvent, ChainResult, SpokenTurn } from './types.js'

/** A callback, by its name in the core. It returns a value, or text piece by piece. */
export type Callback = (context: Record<string, unknown>) => unknown

export interface ChainHost {
  callbacks: Record<string, Callback | undefined>
  cache: ChainCache | undefined
  onEvent(event: ChainEvent): void
  /** Resolves when the readers have caught up; `undefined` if they are not behind. */
  room(): Promise<void> | undefined
  onDone(result: ChainResult): void
  /** The core trapped; no event follows. */
  onFault(error: TurnlockError): void
}

const lazy = new LazyPart<ChainGlue>(async () => (await import('../core/parts/chain.js')).chain)

export class ChainDriver {
  readonly #host: ChainHost
  readonly #loop: Loop<ChainEffect, ChainGlue>
  readonly #calls = new Map<number, AbortController>()

  constructor(host: ChainHost, options: Record<string, unknown>) {
    this.#host = host
    const bytes = encode(stringify(options))
    this.#loop = new Loop(
      [lazy],
      {
        make: (glue) => glue.chain_new(bytes),
        bytes: bytes.length,
        deadline: (glue, handle) => glue.chain_deadline(handle),
        free: (glue, handle) => glue.chain_free(handle),
      },
      {
        perform: (effect) => this.#perform(effect),
        due: () => this.send({ type: 'timer' }),
        fault: (error) => {
          this.#close()
          host.onFault(error)
        },
      },
    )
  }

  /** Sends an input to the core. */
  send(input: ChainInput): void {
    const bytes = encode(JSON.stringify(input))
    const work = (glue: ChainGlue, handle: number) =>
      glue.chain_handle(handle, this.#loop.now(), bytes)
    this.#loop.tell(work, input.type === 'cancel')
  }

  #perform(effect: ChainEffect): void {
    switch (effect.type) {
      case 'emit':
        return this.#host.onEvent(effect.event)
      case 'call':
        return void this.#call(effect.call, effect.body)
      case 'abort':
        this.#calls.get(effect.call)?.abort(new DOMException(effect.reason, 'AbortError'))
        return void this.#calls.delete(effect.call)
      case 'remember':
        return void this.#remember(effect.key, effect.value)
      case 'done':
        this.#close()
        this.#host.onDone(effect.result)
        return this.#loop.free()
      default:
        effect satisfies never
    }
  }

  async #call(call: number, { type: kind, context }: ChainCallBody): Promise<void> {
    const controller = new AbortController()
    this.#calls.set(call, controller)
    const send = (input: ChainInput) => {
      // The core ignores late inputs; this avoids sending them.
      if (this.#calls.get(call) === controller) this.send(input)
    }
    let spent: number | undefined
    const spend = (more: number) => {
      spent = (spent ?? 0) + more
    }
    const cost = () => (typeof spent === 'number' ? spent : null)
    try {
      const { signal } = controller
      const made = await this.#made(kind, { ...context, signal, spend })
      const pieces = TEXTS.includes(kind) ? piecesOf(made) : undefined
      if (pieces) {
        // Only the text of a plan is not shown as it comes.
        let plan = kind === 'plan' ? '' : null
        for await (const piece of leavable(pieces)) {
          if (this.#calls.get(call) !== controller) return
          const text = textOf(piece, kind)
          if (plan === null) send({ type: 'chunk', call, text: text.slice(0, MOST_OF_PIECE) })
          else plan += text.slice(0, MOST_OF_PLAN)
          // Leaving the iteration ends the stream; the core refuses the plan for its length.
          if (plan !== null && plan.length >= MOST_OF_PLAN) break
          await this.#room(signal)
        }
        const isWhole = plan === null || plan.length < MOST_OF_PLAN
        const turn = made as Partial<SpokenTurn>
        if (turn.textStream && isWhole) textOf(await turn.result, kind)
        const value = JSON.stringify(plan?.slice(0, MOST_OF_PLAN) ?? null)
        send({ type: 'returned', call, value, cost: cost() })
      } else {
        // A plan may be an object, or stand in the text of a turn's result; a synthesis within a plan
        // may be any JSON.
        const isSaid = kind === 'plan' && typeof member(made, 'text') === 'string'
        const isFinal = kind === 'synthesize' && context.final
        const isText = isSaid || kind === 'answer' || isFinal
        const found = isText ? textOf(made, kind) : await foundBy(made, kind)
        const value = jsonOf(found)
        // The core would refuse it, too, and copies of it would take its size several times.
        if (value.length > MOST_OF_RESULT) {
          const message = `longer than ${MOST_OF_RESULT} bytes`
          throw new TurnlockError('chain.result_too_large', message)
        }
        send({ type: 'returned', call, value, cost: cost() })
      }
    } catch (error) {
      const code = member(error, 'code')
      send({
        type: 'failed',
        call,
        code: typeof code === 'string' ? code : `${kind}.threw`,
        message: describe(error),
        // A callback that returns no text, or too much, does so again.
        retryable: !FINAL.includes(code) && member(error, 'retryable') !== false,
        cost: cost(),
      })
    }
    if (this.#calls.get(call) === controller) this.#calls.delete(call)
  }

  /** Waits while the readers of a stream are far behind. */
  async #room(signal: AbortSignal): Promise<void> {
    for (let full = this.#host.room(); full && !signal.aborted; full = this.#host.room()) {
      let stop!: () => void
      const stopped = new Promise<void>((resolve) => (stop = resolve))
      signal.addEventListener('abort', stop, { once: true })
      await Promise.race([full, stopped])
      signal.removeEventListener('abort', stop)
    }
  }

  async #made(kind: string, context: Record<string, unknown>): Promise<unknown> {
    if (kind !== 'recall') return this.#host.callbacks[kind]?.(context)
    const key = String(context['key']).normalize('NFC')
    const entry = (await this.#host.cache?.get(key)) as
      { value: unknown; storedAt: number } | null | undefined
    return entry ? { value: entry.value, ageMs: Date.now() - entry.storedAt } : null
  }

  async #remember(key: string, value: unknown): Promise<void> {
    try {
      await this.#host.cache?.set(key.normalize('NFC'), { value, storedAt: Date.now() })
    } catch {
      // Without a cache entry, the search runs again.
    }
  }

  #close(): void {
    this.#loop.close()
    for (const controller of this.#calls.values()) controller.abort()
    this.#calls.clear()
  }
}

/** The JSON of what a function of the host returned; empty, which the core refuses, if it has none. */
function jsonOf(made: unknown): string {
  try {
    return JSON.stringify(made === undefined ? null : made, refuseEmptied) ?? ''
  } catch {
    return ''
  }
}

/** Failures of a callback that the next attempt would have, too. */
const FINAL: unknown[] = ['chain.invalid_result', 'chain.result_too_large']

/**
 * Characters of a plan from which on it is longer than `limits::PLAN_BYTES`.
 *
 * Limit | the text of a plan | characters | its stream is left
 */
const MOST_OF_PLAN = 256 * 1024 + 1

/**
 * Characters of a piece from which on it is longer than `limits::RESPONSE_BYTES`.
 *
 * Limit | a piece of an answer | characters | `chain.too_long`
 */
const MOST_OF_PIECE = 4 * 1024 * 1024 + 1

/**
 * Characters of the JSON that a callback returns; `limits::STEP_RESULT_BYTES`.
 *
 * Limit | the JSON that a callback of a chain returns | characters | `chain.result_too_large`
 */
const MOST_OF_RESULT = 1024 * 1024

/** Callbacks that may give a text in pieces; nobody else's are read. */
const TEXTS = ['answer', 'plan', 'synthesize']
