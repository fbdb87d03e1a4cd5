/** Runs a turn in a page or a worker. */
import type { DurableGlue, TurnGlue } from '../core/glue.js'
import { answer, encode, LazyPart } from '../core/instance.js'
import { checkFunctions, checkValues, isObject } from '../checks.js'
import { Driver, type Kind } from '../driver/driver.js'
import { TurnlockError, wrong } from '../errors.js'
import { eventResponse, readable, textOf } from '../shared/events.js'
import type { EventResponseInit } from '../shared/sse.js'
import { Feed, packed } from '../driver/feed.js'
import type { ToolSpec } from '../generated/common.js'
import { PLAIN_DIALECTS, TURN_OPTIONS } from '../generated/checks.js'
import { RUN_TURN_OPTIONS } from '../generated/rows.js'
import type { RunTurnOptions, TurnInput, TurnOptions } from '../generated/turn.js'
import { keepOptions, turnKey } from './kept.js'
import { fallbackOptions, turnModelOptions, type Model } from '../models/model.js'
import { present, readOptions } from '../options.js'
import { randomHex, randomId } from '../shared/random.js'
import type { CallOutcome } from './resume.js'
import { abortReason } from '../shared/serialize.js'
import { stringify } from '../shared/text.js'
import { checkStore, type Store } from '../stores/store.js'
import { answerOf } from '../tools/tools.js'
import type { AnswerSchema, Args, JsonSchema, StandardSchema, Tool } from '../tools/tools.js'
import type { ToolResultOf, ToolSet } from '../tools/results.js'
import type { ToolResult, TraceEvent, TurnEvent, TurnResult } from '../types.js'

export type { RunTurnOptions }

/** What a turn that paused waits for, as its event `paused` says it. */
type Waiting = Pick<Extract<TurnEvent, { type: 'paused' }>, 'resume' | 'calls' | 'approvals'>

/**
 * The end of a turn: one that failed has its `error`, one that is complete the `object` of its schema,
 * one that paused what it waits for.
 */
export type TurnEnd<Answer = unknown, Result extends ToolResult = ToolResult> = Omit<
  TurnResult,
  'toolResults' | 'object'
> & { toolResults: Result[] } & (
    | { status: 'complete'; object: Answer }
    | { status: 'failed'; error: NonNullable<TurnResult['error']>; object?: undefined }
    | ({ status: 'paused'; object?: undefined } & Waiting)
    | { status: 'cancelled'; object?: undefined }
  )

/**
 * A running turn. Iterate over its events, or await its result, or both. `Answer` is what
 * `answerSchema` accepts, `Result` a result of its tools.
 */
export interface Turn<Answer = unknown, Result extends ToolResult = ToolResult> extends TurnOf<
  TurnEnd<Answer, Result>
> {}

/** A running turn with this end. */
export interface TurnOf<End> extends AsyncIterable<TurnEvent> {
  readonly requestId: string
  /** Settles when the turn has ended. Never rejects. */
  readonly result: Promise<End>
  /**
   * The text alone, as it comes. Each reader has it from the first piece on, and its end is that of the
   * turn; what went wrong is in `result`. Leaving it is leaving the turn's iteration.
   */
  readonly textStream: AsyncIterable<string>
  /** Ends the turn: aborts the model request and the signals of tools. */
  cancel(reason?: string): void
  /** Ends the turn as `paused` after the tool results. A turn that is answering completes. */
  pause(): void
  /**
   * The events as objects. Cancelling the stream cancels the turn. A slow reader holds the model's
   * response back.
   */
  toReadableStream(): ReadableStream<TurnEvent>
  /** The events as `text/event-stream`: `id:` is `seq`, `data:` one line of JSON. */
  toResponse(init?: EventResponseInit): Response
}

/**
 * Runs one turn.
 *
 * Iterating never throws and `result` never rejects: a failure is the terminal event `error`.
 * Leaving the iteration with `break` cancels the turn.
 *
 * What only the core sees is the terminal event: `message.unknown_shape`, `json.*`, `dialect.*`,
 * and `core.load` or `core.unavailable` where the core cannot be loaded.
 *
 * @throws TurnlockError for misuse: `options.invalid`, `tool.invalid_name`, `tool.invalid_schema`,
 * `store.unsupported`
 */
