/** Watches a response: what the core finds in it is judged and reported, what it writes is sent. */
import { answer } from '../core/instance.js'
import { proxy as part } from '../core/parts/proxy.js'
import { joined } from '../driver/at-hand.js'
import { TurnlockError } from '../errors.js'
import { onceFreed } from '../shared/finalize.js'
import { judged, misplaced, unjudged, type Call, type Judge, type Refused } from './judge.js'
import { object } from './json.js'
import { NOTHING } from './frames.js'
import type { ResponseRecord } from './conversation.js'
import type { ProxyReport } from './report.js'
import type { Wire } from './wire.js'

/** The error of a response that is not in the format of its wire: clients differ in what they read. */
export const foreign = (): TurnlockError =>
  new TurnlockError(
    'proxy.response_format',
    "the provider's response is not in the format of this API in UTF-8, so its calls cannot be judged; the mode `bound` refuses it",
  )

const tooLong = (): TurnlockError =>
  new TurnlockError('proxy.held_too_long', 'a frame of the response is too long to be judged')

export interface Gated {
  wire: Wire
  report: ProxyReport
  /** Whether calls are held and refused, not only reported. */
  holds: boolean
  /** Whether the provider refused the request: its response has no calls, and passes. */
  isFailure: boolean
  /** Whether the request forbade calls already. */
  forced: boolean
  /** Maximum bytes that are held. */
  most: number
  /** Choices that the request asks for. */
  choices: number
  /** Takes the calls and the ids of responses; missing if no later request continues them. */
  record: ResponseRecord | undefined
  /** Called when the client is about to get the event with which its response ends. */
  onTerminal(): void
  judge(): Judge | undefined
}

/** What the core found in a response. */
type Fact =
  | { type: 'judge' | 'misplaced'; call: Call }
  | { type: 'unjudged'; name: string }
  | { type: 'id'; id: string }
  /** `isFirst`: of this response. `adds`: its members are added to those before. */
  | { type: 'usage'; usage: unknown; isFirst: boolean; adds: boolean }
  | { type: 'error'; code: string }

interface State {
  /** Whether the client waits for something that is there. */
  isHolding: boolean
  /** Whether the answer is now to be asked for without calls. */
  asks: boolean
  /** Whether nothing follows. */
  isClosed: boolean
  /** Whether the second response has said nothing. */
  isUnanswered: boolean
  /** Whether the client has received the event with which its response ends. */
  hasEnded: boolean
  /** Why calls were refused. */
  reason: Refused['reason']
}

/** What came of an input. */
interface Progress {
  facts: Fact[]
  /** The bytes that were given pass as they are. */
  passes?: boolean
  /** The core needs a verdict on each call that is to be judged. */
  waits?: boolean
  failure?: 'foreign' | 'too_long'
  hasOut?: boolean
  /** Missing if it is as before. */
  state?: State
}

/** A whole response that was read. */
export interface Whole {
  calls: Call[]
  /** Whether it is written anew even if every call may run. */
  isChanged: boolean
  /** Whether it could not be read. */
  isUnread: boolean
  /** Whether the usage of the response before it was added to its own. */
  hasSum: boolean
  id: string
  /** Takes why each of its calls may not run; `undefined` for one that may. */
  settle(verdicts: readonly (Refused['reason'] | undefined)[]): void
  /** The JSON of it without the calls at these places. */
  without(refused: readonly number[], reason: Refused['reason']): string
}

