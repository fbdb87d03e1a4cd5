/** Requests for passes, bundles and chains, and for the events of passes. */
import { closed, pulled } from '../shared/events.js'
import type { PassTraceEvent } from '../planning/types.js'
import { optional, type Fields } from './body.js'
import { refusalFor } from './failures.js'
import type { Running } from './limits.js'
import { perRequest, type RequestContext, type Session, type Settings } from './options.js'
import { queryOf, type KeptPassEvent } from './pass-events.js'
import { clientLeft, json } from './refusal.js'
import type { Route } from './routes.js'
import {
  begin,
  runEventText,
  watch,
  type Run,
  type RunContext,
  type RunEvent,
  type Start,
} from './runs.js'
import { streamed, whenGone } from './stream.js'

/** A request that was authorized. */
interface Asked<S extends Session> {
  settings: Settings<S>
  request: Request
  context: RequestContext
  session: S
  running: Running
  report(error: unknown): void
}

/** Runs what the host starts. Nobody could follow it again, so it ends with its client. */
export async function serveRun<S extends Session>(
  asked: Asked<S>,
  { kind, run: name }: Route & { name: 'run' },
  body: Fields,
): Promise<Response> {
  const { settings, request, context, session, running, report } = asked
  const { tenant } = session
  const conversationId = body.name('conversationId')
  const log = kind === 'passes' ? await passEventsOf(asked) : undefined
  const redactor = await redactorOf(asked)
  running.enter(tenant)
  const clientGone = new AbortController()
  const leave = () => clientGone.abort()
  whenGone(request, leave)
  const over = () => {
    running.leave(tenant)
    request.signal.removeEventListener('abort', leave)
  }
  const { signal } = clientGone
  const keep = log && ((event: PassTraceEvent) => log.append(tenant, event))
  const about: RunContext<S> = { tenant, session, signal, request, env: context.env }
  const start = (settings[kind]?.[name] as Start<unknown, S>).bind(settings[kind])
  const conversation = optional('conversationId', conversationId)
  let run: Run | Response
  const begun = begin(start, body.members, { ...about, ...conversation })
  try {
    const first = await Promise.race([begun, aborted(signal)])
    if (!first) {
      // The function of the host may take for ever, and what it returns then has no client.
      const late = begun.then(({ made }) => {
        if (made instanceof Response) return
        made.cancel('the client left')
        return watch(made, keep, report, () => {})
      })
      context.waitUntil?.(late.catch(report))
      throw clientLeft()
    }
    run = first.made
  } catch (error) {
    over()
    throw error
  }
  if (run instanceof Response) {
    over()
    return run
  }
  const cancel = run.cancel.bind(run, 'the client left')
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  const watched = watch(run, keep, report, over)
  context.waitUntil?.(watched)
  // Through its stream, so that a slow client holds an answer back.
  const events = closed(pulled<RunEvent>(run.toReadableStream()))
  return streamed(redactor?.events(events) ?? events, {
    text: runEventText,
    // Whoever watches the run has reported it.
    refuse: (event) => (isError(event) ? refusalFor(event) : undefined),
    keepAliveMs: settings.limits.keepAliveMs,
    onLeave: leave,
    onError: report,
    headers: {},
  })
}

/** Resolves with nothing once the signal is aborted. */
const aborted = (signal: AbortSignal) =>
  new Promise<undefined>((resolve) => {
    const onAbort = () => resolve(undefined)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })

/** The trace events of the tenant's passes: `{ events }`. */
export async function listPassEvents<S extends Session>(asked: Asked<S>): Promise<Response> {
  const query = queryOf(new URL(asked.request.url))
  const log = await passEventsOf(asked)
  const events = await log.list(asked.session.tenant, query)
  const redactor = await redactorOf(asked)
  if (!redactor) return json({ events })
  const visible: KeptPassEvent[] = []
  for await (const event of redactor.events(oneByOne(events))) visible.push(event)
  return json({ events: visible })
}

async function* oneByOne<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items
}

const passEventsOf = <S extends Session>({ settings, request, session, context }: Asked<S>) =>
  perRequest(settings.passEvents, request, session, context.env)
/** What redacts events for the client, if the host has it. */
const redactorOf = async <S extends Session>({ settings, request, session, context }: Asked<S>) =>
  settings.redact && perRequest(settings.redact, request, session, context.env)

const isError = (event: RunEvent): event is RunEvent & { code: string; message: string } =>
  event.type === 'error'
