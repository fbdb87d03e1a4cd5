/** Requests about turns of the store, wherever they run: cancel, pause, claim, list. */
import { turnKey } from '../turn/kept.js'
import { claimCalls, endTurn, listTurns, pauseTurn } from '../turn/resume.js'
import { callIdsOf, Fields, optional, needed } from './body.js'
import { tellEvents } from './ends.js'
import type { Exchange } from './exchange.js'
import type { Session } from './options.js'
import { json } from './refusal.js'
import { end } from './turns.js'

export async function cancel<S extends Session>(at: Exchange<S>, session: S): Promise<Response> {
  const body = await at.body()
  const requestId = needed(body.id('requestId'), 'requestId')
  const reason = body.text('reason', 256)
  const store = await at.store(session)
  const { tenant } = session
  const redactor = await at.redactor(session)
  const { ended, ...status } = await endTurn({
    requestId,
    store,
    tenant,
    ...optional('reason', reason),
  })
  if (ended) {
    void tellEvents(at.settings, tenant, ended, redactor)
    const over = ended.result.then((result) => end(at, tenant, store, result))
    at.context.waitUntil?.(over)
  }
  return json(status)
}

export async function pause<S extends Session>(at: Exchange<S>, session: S): Promise<Response> {
  const body = await at.body()
  const requestId = needed(body.id('requestId'), 'requestId')
  const store = await at.store(session)
  at.shared.turns.get(turnKey(session.tenant, requestId))?.pause()
  return json(await pauseTurn({ requestId, store, tenant: session.tenant }))
}

export async function claim<S extends Session>(at: Exchange<S>, session: S): Promise<Response> {
  const body = await at.body()
  const { tenant } = session
  const store = await at.store(session)
  const tools = await at.given(at.settings.tools, session)
  const claimed = await claimCalls({
    requestId: needed(body.id('requestId'), 'requestId'),
    toolBatchId: needed(body.count('toolBatchId'), 'toolBatchId'),
    toolCallIds: callIdsOf(body.list('toolCallIds')),
    store,
    tenant,
    ...optional('tools', tools),
    ...optional('claimant', body.text('claimant', 128)),
  })
  return json(claimed)
}

/** What is open of the tenant: `{ turns }`. */
export async function list<S extends Session>(at: Exchange<S>, session: S): Promise<Response> {
  const query = new Fields(Object.fromEntries(new URL(at.request.url).searchParams), '')
  const conversationId = query.name('conversationId')
  const store = await at.store(session)
  const { tenant } = session
  return json({
    turns: await listTurns({ store, tenant, ...optional('conversationId', conversationId) }),
  })
}
