/** Runs a chain of steps for a complex query, in a page or a worker. */
import { checkFunctions, checkSignal, checkValues } from '../checks.js'
import { wrong } from '../errors.js'
import { eventResponse, readable } from '../shared/events.js'
import type { EventResponseInit } from '../shared/sse.js'
import { Feed, packed } from '../driver/feed.js'
import type { RunChainOptions } from '../generated/chain.js'
import { CHAIN_OPTIONS } from '../generated/checks.js'
import { RUN_CHAIN_OPTIONS } from '../generated/rows.js'
import { reading, readOptions } from '../options.js'
import { quietly } from '../shared/quietly.js'
import { abortReason } from '../shared/serialize.js'
import { ChainDriver, type Callback } from './driver.js'
import type { ChainEvent, ChainResult, StepResult } from './types.js'

export type { RunChainOptions }

/** A running chain. Iterate over its events, or await its result, or both. */
export interface Chain extends AsyncIterable<ChainEvent> {
  /** Settles when the chain is over. Never rejects. */
  readonly result: Promise<ChainResult>
  /** Ends the chain and aborts the signals of its callbacks. */
  cancel(reason?: string): void
  /**
   * The events as objects. Cancelling the stream cancels the chain. A slow reader holds the answer
   * back.
   */
  toReadableStream(): ReadableStream<ChainEvent>
  /**
   * The events as `text/event-stream`: `id:` is `seq`, `data:` one line of JSON. A client that
   * leaves cancels the chain.
   */
  toResponse(init?: EventResponseInit): Response
  /**
   * Records in `feedback` whether the user was satisfied. Counts once, if the chain ran a plan, also
   * if its steps found nothing.
   */
  feedback(satisfied: boolean): Promise<void>
}

/**
 * Answers a query: a simple one in one call, a complex one with a plan of steps.
 *
 * Iterating never throws and `result` never rejects. Leaving the iteration with `break` cancels
 * the chain.
 *
 * @throws TurnlockError for misuse: `options.invalid`
 */
export function runChain(options: RunChainOptions): Chain {
  return new RunningChain(options)
}

const NEEDED = ['answer', 'plan', 'search', 'synthesize'] as const
const HOOKS = ['assess', 'classify', 'condition', 'enhance', 'refine', 'replan'] as const
/** Hooks that are told a result, and its step. */
const OF_RESULTS = ['quality', 'summarizeResult'] as const
const OPTIONAL = [...HOOKS, ...OF_RESULTS]
/** Other options that hold functions: what they are, and the functions. */
const HELD = {
  cache: ['an object with `get` and `set`, such as a Map', 'get', 'set'],
  feedback: ['the result of `patternStats`', 'record', 'wire'],
  breaker: ['the result of `chainBreaker`', 'record'],
}

class RunningChain implements Chain {
  readonly result: Promise<ChainResult>
  readonly #feed = new Feed<ChainEvent>(packed)
  readonly #driver: ChainDriver
  readonly #options: RunChainOptions
  #settle!: (result: ChainResult) => void
  #forget = () => {}
  #rated = false
  readonly #left = () => this.cancel('the reader left')

