/** What the proxy knows of a wire: its requests, its whole responses, its streams. */
import type { Dialect } from '../types.js'
import type { Repair } from '../generated/common.js'
import type { Elements } from './history.js'
import type { Call, PastCall } from './judge.js'
import type { Members } from './json.js'
import type { Places } from './stray.js'

/** What a frame of a stream means for its calls. */
export interface Step {
  /** Frames from here on belong to a call, until `complete`. */
  open?: boolean
  /** Calls that are complete now. */
  complete?: Keyed[]
  /** The response says why it ends. */
  finish?: boolean
  usage?: unknown
  /** Text is shown to the user. */
  text?: boolean
  /** The frame goes on with a call that is over, or that never began. */
  stray?: boolean
}

/** A call of a response. `key` is its own, whatever the provider says of its id and its place. */
export interface Keyed extends Call {
  key: string
}

/** All calls are refused but those that were passed. */
export class AllBut extends Set<string> {
  readonly #passed: ReadonlySet<string>

  constructor(passed: ReadonlySet<string>) {
    super()
    this.#passed = passed
  }

  override has(key: string): boolean {
    return key !== '*' && !this.#passed.has(key)
  }
}

/** Calls that a stream writes at once are judged together, in the order in which they began. */
export class OpenCalls {
  #calls: Keyed[] = []
  /** Those that are being written, by place; a place that is no number is one place. */
  readonly #open = new Map<number, Keyed>()
  /** The arguments that came in pieces. */
  readonly #pieces = new Map<Keyed, string>()
  #count = 0
  #drops = false

  get isEmpty(): boolean {
    return this.#calls.length === 0
  }

  /** Whatever stood at the place is over. */
  begin(at: number, call: Call): Keyed {
    this.close(at)
    const keyed = { ...call, key: `${this.#count++}` }
    this.#calls.push(keyed)
    this.#open.set(at, keyed)
    return keyed
  }

  /** The call at a place, while it is written. */
  at(at: number): Keyed | undefined {
    return this.#open.get(at)
  }

  /** Adds a piece of arguments to the call at a place. */
  add(at: number, piece: string): void {
    const call = this.#open.get(at)
    if (call && !this.#drops) this.#pieces.set(call, (this.#pieces.get(call) ?? '') + piece)
  }

  /** Whether arguments are dropped from here on, as every call is refused. */
  drop(drops: boolean): void {
    this.#drops = drops
    if (drops) this.#pieces.clear()
  }

  close(at: number): void {
    this.#open.delete(at)
  }

  end(at: number): Step {
    this.close(at)
    return this.#open.size === 0 ? { complete: this.take() } : { open: true }
  }

  /** All of them; of one that has not ended, what has come. */
  take(): Keyed[] {
    const all = this.#calls
    for (const call of all) {
      // What a call begins with are its arguments, if nothing follows.
      const [begun, pieces] = [call.args, this.#pieces.get(call)]
      if (!pieces) continue
      call.args = pieces
      if (begun) (call.copies ??= []).push(begun)
    }
    this.#calls = []
    this.#pieces.clear()
    this.#open.clear()
    return all
  }
}

/** Reads one stream, and writes the frames of a stream that is changed. */
export interface StreamWire {
  /** Whether a text of frames can hold anything of a call, or usage, while no call is open. */
  matters(text: string): boolean
  read(json: Members): Step
  /**
   * The frames of the client for one of the provider, in a stream that is changed. Refused calls
   * are left out.
   *
   * @param refused the keys of calls
   */
  rewrite(json: Members, refused: ReadonlySet<string>): Members[]
  /** Frames of a call that may run were passed as they are. */
  passed(json: Members): void
  /** What a frame says beside the end of the response, where the end is not shown. */
  beforeEnd(json: Members, refused: ReadonlySet<string>): Members[]
  /** Remembers what the client was shown of a response that another one continues. */
  keep(json: Members, refused: ReadonlySet<string>): void
  /** The calls that have not ended, where the stream has. */
  rest(): Keyed[]
  /** From here on, arguments of calls are not kept: every call is refused. */
  drop(drops: boolean): void
  /** From here on, frames are those of a second response: its head is left out. */
  again(): void
  /** Frames of a text. */
  say(text: string): Members[]
  /** The frames of an end without calls, of the held end of a response whose calls are refused. */
  finish(json: Members): Members[]
  /** The frames of an end that the provider did not send. */
  ended(): Members[]
  /** Whether the frame is the last of its stream. */
  isLast(json: Members): boolean
}

/** Writes a frame's JSON. */
export type Write = (json: Members) => string

export interface Wire {
  name: 'chat' | 'responses' | 'messages'
  dialect: Dialect
  /** The member of a request with the history. */
  history: 'messages' | 'input'
  /** The member, and its value, of a request whose answer is to have no call. */
  noTools(body: Members): [string, string]
  /** Whether the history has no references to elements that only the provider has. */
  isWhole(body: Members): boolean
  /** Results without a call that `diagnoseHistory` takes for ones whose call the provider keeps. */
  orphans(history: readonly unknown[]): Repair[]
  /** Leaves out the results that the repairs name, and adds those of the calls that they name. */
  mend(elements: Elements, history: readonly unknown[], repairs: readonly Repair[]): void
  /** The calls since the user's last message, in their order. */
  turn(history: readonly unknown[]): PastCall[]
  stream(): StreamWire
  write: Write
  /** A comment, or an event that every client ignores. */
  ping: string
  /** Where frames of a stream, and whole responses, have calls. */
  places: { stream: Places; whole: Places }
  /** Types of its events that mean something; `event:` may name others. */
  events: RegExp
  /** Whether the JSON of each event has its type. */
  hasTypes: boolean
  /** Whether an event, by its JSON and its type, is in the form of the wire. */
  isEvent(json: Members): boolean
  /** Whether a whole response is in the form of the wire. */
  isResponse(json: Members): boolean
  /** Words without which a text has no call, be it JSON or not. */
  words: RegExp
  /** Of a whole response. */
  calls(json: Members): Keyed[]
  /** A whole response without the refused calls; `notice` if it has neither text nor calls then. */
  without(json: Members, refused: ReadonlySet<string>, notice: string): Members
  /** The error in the stream of a response that `bound` refuses. */
  failure(code: string, message: string): string
}

/** What a call is answered with that never was. */
export const INTERRUPTED = 'Tool call was interrupted before it returned a result.'

/** Of each element, the last place of the row of parts behind it. */
export function rowEnds(
  history: readonly unknown[],
  isPart: (element: unknown) => boolean,
): number[] {
  const ends: number[] = []
  for (let at = history.length - 1; at >= 0; at--) {
    const isLast = at + 1 === history.length || !isPart(history[at + 1])
    ends[at] = isLast ? at : (ends[at + 1] as number)
  }
  return ends
}
