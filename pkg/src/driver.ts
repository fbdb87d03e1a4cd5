/**
 * The only module that does I/O for the core: it performs the core's effects (fetch, run a tool,
 * wait) and sends their outcomes to the core. It makes no decisions.
 *
 * @module
 */
import type { DrivenGlue } from './core/glue.js'
import { encode, type LazyPart } from './core/instance.js'
import { isTurnlockError, TurnlockError } from './errors.js'
import { Loop } from './loop.js'
import { ConnectionError, type Model, type ModelRequest, type Sending } from './models/model.js'
import { member, quietly } from './quietly.js'
import { describe, isPlain, isSame, outcomeOf, reconciled, serialize, threw } from './serialize.js'
import type { SettledInput } from './serialize.js'
import type { Commit, Store } from './stores/store.js'
import { stringify } from './text.js'
import type { PendingCall, Tool, ToolContext } from './tools.js'
import type { Delta, PhaseName, TraceEvent, TurnEvent, TurnResult } from './types.js'

/** The parts of a turn or of a pass, and the receivers of its events. */
export interface Host<Result, Trace> {
  /** `undefined` if no model request will be sent. */
  model: Model | undefined
  tools: Record<string, Tool>
  store?: Store
  /** The turn's name in the store. */
  turn?: string
  requestId: string
  projectId: string | null
  conversationId?: string | undefined
  onEvent(event: TurnEvent): void
  /** Resolves when the readers have caught up; `undefined` if they are not behind. */
  room(): Promise<void> | undefined
  onTrace: ((event: Trace) => void) | undefined
  onDone(result: Result): void
  /** The core could not be loaded, refused the options, or trapped; no event follows. */
  onFault(error: TurnlockError): void
}

type Effect<Result, Trace> =
  | { type: 'fetch'; inference: number; attempt: number; request: WholeRequest }
  | { type: 'abort'; inference: number }
  | { type: 'check'; call: number; name: string; args: unknown }
  | { type: 'commit'; attempt: number; commit: Commit }
  | { type: 'recall'; call: number; key: string }
  | RunTool
  | Reconcile
  | { type: 'cancel_tool'; call: number; reason: string }
  | { type: 'emit'; event: TurnEvent }
  | { type: 'trace'; event: Trace }
  | { type: 'done'; result: Result }

/** A request, except for the address and the key. */
interface WholeRequest extends Omit<Sending, 'signal'> {
  body: ModelRequest
}

/** A text event without the members that the driver adds: phase, toolBatchId, seq, chunk. */
type Text = [phase: PhaseName, toolBatchId: number, seq: number, chunk: string]

interface RunTool {
  type: 'run_tool'
  call: number
  name: string
  toolCallId: string
  toolBatchId: number
  idempotencyKey: string
  maxResultBytes: number
  args: unknown
  /** The arguments that the validator returned, if the signature is made of them. */
  signed?: unknown
}

/** A call that may have run: find out what became of it. */
interface Reconcile {
  type: 'reconcile'
  call: number
  about: PendingCall
  idempotencyKey: string
  maxResultBytes: number
}

/** Interval in milliseconds at which the core is notified that a response is held back. */
const HELD_BACK = 1000

/** Maximum characters of an error response's body that are passed to the core. */
const FAILURE_BODY = 8192

/** Maximum bytes of one progress report of a tool. */
const PROGRESS = 65_536

/** How a machine is made, and the parts of the core that may have it, the smallest first. */
export interface Kind<G extends DrivenGlue> {
  readonly parts: readonly LazyPart<G>[]
  make(glue: G, options: Uint8Array): string
}