export class Gate {
  readonly #given: Gated
  readonly #on = part.core()
  readonly #handle: number
  readonly #free: () => void
  #state: State = {
    isHolding: false,
    asks: false,
    isClosed: false,
    isUnanswered: false,
    hasEnded: false,
    reason: 'duplicate',
  }
  #usageAt = 0
  /** Whole responses that were read. */
  #wholes = 0

  constructor(given: Gated) {
    this.#given = given
    const { wire, holds, forced, most, choices } = given
    const on = this.#on
    const handle = Number(
      answer(
        part.callOn(on, (glue) =>
          glue.gate_new(wire.name, holds, forced, whole32(most), whole32(choices)),
        ),
      ),
    )
    this.#handle = handle
    // Nothing here names the gate, which would then never be collected.
    this.#free = onceFreed(this, part, on, (glue) => glue.gate_free(handle))
  }

  get state(): Readonly<State> {
    return this.#state
  }

  /** Forgets the response. */
  free(): void {
    this.#free()
  }

  /**
   * Takes whole frames; returns what the client gets.
   *
   * @throws TurnlockError `proxy.response_format`
   */
  push(bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return NOTHING
    if (this.#given.isFailure) return this.pass(bytes, true)
    return this.#run((glue, handle) => glue.gate_push(handle, bytes), bytes)
  }

  /** Passes bytes unread: frames, or what is cut anywhere, since it is too long to be read. */
  pass(bytes: Uint8Array, areFrames: boolean): Uint8Array {
    if (bytes.length === 0) return NOTHING
    return this.#run((glue, handle) => glue.gate_pass(handle, bytes, areFrames), bytes)
  }

  /**
   * A frame is too long to be judged: nothing of it passes, and nothing behind it.
   *
   * @throws TurnlockError `proxy.held_too_long` behind a call that has passed
   */
  giveUp(): Uint8Array {
    return this.#run((glue, handle) => glue.gate_give_up(handle))
  }

  /** From here on, frames are those of the second response. */
  again(): void {
    this.#run((glue, handle) => glue.gate_again(handle))
  }

  /** The end of the stream, as there is no second response. */
  withoutAnswer(): Uint8Array {
    return this.#run((glue, handle) => glue.gate_without_answer(handle))
  }

  /** What is held when the provider's stream is over. Calls that have not ended are judged then. */
  end(): Uint8Array {
    return this.#run((glue, handle) => glue.gate_end(handle))
  }

  /**
   * Reads a whole response, and reports what it has beside its calls; nothing for one that passes
   * unread. `isSecond`: it is the answer that was asked for.
   *
   * @throws TurnlockError `proxy.response_format`
   */
  whole(bytes: Uint8Array, isSecond: boolean): Whole | undefined {
    const { report, holds } = this.#given
    const text = this.#call((glue, handle) => glue.gate_whole(handle, bytes, isSecond))
    if (text === '') return undefined
    const read = JSON.parse(text) as Omit<Whole, 'settle' | 'without'> & {
      strays: Call[]
      usage?: unknown
      failure?: 'foreign'
    }
    if (read.failure) throw foreign()
    const { calls, strays, isChanged, isUnread, hasSum, id, usage } = read
    this.#given.record?.named(id)
    for (const call of isSecond ? [] : strays) this.#misplace(call)
    if (isChanged && holds && !isUnread) report.error ??= 'proxy.call_form'
    if (usage) report.usage.push(usage)
    const number = this.#wholes++
    const without = (refused: readonly number[], reason: Refused['reason']) =>
      this.#call((glue, handle) =>
        glue.gate_without(handle, number, Uint32Array.from(refused), reason),
      )
    const settle: Whole['settle'] = (verdicts) => void this.#settle(verdicts)
    return { calls, isChanged, isUnread, hasSum, id, settle, without }
  }

  /** Reports a call that is left out for its place or its form. */
  #misplace(call: Call): void {
    const { report, holds, record } = this.#given
    report.blocked.push(misplaced(call))
    if (holds) record?.withheld(call, 'form')
  }

  #call(work: (glue: Glue, handle: number) => string): string {
    return answer(part.callOn(this.#on, (glue) => work(glue, this.#handle)))
  }

  #settle(verdicts: readonly (string | undefined)[]): string {
    const hasResults = this.#given.judge()?.hasResults ?? false
    return this.#call((glue, handle) => glue.gate_verdicts(handle, verdicts.join(), hasResults))
  }

  /** Has the core work until it needs no verdict; returns what the client gets. */
  #run(work: (glue: Glue, handle: number) => string, input: Uint8Array = NOTHING): Uint8Array {
    let text = this.#call(work)
    // Nearly all frames.
    if (text === '') return input
    const out: Uint8Array[] = []
    for (;;) {
      const progress = JSON.parse(text) as Progress
      const { facts, passes, waits, failure, hasOut, state } = progress
      if (state) this.#state = state
      const verdicts = facts.flatMap((fact) => this.#take(fact) ?? [])
      if (this.#state.hasEnded) this.#given.onTerminal()
      if (failure) throw failure === 'foreign' ? foreign() : tooLong()
      if (passes) return input
      if (hasOut) out.push(part.callOn(this.#on, (glue) => glue.gate_take(this.#handle)))
      if (!waits)
        return out.length === 1
          ? (out[0] as Uint8Array)
          : joined(
              out,
              out.reduce((sum, { length }) => sum + length, 0),
            )
      text = this.#settle(verdicts)
    }
  }

  /** Reports a fact; the verdict on a call, which is empty if it may run. */
  #take(fact: Fact): string | undefined {
    const { report, record, judge } = this.#given
    switch (fact.type) {
      case 'judge':
        return judged(judge(), fact.call, this.#given)?.reason ?? ''
      case 'misplaced':
        this.#misplace(fact.call)
        return undefined
      case 'id':
        record?.named(fact.id)
        return undefined
      case 'unjudged':
        report.blocked.push(unjudged({ name: fact.name, args: '' }, false))
        return undefined
      case 'usage':
        this.#use(fact)
        return undefined
      case 'error':
        report.error ??= fact.code
        return undefined
    }
  }

  /** The usage of a response; what was said of it before is replaced, or added to in place. */
  #use({ usage, isFirst, adds }: Fact & { type: 'usage' }): void {
    const all = this.#given.report.usage
    if (isFirst) this.#usageAt = all.length
    if (isFirst || !adds) all[this.#usageAt] = usage
    else Object.assign(object(all[this.#usageAt]), withoutPrototype(object(usage)))
  }
}

type Glue = Parameters<Parameters<typeof part.callOn>[1]>[0]

/** A member of this name would be another prototype. */
function withoutPrototype({ ['__proto__']: _, ...members }: Record<string, unknown>) {
  return members
}

/** A number that the core takes: whole, from 1 on. */
const whole32 = (number: number): number =>
  Math.min(Math.max(1, Math.ceil(number)) || 1, 2 ** 32 - 1)
