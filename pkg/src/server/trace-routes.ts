/** Requests that read the traces of turns. */
import type { Store } from '../stores/store.js'
import { storedEvents, turnKey } from '../turn/kept.js'
import type { ToolCall, TraceEvent, TurnEvent } from '../types.js'
import { pageOf } from './event-log.js'
import type { Exchange } from './exchange.js'
import type { Session } from './options.js'
import { json, refusalOf } from './refusal.js'
import type { StoredTraceEvent, TurnTrace } from './traces.js'

/** `GET …/:requestId/trace`: a page of the trace of one turn. */
export async function showTrace<S extends Session>(
  at: Exchange<S>,
  session: S,
  requestId: string | undefined,
): Promise<Response> {
  const page = pageOf(new URL(at.request.url))
  const unknown = refusalOf('turn.not_found')
  const store = await at.traceStore(session)
  if (requestId === undefined || !store) throw unknown
  const { tenant } = session
  const events = await store.list(tenant, { requestId, ...page })
  // Only the end of a trace has an empty page.
  const any = events.length ? events : await store.list(tenant, { requestId, limit: 1 })
  const [first] = any
  if (!first) throw unknown
  const turnStore = await at.store(session)
  const args = await argumentsOf(at, session, turnStore, requestId)
  return json(await visible(at, session, first, events, args))
}

/** `GET …/traces`: a page of trace events, by turn. `after` of the next page is in it. */
export async function listTraces<S extends Session>(
  at: Exchange<S>,
  session: S,
): Promise<Response> {
  const page = pageOf(new URL(at.request.url))
  const store = await at.traceStore(session)
  const events = (await store?.list(session.tenant, page)) ?? []
  const turns = new Map<string, StoredTraceEvent[]>()
  for (const event of events) {
    const turn = turns.get(event.requestId)
    if (turn) turn.push(event)
    else turns.set(event.requestId, [event])
  }
  const traces = [...turns.values()].map((own) =>
    visible(at, session, own[0] as StoredTraceEvent, own),
  )
  const after = events.at(-1)?.id ?? page.after ?? 0
  return json({ traces: await Promise.all(traces), after })
}

/** A trace as its reader may see it. */
async function visible<S extends Session>(
  at: Exchange<S>,
  session: S,
  { projectId, requestId, conversationId }: StoredTraceEvent,
  events: StoredTraceEvent[],
  args?: ReadonlyMap<string, unknown>,
): Promise<TurnTrace> {
  const redactor = await at.redactor(session)
  return {
    requestId,
    projectId,
    ...(conversationId !== undefined && { conversationId }),
    events: events.map((event) => {
      const shown = redactor?.trace(event) ?? event
      const name = callName(event)
      return name !== undefined && args?.has(name) ? { ...shown, args: args.get(name) } : shown
    }),
  }
}

/** The call of a trace event: its batch and id. */
const callName = (event: TraceEvent): string | undefined =>
  'tool_call_id' in event ? `${event.details.toolBatchId}/${event.tool_call_id}` : undefined

/** The arguments of a turn's calls, as far as the turn is stored and its reader may see them. */
async function argumentsOf<S extends Session>(
  at: Exchange<S>,
  session: S,
  store: Store,
  requestId: string,
): Promise<Map<string, unknown>> {
  const args = new Map<string, unknown>()
  const redactor = await at.redactor(session)
  if (!redactor && !at.settings.traces?.content) return args
  const events = await storedEvents(store, turnKey(session.tenant, requestId))
  const shown = new Map<number, TurnEvent>()
  const redacted = redactor?.events(oneByOne(events)) ?? oneByOne(events)
  for await (const event of redacted) shown.set(event.seq, event)
  for (const event of events) {
    // By place: the ids of the redacted calls may be masked.
    for (const [place, { id }] of callsOf(event).entries()) {
      const call = callsOf(shown.get(event.seq))[place]
      if (call) args.set(`${event.toolBatchId}/${id}`, call.args)
    }
  }
  return args
}

const callsOf = (event: TurnEvent | undefined): ToolCall[] =>
  event && 'toolCalls' in event ? event.toolCalls : []

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items
}
