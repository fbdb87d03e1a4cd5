/** Turns that a request starts or resumes, and that run here. */
import { wrong } from '../errors.js'
import { storedEvents, turnKey } from '../turn/kept.js'
import { claimCalls, resumeTurn } from '../turn/resume.js'
import type { Store } from '../stores/store.js'
import { demoteInstructions, runTurn, type Turn } from '../turn/turn.js'
import type { Tool } from '../tools/tools.js'
import type { Mode, Policy, TurnEvent, TurnResult } from '../types.js'
import { approvalsOf, droppedOf, optional, invalid, needed, outcomesOf, startOf } from './body.js'
import type { Fields } from './body.js'
import { tellEnd, tellEvents } from './ends.js'
import type { Exchange } from './exchange.js'
import { failureOf, isOurs } from './failures.js'
import type { Chats, Writer } from './format.js'
import type { About, Session } from './options.js'
import { resumingOf, type Resuming } from './page-answers.js'
import { routeDisabled } from './refusal.js'
import { asKept, TurnStream, whenGone } from './stream.js'
import { selectedTools, type ActionTools } from './two-stage.js'

/** The mode of a new turn; `disabled` refuses it after a body of another format was read. */
export type StartMode = Mode | 'disabled'

export async function start<S extends Session>(
  at: Exchange<S>,
  session: S,
  mode: StartMode,
): Promise<Response> {
  const { limits, prepare, policy, keep, system, trustSystem, strategy } = at.settings
  const body = await at.startBody(session)
  if (body instanceof Response) return body
  const format = await at.settings.loadFormat?.()
  const request = format ? format.read(body) : startOf(body)
  if ('resume' in request) {
    const { requestId } = request.resume
    const writer = format!.writer({ ...request, requestId })
    const response = await goOn(at, session, request.resume, writer)
    if (response) return response
  }
  if (mode === 'disabled') throw routeDisabled()
  const { messages } = request
  if (!messages) throw invalid('messages', "the user's message, or an answer of the page")
  if (messages.length === 0 || messages.length > limits.messages) {
    throw invalid('messages', `1 to ${limits.messages} messages`)
  }
  if (strategy === 'thread' && !request.conversationId) {
    throw invalid('conversationId', 'the id of the conversation that the model keeps')
  }
  const common = await at.common(session)
  const options = {
    requestId: ('requestId' in request && request.requestId) || crypto.randomUUID(),
    projectId: session.projectId === undefined ? (body.id('projectId') ?? null) : session.projectId,
    ...optional('keep', keep),
    ...optional('strategy', strategy),
    ...optional('conversationId', request.conversationId),
    policy:
      mode === 'unified'
        ? (policy ?? {})
        : await policyOf(at, body.object('policy'), common.tools ?? {}),
  }
  const { requestId, conversationId } = options
  const about = { requestId, ...optional('conversationId', conversationId) }
  const history = trustSystem ? messages : await demoteInstructions(messages)
  if (history.length === 0) throw invalid('messages', 'a message that is not an instruction')
  const prepared = prepare ? await prepare(history, session, at.request, about) : history
  const prompt = typeof system === 'function' ? await system(at.request, session) : system
  await remember(at, format?.chats, session, common.store, about)
  const previousId = await at.settings.previousResponseId?.(about, session, at.request)
  const more = { ...optional('system', prompt), ...optional('previousResponseId', previousId) }
  const begin = () => runTurn({ ...common, ...options, ...more, mode, messages: prepared })
  const writer = format?.writer({ ...request, ...about })
  return run(at, session, common.store, begin, prepared, writer)
}

export async function resume<S extends Session>(at: Exchange<S>, session: S): Promise<Response> {
  const body = await at.body()
  const requestId = needed(body.id('requestId'), 'requestId')
  const toolBatchId = body.count('toolBatchId')
  const outcomes = outcomesOf(body.list('outcomes'))
  if (outcomes) needed(toolBatchId, 'toolBatchId')
  const options = {
    requestId,
    ...optional('toolBatchId', toolBatchId),
    ...optional('approvals', approvalsOf(body.list('approvals'))),
    ...optional('results', droppedOf(body.list('results'))),
    ...optional('outcomes', outcomes),
  }
  return (await goOn(at, session, options))!
}

/** Tells the host that a turn has ended. */
export async function end<S extends Session>(
  at: Exchange<S>,
  tenant: string,
  store: Store,
  result: TurnResult,
  messages?: unknown[],
): Promise<void> {
  try {
    await tellEnd(at.settings, tenant, store, result, messages)
  } catch (thrown) {
    at.report(thrown)
  }
}

/** Notes the last turn of a chat. Without the note the turn runs, and nobody finds it again. */
async function remember<S extends Session>(
  at: Exchange<S>,
  chats: Chats | undefined,
  { tenant }: S,
  store: Store,
  { requestId, conversationId }: About,
): Promise<void> {
  if (!chats || conversationId === undefined) return
  const { ttlMs = 86_400_000 } = at.settings.keep ?? {}
  try {
    await chats.began(store, tenant, conversationId, requestId, ttlMs)
  } catch (error) {
    at.report(error)
  }
}

