/** The body of a response on its way to the client. */
import { within } from '../shared/sse.js'
import { joined } from '../driver/at-hand.js'
import { isTurnlockError, TurnlockError } from '../errors.js'
import { Frames, NOTHING } from './frames.js'
import { errorBody } from './errors.js'
import { Gate, type Gated, type Whole } from './gate.js'
import { judged, type Refused } from './judge.js'
import type { Source } from './source.js'

export interface Relay extends Gated {
  body: Source
  /** Whether the client reads a stream. */
  isStream: boolean
  /** Whether the answer may be asked for again, without calls. */
  again(): Promise<Source | undefined>
  /** Ends the provider's response. */
  abort(): void
  /** Whether the client has left. */
  hasLeft(): boolean
  /**
   * Takes what is to be called at once when the client leaves. Some hosts (workerd) abort the request's
   * signal, never cancel the body, and run nothing later of a request that is over.
   */
  onLeave(left: () => void): void
  clientGone: 'stop' | 'continue'
  keepAliveMs: number
  /** Called once, when the response has ended or its client has left. */
  onEnd(outcome: 'complete' | 'cancelled' | 'failed', error?: unknown): void
  /** Keeps the runtime going for what continues without a client. */
  waitUntil(promise: Promise<unknown>): void
}

/** What a body is, by its first bytes: its `content-type` may lie. */
type Kind = 'events' | 'json' | 'other'

const BRACE = 123
const BRACKET = 91
const FIELDS = ['data:', 'event:', 'id:', 'retry:', ':']

/** `undefined`: there are not enough bytes yet. `holds`: it is read, whatever it is. */
function kindOf(bytes: Uint8Array, holds: boolean): Kind | undefined {
  const at = bytes.findIndex((byte) => !isBlank(byte))
  if (at < 0) return undefined
  if (bytes[at] === BRACE) return 'json'
  // Events may begin with a field that nobody knows.
  if (holds) return bytes[at] === BRACKET ? 'json' : 'events'
  const start = new TextDecoder().decode(bytes.subarray(at, at + 6))
  if (FIELDS.some((field) => start.startsWith(field))) return 'events'
  return FIELDS.some((field) => field.startsWith(start)) ? undefined : 'other'
}

/** White space, or a byte of the mark at the beginning of a text. */
const isBlank = (byte: number): boolean =>
  isSpace(byte) || byte === 0xef || byte === 0xbb || byte === 0xbf

const isSpace = (byte: number): boolean => byte <= 32

/** The client's body. Nothing is read that the client does not take. */
export function relayed(relay: Relay): ReadableStream<Uint8Array> {
  const run = new Run(relay)
  return new ReadableStream(
    { pull: (controller) => run.pull(controller), cancel: () => run.cancel() },
    { highWaterMark: 0 },
  )
}

interface Controller {
  enqueue(bytes: Uint8Array): unknown
  close(): unknown
  error(error: unknown): unknown
}

class Run {
  readonly #relay: Relay
  readonly #gate: Gate
  readonly #encoder = new TextEncoder()
  #frames: Frames
  #start: Uint8Array = NOTHING
  #source: Source
  #pending: ReturnType<Source['read']> | undefined
  #kind: Kind | undefined
  /** A whole response: all of it in `bound`, a copy for the report otherwise. */
  #whole: Uint8Array[] = []
  #wholeBytes = 0
  #over = false
  /** `bound` ended the response with an error of its own. */
  #isRefused = false
  /** The provider's connection broke; the client receives this error at its next read. */
  #failure: { error: unknown } | undefined
  /** The client has left, so it gets nothing. */
  #left = false
  #client: Controller | undefined
  #pulling: Promise<void> | undefined

  constructor(relay: Relay) {
    this.#relay = relay
    this.#gate = new Gate(relay)
    this.#frames = this.#newFrames()
    this.#source = relay.body
    relay.onLeave(() => this.cancel())
  }

