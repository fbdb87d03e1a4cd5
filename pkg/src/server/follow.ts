/** Requests that read the events of a turn, past and new. */
import { voidOf } from '../adapters/narrator.js'
import { storedEvents, turnKey } from '../turn/kept.js'
import type { Store } from '../stores/store.js'
import type { TurnEvent } from '../types.js'
import { invalid } from './body.js'
import type { Exchange } from './exchange.js'
import { failureOf } from './failures.js'
import type { Writer } from './format.js'
import { hidden } from './hidden.js'
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