export class Driver<G extends DrivenGlue = DrivenGlue, Result = TurnResult, Trace = TraceEvent> {
  readonly #host: Host<Result, Trace>
  readonly #loop: Loop<Effect<Result, Trace> | Text, G>
  readonly #requests = new Map<number, AbortController>()
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
    const { keep } = options as { keep?: { owner: string } }
    // A new owner of the turn, for example one that cancels it, writes with another owner id.
    quietly(() => {
      this.#unwatch = host.store?.watch?.(host.turn ?? '', (owner) => {
        if (owner !== undefined && owner !== keep?.owner) this.send({ type: 'verify' })
      })
    })
  }

  /** Sends an input to the core. */
  send(input: Record<string, unknown>): void {
    const bytes = encode(JSON.stringify(input))
    const work = (glue: G, handle: number) => glue.turn_handle(handle, this.#loop.now(), bytes)
    this.#loop.tell(work, input['type'] === 'cancel')
  }

  #say([phase, toolBatchId, seq, chunk]: Text): void {
    const { requestId } = this.#host
    const projectId = this.#projectId
    const conversationId = this.#conversationId
    const type = 'text'
    // Spread, each of these objects would take a third of the time of its event.
    this.#host.onEvent(
      conversationId === undefined
        ? { type, phase, requestId, projectId, toolBatchId, seq, chunk }
        : { type, phase, requestId, projectId, conversationId, toolBatchId, seq, chunk },
    )
  }

  #perform(effect: Effect<Result, Trace>): void {
    switch (effect.type) {
      case 'emit':
        this.#projectId = effect.event.projectId
        this.#conversationId = effect.event.conversationId
        return this.#host.onEvent(effect.event)
      case 'fetch':
        return void this.#fetch(effect.inference, effect.attempt, effect.request)
      case 'abort':
        this.#requests.get(effect.inference)?.abort()
        return void this.#requests.delete(effect.inference)
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
        this.#host.onDone(effect.result)
        return this.#loop.free()
    }
  }

  async #fetch(inference: number, attempt: number, request: WholeRequest): Promise<void> {
    const controller = new AbortController()
    this.#requests.set(inference, controller)
    // Bytes of an abandoned attempt must not reach the one that replaced it.
    const current = () => !this.#loop.isOver && this.#requests.get(inference) === controller
    const say = (type: string, own?: Record<string, unknown>) => {
      if (current()) this.send({ type, inference, attempt, ...own })
    }
    let generated = false
    try {
      if (!this.#host.model) throw new Error('no model')
      const { body, ...where } = request
      const opened = this.#host.model.open(body, { ...where, signal: controller.signal })
      generated = Symbol.asyncIterator in opened
      if (Symbol.asyncIterator in opened) {
        await this.#readDeltas(opened, inference, attempt, current, say)
      } else {
        const response = await opened
        if (!current()) return void response.body?.cancel().catch(() => {})
        const failed = !response.ok
        const own = { status: response.status, retryAfterMs: retryAfter(response.headers) }
        const hint = hintOf(response, request.path)
        say('response_head', { ...own, hint, body: failed ? await beginning(response) : '' })
        if (failed) return
        await this.#readBytes(response, inference, attempt, current)
      }
      say('response_end')
    } catch (error) {
      // The message of a fetch error can contain the URL, and with it a key.
      say('response_failed', { message: generated ? describe(error) : connectionFailure(error) })
    }
  }

  async #readDeltas(
    deltas: AsyncIterable<Delta>,
    inference: number,
    attempt: number,
    current: () => boolean,
    say: (type: string, own: Record<string, unknown>) => void,
  ): Promise<void> {
    for await (const delta of deltas) {
      if (!current()) return
      say('deltas', { deltas: [delta] })
      if (this.#host.room()) await this.#room(inference, attempt, current)
    }
    // A generator that yields nothing is an empty response, not a truncated one.
    say('deltas', { deltas: [] })
  }

  async #readBytes(
    response: Response,
    inference: number,
    attempt: number,
    current: () => boolean,
  ): Promise<void> {
    const reader = response.body?.getReader()
    if (!reader) return
    for (;;) {
      const { done, value } = await reader.read()
      if (!current()) return void reader.cancel().catch(() => {})
      if (done) return
      this.#loop.tell((glue, handle) =>
        glue.turn_bytes(handle, this.#loop.now(), inference, attempt, value),
      )
      if (this.#host.room()) await this.#room(inference, attempt, current)
    }
  }

  /**
   * Waits while the readers are far behind, and notifies the core, which would otherwise count the
   * delay as silence of the model.
   */
  async #room(inference: number, attempt: number, current: () => boolean): Promise<void> {
    for (let full = this.#host.room(); full && current(); full = this.#host.room()) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise((resolve) => (timer = setTimeout(resolve, HELD_BACK)))
      await Promise.race([full, late])
      clearTimeout(timer)
      this.send({ type: 'held_back', inference, attempt })
    }
  }

  async #check(id: number, name: string, args: unknown): Promise<void> {
    try {
      const checked = await this.#host.tools[name]?.check(args)
      if (!checked?.valid) {
        return this.send({ type: 'checked', call: id, valid: false, errors: checked?.errors ?? '' })
      }
      this.#checkedArgs.set(id, checked.args)
      const { action, approval } = checked
      const plain = isPlain(checked.args) && { args: checked.args }
      this.send({ type: 'checked', call: id, valid: true, action, approval, ...plain })
    } catch (error) {
      this.send({ type: 'checked', call: id, valid: false, errors: describe(error) })
    }
  }

  async #runTool(effect: RunTool): Promise<void> {
    const { call: id, name, toolCallId, toolBatchId, idempotencyKey, maxResultBytes } = effect
    const controller = new AbortController()
    this.#tools.set(id, controller)
    const { requestId } = this.#host
    const context: ToolContext = {
      ...{ signal: controller.signal, requestId, toolBatchId, toolCallId, idempotencyKey },
      projectId: this.#projectId,
      conversationId: this.#conversationId,
      report: (data) => this.#report(id, data),
      reportUsage: (usage) => this.send({ type: 'tool_usage', call: id, usage }),
    }
    const tool = this.#host.tools[name]
    let settled: SettledInput
    const { signal, report } = context
    try {
      let args = this.#checkedArgs.get(id)
      let unfit: string | undefined
      if (!this.#checkedArgs.has(id)) {
        // The arguments were checked by another owner of the turn. The values that its validator
        // returned are not available here, and the tool of this owner may accept other ones.
        const checked = await tool?.check(effect.args)
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
          ? serialize(await outcomeOf(tool?.execute(args, context), report, signal), maxResultBytes)
          : {
              ...{ status: 'error', code: 'tool.invalid_arguments' },
              message: `the tool that the turn was resumed with does not take them: ${unfit}`,
            }
    } catch (error) {
      settled = threw(error)
    }
    this.#tools.delete(id)
    this.send({ type: 'tool_settled', call: id, ...settled })
  }

  async #reconcile({ call: id, about, idempotencyKey, maxResultBytes }: Reconcile): Promise<void> {
    const controller = new AbortController()
    this.#tools.set(id, controller)
    let settled: SettledInput
    try {
      const { signal } = controller
      const answer = await this.#host.tools[about.name]?.reconcile?.(about, {
        idempotencyKey,
        signal,
      })
      settled = reconciled(answer, maxResultBytes)
    } catch (error) {
      settled = { status: 'unknown', message: describe(error) }
    }
    this.#tools.delete(id)
    this.send({ type: 'tool_settled', call: id, ...settled })
  }

  async #commit(attempt: number, commit: Commit): Promise<void> {
    const { store, turn = '' } = this.#host
    const own = { type: 'stored', revision: commit.revision, attempt }
    try {
      const answer = await store?.commit(turn, commit)
      if (typeof answer?.ok !== 'boolean') throw new Error('the store gave no answer to a commit')
      // `own` comes last, because a refusal has the revision of the stored turn.
      this.send({ ...answer, ...own })
    } catch (error) {
      const code = isTurnlockError(error) ? error.code : 'store.unavailable'
      this.send({ ...own, code, message: describe(error) })
    }
  }

  async #recall(id: number, key: string): Promise<void> {
    let found: { text: string; ageMs: number } | undefined
    try {
      found = await this.#host.store?.recall(key)
      // The core expects whole milliseconds; clocks of stores may return fractions.
      if (found) found = { ...found, ageMs: Math.ceil(found.ageMs) }
    } catch {
      // If the outcome cannot be read, the call is executed.
    }
    this.send({ type: 'recalled', call: id, ...found })
  }

  /** Sends a progress report. Data without a JSON form, or with too much JSON, is dropped. */
  #report(id: number, data: unknown): void {
    const progress = serialize(data, PROGRESS)
    if (progress.status !== 'ok' || progress.bytes > PROGRESS) return
    this.send({ type: 'tool_progress', call: id, data: JSON.parse(progress.text) as unknown })
  }

  #close(): void {
    this.#loop.close()
    quietly(() => this.#unwatch?.())
    for (const controller of [...this.#requests.values(), ...this.#tools.values()]) {
      controller.abort()
    }
    this.#requests.clear()
    this.#tools.clear()
  }
}