/** The server's policy, with the members that a request may set. */
async function policyOf<S extends Session>(
  at: Exchange<S>,
  asked: Fields | undefined,
  tools: Readonly<Record<string, Tool>>,
): Promise<Policy> {
  const { policy = {} } = at.settings
  const most = (await at.twoStage()).maxTools
  const maxTools = asked?.count('maxTools') ?? policy.maxTools ?? most
  const pauseAfterTools = asked?.boolean('pauseAfterTools') === true || !!policy.pauseAfterTools
  const actionTools = await actionToolsOf(at, asked?.actionTools('actionTools'), tools)
  return {
    ...policy,
    maxTools: Math.min(maxTools, most),
    pauseAfterTools,
    ...optional('actionTools', actionTools),
  }
}

/**
 * The tools of the answer phase: those of the request, of the policy, or all that `twoStage` allows.
 *
 * @throws Refusal 400 for a request of others
 */
async function actionToolsOf<S extends Session>(
  at: Exchange<S>,
  asked: ActionTools | undefined,
  tools: Readonly<Record<string, Tool>>,
): Promise<ActionTools | undefined> {
  const { policy = {}, tools: given } = at.settings
  const { actionTools: most } = await at.twoStage()
  if (most === undefined && asked === undefined) return policy.actionTools
  const named = selectedTools(most ?? policy.actionTools ?? [], tools)
  const allowed = named.filter((name) => Object.hasOwn(tools, name))
  // Tools that the host makes for each request may lack some.
  if (allowed.length < named.length && typeof given !== 'function') {
    at.report(wrong('twoStage.actionTools', 'names of tools'))
  }
  if (asked === undefined) {
    const chosen = selectedTools(policy.actionTools ?? allowed, tools)
    return chosen.filter((name) => allowed.includes(name))
  }
  const chosen = selectedTools(asked, tools)
  if (chosen.every((name) => allowed.includes(name))) return [...chosen]
  throw invalid('policy.actionTools', 'tools that the answer phase of this server may call')
}

/**
 * Resumes a turn. A writer of another format first takes what its client has seen; `undefined` if
 * that client has answered nothing.
 */
async function goOn<S extends Session>(
  at: Exchange<S>,
  session: S,
  asked: Resuming,
  writer?: Writer,
): Promise<Response | undefined> {
  const { requestId } = asked
  const { tenant } = session
  at.shared.resumes.use(tenant, requestId)
  const common = await at.common(session)
  let options: Resuming | undefined = asked
  const { store, tools = {} } = common
  const hides = writer || at.settings.redact
  const events = hides ? await storedEvents(store, turnKey(tenant, requestId)) : []
  if (writer) {
    options = await resumingOf(asked, events, (toolBatchId, toolCallIds) =>
      claimCalls({ requestId, toolBatchId, toolCallIds, store, tenant, tools }),
    )
    if (!options) return undefined
    writer.seen(events)
  }
  const begin = () => resumeTurn({ ...common, ...options })
  return run(at, session, store, begin, undefined, writer, events)
}

/**
 * Runs a turn; `before`: its events before a resume. It continues when its client disconnects, unless
 * `clientGone` is `stop`.
 */
async function run<S extends Session>(
  at: Exchange<S>,
  session: S,
  store: Store,
  begin: () => Turn,
  messages?: unknown[],
  writer?: Writer,
  before: TurnEvent[] = [],
): Promise<Response> {
  const { running, turns } = at.shared
  const redactor = await at.redactor(session)
  running.enter(session.tenant)
  let turn: Turn
  try {
    turn = begin()
  } catch (error) {
    running.leave(session.tenant)
    throw error
  }
  const key = turnKey(session.tenant, turn.requestId)
  // One with the id of a turn that runs here ends with a conflict, and does not replace it.
  if (!turns.has(key)) turns.set(key, turn)
  void tellEvents(at.settings, session.tenant, turn, redactor)
  const over = turn.result.then(async (result) => {
    const { error } = result
    running.leave(session.tenant)
    if (turns.get(key) === turn) turns.delete(key)
    if (error && isOurs(error)) at.report(failureOf(error))
    await end(at, session.tenant, store, result, messages)
    await at.traced()
  })
  const stops = at.settings.clientGone === 'stop'
  if (!stops) at.context.waitUntil?.(over)
  const clientGone = new AbortController()
  const follow = at.reader(session, store, turn.requestId, clientGone.signal)
  const stream = new TurnStream(turn)
  const leave = () => {
    clientGone.abort()
    if (stops) turn.cancel('the client left')
    void stream.leave()
  }
  // Some hosts cancel the body only at their next write, or not at all while they cannot write,
  // but abort the request's signal at once.
  whenGone(at.request, leave)
  const events = asKept(stream, follow)
  return at.stream(turn.requestId, redactor?.events(events, before) ?? events, leave, writer)
}
