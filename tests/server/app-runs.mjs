// The passes, bundles and chains of the application: what a host writes, and what goes wrong in it.
import { customModel, openaiChat } from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { runChain } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'

/** Says these texts, one a request. */
const saying = (...texts) =>
  customModel(async function* () {
    yield { type: 'text', text: texts.shift() ?? '' }
  })
const asks = (...names) =>
  JSON.stringify({
    tool_calls: names.map((tool_name) => ({ tool_name, params: {}, reason: 'to know' })),
  })
/** A model whose failures have an address and a key in their words. */
const broken = (env, request) =>
  openaiChat({
    baseURL: `${env.PROVIDER}/s/${request.headers.get('x-session')}/server-error/v1`,
    model: 'scripted',
    apiKey: 'sk-secret',
    maxRetries: 0,
  })
async function spoken(model) {
  const failed = { code: 'model.status', message: 'secret: http://127.0.0.1 said no' }
  throw Object.assign(new Error(failed.message), { name: 'TurnlockError', ...failed, model })
}

/** @param toolsOf makes the tools of a request */
export function runsOf(env, toolsOf) {
  const pass = (request, own) =>
    runPlanning({
      model: saying(asks('list_files'), '{"size":1}'),
      input: {},
      tools: toolsOf(request),
      policy: { toolTimeoutMs: 600_000 },
      planId: request.headers.get('x-plan') ?? undefined,
      ...own,
    })
  const chain = (own) =>
    runChain({
      query: 'capital of France',
      answer: async () => 'Paris.',
      plan: async () => '{}',
      search: async () => ({}),
      synthesize: async () => '',
      ...own,
    })
  const passes = {
    plan: (body, { request }) => pass(request, { input: { symbol: String(body.symbol) } }),
    async later(body, { request }) {
      await null
      return () => this.plan(body, { request })
    },
    // Its caller awaits the plan, and never sees the pass.
    lost: async (_body, { request }) => pass(request),
    echo: (body, { tenant, session, conversationId, signal }) =>
      Response.json(
        { body, tenant, session, conversationId, aborted: signal.aborted },
        { status: 422, headers: { 'access-control-allow-origin': '*' } },
      ),
    throws() {
      throw new Error('secret: no database')
    },
    rejects: async () => Promise.reject(new Error('secret: no queue')),
    misuse: () => runPlanning({ model: {}, input: {} }),
    nothing: () => undefined,
    broken: (_body, { request }) => pass(request, { model: broken(env, request) }),
  }
  const bundles = {
    triage: ({ label }) =>
      runBundle({ task: 'triage', replicate: async () => ({ data: { label } }) }),
    broken: () => runBundle({ task: 'triage', k: 2, replicate: spoken }),
    misuse: () =>
      runBundle({
        task: 'triage',
        replicate: spoken,
        schema: { type: 'object', properties: { a: { type: 'string', 'x-weight': 0 } } },
      }),
  }
  const chains = {
    ask: () => chain(),
    broken: () => chain({ answer: spoken }),
  }
  return { passes, bundles, chains }
}