  constructor(options: RunChainOptions) {
    options = readOptions(options, RUN_CHAIN_OPTIONS)
    this.#options = options
    this.result = new Promise((resolve) => (this.#settle = resolve))
    const { query, limits, costs, patterns, noResults, classifier, model, cache, signal } = options
    for (const name of NEEDED) {
      if (typeof options[name] !== 'function') {
        throw wrong(name, 'a function')
      }
    }
    const given = options as unknown as Record<string, Callback | undefined>
    checkHost(given)
    const names = [...NEEDED, ...HOOKS]
    const callbacks = Object.fromEntries(
      names.map((name) => [name, given[name]?.bind(options) as Callback | undefined]),
    )
    callbacks['refine'] ??= callbacks['search']
    for (const name of OF_RESULTS) {
      const own = options[name]?.bind(options)
      callbacks[name] = own && ((step) => own(step['result'], step as unknown as StepResult))
    }
    const hooks = Object.fromEntries(OPTIONAL.map((name) => [name, given[name] !== undefined]))
    const own = {
      query,
      limits,
      costs,
      patterns,
      noResults,
      classifier,
      model,
      ...rollout(options),
      broken: options.breaker?.open,
      hooks: { ...hooks, cache: cache !== undefined },
      learned: options.feedback?.wire(),
    }
    checkChain(own)
    this.#driver = new ChainDriver(
      {
        callbacks,
        cache,
        onEvent: (event) => this.#feed.push(event),
        room: () => this.#feed.room(),
        onDone: (result) => this.#finish(result),
        onFault: ({ code, message }) => this.#fail({ code, message }),
      },
      own,
    )
    const cancel = () => this.cancel(abortReason(signal))
    signal?.addEventListener('abort', cancel, { once: true })
    this.#forget = () => signal?.removeEventListener('abort', cancel)
    this.#driver.send({ type: 'start' })
    if (signal?.aborted) cancel()
  }

  cancel(reason = 'cancelled by the host'): void {
    this.#driver.send({ type: 'cancel', reason: String(reason) })
  }

  async feedback(satisfied: boolean): Promise<void> {
    const { plan, cost, durationMs } = await this.result
    if (this.#rated || !plan) return
    this.#rated = true
    const pattern = plan.pattern
    this.#options.feedback?.record({ pattern, success: satisfied, cost, ms: durationMs })
  }

  [Symbol.asyncIterator](): AsyncGenerator<ChainEvent, void, undefined> {
    return this.#feed.read(this.#left)
  }

  toReadableStream(): ReadableStream<ChainEvent> {
    return readable(this.#feed.read(this.#left, true), this.#left)
  }

  toResponse(init?: EventResponseInit): Response {
    return eventResponse(this.toReadableStream(), init)
  }

  #finish(result: ChainResult): void {
    quietly(() => this.#options.breaker?.record(result))
    this.#forget()
    this.#settle(result)
    this.#feed.end()
  }

  /** After a trap the core is gone, so the result is assembled from the events so far. */
  #fail(error: { code: string; message: string }): void {
    const events = this.#feed.all()
    const text = events.map((event) => (event.type === 'text' ? event.chunk : '')).join('')
    const planned = events.findLast((event) => 'plan' in event)
    const plan = planned && 'plan' in planned ? planned.plan : null
    const outcome = {
      status: 'failed' as const,
      path: plan ? ('chain' as const) : ('simple' as const),
      text,
      stopped: null,
      coverage: null,
      fellBack: null,
      cost: 0,
      durationMs: 0,
      error,
    }
    this.#feed.push({ type: 'complete', seq: (events.at(-1)?.seq ?? 0) + 1, ...outcome })
    this.#finish({
      ...outcome,
      classification: null,
      plan,
      steps: [],
      refinements: [],
      completeness: null,
    })
  }
}

/** Checks what the core never sees. `null` stands for what is not given. */
function checkHost(given: Record<string, unknown>): void {
  const hooks = OPTIONAL.map((name) => [name, given[name]])
  checkFunctions(Object.fromEntries(hooks) as Record<string, unknown>)
  for (const [name, [expected = '', ...members]] of Object.entries(HELD)) {
    const own = (given[name] ?? undefined) as Record<string, unknown> | undefined
    const fits = () => members.every((member) => typeof own?.[member] === 'function')
    if (own !== undefined && !reading(name, fits)) throw wrong(name, expected)
  }
  checkSignal(given['signal'] as AbortSignal | undefined)
}

/** Whether, and for which share of conversations, chains are enabled. */
function rollout({ enabled, query, conversationId }: RunChainOptions) {
  const ask = () => (typeof enabled === 'function' ? enabled({ query, conversationId }) : enabled)
  const own = reading('enabled', ask)
  if (own === undefined || typeof own === 'boolean') return { enabled: own, conversationId }
  if (typeof own === 'number' && own >= 0 && own <= 1) return { rollout: own, conversationId }
  quietly(() => own)
  throw wrong('enabled', 'true, false, a number from 0 to 1, or a function')
}

/** Throws for what the core would refuse of a chain's options. */
export function checkChain(
  own: Pick<RunChainOptions, 'query' | 'limits' | 'costs' | 'patterns'> & object,
): void {
  checkValues(own, CHAIN_OPTIONS)
  const { query, limits, costs, patterns } = own
  if (!query.trim()) throw wrong('query', 'a text')
  if (patterns && !patterns.length) {
    throw wrong('patterns', 'a list of sequential, parallel and conditional')
  }
  const reserve = Math.max(costs?.answer ?? 0, costs?.synthesize ?? 0)
  if ((limits?.maxCost ?? Infinity) < reserve) {
    throw wrong('limits.maxCost', 'at least the cost of the answer')
  }
}
