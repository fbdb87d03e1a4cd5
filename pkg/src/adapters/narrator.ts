/**
 * What a turn's events mean for a protocol of messages: which parts are open, which calls are known,
 * where a step ends. A {@link Voice} writes it in the words of one protocol.
 */
import type { ToolCall, ToolResult, TurnEvent } from '../types.js'

/** The kinds of text that a message has. */
export type Kind = 'text' | 'reasoning'

/** The terminal events. */
export type Ending = Extract<TurnEvent, { type: 'complete' | 'paused' | 'cancelled' | 'error' }>

/** Events that a protocol has no word for. */
export type Other = Exclude<
  TurnEvent,
  { type: 'text' | 'reasoning' | 'tool_calls' | 'tool_results' | 'approval_required' }
>

/** Writes a turn in the words of a protocol. Ids are unique in the turn. */
export interface Voice {
  /** The turn begins, or goes on in a response of its own. */
  begin(): void
  /** A step begins: an inference, its calls and their results. */
  step(id: string): void
  stepEnd(): void
  open(kind: Kind, id: string): void
  delta(kind: Kind, id: string, text: string): void
  close(kind: Kind, id: string): void
  call(id: string, call: ToolCall): void
  approval(id: string, call: ToolCall): void
  denied(id: string): void
  /**
   * The result of a call that was told, in this response or an earlier one. `own`: the client's own
   * page has run it.
   */
  result(id: string, result: ToolResult, own: boolean): void
  other(event: Other): void
  /** The last word of a response. `waiting`: the ids of the calls that wait for an approval. */
  end(event: Ending, waiting: Map<string, ToolCall>): void
}

/** A call that was told. */
interface Told {
  id: string
  call: ToolCall
  state: 'running' | 'waiting' | 'settled' | 'denied'
  /** Whether it is the page's. */
  own: boolean
}

/** Follows a turn's events, and tells a voice what they mean. */
export class Narrator {
  readonly #voice: Voice
  /** Text and reasoning with these numbers are void: a later event of the turn says so. */
  readonly #isVoid: (seq: number) => boolean
  #begun = false
  #open: { kind: Kind; id: string } | undefined
  #step: { settled: boolean; batch: number } | undefined
  /** By batch, provider's id and signature; providers use ids again. */
  readonly #calls = new Map<string, Told[]>()
  /** For an approval or for a page; a call gets its batch when it runs. */
  readonly #waiting: Told[] = []
  readonly #ids = new Set<string>()
  #ending: Ending | undefined

  constructor(voice: Voice, isVoid: (seq: number) => boolean = () => false) {
    this.#voice = voice
    this.#isVoid = isVoid
  }

  /** The events so far were those of earlier responses; what follows is a response of its own. */
  again(): void {
    this.#begun = false
    this.#open = undefined
    this.#step = undefined
    this.#ending = undefined
  }

  take(event: TurnEvent): void {
    if (!this.#begun) {
      this.#begun = true
      this.#voice.begin()
    }
    // A turn that goes on behind a pause.
    this.#ending = undefined
    switch (event.type) {
      case 'text':
      case 'reasoning':
        if (!this.#isVoid(event.seq)) this.#say(event.type, event.chunk, event)
        return
      case 'tool_calls':
        for (const call of event.toolCalls) this.#called(call, event, 'running')
        return
      case 'approval_required':
        for (const call of event.toolCalls) {
          const { id } = this.#called(call, event, 'waiting')
          this.#voice.approval(id, call)
        }
        return
      case 'tool_results':
        for (const result of event.toolResults) this.#settled(result, event)
        return
      case 'refused':
        if (event.reason === 'not_approved') this.#denied(event.toolCalls, event.toolBatchId)
        this.#voice.other(event)
        return
      case 'phase_end':
        // The calls that wait for a page come with the pause behind it, and are of this step.
        this.#close()
        this.#voice.other(event)
        return
      case 'phase_start':
        this.#finishStep()
        this.#voice.other(event)
        return
      case 'complete':
      case 'paused':
      case 'cancelled':
      case 'error':
        if (event.type === 'paused') {
          for (const call of event.calls ?? []) this.#called(call, event, 'waiting', true)
        }
        this.#finishStep()
        this.#voice.other(event)
        // The turn may go on in this response: the last word waits for its end.
        this.#ending = event
        return
      default:
        this.#voice.other(event)
    }
  }

  /** The response ends. */
  end(): void {
    if (!this.#ending) return
    const asks = this.#waiting.filter(({ own }) => !own)
    const waiting = new Map(asks.map(({ id, call }) => [id, call]))
    this.#voice.end(this.#ending, waiting)
  }

  #say(kind: Kind, text: string, event: TurnEvent): void {
    this.#content(event)
    if (this.#open?.kind !== kind) {
      this.#close()
      this.#open = { kind, id: `${kind}-${event.seq}` }
      this.#voice.open(kind, this.#open.id)
    }
    this.#voice.delta(kind, this.#open.id, text)
  }

  #close(): void {
    if (this.#open) this.#voice.close(this.#open.kind, this.#open.id)
    this.#open = undefined
  }

  /** Begins a step where content follows the results of another one. */
  #content({ type, toolBatchId, seq }: TurnEvent): void {
    const step = this.#step
    const isCall = type !== 'text' && type !== 'reasoning'
    // Calls of one response are told one by one, also behind the first result.
    if (step?.settled && !(isCall && step.batch === toolBatchId)) this.#finishStep()
    this.#step ??= this.#begin(seq)
    this.#step.batch = toolBatchId
  }

