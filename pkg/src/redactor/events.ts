/** Redaction of events on their way to a reader. */
import type { Redactor } from './index.js'
import { isObject } from '../checks.js'
import { deep, mapMembers } from '../shared/redact.js'
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
  /** A value that stands at a JSON pointer of another one. */
  at(pointer: string, value: unknown): unknown
  /** A JSON pointer, without names below a field that is hidden. */
  pointer(pointer: string): string
  mask(kind: 'field'): string
}

/** Members whose texts are ids and codes. Names of tools are a model's where a tool is unknown. */
const OWN = new Set(
  (
    'type phase requestId projectId conversationId toolBatchId seq id toolCallId status ' +
    'signature blockedSignatures repeats code usage totalUsage model'
  ).split(' '),
)
/** Members that hold what a model or a tool gave: everything in them is a text of theirs. */
const THEIRS = new Set('args params result results data block object plan values inputs'.split(' '))
/** Texts that the core cuts at their end without a mark, and those that end where a response was cut. */
const ENDED = new Set('tool_name detail message text fullContent'.split(' '))
/** Texts with what the core has cut in them, without a mark. */
const COMPOSED = new Set(['query', 'result_summary'])
/** Records of a bundle whose names are pointers, and lists whose items name one. */
const BY_POINTER = new Set(['consensus', 'support', 'distributions'])
const POINTING: Record<string, string> = { disagreements: 'field', delta: 'path' }

type Texts = AnyEvent & { chunk: string; phase?: unknown }
const isText = (event: AnyEvent): event is Texts =>
  event.type === 'text' || event.type === 'reasoning'

type Report = AnyEvent & { toolCallId: unknown; data: string }
const isReport = (event: AnyEvent): event is Report =>
  event.type === 'tool_progress' && 'data' in event && typeof event.data === 'string'

/**
 * Events that may wait behind a text of which something is held back.
 *
 * Limit | events that wait behind a text | events | the text is shown, as at a pause
 */
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
 *
 * @param before events that the reader has: they are read first, and not given
 */
