/** Watches a stream, and in `bound` holds back its calls until they are judged. */
import { TurnlockError } from '../errors.js'
import {
  judged,
  misplaced,
  noticeOf,
  unjudged,
  type Call,
  type Judge,
  type Refused,
} from './judge.js'
import { namesWord, parseResponse, repeatsMembers, text as textOf, type Members } from './json.js'
import { framesOf, isMisnamed, isPlain, type Frame } from './frames.js'
import type { ProxyReport } from './report.js'
import { isForeign, KEEP_ALIVE, mayBeForeign } from './foreign.js'
import { cleaned, isAmbiguous, mentions } from './stray.js'
import { AllBut, type Keyed, type StreamWire, type Wire } from './wire.js'

/** The error of a response that is not in the format of its wire: clients differ in what they read. */
export const foreign = (): TurnlockError =>
  new TurnlockError(
    'proxy.response_format',
    "the provider's response is not in the format of this API in UTF-8, so its calls cannot be judged; the mode `bound` refuses it",
  )

const MARK = '\uFEFF'

const COLON = 58

interface Held {
  frame: Frame
  json: Members | undefined
}

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
  judge(): Judge | undefined
}

export class Gate {
  readonly #given: Gated
  readonly #stream: StreamWire
  readonly #decoder: TextDecoder
  readonly #encoder = new TextEncoder()
  #out: Uint8Array[] = []
  #held: Held[] = []
  #heldBytes = 0
  #open = false
  /** Frames from here on are written anew. */
  #changed = false
  /** Calls are refused unjudged: too much was held. */
  #tooLong = false
  /** Some frame is read differently by clients, so calls that have not passed are refused. */
  #isUnclear = false
  #refused: Set<string> = new Set()
  /** Calls that may run. */
  readonly #passed = new Set<string>()
  #isFirst = true
  /** Some event was in the form of the wire; before it, others wait. */
  #isKnown = false
  #unknown: Held[] = []
  #unknownBytes = 0
  #isClosed = false
  #usageAt: number | undefined
  #said = false
  #second = false
  /** The second response is asked for, and has said nothing yet. */
  #waits = false
  /** The client was shown the end of the response. */
  #isOver = false
  /** The end of a response whose calls are refused, if the answer is asked for elsewhere. */
  #ending: Members[] | undefined
  #asks = false
  #reason: Refused['reason'] = 'duplicate'

  constructor(given: Gated) {
    this.#given = given
    this.#stream = given.wire.stream()
    this.#decoder = new TextDecoder('utf-8', { fatal: given.holds, ignoreBOM: given.holds })
  }

  /** Whether the client waits for something that is there. */
  get isHolding(): boolean {
    return this.#held.length > 0 || this.#tooLong || this.#ending !== undefined
  }

  /** Whether the answer is now to be asked for without calls. */
  get asks(): boolean {
    return this.#asks
  }

  /** Whether nothing follows. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Why calls were refused. */
  get reason(): Refused['reason'] {
    return this.#reason
  }

