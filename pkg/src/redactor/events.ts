/** Redaction of events on their way to a reader. */
import type { Redactor } from './index.js'
import type { Stream } from './stream.js'

/** An event of a turn, a pass, a bundle or a chain. */
export interface AnyEvent {
  type: string
}

/** What events are redacted with. */
export interface Shows extends Pick<Redactor, 'value'> {
  /** A whole text. */
  text(text: string): string
  /** A text that may have been cut at its end. */
  ended(text: string): string
  /** A text in which results may have been cut anywhere. */
  composed(text: string): string
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
/** Texts that the core cuts without a mark, and that end where a response was cut. */
const ENDED = new Set('tool_name detail result_summary text fullContent'.split(' '))

type Texts = AnyEvent & { chunk: string; phase?: unknown }
const isText = (event: AnyEvent): event is Texts =>
  event.type === 'text' || event.type === 'reasoning'

/** Events that may wait behind a text of which something is held back. */
const MOST_WAITING = 8

/** Text, or reasoning: it goes on behind events of another kind. */
interface Channel {
  stream: Stream
  /** Its last event, if that waits for what its stream holds back. */
  last: Texts | undefined
}

/**
 * Each event as it may be shown, with the number that it has. A text of which something is held back
 * waits for the next one of its kind, with what comes between them; any event that is no text, and
 * the eighth that waits, end the waiting. What is held back is then shown as the end of a text that
 * was cut, and the text goes on behind it: a match that spans the two is masked from there on.
 */
export function shownEvents<Event extends AnyEvent>(
  events: AsyncIterator<Event, void, undefined>,
  fresh: () => Stream,
  shows: Shows,
): AsyncGenerator<Event, void, undefined> {
  const channels = new Map<string, Channel>()
  /** In order: what has been read and not been given. */
  let waiting: AnyEvent[] = []
  const ready: AnyEvent[] = []
  let isOver = false
  /** Ends the waiting of all, or of the one that the others wait behind. */
  const flush = (only?: AnyEvent) => {
    for (const channel of channels.values()) {
      if (!channel.last || (only && channel.last !== only)) continue
      channel.last.chunk += channel.stream.pause()
      channel.last = undefined
    }
    release()
  }
  const release = () => {
    const lasts = Array.from(channels.values(), ({ last }) => last)
    const first = waiting.findIndex((event) => (lasts as unknown[]).includes(event))
    ready.push(...waiting.splice(0, first < 0 ? waiting.length : first))
  }
  const take = (event: AnyEvent) => {
    if (!isText(event)) {
      flush()
      // An inference is made again from its beginning.
      if ('voidFrom' in event && event.voidFrom !== undefined) channels.clear()
      ready.push(shown(event, shows) as AnyEvent)
      return
    }
    let channel = channels.get(event.type)
    if (!channel) channels.set(event.type, (channel = { stream: fresh(), last: undefined }))
    const { stream } = channel
    const one = { ...event, chunk: stream.feed(event.chunk) }
    channel.last = stream.holds ? one : undefined
    waiting.push(one)
    release()
    if (waiting.length > MOST_WAITING) flush(waiting[0])
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
    channels.clear()
    waiting = []
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

function shown(value: unknown, shows: Shows, name = ''): unknown {
  if (typeof value === 'string') {
    if (name === 'query') return shows.composed(value)
    return ENDED.has(name) ? shows.ended(value) : shows.text(value)
  }
  if (Array.isArray(value)) return value.map((item) => shown(item, shows, name))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([inner, own]) => [
    inner,
    OWN.has(inner) ? own : THEIRS.has(inner) ? shows.value(own) : shown(own, shows, inner),
  ])
  return Object.fromEntries(entries)
}