  #begin(seq: number) {
    this.#voice.step(`step-${seq}`)
    return { settled: false, batch: 0 }
  }

  #finishStep(): void {
    this.#close()
    if (this.#step) this.#voice.stepEnd()
    this.#step = undefined
  }

  #known({ id, signature }: { id: string; signature: string }, batch: number): Told[] {
    const key = JSON.stringify([batch, id, signature])
    const records = this.#calls.get(key) ?? []
    this.#calls.set(key, records)
    return records
  }

  /** Tells a call, unless it is one that waited. */
  #called(call: ToolCall, event: TurnEvent, state: 'running' | 'waiting', own = false): Told {
    const records = this.#known(call, event.toolBatchId)
    const waited = this.#take(call)
    if (waited) {
      waited.state = state
      records.push(waited)
      if (state === 'waiting') this.#waiting.push(waited)
      return waited
    }
    this.#close()
    this.#content(event)
    const record: Told = { id: this.#unique(call.id), call, state, own }
    records.push(record)
    if (state === 'waiting') this.#waiting.push(record)
    this.#voice.call(record.id, call)
    return record
  }

  /** The first such call that waits; it waits no longer. */
  #take({ id, signature }: ToolCall): Told | undefined {
    const at = this.#waiting.findIndex(({ call }) => call.id === id && call.signature === signature)
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0]
  }

  #unique(id: string): string {
    let unique = id || 'call'
    for (let n = 2; this.#ids.has(unique); n++) unique = `${id || 'call'}-${n}`
    this.#ids.add(unique)
    return unique
  }

  #settled(result: ToolResult, event: TurnEvent): void {
    const { toolCallId: id, name, args, signature } = result
    const records = this.#known({ id, signature }, event.toolBatchId)
    if (records.some(({ state }) => state === 'denied')) return
    // A result that a resume revised is told again, of the same call.
    const open = records.find(({ state }) => state !== 'settled') ?? records.at(-1)
    const record = open ?? this.#called({ id, name, args, signature }, event, 'running')
    record.state = 'settled'
    if (this.#step) this.#step.settled = true
    this.#voice.result(record.id, result, record.own)
  }

  #denied(calls: ToolCall[], batch: number): void {
    for (const call of calls) {
      const record = this.#take(call)
      if (!record) continue
      record.state = 'denied'
      this.#known(call, batch).push(record)
      this.#voice.denied(record.id)
    }
  }
}

/** Which text and reasoning of these events a resume has made void. */
export function voidOf(events: readonly TurnEvent[]): (seq: number) => boolean {
  const ranges = events.flatMap((event): [from: number, to: number][] =>
    event.type === 'phase_start' && event.voidFrom !== undefined
      ? [[event.voidFrom, event.seq]]
      : [],
  )
  return (seq) => ranges.some(([from, to]) => from <= seq && seq < to)
}

/** What a tool said, or why it said nothing, as text. */
export function failureText({ status, result, error }: ToolResult): string {
  if (error) return error.message
  // A refusal of the unified mode is a result for the model, and no result for anybody else.
  return typeof result === 'string' ? result : `the call ended as ${status}`
}

/** An event without what every event has. */
export function bare(event: Other): Record<string, unknown> {
  const { requestId: _, projectId: __, conversationId: ___, ...rest } = event
  if (rest.type !== 'complete') return rest
  const { text: ____, fullContent: _____, ...complete } = rest
  return complete
}