export function shownEvents<Event extends AnyEvent>(
  events: AsyncIterator<Event, void, undefined>,
  fresh: () => Stream,
  shows: Shows,
  before: readonly Event[] | Promise<readonly Event[]> = [],
): AsyncGenerator<Event, void, undefined> {
  const channels = new Map<string, Channel>()
  /** What a call reports, if it is a text: it goes on from report to report. */
  const reports = new Map<unknown, Stream>()
  /** In order: what has been read and not been given. */
  let waiting: AnyEvent[] = []
  const ready: AnyEvent[] = []
  let isOver = false
  let hasBegun = false
  /** How many of those to come the reader has. */
  let had = 0
  /** Ends the waiting of all, which divides their texts, or of the one that the others wait behind. */
  const flush = (only?: AnyEvent) => {
    for (const channel of channels.values()) {
      if (!only) channel.stream.divide()
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
  const report = ({ toolCallId, data }: Report) => {
    const stream = reports.get(toolCallId) ?? fresh()
    reports.set(toolCallId, stream)
    return stream.feed(data) + stream.pause()
  }
  const take = (event: AnyEvent) => {
    if (!isText(event)) {
      flush()
      // An inference is made again from its beginning.
      if ('voidFrom' in event && event.voidFrom !== undefined) channels.clear()
      const redacted = redactedEvent(event, fresh, shows)
      ready.push(isReport(event) ? Object.assign(redacted, { data: report(event) }) : redacted)
      return
    }
    let channel = channels.get(event.type)
    if (!channel) channels.set(event.type, (channel = { stream: fresh(), last: undefined }))
    const { stream } = channel
    const redacted = { ...event, chunk: stream.feed(event.chunk) }
    channel.last = stream.holds ? redacted : undefined
    waiting.push(redacted)
    release()
    if (waiting.length > MOST_WAITING) flush(waiting[0])
  }
  /** Calls are answered in order; leaving does not wait for them. */
  let last: Promise<unknown> = Promise.resolve()
  const next = async (): Promise<IteratorResult<AnyEvent, void>> => {
    if (!hasBegun) {
      hasBegun = true
      const earlier = await before
      had = earlier.length
      earlier.forEach(take)
    }
    for (;;) {
      const event = ready.shift()
      if (event && had-- > 0) continue
      if (event) return { done: false, value: event }
      if (isOver) return { done: true, value: undefined }
      const read = await events.next()
      if (read.done) {
        isOver = true
        flush()
      } else take(read.value)
    }
  }
  const finish = async (): Promise<IteratorResult<AnyEvent, void>> => {
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
    return: finish,
    throw: async (error: unknown) => {
      await finish()
      throw error
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator as unknown as AsyncGenerator<Event, void, undefined>
}

interface Named {
  name?: unknown
}

/** An event that is no text. */
function redactedEvent(event: AnyEvent, fresh: () => Stream, shows: Shows): AnyEvent {
  type Ended = AnyEvent & { id?: unknown; text?: unknown; fullContent?: unknown }
  const redacted = redactedValue(withoutNames(event, shows), shows) as Ended
  const { text, fullContent } = event as Ended
  // The answer stands behind what was said before: a match may span the two.
  if (typeof text === 'string' && typeof fullContent === 'string' && fullContent.endsWith(text)) {
    const stream = fresh()
    stream.feed(fullContent.slice(0, fullContent.length - text.length))
    stream.pause()
    redacted.text = stream.feed(String(redacted.text)) + stream.pause()
  }
  // The ids of a chain's steps are a model's.
  if (event.type.startsWith('step') && typeof redacted.id === 'string')
    redacted.id = shows.text(redacted.id)
  return redacted
}

/** The core has written names into sentences, without the characters by which they are known. */
function withoutNames(event: AnyEvent, shows: Shows): AnyEvent {
  const { toolCalls = [], toolResults = [] } = event as Partial<Record<string, Named[]>> & AnyEvent
  const names = [...toolCalls, ...toolResults].flatMap(({ name }) => {
    if (typeof name !== 'string') return []
    const redactedName = shows.text(name)
    return redactedName === name ? [] : [[plainName(name), redactedName] as const]
  })
  if (names.length === 0) return event
  const hide = (text: string) =>
    names.reduce((left, [plain, own]) => left.replaceAll(plain, own), text)
  return deep(event, hide) as AnyEvent
}

/** A name as the core writes it (`plain_name`). */
const plainName = (name: string) =>
  Array.from(name)
    .slice(0, 64)
    .join('')
    .replace(/[^\w.:-]/gu, '_')

function redactedValue(value: unknown, shows: Shows, name = ''): unknown {
  if (typeof value === 'string') {
    if (COMPOSED.has(name)) return shows.composed(value)
    return ENDED.has(name) ? shows.ended(value) : shows.text(value)
  }
  if (Array.isArray(value)) {
    const by = POINTING[name]
    return value.map((item) => (by ? pointing(item, by, shows) : redactedValue(item, shows, name)))
  }
  if (!isObject(value)) return value
  return mapMembers(value, (inner, own) => {
    if (BY_POINTER.has(name)) return [shows.pointer(inner), pointed(name, inner, own, shows)]
    if (inner === 'error' && isObject(own)) {
      const message = 'message' in own && { message: redactedValue(own.message, shows, 'message') }
      return [inner, { ...shows.value(own), ...message }]
    }
    return [
      inner,
      OWN.has(inner)
        ? own
        : THEIRS.has(inner)
          ? theirs(own, shows)
          : redactedValue(own, shows, inner),
    ]
  })
}

/** What a tool or a replicate gave. It may be a bundle, or an event of one. */
const theirs = (value: unknown, shows: Shows): unknown => bundled(shows.value(value), shows)

/** A value in which records of bundles name fields by pointers, and `data` is a value of its own. */
function bundled(value: unknown, shows: Shows, name = ''): unknown {
  if (Array.isArray(value)) {
    const by = POINTING[name]
    return value.map((item) =>
      by && isPointer((item as Record<string, unknown> | null)?.[by])
        ? pointing(item, by, shows)
        : bundled(item, shows),
    )
  }
  if (!isObject(value)) return value
  return mapMembers(value, (inner, own) =>
    BY_POINTER.has(name) && isPointer(inner)
      ? [shows.pointer(inner), pointed(name, inner, own, shows)]
      : [inner, inner === 'data' ? theirs(own, shows) : bundled(own, shows, inner)],
  )
}

const isPointer = (value: unknown): boolean => typeof value === 'string' && /^(?:\/|$)/.test(value)

/** What a record of a bundle has of the field at a pointer. */
function pointed(record: string, pointer: string, own: unknown, shows: Shows): unknown {
  if (record === 'support') return own
  const value = shows.at(pointer, own)
  const isNumbers = record === 'distributions' && isObject(own) && 'mean' in own
  if (!isNumbers || JSON.stringify(value) === JSON.stringify(own)) return value
  // The mean of numbers of which one is hidden tells it.
  return mapMembers(own, (name, one) => [name, name === 'n' ? one : shows.mask('field')])
}

/** An item that names its field: what it has of that is shown as in the field. */
function pointing(item: unknown, by: string, shows: Shows): unknown {
  if (!isObject(item)) return redactedValue(item, shows)
  const pointer = String(item[by])
  const valued = (one: unknown): unknown => {
    if (Array.isArray(one)) return one.map(valued)
    if (!isObject(one)) return redactedValue(one, shows)
    return mapMembers(one, (name, own) => [
      name,
      name === 'value'
        ? shows.at(pointer, own)
        : name === by
          ? shows.pointer(pointer)
          : name === 'values'
            ? valued(own)
            : redactedValue(own, shows, name),
    ])
  }
  return valued(item)
}