export function runTurn<const S extends JsonSchema | StandardSchema, T extends ToolSet = ToolSet>(
  options: RunTurnOptions & { answerSchema: S; tools?: T | undefined },
): Turn<Args<S>, ToolResultOf<T>>
export function runTurn<T extends ToolSet = ToolSet>(
  options: RunTurnOptions & { tools?: T | undefined },
): Turn<unknown, ToolResultOf<T>>
export function runTurn(options: RunTurnOptions): Turn {
  options = readOptions(options, RUN_TURN_OPTIONS)
  const { model, tools, policy, mode, messages, store, tenant = '', keep } = options
  const { projectId, conversationId, strategy, signal, fallbacks, system } = options
  checkModel(model)
  checkFallbacks(fallbacks)
  turnKey(tenant, 'any')
  if (store !== undefined) checkStore(store)
  else if (keep) throw wrong('keep', 'a store with it')
  else if (Object.values(tools ?? {}).some((tool) => tool?.needsApproval || tool?.page)) {
    throw wrong('store', 'a store, in which the turn can wait')
  }
  const requestId = options.requestId ?? randomId()
  const answer = answerOf(options.answerSchema)
  const turn = new RunningTurn({
    model,
    fallbacks,
    tools,
    requestId,
    projectId,
    conversationId,
    store,
    tenant,
    signal,
    onTrace: tracer(options),
    answer,
    redact: options.redact,
  })
  const coreOptions: CoreOptions = {
    ...turnModelOptions(model),
    ...fallbackOptions(fallbacks),
    repairOnError: options.repairOnError,
    mode,
    policy,
    messages,
    system,
    answerSchema: answer?.schema,
    requestId,
    projectId: projectId ?? undefined,
    conversationId,
    strategy,
    previousResponseId: options.previousResponseId,
    ...(options.boxSecret !== undefined && { boxSecret: checkBoxSecret(options.boxSecret) }),
    tools: wireTools(tools),
    ...(store && { keep: keepOptions(tenant, store, keep) }),
  }
  checkTurn(coreOptions)
  if (strategy === 'thread') {
    if (model.threads !== true) throw wrong('strategy', THREAD)
    if (fallbacks?.length) throw wrong('fallbacks', 'none with the strategy thread')
  }
  turn.begin(false, coreOptions)
  return turn
}

/** Returns a secret for boxes that is long enough. */
export function checkBoxSecret(secret: unknown): string {
  if (typeof secret === 'string' && secret.length >= 32) return secret
  throw wrong('boxSecret', 'at least 32 characters of randomness')
}

export const THREAD = 'reconstruct, or thread with a conversationId and a model that keeps threads'

/** Throws for what the core would refuse of a turn's options, except a history that it cannot read. */
export function checkTurn(options: CoreOptions): void {
  checkValues(options, TURN_OPTIONS)
  const { messages, requestId, policy, keep, body, tools, answerSchema } = options
  if (policy?.pauseAfterTools && !keep) {
    throw wrong('policy.pauseAfterTools', 'a store: the turn is resumed from it')
  }
  if (policy?.maxCost != null && !policy.prices) {
    throw wrong('policy.maxCost', '`policy.prices` beside it')
  }
  if (!isObject(body ?? {})) throw wrong('body', 'an object')
  if (!isObject(answerSchema ?? {})) throw wrong('answerSchema', 'a JSON Schema, an object')
  if (!messages?.length) throw wrong('messages', 'at least one message')
  if (!requestId) throw wrong('requestId', 'a string that is not empty')
  const { strategy = 'reconstruct', conversationId } = options
  if (strategy === 'text_only' || (strategy === 'thread' && !conversationId)) {
    throw wrong('strategy', THREAD)
  }
  const isKept = strategy === 'thread' && options.dialect === 'openai-responses'
  if (options.previousResponseId != null && !isKept) {
    throw wrong('previousResponseId', 'none without the strategy thread and the Responses API')
  }
  if (isKept && (body as { store?: unknown } | null)?.store === false) {
    throw wrong('body.store', 'true with the strategy thread')
  }
  const toolNames = new Set(tools?.map(({ name }) => name))
  const actionTools: unknown = policy?.actionTools ?? []
  const isKnown = Array.isArray(actionTools)
    ? actionTools.every((name) => toolNames.has(name as string))
    : actionTools === 'readOnly' || actionTools === '*'
  if (!isKnown) throw wrong('policy.actionTools', 'names of tools of this turn, readOnly or *')
  // A live owner commits three times per lease. Its claims must not expire between commits.
  if ((keep?.ttlMs ?? 86_400_000) < (keep?.leaseMs ?? 15_000))
    throw wrong('keep.ttlMs', 'at least as long as keep.leaseMs')
}

/** The common options of all ways to run a turn. */
type TurnHost = Partial<
  Pick<
    RunTurnOptions,
    'model' | 'fallbacks' | 'tools' | 'store' | 'tenant' | 'signal' | 'onTrace' | 'redact'
  > &
    Pick<RunTurnOptions, 'projectId' | 'conversationId'>
