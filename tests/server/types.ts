// Only compiled: what callers write, under strict rules.
import { createServer } from 'node:http'
import { memoryStore, openaiChat } from 'turnlock'
import { createHandler, toNodeListener, type Handler } from 'turnlock/server'

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
createServer(toNodeListener(handler))
// @ts-expect-error who asks must be said
createHandler(base)
// @ts-expect-error a session needs a tenant
createHandler({ ...base, authorize: () => ({ user: 'ann' }) })
// @ts-expect-error a switch that does not exist
createHandler({ ...base, authorize: () => null, twoStage: { on: true } })
