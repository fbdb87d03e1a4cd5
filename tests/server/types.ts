// Only compiled: what callers write, under strict rules.
import { createServer } from 'node:http'
import { memoryStore, openaiChat } from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning, type PassEvent } from 'turnlock/planning'
import { createHandler, memoryPassEvents, toNodeListener, type Handler } from 'turnlock/server'

const model = openaiChat({ baseURL: 'http://localhost/v1', model: 'm' })
const base = { model, store: memoryStore() }

export const handler: Handler = createHandler({
  ...base,
  async authorize(request) {
    const tenant = request.headers.get('x-user')
    return tenant ? { tenant, plan: 'free' } : null
  },
  tools: (_request, session) => (session.plan === 'free' ? {} : {}),
  twoStage: async () => ({ enabled: true }),
})
createHandler({ ...base, authorize: () => new Response(null, { status: 403 }) })
createHandler({ ...base, authorize: () => ({ tenant: 'all' }), twoStage: { maxTools: 2 } })
createHandler({
  ...base,
  authorize: () => ({ tenant: 'all', plan: 'free' }),
  readBody: ({ message, projectId }, { plan }) =>
    plan === 'free'
      ? { messages: [{ role: 'user', content: message }], projectId, policy: { maxTools: 1 } }
      : new Response(null, { status: 402 }),
})
// @ts-expect-error a body without messages
createHandler({ ...base, authorize: () => ({ tenant: 'all' }), readBody: () => ({ text: 'hi' }) })
createServer(toNodeListener(handler))
/** What `Deno.serve`, `Bun.serve` and Next pass beside the request. */
interface ServeHandlerInfo {
  remoteAddr: { hostname: string; port: number }
}
interface Server {
  readonly port: number
  upgrade(request: Request): boolean
}
export const runtimes: [
  (request: Request, info: ServeHandlerInfo) => Promise<Response>,
  (this: Server, request: Request, server: Server) => Response | Promise<Response>,
  (request: Request, context: { params: Promise<object> }) => Promise<Response>,
] = [handler, handler, handler]
// @ts-expect-error who asks must be said
createHandler(base)
// @ts-expect-error a session needs a tenant
createHandler({ ...base, authorize: () => ({ user: 'ann' }) })
// @ts-expect-error a switch that does not exist
createHandler({ ...base, authorize: () => null, twoStage: { on: true } })

const known = { ...base, authorize: () => ({ tenant: 'all', plan: 'free' }) }
const pass = () => runPlanning<number>({ model, input: {} })
const replicate = async () => ({ data: 1 })
const search = async () => ({})
export const served = createHandler({
  ...known,
  passes: {
    plan: (body, { session, signal }) =>
      session.plan === 'free'
        ? runPlanning({ model, input: { symbol: body['symbol'] }, signal })
        : new Response(null, { status: 402 }),
    later: async () => pass,
  },
  bundles: { triage: async () => runBundle({ task: 'triage', replicate }) },
  chains: {
    ask: ({ query }) => {
      const answer = async () => ''
      const steps = { plan: answer, search, synthesize: answer }
      return runChain({ query: String(query), answer, ...steps })
    },
  },
  passEvents: memoryPassEvents({ maxEvents: 10 }),
})
// @ts-expect-error an async function that returns a pass returns its plan
createHandler({ ...known, passes: { plan: async () => pass() } })
// @ts-expect-error a bundle is no pass
createHandler({ ...known, passes: { plan: () => runBundle({ task: 'triage', replicate }) } })
export async function read(): Promise<number> {
  const running = pass()
  for await (const event of running) {
    const told: PassEvent<number> = event
    if (told.type === 'complete') return told.plan
    if (told.type === 'strategist_tool_result') console.log(told.seq, told.result_summary)
  }
  return (await running).plan
}
