/** Watches a stream, and in `bound` holds back its calls until they are judged. */
import type { Judge, Refused } from './judge.js'
import { parse, type Members } from './json.js'
import { framesOf, type Frame } from './frames.js'
import type { ProxyReport } from './report.js'
import type { Keyed, StreamWire, Wire } from './wire.js'

/** The text in the place of a call that may not run. */
export const NOTICES: Record<Refused['reason'], string> = {
  duplicate: 'This tool call was not run: it was made before, with the same result.',
  budget: 'No further tool call is possible here.',
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
    const step = this.#stream.read(json)
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
    const refused = this.#given.judge()?.refuse(call)
    if (!refused) return true
    this.#given.report.blocked.push(refused)
    this.#reason = refused.reason
    return false
  }

  #take(frame: Frame): void {
    if (this.#asks) return
    if (this.#passes) return void this.#out.push(frame.bytes)
    const json = parse(frame.data)
    if (this.#waits) {
      if (json) this.#begin()
      // Comments keep the connection; other bytes are no answer.
      else return void (frame.bytes[0] === COLON && this.#out.push(frame.bytes))
    }
    if (this.#ending !== undefined) return this.#end(frame, json)
    const step = json ? this.#stream.read(json) : {}
    if (step.usage) this.#use(step.usage)
    if (step.text) this.#said = true
    if (json) this.#open = step.open === true
    const last: Held = { frame, json }
    if (this.#open || this.#held.length > 0 || step.complete?.length) {
      if (!this.#hold(last)) return
    }
    if (step.complete?.length) this.#settle(step.complete, step.finish ? last : undefined)
    if (step.finish) {
      // A call that was begun and not ended is the provider's fault, and passes.
      this.#held = this.#held.filter((one) => one !== last)
      this.#release()
      this.#finish(last)
      return
    }
    if (!this.#held.includes(last) && !step.complete?.length) this.#emit(last)
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
    if (!json || !this.#changed || this.#kept > 0) return this.#pass(last)
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
      if (step.usage) this.#use(step.usage)
      this.#ending?.push(json)
    }
    this.#asks = json ? this.#stream.isLast(json) : frame.data === '[DONE]'
  }

  /** Ends a response without calls, and with a text. */
  #close(ending: readonly Members[]): void {
    if (!this.#said) this.#write(this.#stream.say(NOTICES[this.#reason]))
    this.#said = true
    for (const json of ending) {
      const frames = this.#stream.rewrite(json, this.#refused)
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

  /** What is held when the provider's stream is over. */
  end(): Uint8Array[] {
    // A response whose end is held and that ended without its last frame.
    if (this.#ending !== undefined && !this.#waits) this.#asks = true
    this.#release()
    return this.#flush()
  }
}
