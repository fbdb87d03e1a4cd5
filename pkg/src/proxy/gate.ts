/** Watches a stream, and in `bound` holds back its calls until they are judged. */
import { judged, misplaced, type Call, type Judge, type Refused } from './judge.js'
import { parse, repeatsMembers, type Members } from './json.js'
import { framesOf, type Frame } from './frames.js'
import type { ProxyReport } from './report.js'
import { cleaned, mentions } from './stray.js'
import type { Keyed, StreamWire, Wire } from './wire.js'

/** The text in the place of a call that may not run. */
export const NOTICES: Record<Refused['reason'], string> = {
  duplicate: 'This tool call was not run: it was made before, with the same result.',
  budget: 'No further tool call is possible here.',
  form: 'This tool call was not run: it was made in a form that cannot be read here.',
}

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
  /** Whether the request forbade calls already. */
  forced: boolean
  /** Maximum bytes that are held. */
  most: number
  judge(): Judge | undefined
}

export class Gate {
  readonly #given: Gated
  readonly #stream: StreamWire
  readonly #decoder = new TextDecoder()
  readonly #encoder = new TextEncoder()
  #out: Uint8Array[] = []
  #held: Held[] = []
  #heldBytes = 0
  #open = false
  /** Frames from here on are written anew. */
  #changed = false
  /** Everything is passed: too much was held. */
  #passes = false
  #tooLong = false
  #refused: Set<string> = new Set()
  #kept = 0
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
  }

  /** Whether the client waits for something that is there. */
  get isHolding(): boolean {
    return this.#held.length > 0 || this.#ending !== undefined
  }

  /** Whether the answer is now to be asked for without calls. */
  get asks(): boolean {
    return this.#asks
  }

  /** Why calls were refused. */
  get reason(): Refused['reason'] {
    return this.#reason
  }

  /** Takes whole frames; returns what the client gets. */
  push(bytes: Uint8Array): Uint8Array[] {
    if (bytes.length === 0) return []
    if (this.#passes) return [bytes]
    const isCalm = !this.#open && !this.#changed && !(this.#given.holds && this.#given.forced)
    if (isCalm && this.#ending === undefined) {
      if (!this.#stream.matters(this.#decoder.decode(bytes))) return [bytes]
    }
    const frames = framesOf(bytes)
    if (!this.#given.holds) {
      for (const { data } of frames) this.#watch(parse(data))
      return [bytes]
    }
    for (const frame of frames) this.#take(frame)
    return this.#flush()
  }

  #flush(): Uint8Array[] {
    const out = this.#out
    this.#out = []
    return out
  }

  #watch(json: Members | undefined): void {
    if (!json) return
    const { json: clean, strays } = cleaned(json, this.#given.wire.places.stream)
    this.#given.report.blocked.push(...strays.map(misplaced))
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
    const refused = judged(this.#given.judge(), call, this.#given.report)
    if (!refused) return true
    this.#reason = refused.reason
    return false
  }

  #take(frame: Frame): void {
    if (this.#asks) return
    if (this.#passes) return void this.#out.push(frame.bytes)
    const held = this.#readable(frame)
    if (!held) return
    const { json } = held
    frame = held.frame
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
    if (isHeld && !this.#hold(last)) return
    if (step.complete?.length) this.#settle(step.complete, step.finish ? last : undefined)
    if (step.finish) {
      this.#held = this.#held.filter((one) => one !== last)
      this.#release()
      this.#finish(last)
      return
    }
    if (!isHeld) this.#emit(last)
  }

  /** The frame without calls that stand where the wire has none; nothing, if it is withheld. */
  #readable(frame: Frame): Held | undefined {
    const { wire } = this.#given
    const json = parse(frame.data)
    if (!json) {
      if (!mentions(frame.data, wire.words)) return { frame, json }
      // A client that is less strict may read a call in it.
      this.#stray([])
      return undefined
    }
    const { json: clean, strays } = cleaned(json, wire.places.stream)
    const isOdd = mentions(frame.data, wire.words) && repeatsMembers(frame.data, json)
    if (strays.length === 0 && !isOdd) return { frame, json }
    this.#stray(strays)
    // Of two members of one name, the client may read another one than was judged.
    return (
      clean && { frame: { ...frame, bytes: this.#encoder.encode(wire.write(clean)) }, json: clean }
    )
  }

  /** Calls were left out: what follows is written anew. */
  #stray(strays: readonly Call[]): void {
    const { report } = this.#given
    report.error ??= 'proxy.call_form'
    if (!this.#second && !this.#waits) report.blocked.push(...strays.map(misplaced))
    this.#reason = 'form'
    this.#changed = true
  }

  /** False if too much is held: then all of it has passed, and no call is refused any more. */
  #hold(held: Held): boolean {
    this.#held.push(held)
    this.#heldBytes += held.frame.bytes.length
    if (this.#heldBytes <= this.#given.most) return true
    this.#given.report.error ??= 'proxy.held_too_long'
    this.#release()
    this.#passes = !this.#changed
    this.#tooLong = true
    return false
  }

  /** A frame is too long to be held: from here on, all passes. */
  giveUp(): Uint8Array[] {
    if (!this.#given.holds || this.#passes) return []
    this.#given.report.error ??= 'proxy.held_too_long'
    this.#release()
    this.#tooLong = true
    this.#passes = true
    return this.#flush()
  }

  /** Passes what is held, unjudged. */
  #release(): void {
    const held = this.#held
    this.#held = []
    this.#heldBytes = 0
    this.#open = false
    for (const one of held) this.#pass(one)
  }

  #settle(calls: readonly Keyed[], last: Held | undefined): void {
    const before = this.#refused.size
    for (const call of calls) {
      if (!this.#tooLong && (this.#second || !this.#judge(call))) this.#refused.add(call.key)
      else this.#kept++
    }
    if (this.#refused.size > before) this.#changed = true
    const held = this.#held.filter((one) => one !== last)
    this.#held = []
    this.#heldBytes = 0
    for (const one of held) this.#pass(one)
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
    if (!json || !this.#changed || this.#kept > 0 || this.#isOver) {
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
    if (!this.#said) this.#write(this.#stream.say(NOTICES[this.#reason]))
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
  end({ isBroken = false } = {}): Uint8Array[] {
    const { holds, forced } = this.#given
    const calls = this.#stream.rest()
    if (!holds) {
      for (const call of calls) this.#judge(call)
      return []
    }
    if (this.#waits || this.#asks) return this.#flush()
    // A response whose end is held and that ended without its last frame.
    if (this.#ending !== undefined) this.#asks = true
    else if (!this.#passes) this.#settle(calls, undefined)
    if (isBroken || this.#ending !== undefined || !this.#changed) return this.#flush()
    if (this.#kept > 0 || this.#isOver || this.#passes) return this.#flush()
    if (forced || this.#second) {
      if (!this.#said) this.#close([])
    } else {
      this.#ending = []
      this.#asks = true
    }
    return this.#flush()
  }
}
