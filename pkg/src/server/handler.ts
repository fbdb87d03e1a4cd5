/** Handles a request: authorization, routing, and the response as JSON or a stream. */
import { wrong } from '../errors.js'
import { checkContentType } from './body.js'
import { Exchange, Shared } from './exchange.js'
import { follow, replay } from './follow.js'
import { settingsOf, type HandlerOptions, type RequestContext, type Session } from './options.js'
import { json, Refusal, responseOf, routeDisabled } from './refusal.js'
import { routeName, routeOf, type Route, type RouteName } from './routes.js'
import { listPassEvents, serveRun } from './serve.js'
import { cancel, claim, list, pause } from './stored.js'
import { listTraces, showTrace } from './trace-routes.js'
import { resume, start, type StartMode } from './turns.js'

/**
 * Responds to a request. Never rejects. What runtimes pass beside the request (`Deno.serve`,
 * `Bun.serve`, Next) is no context, and is ignored.
 */
export type Handler = (request: Request, context?: RequestContext | object) => Promise<Response>

/**
 * Makes a handler of the chat routes, for any runtime with `Request` and `Response`.
 *
 * | below `basePath` | |
 * |---|---|
 * | `POST /messages` | a unified turn |
 * | `POST /messages_two_stage` | a new two-stage turn; 404 `route.disabled` if it is switched off |
 * | `POST` on the base itself | the default one of the two |
 * | `POST …/resume` | continues a turn: `{ requestId, toolBatchId?, approvals?, results?, outcomes? }` |
 * | `POST …/claim` | `{ requestId, toolBatchId, toolCallIds, claimant? }` → `{ requestId, granted }` |
 * | `POST …/cancel` | cancels a turn: `{ requestId, reason? }` → `{ requestId, status }` |
 * | `GET …/turns` | what is open of the tenant, `?conversationId=` of one conversation: `{ turns }` |
 * | `POST …/pause` | asks for a pause behind the tools: `{ requestId }` → `{ requestId, status }` |
 * | `GET …/:requestId/events` | the events of a turn after `Last-Event-ID` or `?after=` |
 * | `GET …/:requestId/trace`, `GET …/traces` | with `traces`: the trace of a turn, of recent turns |
 * | `GET …/:chat/stream` | with `format: 'ai-sdk'`: the open turn of a chat from its beginning, or 204 |
 * | `POST /passes/:name`, `/bundles/:name`, `/chains/:name` | what the host starts of the body |
 * | `GET /agents/events` | trace events of passes: `?plan_id=`, `?after=`, `?limit=` → `{ events }` |
 * | `GET` on the base itself | `{ twoStage, default }`: the switches and the default route's path |
 *
 * A turn starts with the body `{ messages, requestId?, projectId?, conversationId?, policy?: {
 * maxTools?, pauseAfterTools?, actionTools? } }`; other members are ignored. `agents`, `passes`, `bundles` and
 * `chains` name routes, and no turn. The response is `text/event-stream`,
 * or `{ error: { code, message } }` with a status of 400 or above.
 *
 * @throws TurnlockError `options.invalid`, `store.unsupported`, `tool.invalid_name`,
 * `tool.invalid_schema`
 * @example
 * const handler = createHandler({
 *   model: openaiChat({ baseURL, model: 'gpt-5-mini', apiKey }),
 *   tools: { list_files },
 *   store: memoryStore(),
 *   authorize: async (request) => userOf(request.headers.get('authorization')),
 *   cors: { origins: ['https://app.example'] },
 * })
 */
export function createHandler<S extends Session = Session>(options: HandlerOptions<S>): Handler {
  const shared = new Shared(settingsOf(options))
  return (request, context = {}) => respond(new Exchange(shared, request, context))
}

