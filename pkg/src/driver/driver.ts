/**
 * Performs the core's effects (fetch, run a tool, wait) and sends their outcomes to the core. It makes
 * no decisions. With `model-requests.ts`, the only module that does I/O for the core.
 *
 * @module
 */
import type { DrivenGlue } from '../core/glue.js'
import { encode, type LazyPart } from '../core/instance.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import type {
  ArgumentsVerdict,
  CommitReply,
  SettledCall,
  StoredOutcome,
  TurnEffect,
  TurnInput,
} from '../generated/turn.js'
import { Loop } from './loop.js'
import type { Model } from '../models/model.js'
import { quietly } from '../shared/quietly.js'
import { Requests } from './model-requests.js'
import {
  describe,
  isPlain,
  isSame,
  outcomeOf,
  reconciled,
  serialize,
  threw,
} from '../shared/serialize.js'
import type { CommitResult, Commit, Store } from '../stores/store.js'
import { stringify } from '../shared/text.js'
import type { AnswerSchema, Checked, Tool, ToolContext } from '../tools/tools.js'
import type { CallOutcome } from '../turn/resume.js'
import type { PhaseName, TraceEvent, TurnEvent, TurnResult } from '../types.js'

/** The parts of a turn or of a pass, and the receivers of its events. */
export interface Host<Result, Trace> {
  /** `undefined` if no model request will be sent. */
  model?: Model | undefined
  /** The models that are asked when it has failed. */
  fallbacks?: Model[] | undefined
  tools: Record<string, Tool>
  /** What answers must be like. */
  answer?: AnswerSchema | undefined
  store?: Store | undefined
  /** The turn's name in the store. */
  turn?: string | undefined
  requestId: string
  projectId: string | null
  conversationId?: string | undefined
  /** What a page has answered to calls of tools without `execute`. */
  outcomes?: readonly CallOutcome[] | undefined
  onEvent(event: TurnEvent): void
  /** Resolves when the readers have caught up; `undefined` if they are not behind. */
  room(): Promise<void> | undefined
  onTrace?: ((event: Trace) => void) | undefined
  /** `answer`: the validated one, as its validator returned it. */
  onDone(result: Result, answer: unknown): void
  /** The core could not be loaded, refused the options, or trapped; no event follows. */
  onFault(error: TurnlockError): void
}

/** Text events without the members that the driver adds; `seq` is that of the first. */
type Text = [phase: PhaseName, toolBatchId: number, seq: number, ...chunks: string[]]

/**
 * The number of the answer among the calls that are checked.
 *
 * Not a limit.
 */
const ANSWER = 0

/**
 * Where the chunks of {@link Text} begin.
 *
 * Not a limit.
 */
const CHUNKS = 3

type RunTool = Extract<TurnEffect, { type: 'run_tool' }>
type Reconcile = Extract<TurnEffect, { type: 'reconcile' }>

/**
 * Maximum bytes of one progress report of a tool.
 *
 * Limit | a progress report of a tool | bytes of JSON | it is dropped
 */
const PROGRESS = 65_536

/** How a machine is made, and the parts of the core that may have it, the smallest first. */
export interface Kind<G extends DrivenGlue> {
  readonly parts: readonly LazyPart<G>[]
  make(glue: G, options: Uint8Array): string
}

export class Driver<G extends DrivenGlue = DrivenGlue, Result = TurnResult, Trace = TraceEvent> {
  readonly #host: Host<Result, Trace>
  readonly #loop: Loop<TurnEffect<Result, Trace> | Text, G>
  readonly #requests: Requests
  readonly #tools = new Map<number, AbortController>()
  /** The arguments of each call, as transformed by its validator. */
  readonly #checkedArgs = new Map<number, unknown>()
  #unwatch: (() => void) | undefined
  /** The projectId of the turn itself. A host that resumes the turn need not know it. */
  #projectId: string | null
  #conversationId: string | undefined

