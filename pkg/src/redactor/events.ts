/** Redaction of events on their way to a reader. */
import type { Redactor } from './index.js'

/** An event of a turn, a pass, a bundle or a chain. */
export interface AnyEvent {
  type: string
}

/** Members whose texts are ids and codes. Names of tools are a model's where a tool is unknown. */
const OWN = new Set(
  (
    'type phase requestId projectId conversationId toolBatchId seq id toolCallId status ' +
    'signature blockedSignatures repeats code usage totalUsage model'
  ).split(' '),
)
/** Members that hold what a model or a tool gave: everything in them is a text of theirs. */
const THEIRS = new Set(
  'args params result results error data block object plan consensus values inputs'.split(' '),
)

type Texts = AnyEvent & { chunk: string; phase?: unknown }
const isText = (event: AnyEvent): event is Texts =>
  event.type === 'text' || event.type === 'reasoning'

/**
 * Each event as it may be shown, with the number that it has. A text waits for the event behind it:
 * what a text that ends had held back belongs to its last one.
 */
export function shownEvents<Event extends AnyEvent>(
  events: AsyncIterator<Event, void, undefined>,
  fresh: () => Pick<Redactor, 'feed' | 'end'>,
  redactor: Pick<Redactor, 'redact' | 'value'>,
): AsyncGenerator<Event, void, undefined> {
  let waiting: Texts | undefined
  let stream = fresh()
  const ready: AnyEvent[] = []
  let isOver = false
  const flush = () => {
    if (waiting) {
      const last: Texts = { ...waiting, chunk: waiting.chunk + stream.end() }
      ready.push(last)
    }
    waiting = undefined
  }
  const take = (event: AnyEvent) => {
    if (!isText(event)) {
      flush()
      ready.push(shown(event, redactor) as AnyEvent)
      return
    }
    const follows = waiting?.type === event.type && waiting.phase === event.phase
    if (waiting && follows) ready.push(waiting)
    else {
      flush()
      stream = fresh()
    }
    waiting = { ...event, chunk: stream.feed(event.chunk) }
  }
  /** Calls are answered in order; leaving does not wait for them. */
  let last: Promise<unknown> = Promise.resolve()
  const next = async (): Promise<IteratorResult<AnyEvent, void>> => {
    for (;;) {
      const event = ready.shift()
      if (event) return { done: false, value: event }
      if (isOver) return { done: true, value: undefined }
      const read = await events.next()
      if (read.done) {
        isOver = true
        flush()
      } else take(read.value)
    }
  }
  const left = async (): Promise<IteratorResult<AnyEvent, void>> => {
    isOver = true
    waiting = undefined
    ready.length = 0
    await events.return?.()
    return { done: true, value: undefined }
  }
  const iterator = {
    next: () => {
      const answer = last.then(next)
      last = answer.catch(() => {})
      return answer
    },
    return: left,
    throw: async (error: unknown) => {
      await left()
      throw error
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator as unknown as AsyncGenerator<Event, void, undefined>
}

function shown(value: unknown, redactor: Pick<Redactor, 'redact' | 'value'>): unknown {
  if (typeof value === 'string') return redactor.redact(value)
  if (Array.isArray(value)) return value.map((item) => shown(item, redactor))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, own]) => [
    name,
    OWN.has(name) ? own : THEIRS.has(name) ? redactor.value(own) : shown(own, redactor),
  ])
  return Object.fromEntries(entries)
}
