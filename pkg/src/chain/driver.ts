/**
 * Does what the core's chain asks for (a callback, a timer, the cache) and tells it what happened.
 * It decides nothing.
 *
 * @module
 */
import { answer, call, core, encode, type Core } from '../core.js'
import type { TurnlockError } from '../errors.js'
import { describe } from '../serialize.js'
import type { ChainCache, ChainEvent, ChainResult } from './types.js'

/** A callback by its name in the core; what it gives is a value, or text piece by piece. */
export type Callback = (context: Record<string, unknown>) => unknown

export interface ChainHost {
  callbacks: Record<string, Callback | undefined>
  cache: ChainCache | undefined
  onEvent(event: ChainEvent): void
  onDone(result: ChainResult): void
  /** The core trapped; nothing follows. */
  onFault(error: TurnlockError): void
}

type Effect =
  | { type: 'call'; call: number; kind: string; body: Record<string, unknown> }
  | { type: 'abort'; call: number; reason: string }
  | { type: 'remember'; key: string; value: unknown }
  | { type: 'emit'; event: ChainEvent }
  | { type: 'done'; result: ChainResult }

export class ChainDriver {
  readonly #host: ChainHost
  readonly #core: Core
  readonly #handle: number
  readonly #calls = new Map<number, AbortController>()
  readonly #queue: Effect[] = []
  #draining = false
  #over = false
  #timer: ReturnType<typeof setTimeout> | undefined

  /** @throws TurnlockError for options that the core refuses */
  constructor(host: ChainHost, options: Record<string, unknown>) {
    this.#host = host
    this.#core = core()
    const bytes = encode(JSON.stringify(options))
    this.#handle = Number(answer(call(this.#core, (glue) => glue.chain_new(bytes))))
    this.#core.onFault.add(this.#fault)
  }

  /** Reports a fact. */
  send(input: Record<string, unknown>): void {
    if (this.#over) return
    const bytes = encode(JSON.stringify(input))
    let text: string
    try {
      text = answer(
        call(this.#core, (glue) => glue.chain_handle(this.#handle, performance.now(), bytes)),
      )
    } catch {
      return // A trap: `#fault` has settled the chain.
    }
    if (text !== '') this.#queue.push(...(JSON.parse(text) as Effect[]))
    this.#drain()
  }

  /** Does the effects in order, those that a callback causes behind those already due. */
  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    for (let effect = this.#queue.shift(); effect; effect = this.#queue.shift()) {
      this.#perform(effect)
    }
    this.#draining = false
    if (!this.#over) this.#schedule()
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'emit':
        return this.#host.onEvent(effect.event)
      case 'call':
        return void this.#call(effect.call, effect.kind, effect.body)
      case 'abort':
        this.#calls.get(effect.call)?.abort(new DOMException(effect.reason, 'AbortError'))
        return void this.#calls.delete(effect.call)
      case 'remember':
        return void this.#remember(effect.key, effect.value)
      case 'done':
        this.#close()
        this.#host.onDone(effect.result)
        try {
          call(this.#core, (glue) => glue.chain_free(this.#handle))
        } catch {
          // The chain is over; the instance is replaced.
        }
    }
  }

  #schedule(): void {
    let due: number
    try {
      due = call(this.#core, (glue) => glue.chain_deadline(this.#handle))
    } catch {
      return // A trap: `#fault` has settled the chain.
    }
    clearTimeout(this.#timer)
    if (Number.isNaN(due)) return
    const wait = Math.max(0, due - performance.now())
    this.#timer = setTimeout(() => this.send({ type: 'timer' }), wait)
  }

  async #call(id: number, kind: string, body: Record<string, unknown>): Promise<void> {
    const controller = new AbortController()
    this.#calls.set(id, controller)
    const say = (type: string, own: Record<string, unknown>) => {
      // The core drops what comes late; this spares the way there.
      if (this.#calls.get(id) === controller) this.send({ type, call: id, ...own })
    }
    let cost: number | undefined
    const spend = (more: number) => {
      cost = (cost ?? 0) + more
    }
    try {
      const made = await this.#made(kind, { ...body, signal: controller.signal, spend })
      if (isIterable(made)) {
        for await (const text of made) {
          if (this.#calls.get(id) !== controller) return
          say('chunk', { text: String(text) })
        }
        say('returned', { value: 'null', cost })
      } else {
        const said = (made as { cost?: unknown } | null)?.cost
        if (cost === undefined && typeof said === 'number') cost = said
        say('returned', { value: JSON.stringify(made) ?? 'null', cost })
      }
    } catch (error) {
      const { code, retryable } = (error ?? {}) as { code?: unknown; retryable?: unknown }
      say('failed', {
        code: typeof code === 'string' ? code : `${kind}.threw`,
        message: describe(error),
        retryable: retryable !== false,
        cost,
      })
    }
    if (this.#calls.get(id) === controller) this.#calls.delete(id)
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
      // What is not kept is looked up again.
    }
  }

  readonly #fault = (error: TurnlockError): void => {
    this.#close()
    this.#host.onFault(error)
  }

  #close(): void {
    this.#over = true
    this.#queue.length = 0
    this.#core.onFault.delete(this.#fault)
    clearTimeout(this.#timer)
    for (const controller of this.#calls.values()) controller.abort()
    this.#calls.clear()
  }
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value