async function respond<S extends Session>(at: Exchange<S>): Promise<Response> {
  const { origins } = at.settings
  const refused = (error: unknown) =>
    at.refuse(error instanceof Refusal ? error : at.refusalFor(error))
  // A redactor that cannot be had is itself an error.
  const response = await answer(at)
    .catch(refused)
    .catch((error: unknown) => responseOf(at.refusalFor(error)))
  try {
    return origins.apply(at.request, response)
  } catch (error) {
    // A response of the host that cannot be sent: its body was read, or it is that of an error.
    return origins.apply(at.request, responseOf(at.refusalFor(error)))
  }
}

async function answer<S extends Session>(at: Exchange<S>): Promise<Response> {
  const { basePath, origins, served } = at.settings
  const { method, url } = at.request
  origins.check(at.request)
  const { pathname } = new URL(url)
  const below = pathname === basePath || pathname.startsWith(`${basePath}/`)
  const route = below ? routeOf(pathname.slice(basePath.length), served) : undefined
  if (!route) throw new Refusal(404, 'route.not_found', 'there is no such route')
  if (method === 'OPTIONS') return origins.preflight(route.methods)
  if (!route.methods.includes(method)) {
    const allow = { allow: route.methods.join(', ') }
    throw new Refusal(405, 'route.method', `expected ${route.methods.join(' or ')}`, allow)
  }
  const mode = await modeOf(at, route)
  const session = await authorize(at, routeName(route, method))
  if (session instanceof Response) return session
  at.session = session
  if (route.name === 'events') return follow(at, session, route.requestId)
  if (route.name === 'chat') return replay(at, session, route.chat)
  if (route.name === 'turns') return list(at, session)
  if (route.name === 'trace') return showTrace(at, session, route.requestId)
  if (route.name === 'traces') return listTraces(at, session)
  if (route.name === 'pass_events') return listPassEvents(at.asked(session))
  if (method === 'GET') return describe(at)
  // Before the callbacks below run and before the body is read.
  checkContentType(at.request)
  switch (route.name) {
    case 'resume':
      return resume(at, session)
    case 'cancel':
      return cancel(at, session)
    case 'pause':
      return pause(at, session)
    case 'claim':
      return claim(at, session)
    case 'run':
      return serveRun(at.asked(session), route, await at.body())
    case 'start':
      return start(at, session, mode)
  }
}

/**
 * The mode of a new turn. The switches are read for new turns only: a turn that exists can be
 * resumed, paused, cancelled and followed after its mode was switched off.
 */
async function modeOf<S extends Session>(at: Exchange<S>, route: Route): Promise<StartMode> {
  if (route.name !== 'start' || route.prefix === 'unified') return 'unified'
  const { enabled, default: isDefault } = await at.twoStage()
  if (route.prefix === 'default') return enabled && isDefault ? 'two_stage' : 'unified'
  if (enabled) return 'two_stage'
  // Bodies of other formats may resume a turn on this route.
  if (at.settings.loadFormat) return 'disabled'
  throw routeDisabled()
}

async function authorize<S extends Session>(
  at: Exchange<S>,
  route: RouteName,
): Promise<S | Response> {
  let session: S | Response | null | undefined
  try {
    session = await at.settings.authorize(at.request, at.context.env, route)
  } catch (error) {
    at.report(error)
  }
  if (session instanceof Response) return session
  // An empty tenant usually means a missing one, and would be shared by all clients.
  if (typeof session?.tenant === 'string' && session.tenant !== '') return session
  if (session !== null && session !== undefined) at.report(NO_TENANT())
  throw new Refusal(401, 'auth.required', 'this needs an authorized request')
}

const NO_TENANT = () => wrong('authorize', '{ tenant: a text }, null or undefined')

async function describe<S extends Session>(at: Exchange<S>): Promise<Response> {
  const twoStage = await at.twoStage()
  const name = twoStage.enabled && twoStage.default ? 'messages_two_stage' : 'messages'
  return json({ twoStage, default: `${at.settings.basePath}/${name}` })
}