  /** Takes whole frames; returns what the client gets. @throws TurnlockError `proxy.response_format` */
  push(bytes: Uint8Array): Uint8Array[] {
    if (bytes.length === 0) return []
    if (this.#given.isFailure) return [bytes]
    try {
      return this.#read(bytes)
    } catch (error) {
      // An answer that was requested is one, or is left out.
      if (!this.#second && !this.#waits) throw error
      this.#isClosed = true
      return this.withoutAnswer()
    }
  }

  #read(bytes: Uint8Array): Uint8Array[] {
    const text = this.#textOf(bytes)
    const isCalm = !this.#open && !this.#changed && !(this.#given.holds && this.#given.forced)
    if (isCalm && this.#ending === undefined) {
      const isOwn = !this.#given.holds || (this.#isKnown && !mayBeForeign(text, this.#given.wire))
      if (isOwn && !this.#stream.matters(text)) return [bytes]
    }
    const frames = framesOf(bytes)
    if (!this.#given.holds) {
      for (const { data } of frames) this.#watch(data)
      return [bytes]
    }
    for (const frame of frames) for (const known of this.#known(frame)) this.#take(known)
    return this.#flush()
  }

  /** The frames that can be taken now. @throws TurnlockError `proxy.response_format` */
  #known(frame: Frame): Held[] {
    const { data, events } = frame
    const { wire, most } = this.#given
    const json = data === '' ? undefined : parseResponse(data)
    if (json && isForeign(json, wire)) throw foreign()
    const held = { frame, json }
    if (this.#isKnown) return [held]
    const isOwn = events.includes('error') || (json !== undefined && wire.isEvent(json))
    // Lines that a client is not to read as JSON are judged by their words.
    const isSilent = data === '' || data === '[DONE]' || KEEP_ALIVE.test(textOf(json?.type))
    if (!isOwn && (this.#unknown.length > 0 || !isSilent)) {
      this.#unknown.push(held)
      this.#unknownBytes += frame.bytes.length
      if (this.#unknownBytes > most) throw foreign()
      return []
    }
    if (isOwn) this.#isKnown = true
    const before = this.#unknown
    this.#unknown = []
    return [...before, held]
  }

  #flush(): Uint8Array[] {
    const out = this.#out
    this.#out = []
    return out
  }

  /** Whole frames as text. In `bound`, every client has to read the same lines. */
  #textOf(bytes: Uint8Array): string {
    let text: string
    try {
      text = this.#decoder.decode(bytes)
    } catch {
      throw foreign()
    }
    if (!this.#given.holds) return text
    if (this.#isFirst && text.startsWith(MARK)) text = text.slice(1)
    this.#isFirst = false
    if (!isPlain(text)) throw foreign()
    return text
  }

  #watch(data: string): void {
    const json = parseResponse(data)
    if (!json) return
    const { json: clean, strays } = cleaned(json, this.#given.wire.places.stream)
    for (const call of strays) this.#given.report.blocked.push(misplaced(call))
    if (!clean) return
    const step = this.#stream.read(clean)
    this.#open = step.open === true
    if (step.usage) this.#use(step.usage)
    for (const call of step.complete ?? []) this.#judge(call)
  }

  /** The usage of this response; what was said of it before is replaced. */
  #use(usage: unknown): void {
    const { usage: all } = this.#given.report
    all[(this.#usageAt ??= all.length)] = usage
  }

  /** Whether a call may run. */
  #judge(call: Keyed): boolean {
    const { judge, report } = this.#given
    if (this.#tooLong) {
      report.blocked.push(unjudged(call, false))
      return false
    }
    if (this.#isUnclear) {
      report.error ??= 'proxy.call_form'
      report.blocked.push(misplaced(call))
      this.#reason = 'form'
      return false
    }
    const refused = judged(judge(), call, report)
    if (!refused) return true
    this.#reason = refused.reason
    return false
  }

  #take(came: Held): void {
    if (this.#asks) return
    const held = this.#readable(came)
    if (!held) return
    const { frame, json } = held
    if (this.#waits) {
      if (json) this.#begin()
      // Comments keep the connection; other bytes are no answer.
      else return void (frame.bytes[0] === COLON && this.#out.push(frame.bytes))
    }
    if (this.#ending !== undefined) return this.#end(frame, json)
    const step = json ? this.#stream.read(json) : {}
    if (step.stray) return this.#stray([])
    if (step.usage) this.#use(step.usage)
    if (step.text) this.#said = true
    if (json) this.#open = step.open === true
    const last = held
    const isHeld = this.#open || this.#held.length > 0 || (step.complete?.length ?? 0) > 0
    if (isHeld) this.#hold(last, step.finish === true)
    if (step.complete?.length) this.#settle(step.complete)
    if (step.finish) {
      this.#release()
      this.#finish(last)
      return
    }
    if (!isHeld) this.#emit(last)
  }

  /** The frame without calls that stand where the wire has none; nothing, if it is withheld. */
  #readable({ frame, json }: Held): Held | undefined {
    const { wire } = this.#given
    const { data, lines, others } = frame
    const isNamed = mentions(data, wire.words)
    // Comments and fields that nobody knows, until a client ends lines at other characters.
    const isHidden = others !== '' && mentions(others, wire.words)
    if (!json) {
      if (!isNamed && !isHidden) return { frame, json }
      // A client that is less strict may read a call in it.
      this.#stray([])
      return undefined
    }
    const namesCall = isNamed && namesWord(data, wire.words)
    if (this.#differs(frame, json, namesCall)) {
      this.#isUnclear = true
      if (namesCall || frame.events.some((name) => wire.words.test(name))) {
        this.#stray([])
        return undefined
      }
    }
    const { json: clean, strays } = cleaned(json, wire.places.stream)
    const isOdd = namesCall && (lines > 1 || repeatsMembers(data, json))
    if (strays.length === 0 && !isOdd && !isHidden) return { frame, json }
    this.#stray(strays)
    // Of two members of one name, or of lines, the client may read another one than was judged.
    return (
      clean && { frame: { ...frame, bytes: this.#encoder.encode(wire.write(clean)) }, json: clean }
    )
  }

  /** Whether clients differ in what they read: by the name of the event, or by names in any case. */
  #differs({ events }: Frame, json: Members, namesCall: boolean): boolean {
    const { wire } = this.#given
    const isUntyped = wire.hasTypes && namesCall && !wire.events.test(textOf(json.type))
    if (isUntyped || isMisnamed(events, json.type, wire.events)) return true
    return isAmbiguous(json, wire.words, wire.places.stream.data)
  }

  /** Calls were left out: what follows is written anew. */
  #stray(strays: readonly Call[]): void {
    const { report } = this.#given
    report.error ??= 'proxy.call_form'
    if (!this.#second && !this.#waits) {
      for (const call of strays) report.blocked.push(misplaced(call))
    }
    this.#reason = 'form'
    this.#changed = true
  }

  /** Holds a frame, if it is not the end, until its calls are judged. */
  #hold(held: Held, isEnd: boolean): void {
    this.#heldBytes += held.frame.bytes.length
    if (!this.#tooLong && this.#heldBytes > this.#given.most) this.#refuseRest()
    if (isEnd) return
    if (this.#tooLong) this.#emit(held)
    else this.#held.push(held)
  }

  /** Calls are longer than what may be held: those that have not passed are refused. */
  #refuseRest(): void {
    this.#given.report.error ??= 'proxy.held_too_long'
    this.#reason = 'unjudged'
    this.#tooLong = true
    this.#changed = true
    this.#refused = new AllBut(this.#passed)
    this.#stream.drop(true)
    this.#release()
  }

  /** A frame is too long to be judged: nothing of it passes, and nothing behind it. */
  giveUp(): Uint8Array[] {
    const { report, forced } = this.#given
    report.error ??= 'proxy.held_too_long'
    for (const call of this.#stream.rest()) report.blocked.push(unjudged(call, false))
    this.#held = []
    this.#reason = 'unjudged'
    this.#changed = true
    if (this.#isOver) this.#isClosed = true
    else if (this.#passed.size > 0) {
      throw new TurnlockError(
        'proxy.held_too_long',
        'a frame of the response is too long to be judged',
      )
    } else if (forced || this.#second || this.#waits) {
      this.#isClosed = true
      return this.withoutAnswer()
    } else {
      this.#ending ??= []
      this.#asks = true
    }
    return this.#flush()
  }

  /** Passes what is held, without the calls that are refused. */
  #release(): void {
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    this.#open = false
    for (const one of held) this.#pass(one)
  }

  #settle(calls: readonly Keyed[]): void {
    for (const call of calls) {
      const isRefused = this.#second || !this.#judge(call)
      if (isRefused) this.#changed = true
      ;(isRefused ? this.#refused : this.#passed).add(call.key)
    }
    const isOpen = this.#open
    this.#release()
    this.#open = isOpen
  }

  #pass(held: Held): void {
    if (!this.#changed && held.json) this.#stream.passed(held.json)
    this.#emit(held)
  }

  #emit({ frame, json }: Held): void {
    if (!this.#changed || !json) this.#out.push(frame.bytes)
    else this.#write(this.#stream.rewrite(json, this.#refused))
  }

  #write(frames: readonly Members[]): void {
    for (const json of frames) this.#out.push(this.#encoder.encode(this.#given.wire.write(json)))
  }

  #finish(last: Held): void {
    const { json } = last
    if (!json || !this.#changed || this.#passed.size > 0 || this.#isOver) {
      this.#isOver = true
      return this.#pass(last)
    }
    if (this.#given.forced || this.#second) return this.#close([json])
    this.#write(this.#stream.beforeEnd(json, this.#refused))
    this.#ending = [json]
    this.#asks = this.#stream.isLast(json)
    if (this.#asks) this.#stream.keep(json, this.#refused)
  }

  /** The end of a response whose calls are refused. */
  #end(frame: Frame, json: Members | undefined): void {
    if (json) {
      const step = this.#stream.read(json)
      if (step.stray) return
      if (step.usage) this.#use(step.usage)
      this.#ending?.push(json)
    }
    this.#asks = json ? this.#stream.isLast(json) : frame.data === '[DONE]'
  }

  /** Ends a response without calls, and with a text. */
  #close(ending: readonly Members[]): void {
    const { judge, report } = this.#given
    if (!this.#said) this.#write(this.#stream.say(noticeOf(judge(), this.#reason, report)))
    this.#said = true
    this.#isOver = true
    // Whatever stands behind the end of the calls.
    const all = new Set([...this.#refused, '*'])
    for (const json of ending.length ? ending : this.#stream.ended()) {
      const frames = this.#stream.rewrite(json, all)
      this.#write(frames.flatMap((one) => this.#stream.finish(one)))
    }
  }

  /** From here on, frames are those of the second response. */
  again(): void {
    this.#waits = true
    this.#asks = false
    this.#isFirst = true
  }

  #begin(): void {
    this.#waits = false
    this.#second = true
    this.#isOver = false
    // Of the text before, what passed unread is not known: this response is to say something.
    this.#said = false
    this.#usageAt = undefined
    this.#ending = undefined
    this.#open = false
    this.#refused = new Set(['*'])
    this.#tooLong = false
    this.#isUnclear = false
    this.#stream.again()
  }

  /** Whether the second response has said nothing. */
  get isUnanswered(): boolean {
    return this.#waits
  }

  /** The end of the stream, as there is no second response. */
  withoutAnswer(): Uint8Array[] {
    const ending = this.#ending ?? []
    this.#asks = false
    this.#waits = false
    this.#ending = undefined
    this.#said = false
    this.#close(ending)
    if (this.#given.wire.name === 'chat') this.#out.push(this.#encoder.encode('data: [DONE]\n\n'))
    return this.#flush()
  }

  /** What is held when the provider's stream is over. Calls that have not ended are judged then. */
  end(): Uint8Array[] {
    const { holds, forced } = this.#given
    if (holds && this.#unknown.length > 0) throw foreign()
    const calls = this.#stream.rest()
    if (!holds) {
      for (const call of calls) this.#judge(call)
      return []
    }
    if (this.#waits || this.#asks) return this.#flush()
    // A response whose end is held and that ended without its last frame.
    if (this.#ending !== undefined) this.#asks = true
    else this.#settle(calls)
    if (this.#ending !== undefined || !this.#changed) return this.#flush()
    if (this.#passed.size > 0 || this.#isOver) return this.#flush()
    if (forced || this.#second) {
      if (!this.#said) this.#close([])
    } else {
      this.#ending = []
      this.#asks = true
    }
    return this.#flush()
  }
}
