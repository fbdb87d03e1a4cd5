// The application that every runtime serves: handlers side by side, each with options of its own.
// Web standards and the public package only.
//
// What a real server would take from its configuration (provider, script, tools' receiver) comes
// from `env` and from headers of the test; nothing comes from a body.
import { Hono } from 'hono'
import { customModel, defineTool, openaiChat } from 'turnlock'
import { createHandler } from 'turnlock/server'
import { runsOf } from './app-runs.mjs'

const header = (request, name) => request.headers.get(name) ?? undefined
const SCHEMA = { type: 'object' }

/** `Bearer <tenant>`, and some that go wrong. */
function authorize(request) {
  const [, token] = /^Bearer (.+)$/.exec(header(request, 'authorization') ?? '') ?? []
  if (token === 'throws') throw new Error('secret: the token service is down')
  if (token === 'teapot') {
    const headers = { 'access-control-allow-origin': '*', 'x-own': 'kept' }
    return new Response('short and stout', { status: 418, headers })
  }
  if (token === 'empty') return { tenant: '' }
  if (token === 'bound') return { tenant: 'bound', projectId: 'of the session' }
  return token ? { tenant: token } : null
}

/** Every run of a tool is told to the receiver, which may keep it waiting. */
function toolsOf(env, own = {}) {
  return (request) => {
    const session = header(request, 'x-session') ?? 'none'
    const tool = (name, result, more) =>
      defineTool({
        description: name,
        inputSchema: SCHEMA,
        ...more,
        ...own[name],
        async execute(args, { requestId, toolCallId, projectId, idempotencyKey }) {
          const told = { name, args, requestId, toolCallId, projectId, idempotencyKey }
          await fetch(`${env.RECEIVER}/${session}`, { method: 'POST', body: JSON.stringify(told) })
          return result
        },
      })
    return {
      list_files: tool('list_files', ['notes.txt', 'readme.md'], { readOnly: true }),
      read_file: tool('read_file', 'The engine is next.', { readOnly: true }),
      send_note: tool('send_note', 'sent'),
    }
  }
}

/** The scripted provider; its address holds what must never be seen by a client. */
const modelOf = (env) => (request) => {
  const script = encodeURIComponent(header(request, 'x-script') ?? 'answer')
  return openaiChat({
    baseURL: `${env.PROVIDER}/s/${header(request, 'x-session') ?? 'none'}/${script}/v1`,
    model: 'scripted',
    apiKey: 'sk-secret',
    maxRetries: 0,
  })
}

/** Says the chunks that a header lists, so long and so often; `said` counts them by session. */
const chunks = (said) => (request) =>
  customModel(async function* () {
    const list = JSON.parse(decodeURIComponent(header(request, 'x-chunks') ?? '[]'))
    const number = (name) => Number(header(request, name) ?? 1)
    for (let time = 0; time < number('x-times'); time++) {
      const session = header(request, 'x-session')
      said[session] = (said[session] ?? 0) + 1
      // As from a network: not all of it at once.
      await new Promise((resolve) => setTimeout(resolve))
      for (const text of list) yield { type: 'text', text: text.repeat(number('x-length')) }
    }
  })

/** @returns {(request: Request, context?: object) => Promise<Response>} */
export function createApp({ env, store }) {
  const [errors, said] = [[], {}]
  const common = {
    authorize,
    store,
    tools: toolsOf(env),
    model: modelOf(env),
    cors: { origins: ['https://app.example', 'http://localhost:5173'] },
    onError: (error) => errors.push(String(error?.message ?? error)),
  }
  const runs = runsOf(env, toolsOf(env))
  const failing = () => {
    throw new Error('secret: the log is down')
  }
  const json = (name) => (request) => JSON.parse(header(request, name) ?? '{}')
  const handlers = {
    '/api/chat': {},
    '/off': { twoStage: { enabled: false } },
    '/unified': { twoStage: { default: false } },
    '/callback': { twoStage: json('x-switches') },
    '/gateway': {
      twoStage: {
        enabled: true,
        default: true,
        maxTools: 3,
        headers: { enabled: 'x-gw-enabled', default: 'x-gw-default', maxTools: 'x-gw-max' },
      },
    },
    '/values': { twoStage: { enabled: true, default: true, maxTools: 3 } },
    '/ceiling': { policy: { maxTools: 2 } },
    '/policy': { twoStage: () => ({ maxTools: 4 }), policy: { maxTools: 2, resultsAs: 'native' } },
    '/stop': { clientGone: 'stop' },
    '/quick': { limits: { keepAliveMs: 5 } },
    '/tight': {
      limits: { bodyBytes: 2000, messages: 3, resumesPerMinute: 2, turnsPerTenant: 1 },
    },
    '/crowd': { limits: { resumesPerMinute: 1000, turnsPerTenant: 1000 } },
    '/approve': { tools: toolsOf(env, { send_note: { needsApproval: true } }) },
    '/ai-sdk': { format: 'ai-sdk', tools: toolsOf(env, { list_files: { needsApproval: true } }) },
    '/ag-ui': { format: 'ag-ui', tools: toolsOf(env, { list_files: { needsApproval: true } }) },
    '/json-ai-sdk': { format: 'ai-sdk', answerSchema: { type: 'object', required: ['files'] } },
    '/json-ag-ui': { format: 'ag-ui', answerSchema: { type: 'object', required: ['files'] } },
    '/credentials': { cors: { origins: ['https://app.example'], credentials: true, maxAge: 60 } },
    '/any': { cors: { origins: ['*'] } },
    '/chunks': { model: chunks(said) },
    '/served': runs,
    '/narrow': { ...runs, limits: { bodyBytes: 2000, turnsPerTenant: 1 } },
    '/unlogged': { ...runs, passEvents: { append: failing, list: failing } },
    '/prepare': {
      prepare: (messages, { tenant }) => [
        { role: 'system', content: `You help ${tenant}.` },
        ...messages.filter((message) => message?.role !== 'system'),
      ],
    },
    '/trusting': { trustSystem: true },
    '/own-prompt': {
      prepare: (messages) => [{ role: 'system', content: 'The host.' }, ...messages],
    },
    '/answers': {
      system: (_, { tenant }) => `You help ${tenant}.`,
      answerSchema: { type: 'object', required: ['files'] },
    },
    '/broken': {
      model() {
        throw new Error('secret: no model')
      },
    },
  }
  const made = Object.fromEntries(
    Object.entries(handlers).map(([basePath, own]) => [
      basePath,
      createHandler({ ...common, basePath, ...own }),
    ]),
  )
  const hono = new Hono()
  const inHono = createHandler({ ...common, basePath: '/hono/chat' })
  hono.all('/hono/chat/*', (c) => inHono(c.req.raw, { env: c.env }))

  return async (request, context = {}) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/errors') return Response.json(errors.splice(0))
    if (pathname === '/said') return Response.json(said)
    if (pathname.startsWith('/hono/')) return hono.fetch(request, env)
    const base = Object.keys(made).find((one) => pathname.startsWith(one))
    if (!base) return made['/api/chat'](request, context)
    const given = { ...env, ...json('x-env')(request) }
    return made[base](request, { ...context, env: given })
  }
}
