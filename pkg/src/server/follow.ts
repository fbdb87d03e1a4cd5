/** Requests that read the events of a turn, past and new. */
import { voidOf } from '../adapters/narrator.js'
import type { Redactor } from '../redactor/index.js'
import { eventsIn, inTime, storedEvents, turnKey } from '../turn/kept.js'
import type { Store } from '../stores/store.js'
import type { TurnEvent } from '../types.js'
import { invalid } from './body.js'
import type { Exchange } from './exchange.js'
import { failureOf } from './failures.js'
import type { Writer } from './format.js'
import type { Session } from './options.js'
import { refusalOf } from './refusal.js'
import { whenGone } from './stream.js'

export async function follow<S extends Session>(
  at: Exchange<S>,
  session: S,
  requestId: string | undefined,
): Promise<Response> {
  const lastEventId =
    // A browser that reconnects sends it in the header; its URL is that of the first request.
    at.request.headers.get('last-event-id') ||
    new URL(at.request.url).searchParams.get('after') ||
    '0'
  if (!/^\d{1,15}$/.test(lastEventId)) throw invalid('Last-Event-ID', 'the seq of an event')
  const unknown = refusalOf('turn.not_found')
  if (requestId === undefined) throw unknown
  return read(at, session, await at.store(session), requestId, Number(lastEventId))
}

/** The open turn of a chat from its beginning, as the format's clients resume; 204 if none is. */
export async function replay<S extends Session>(
  at: Exchange<S>,
  session: S,
  chat: string,
): Promise<Response> {
  const format = await at.settings.loadFormat?.()
  const store = await at.store(session)
  const requestId = await format?.chats?.open(store, session.tenant, chat)
  if (!format || requestId === undefined) return new Response(null, { status: 204 })
  const isVoid = voidOf(await storedEvents(store, turnKey(session.tenant, requestId)))
  const writer = format.writer({ requestId, conversationId: chat, isVoid })
  return read(at, session, store, requestId, 0, writer)
}

/** The events of a turn after a `seq`. */
async function read<S extends Session>(
  at: Exchange<S>,
  session: S,
  store: Store,
  requestId: string,
  after: number,
  writer?: Writer,
): Promise<Response> {
  const { readers } = at.shared
  const key = turnKey(session.tenant, requestId)
  const redactor = await at.redactor(session)
  const clientGone = new AbortController()
  const leave = () => clientGone.abort()
  whenGone(at.request, leave)
  const open = at.reader(session, store, requestId, clientGone.signal)
  readers.enter(key)
  const events = redactor ? hidden(redactor, open, store, key, after) : open(after)
  const counted = watched(at, events, () => readers.leave(key))
  return at.stream(requestId, counted, leave, writer)
}

/**
 * The events after a `seq`, redacted. What may be shown of a text depends on all that stands before
 * it, whatever the client says that it has, so all is read that is kept. Where the first events are
 * not kept any longer, the first texts may go on a secret of theirs, and are left out.
 */
async function* hidden(
  redactor: Redactor,
  open: (after: number) => AsyncIterable<TurnEvent>,
  store: Store,
  key: string,
  after: number,
): AsyncGenerator<TurnEvent, void, undefined> {
  const first = await firstKept(store, key)
  // They are gone, which the reading says.
  if (after < first - 1) return yield* redactor.events(open(after))
  const begun = { text: 0, reasoning: 0 }
  let last = first - 1
  for await (const event of redactor.events(open(last))) {
    // An error of the reading has the number of the event before it.
    const isNew = event.seq > after || event.seq === last
    last = event.seq
    let visible: TurnEvent = event
    if (first > 1 && (event.type === 'text' || event.type === 'reasoning')) {
      if (begun[event.type] < LONGEST_SECRET) visible = { ...event, chunk: '' }
      begun[event.type] += event.chunk.length
    }
    if (isNew) yield visible
  }
}

/**
 * Characters of a text, shown, after which it is no part of a secret that began before.
 *
 * Limit | text that is held back where the first events were dropped | characters | shown
 */
const LONGEST_SECRET = 65_536

/** The number of the first event that is kept; 1 where none is, or none can be read. */
async function firstKept(store: Store, key: string): Promise<number> {
  const [group] = await inTime(store.events(key, 0, 1)).catch(() => [])
  return (group && eventsIn(group.text)[0]?.seq) ?? 1
}

/** Reports failures of the store. They are not stored, so each reader reports its own. */
async function* watched<S extends Session>(
  at: Exchange<S>,
  events: AsyncIterable<TurnEvent>,
  over: () => void,
): AsyncGenerator<TurnEvent, void, undefined> {
  try {
    for await (const event of events) {
      if (event.type === 'error' && event.code.startsWith('store.')) at.report(failureOf(event))
      yield event
    }
  } finally {
    over()
  }
}