> & {
  requestId: string
  /** With `redact`: the events before a resume. */
  before?: Promise<TurnEvent[]> | undefined
  outcomes?: readonly CallOutcome[] | undefined
  answer?: AnswerSchema | undefined
}

/** The `onTrace` of options, called as their method, with what `redact` shows. */
export function tracer(
  options: Pick<RunTurnOptions, 'onTrace' | 'redact'>,
): RunTurnOptions['onTrace'] {
  const { onTrace, redact } = options
  checkFunctions({ onTrace })
  return onTrace && ((event) => onTrace.call(options, redact?.trace(event) ?? event))
}

/** The core's options of a turn, but for those that all turns have. */
export type CoreOptions = Partial<TurnOptions> & { resume?: unknown }

const unkept = new LazyPart<TurnGlue>(async () => (await import('../core/parts/turn.js')).turn)
const durablePart = new LazyPart<DurableGlue>(
  async () => (await import('../core/parts/durable.js')).durable,
)

/** What only histories have that instruct the model, or that replace themselves. */
const INSTRUCTS = /system|developer|additional_tools|messages_snapshot|remove/i

/**
 * Returns messages of a client with every system and developer message as a message of the user, in any
 * shape that a turn reads, and without items that declare tools.
 *
 * @throws TurnlockError `json.*` for messages that no turn would read
 */
export async function demoteInstructions(messages: unknown[]): Promise<unknown[]> {
  const text = stringify(messages)
  if (!INSTRUCTS.test(text)) return messages
  const part = await durablePart.load()
  return JSON.parse(answer(part.call((glue) => glue.turn_demote(encode(text))))) as unknown[]
}

/** Any turn. */
const ANY: Kind<TurnGlue> = {
  parts: [durablePart],
  make: (glue, options) => glue.turn_new(options),
}
/** A turn that the small part probably runs; it leaves it to the other one if not. */
const PLAIN: Kind<TurnGlue> = { ...ANY, parts: [unkept, durablePart] }
/** A turn that a store has. */
const RESTORED: Kind<DurableGlue> = {
  parts: [durablePart],
  make: (glue, options) => glue.turn_restore(options),
}

/** Whether to ask the small part first. It decides itself, but a page need not load it in vain. */
function seemsPlain({ keep, fallbacks, dialect, messages = [] }: CoreOptions): boolean {
  if (keep || fallbacks || !PLAIN_DIALECTS.includes(dialect ?? '')) return false
  try {
    return messages.every((one) => isObject(one) && 'role' in one && !('parts' in one))
  } catch {
    return false // An object that throws when it is looked at; it has no JSON either.
  }
}

/** A turn that may still wait for its driver. */
export class RunningTurn implements Turn {
  readonly requestId: string
  readonly result: Promise<TurnEnd>
  readonly #host: TurnHost
  readonly #feed = new Feed<TurnEvent>(packed)
  #driver: Pick<Driver, 'send'> | undefined
  #over = false
  /** Inputs that arrived before there was a driver. */
  #early: TurnInput[] = []
  #settle!: (result: TurnEnd) => void
  #forget: () => void = () => {}