  constructor(host: Host<Result, Trace>, kind: Kind<G>, options: object) {
    this.#host = host
    this.#projectId = host.projectId
    this.#conversationId = host.conversationId
    const bytes = encode(stringify(options))
    this.#loop = new Loop(
      kind.parts,
      {
        make: (glue) => kind.make(glue, bytes),
        bytes: bytes.length,
        deadline: (glue, handle) => glue.turn_deadline(handle),
        free: (glue, handle) => glue.turn_free(handle),
      },
      {
        perform: (effect) => (Array.isArray(effect) ? this.#say(effect) : this.#perform(effect)),
        due: () => this.send({ type: 'timer' }),
        fault: (error) => {
          this.#close()
          host.onFault(error)
        },
      },
    )
    this.#requests = new Requests(host, {
      isOver: () => this.#loop.isOver,
      send: (input) => this.send(input),
      bytes: (inference, attempt, slice) =>
        this.#loop.tell((glue, handle) =>
          glue.turn_bytes(handle, this.#loop.now(), inference, attempt, slice),
        ),
    })
    const { keep } = options as { keep?: { owner: string } }
    // A new owner of the turn, for example one that cancels it, writes with another owner id.
    quietly(
      () =>
        (this.#unwatch = host.store?.watch?.(host.turn ?? '', (owner) => {
          if (owner !== undefined && owner !== keep?.owner) this.send({ type: 'verify' })
        })),
    )
  }

  /** Sends an input to the core. */
  send(input: TurnInput): void {
    const bytes = encode(JSON.stringify(input))
    const work = (glue: G, handle: number) => glue.turn_handle(handle, this.#loop.now(), bytes)
    this.#loop.tell(work, input.type === 'cancel')
  }

  #say(text: Text): void {
    const { requestId } = this.#host
    const projectId = this.#projectId
    const conversationId = this.#conversationId
    const type = 'text'
    const [phase, toolBatchId, first] = text
    for (let at = CHUNKS; at < text.length && !this.#loop.isOver; at++) {
      const seq = first + at - CHUNKS
      const chunk = text[at] as string
      // Spread, each of these objects would take a third of the time of its event.
      this.#host.onEvent(
        conversationId === undefined
          ? { type, phase, requestId, projectId, toolBatchId, seq, chunk }
          : { type, phase, requestId, projectId, conversationId, toolBatchId, seq, chunk },
      )
    }
  }

  #perform(effect: TurnEffect<Result, Trace>): void {
    switch (effect.type) {
      case 'emit':
        this.#projectId = effect.event.projectId
        this.#conversationId = effect.event.conversationId
        return this.#host.onEvent(effect.event)
      case 'fetch':
        return void this.#requests.send(effect)
      case 'repair':
        return void this.#requests.repair(effect)
      case 'abort':
        return this.#requests.abort(effect.inference)
      case 'check':
        return void this.#check(effect.call, effect.name, effect.args)
      case 'commit':
        return void this.#commit(effect.attempt, effect.commit)
      case 'recall':
        return void this.#recall(effect.call, effect.key)
      case 'run_tool':
        return void this.#runTool(effect)
      case 'reconcile':
        return void this.#reconcile(effect)
      case 'cancel_tool':
        return this.#tools.get(effect.call)?.abort(new DOMException(effect.reason, 'AbortError'))
      case 'trace':
        return quietly(() => this.#host.onTrace?.(effect.event))
      case 'done':
        this.#close()
        this.#host.onDone(effect.result, this.#checkedArgs.get(ANSWER))
        return this.#loop.free()
      default:
        effect satisfies never
    }
  }

  async #check(call: number, name: string, args: unknown): Promise<void> {
    let verdict: ArgumentsVerdict
    try {
      const { tools, answer } = this.#host
      const checked = await (call === ANSWER ? answer : tools[name])?.check(args)
      if (checked?.valid) this.#checkedArgs.set(call, checked.args)
      const missing = call === ANSWER ? 'resumed without `answerSchema`' : ''
      verdict = checked ? verdictOf(checked) : { type: 'invalid', errors: missing }
    } catch (error) {
      verdict = { type: 'invalid', errors: describe(error) }
    }
    this.send({ type: 'checked', call, verdict })
  }

  async #runTool(effect: RunTool): Promise<void> {
    const { call: id, name, toolCallId, toolBatchId, idempotencyKey } = effect
    const { maxResultBytes, maxMediaBytes } = effect
    const controller = new AbortController()
    this.#tools.set(id, controller)
    const { requestId } = this.#host
    const context: ToolContext = {
      signal: controller.signal,
      requestId,
      toolBatchId,
      toolCallId,
      idempotencyKey,
      projectId: this.#projectId,
      conversationId: this.#conversationId,
      report: (data) => this.#report(id, data),
      reportUsage: (usage) => this.send({ type: 'tool_usage', call: id, usage }),
    }
    const tool = this.#host.tools[name]
    let settled: SettledCall
    const { signal, report } = context
    try {
      let args = this.#checkedArgs.get(id)
      let unfit: string | undefined
      if (!this.#checkedArgs.has(id)) {
        // The arguments were checked by another owner of the turn. The values that its validator
        // returned are not available here, and the tool of this owner may accept other ones. Its
        // approval was decided there: `needsApproval` is not evaluated again.
        const checked = await tool?.validate(effect.args)
        if (checked?.valid) args = checked.args
        else unfit = checked?.errors ?? 'no such tool'
        const signed = 'signed' in effect ? effect.signed : effect.args
        if (unfit === undefined && ('signed' in effect || isPlain(args)) && !isSame(args, signed)) {
          unfit = 'its validator makes other arguments of them'
        }
        // The call was cancelled during the check.
        if (controller.signal.aborted) return void this.#tools.delete(id)
      }
      settled =
        unfit === undefined
          ? tool?.page
            ? reconciled(
                this.#host.outcomes?.find((one) => one.toolCallId === toolCallId),
                maxResultBytes,
                maxMediaBytes,
              )
            : serialize(
                await outcomeOf(tool?.execute(args, context), report, signal),
                maxResultBytes,
                maxMediaBytes,
              )
          : {
              type: 'error',
              code: 'tool.invalid_arguments',
              message: `the tool that the turn was resumed with does not take them: ${unfit}`,
            }
    } catch (error) {
      settled = threw(error)
    }
    this.#tools.delete(id)
    this.send({ type: 'tool_settled', call: id, settled })
  }

  async #reconcile(effect: Reconcile): Promise<void> {
    const { call: id, about, idempotencyKey, maxResultBytes, maxMediaBytes } = effect
    const controller = new AbortController()
    this.#tools.set(id, controller)
    let settled: SettledCall
    try {
      const { signal } = controller
      const answer = await this.#host.tools[about.name]?.reconcile?.(about, {
        idempotencyKey,
        signal,
      })
      settled = reconciled(answer, maxResultBytes, maxMediaBytes)
    } catch (error) {
      settled = { type: 'unknown', message: describe(error) }
    }
    this.#tools.delete(id)
    this.send({ type: 'tool_settled', call: id, settled })
  }

  async #commit(attempt: number, commit: Commit): Promise<void> {
    const { store, turn = '' } = this.#host
    let answer: CommitReply
    try {
      answer = answerOf(await store?.commit(turn, commit))
    } catch (error) {
      const code = isTurnlockError(error) ? error.code : 'store.unavailable'
      answer = { type: 'failed', code, message: describe(error) }
    }
    this.send({ type: 'stored', revision: commit.revision, attempt, answer })
  }

  async #recall(call: number, key: string): Promise<void> {
    let found: StoredOutcome | null = null
    try {
      const stored = await this.#host.store?.recall(key)
      // The core expects whole milliseconds; clocks of stores may return fractions, or a bigint.
      const ageMs = Math.ceil(Number(stored?.ageMs))
      if (stored && ageMs >= 0 && Number.isSafeInteger(ageMs)) {
        found = { text: String(stored.text), ageMs }
      }
    } catch {
      // If the outcome cannot be read, the call is executed.
    }
    this.send({ type: 'recalled', call, found })
  }

  /** Sends a progress report. Dropped is what has no JSON, too much of it, or more than 128 levels. */
  #report(id: number, data: unknown): void {
    const progress = serialize(data, PROGRESS)
    if (progress.type !== 'ok' || progress.bytes > PROGRESS) return
    const sent: unknown = JSON.parse(progress.text)
    if (isPlain(sent)) this.send({ type: 'tool_progress', call: id, data: sent })
  }

  #close(): void {
    this.#loop.close()
    quietly(() => this.#unwatch?.())
    this.#requests.close()
    for (const controller of this.#tools.values()) controller.abort()
    this.#tools.clear()
  }
}

/** The verdict of a tool or of an answer's schema. Of arguments that have no JSON the core is not told. */
function verdictOf(checked: Checked): ArgumentsVerdict {
  if (!checked.valid) return { type: 'invalid', errors: checked.errors }
  const { action, args, approval = false, denied } = checked
  const plain = isPlain(args) && { args }
  if (denied !== undefined) return { type: 'denied', action, reason: denied, ...plain }
  return { type: 'valid', action, approval, ...plain }
}

/** What a store answered to a commit. */
function answerOf(answer: CommitResult | undefined): CommitReply {
  if (typeof answer?.ok !== 'boolean') throw new Error('the store gave no answer to a commit')
  if (answer.ok) return { type: 'kept' }
  const { state } = answer
  return { type: 'refused', state: typeof state === 'string' ? state : null }
}