  #newFrames(): Frames {
    return this.#relay.holds ? new Frames(this.#relay.most) : new Frames()
  }

  pull(client: Controller): Promise<void> {
    this.#client ??= {
      enqueue: (bytes) => this.#left || client.enqueue(bytes),
      close: () => this.#left || client.close(),
      error: (error) => this.#left || client.error(error),
    }
    return (this.#pulling = this.#pull(this.#client))
  }

  async #pull(controller: Controller): Promise<void> {
    if (this.#failure) {
      // Servers write bytes later than they read them, and discard what is unwritten at an error.
      await new Promise((resolve) => setTimeout(resolve))
      return void controller.error(this.#failure.error)
    }
    try {
      while (!(await this.#step(controller)));
    } catch (error) {
      if (this.#over) return
      if (isTurnlockError(error) && error.code.startsWith('proxy.')) this.#refuse(controller, error)
      else this.#broke(controller, error)
    }
  }

  /** Whether the client got something. */
  async #step(controller: Controller): Promise<boolean> {
    this.#pending ??= this.#source.read()
    // The client has waited for long where the stream is held.
    const isHeld = this.#kind === 'events' && this.#gate.state.isHolding
    const chunk = await (isHeld ? within(this.#pending, this.#relay.keepAliveMs) : this.#pending)
    if (this.#over) return true
    if (!chunk) {
      controller.enqueue(this.#encoder.encode(this.#relay.wire.ping))
      return true
    }
    this.#pending = undefined
    if (chunk.done) return this.#ended(controller)
    const bytes = this.#whatItIs(chunk.value)
    if (this.#kind === 'events') {
      const out = this.#send(controller, this.#through(this.#frames.push(bytes)))
      if (this.#gate.state.asks) return (await this.#ask(controller)) || out
      if (this.#gate.state.isClosed) return this.#close(controller)
      return out
    }
    const isKept = this.#kind === 'json' && this.#keep(bytes)
    if (this.#kind === 'json' && this.#relay.holds) {
      // Without its end, it cannot be judged: the rest is not waited for.
      return isKept ? false : this.#endWhole(controller)
    }
    return this.#send(controller, bytes)
  }

  /** What the client gets of whole frames, or of a stream that is cut anywhere. */
  #through(bytes: Uint8Array): Uint8Array {
    if (!this.#frames.isRaw) return this.#gate.push(bytes)
    return this.#relay.holds ? this.#gate.giveUp() : this.#gate.pass(bytes, false)
  }

  /** Finds out what the body is. Bytes that do not tell it yet stand before the next ones. */
  #whatItIs(bytes: Uint8Array): Uint8Array {
    if (this.#kind) return bytes
    const all = joined([this.#start, bytes], this.#start.length + bytes.length)
    this.#kind = kindOf(all, this.#relay.holds)
    this.#start = NOTHING
    // White space keeps a connection alive, so it passes at once. A mark waits for its last byte.
    if (this.#kind || all.every(isSpace)) return all
    this.#start = all
    return NOTHING
  }

  /** Keeps a piece of a whole response; false from when it is too long. */
  #keep(bytes: Uint8Array): boolean {
    this.#wholeBytes += bytes.length
    if (this.#wholeBytes > this.#relay.most) {
      this.#relay.report.error ??= 'proxy.held_too_long'
      this.#whole = []
      return false
    }
    this.#whole.push(bytes)
    return true
  }

  /** Sends in one piece: a runtime takes each of many pieces off its queue at the cost of all. */
  #send(controller: Controller, bytes: Uint8Array): boolean {
    if (bytes.length === 0) return false
    this.#relay.report.bytes.response += bytes.length
    controller.enqueue(bytes)
    return true
  }

  async #ended(controller: Controller): Promise<boolean> {
    if (this.#kind === 'json') return this.#endWhole(controller)
    this.#send(controller, this.#start)
    this.#send(controller, this.#gate.push(this.#frames.end()))
    this.#send(controller, this.#gate.end())
    if (this.#gate.state.isUnanswered) this.#send(controller, this.#gate.withoutAnswer())
    return this.#gate.state.asks ? this.#ask(controller) : this.#close(controller)
  }

  #close(controller: Controller): true {
    this.#end('complete')
    controller.close()
    return true
  }

  /** Goes on with the answer; whether the client got something. */
  async #ask(controller: Controller): Promise<boolean> {
    const second = await this.#second(controller, this.#gate.state.reason)
    if (this.#over) return true
    if (!second) {
      this.#send(controller, this.#gate.withoutAnswer())
      return this.#close(controller)
    }
    this.#gate.again()
    this.#source = second
    this.#frames = this.#newFrames()
    return false
  }

  /** The second response. The client of a stream gets pings while it is asked for. */
  async #second(controller: Controller, reason: Refused['reason']) {
    this.#source.cancel()
    this.#relay.report.forced = reason
    const request = this.#relay.again().then(
      (source) => ({ source }),
      () => ({ source: undefined }),
    )
    for (;;) {
      const second = await within(request, this.#relay.keepAliveMs)
      if (second || this.#over) return second?.source
      if (this.#kind === 'events') controller.enqueue(this.#encoder.encode(this.#relay.wire.ping))
    }
  }

  async #endWhole(controller: Controller): Promise<boolean> {
    const body = await this.#judged(controller)
    if (this.#over) return true
    this.#relay.onTerminal()
    this.#send(controller, body)
    return this.#close(controller)
  }

  /** A whole response without the calls that may not run. */
  async #judged(controller: Controller): Promise<Uint8Array> {
    const { report, holds, forced } = this.#relay
    const before = () => (holds ? inOnePiece(this.#whole) : NOTHING)
    if (this.#relay.isFailure) return NOTHING
    const isTooLong = this.#wholeBytes > this.#relay.most
    if (isTooLong && !holds) return NOTHING
    const read = isTooLong ? undefined : this.#gate.whole(inOnePiece(this.#whole), false)
    if (!read && !isTooLong) return before()
    const { calls = [], isChanged = true } = read ?? {}
    const verdicts = calls.map((call) => judged(this.#relay.judge(), call, this.#relay)?.reason)
    const refused = new Map<number, Refused['reason']>()
    for (const [at, verdict] of verdicts.entries()) if (verdict) refused.set(at, verdict)
    if (!holds || (refused.size === 0 && !isChanged)) return before()
    if (calls.length > 0) read?.settle(verdicts)
    const [reason = isTooLong ? 'unjudged' : 'form'] = refused.values()
    const source =
      refused.size === calls.length && !forced ? await this.#second(controller, reason) : undefined
    const answer = source && (await this.#answer(source))
    const second = answer && this.#gate.whole(answer, true)
    if (!answer || second?.isUnread) return this.#without(read, [...refused.keys()], reason)
    this.#relay.record?.replaced()
    if (!second || (second.calls.length === 0 && !second.isChanged && !second.hasSum)) return answer
    return this.#without(second, [...second.calls.keys()], reason)
  }

  /** The whole of a second response; nothing of one that is too long to be judged. */
  async #answer(source: Source): Promise<Uint8Array | undefined> {
    this.#source = source
    this.#whole = []
    this.#wholeBytes = 0
    for (;;) {
      const chunk = await source.read()
      if (chunk.done) return inOnePiece(this.#whole)
      if (!this.#keep(chunk.value)) return undefined
    }
  }

  /** A whole response without its refused calls; an error in its place if it was not read. */
  #without(read: Whole | undefined, refused: number[], reason: Refused['reason']): Uint8Array {
    const { wire, report } = this.#relay
    const code = report.error ?? 'proxy.held_too_long'
    const message =
      "the provider's response is longer than `heldBytes`, so its calls cannot be judged"
    const error = () => JSON.stringify(errorBody({ message, type: 'api_error', code }, wire.name))
    return this.#encoder.encode(read ? read.without(refused, reason) : error())
  }

  /** Ends a response that `bound` cannot read with an error in the form that the client reads. */
  #refuse(controller: Controller, error: TurnlockError): void {
    if (this.#over) return
    const { wire, report, isStream, abort } = this.#relay
    const { code, message } = error
    const isEvents = isStream || (this.#kind === 'events' && report.bytes.response > 0)
    const text = isEvents
      ? wire.failure(code, message)
      : JSON.stringify(errorBody({ type: 'api_error', message, code }, wire.name))
    this.#isRefused = true
    this.#send(controller, this.#encoder.encode(text))
    report.error = code
    this.#end('failed', error)
    controller.close()
    abort()
  }

  /**
   * The provider's connection broke, or sent nothing for too long: the client's connection breaks too,
   * so that the client raises its own connection error. A frame in place of the break would be taken
   * for an answer of the provider.
   */
  #broke(controller: Controller, error: unknown): void {
    const code = error instanceof TurnlockError ? error.code : 'model.stream'
    if (code === 'model.stream' && this.#relay.hasLeft()) {
      // The signal of the request was faster than the cancelled body.
      this.#end('cancelled')
      controller.error(error)
      return
    }
    this.#relay.report.error ??= code
    const sent = this.#send(controller, this.#unsent())
    this.#end('failed', error)
    // An error discards bytes that the client has not read yet.
    if (sent) this.#failure = { error }
    else controller.error(error)
  }

  /** Bytes of the provider that wait for more. Unjudged bytes are withheld. */
  #unsent(): Uint8Array {
    if (this.#relay.holds) return NOTHING
    return this.#kind === 'events' ? this.#gate.pass(this.#frames.end(), true) : this.#start
  }

  cancel(): void {
    if (this.#over || this.#left) return
    this.#left = true
    if (this.#relay.clientGone === 'continue') {
      this.#relay.waitUntil(this.#drain())
      return
    }
    this.#end('cancelled')
    this.#relay.abort()
  }

  /** Reads on for the report alone. */
  async #drain(): Promise<void> {
    // What the client waited for when it left comes first.
    await this.#pulling
    while (!this.#over) await this.#pull(this.#client ?? NOBODY)
  }

  #end(outcome: 'complete' | 'cancelled' | 'failed', error?: unknown): void {
    // A response whose terminal event has passed is complete, whatever happens to its connection.
    const isComplete = this.#gate.state.hasEnded && !this.#isRefused
    this.#over = true
    this.#source.cancel()
    this.#gate.free()
    this.#relay.onEnd(isComplete ? 'complete' : outcome, error)
  }
}

/** A client that left before it read. */
const NOBODY: Controller = { enqueue: () => {}, close: () => {}, error: () => {} }

const inOnePiece = (pieces: readonly Uint8Array[]): Uint8Array =>
  joined(
    pieces,
    pieces.reduce((sum, { length }) => sum + length, 0),
  )