  /** @throws TurnlockError `options.invalid` */
  constructor(host: TurnHost) {
    const { signal, redact } = host
    if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
      throw wrong('signal', 'an AbortSignal')
    }
    if (redact != null && typeof redact.events !== 'function') throw wrong('redact', 'a redactor')
    this.#host = host
    this.requestId = host.requestId
    this.result = new Promise((resolve) => (this.#settle = resolve))
  }

  /**
   * Makes the core's turn and starts it. What the core refuses is the turn's terminal event.
   */
  begin(restored: boolean, options: CoreOptions): void {
    const host = this.#host
    const { store, signal, onTrace } = host
    const driver = new Driver(
      {
        ...host,
        tools: host.tools ?? {},
        projectId: host.projectId ?? null,
        turn: store && turnKey(host.tenant ?? '', host.requestId),
        onEvent: (event) => this.#feed.push(event),
        room: () => this.#feed.room(),
        onDone: (result, object) =>
          this.#finish('object' in result && object !== undefined ? { ...result, object } : result),
        onFault: (error) => this.fail(error),
      },
      restored ? RESTORED : seemsPlain(options) ? PLAIN : ANY,
      {
        ...options,
        secret: randomHex(32),
        ...(onTrace && { trace: true, startedAt: Date.now() }),
      },
    )
    this.#driver = driver
    const onAbort = () => this.cancel(abortReason(signal))
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#forget = () => signal?.removeEventListener('abort', onAbort)
    driver.send({ type: 'start' })
    for (const input of this.#early) driver.send(input)
    if (signal?.aborted) onAbort()
  }

  cancel(reason = 'cancelled by the host'): void {
    this.#send({ type: 'cancel', reason: String(reason) })
  }

  pause(): void {
    this.#send({ type: 'pause' })
  }

  #send(input: TurnInput): void {
    if (this.#driver) this.#driver.send(input)
    else this.#early.push(input)
  }

  [Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    return this.#read()
  }

  get textStream(): AsyncIterable<string> {
    return textOf(this)
  }

  toReadableStream(): ReadableStream<TurnEvent> {
    return readable(this.#read(true), this.#left)
  }

  readonly #left = () => this.cancel('the reader left')

  #read(stream?: boolean): AsyncGenerator<TurnEvent, void, undefined> {
    const events = this.#feed.read(this.#left, stream)
    return this.#host.redact?.events(events, this.#host.before) ?? events
  }

  toResponse(init: EventResponseInit = {}): Response {
    return eventResponse(this.toReadableStream(), init)
  }

  #finish(result: TurnResult): void {
    if (this.#over) return
    this.#over = true
    this.#forget()
    const last = result.status === 'paused' ? this.#feed.all().at(-1) : undefined
    if (last?.type === 'paused') {
      const { resume, calls, approvals } = last
      Object.assign(result, present({ resume, calls, approvals }))
    }
    this.#settle(result as TurnEnd)
    this.#feed.end()
  }

  /** Ends the turn without a core. The result is assembled from the events so far. */
  fail(error: TurnlockError, seq?: number): void {
    if (this.#over) return
    const { code, message } = error
    const none = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
    const events = this.#feed.all()
    const last = events.at(-1)
    const text = events.map((event) => (event.type === 'text' ? event.chunk : '')).join('')
    const of = (event: TurnEvent): ToolResult[] =>
      event.type === 'tool_results' ? event.toolResults : []
    this.#feed.push({
      type: 'error',
      phase: last?.phase ?? 'tool_phase',
      requestId: this.requestId,
      projectId: last?.projectId ?? null,
      toolBatchId: last?.toolBatchId ?? 0,
      seq: seq ?? (last?.seq ?? 0) + 1,
      code,
      message,
    })
    this.#finish({
      requestId: this.requestId,
      status: 'failed',
      text: text,
      fullContent: text,
      messages: [],
      toolResults: events.flatMap(of),
      blockedSignatures: [],
      repeats: {},
      inferences: 0,
      usage: none,
      totalUsage: none,
      repairs: [],
      error: { code, message },
    })
  }
}

const isModel = (one: unknown) => typeof (one as Model | undefined)?.open === 'function'

/** @throws TurnlockError `options.invalid` */
export function checkModel(model: unknown): asserts model is Model {
  if (!isModel(model)) {
    throw wrong('model', 'a model, such as openaiChat(…)')
  }
}

/** @throws TurnlockError `options.invalid` */
export function checkFallbacks(models: unknown = []): void {
  if (!Array.isArray(models) || !models.every(isModel)) throw wrong('fallbacks', 'a list of models')
}

/** Tools in the core's format. */
export function wireTools(tools: Record<string, Tool> = {}): ToolSpec[] {
  if (!isObject(tools)) {
    throw wrong('tools', 'tools by name')
  }
  const names = new Set<string>()
  if (Object.keys(tools).length > 1024) throw wrong('tools', 'at most 1024')
  return Object.entries(tools).map(([name, tool]) => {
    checkName(name, names)
    if (typeof tool?.check !== 'function') {
      throw wrong(`tools.${name}`, 'a tool from defineTool')
    }
    const { description, inputSchema, readOnly, idempotent, dedupe, reuseMs } = tool
    const { timeoutMs, maxResultBytes, maxCalls, untrusted, reconcile, page } = tool
    if (reuseMs !== undefined && !readOnly) {
      throw wrong(`tools.${name}.reuseMs`, 'a tool that is readOnly')
    }
    return {
      name,
      description,
      inputSchema,
      readOnly,
      idempotent,
      dedupe,
      reuseMs,
      timeoutMs,
      maxResultBytes,
      maxCalls,
      untrusted,
      checks: true,
      ...(reconcile && { reconciles: true }),
      // To take its outcome once more does nothing.
      ...(page && { page, idempotent: true }),
    }
  })
}

/** Providers refuse other names, and a model could confuse two that differ only in case. */
function checkName(name: string, names: Set<string>): void {
  const no = (reason: string) =>
    new TurnlockError('tool.invalid_name', `tool \`${name}\`: ${reason}`)
  if (!/^[\w-]{1,64}$/.test(name)) throw no('expected 1 to 64 of A-Z, a-z, 0-9, _ and -')
  const plain = name.toLowerCase()
  if (names.has(plain)) throw no('another tool has this name')
  names.add(plain)
}