/** Reads seconds or a date (RFC 9110 §10.2.3), or OpenAI's `retry-after-ms`. */
function retryAfter(headers: Headers): number | null {
  const precise = Number(headers.get('retry-after-ms') ?? NaN)
  if (precise >= 0) return Math.min(Math.ceil(precise), Number.MAX_SAFE_INTEGER)
  const said = headers.get('retry-after')
  if (!said) return null
  const seconds = Number(said)
  const wait = Number.isNaN(seconds) ? Date.parse(said) - Date.now() : seconds * 1000
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, Math.ceil(wait)), Number.MAX_SAFE_INTEGER)
}

/** The beginning of a body. The rest is not read: it may have no end. */
async function beginning(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
      text += decoder.decode(read.value, { stream: true })
      if (text.length >= FAILURE_BODY) break
    }
    void reader?.cancel().catch(() => {})
    return text.slice(0, FAILURE_BODY)
  } catch {
    return ''
  }
}

/**
 * What an error message adds if nothing comes of a response: the path for a 404, the content type
 * where a stream was expected.
 */
function hintOf({ ok, status, url, headers }: Response, path: string): string | undefined {
  if (status === 404) return `POST ${url ? new URL(url).pathname : path}`
  const type = headers.get('content-type')?.slice(0, 60)
  if (!ok || !type || /event-?stream|ndjson|octet-stream/i.test(type)) return undefined
  return `a stream was expected, the content type is ${type}`
}

function connectionFailure(error: unknown): string {
  try {
    if (error instanceof ConnectionError) return error.message
  } catch {
    // What is thrown may throw itself.
  }
  const cause = member(member(error, 'cause'), 'code')
  return `the connection to the model failed${typeof cause === 'string' ? ` (${cause})` : ''}`
}
