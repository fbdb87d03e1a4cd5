// One chat server, and a proxy in front of a provider, for workerd (a Durable Object for each tenant), Deno, Bun and Node.
//
//   workerd   npx wrangler dev              (wrangler.jsonc); node workerd.mjs
//   Deno      deno serve --allow-net --allow-env app.mjs
//   Bun       bun app.mjs
//   Node      node node.mjs
import { defineTool, memoryStore, openaiChat } from 'turnlock'
import { withTurnlock } from 'turnlock/cloudflare'
import { createProxy } from 'turnlock/proxy'
import { createHandler } from 'turnlock/server'

const tools = {
  list_files: defineTool({
    description: 'Lists files.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    readOnly: true,
    execute: () => ['notes.txt', 'readme.md'],
  }),
}

/** Your users and their keys belong here: CHAT_USERS is `{ "<token>": "<tenant>" }`. */
function tenantOf(request, env) {
  const [, token] = /^Bearer (\S+)$/.exec(request.headers.get('authorization') ?? '') ?? []
  const users = new Map(Object.entries(JSON.parse(env.CHAT_USERS ?? '{}')))
  return users.get(token)
}

const upstreamOf = ({ BASE_URL }) => BASE_URL ?? 'https://api.openai.com/v1'

const modelOf = (env) =>
  openaiChat({
    baseURL: upstreamOf(env),
    model: env.MODEL ?? 'gpt-5-mini',
    apiKey: env.OPENAI_API_KEY,
  })

const chat = (store, env) =>
  createHandler({
    store,
    tools,
    model: modelOf(env),
    authorize(request) {
      const tenant = tenantOf(request, env)
      return tenant ? { tenant } : null
    },
    cors: { origins: env.CHAT_ORIGINS?.split(',') ?? [] },
    onError: (error) => console.error(error),
  })

/** Any OpenAI or Anthropic client reaches the provider through this, by its `baseURL`: …/llm/v1. */
const proxyTo = (env) =>
  createProxy({
    upstream: { url: upstreamOf(env), apiKey: env.OPENAI_API_KEY },
    mode: env.PROXY_MODE ?? 'observe',
    basePath: '/llm',
    authorize(request) {
      const tenant = tenantOf(request, env)
      return tenant ? { tenant } : null
    },
    onReport: ({ mode, repairs, blocked, forced }) => {
      const changes = repairs.map(({ code }) => code)
      if (changes.length || blocked.length) console.log(mode, { changes, blocked, forced })
    },
    onError: (error) => console.error(error),
  })

/** Stands for `DurableObject` of `cloudflare:workers`, which other runtimes do not have. */
class Base {
  constructor(ctx, env) {
    this.ctx = ctx
    this.env = env
  }
}

/**
 * All turns of a tenant, in one place that outlives the workers in front of it. After an eviction or a
 * crash, an alarm resumes those that ran. Pages may read them over a WebSocket, too.
 */
export class Tenant extends withTurnlock(Base) {
  constructor(ctx, env) {
    super(ctx, env)
    this.handler = chat(this.turnlock.store, env)
    this.context = { env, waitUntil: (promise) => ctx.waitUntil(promise) }
  }

  turnOptions() {
    return { model: modelOf(this.env), tools }
  }

  turnTenant(request) {
    return tenantOf(request, this.env) ?? null
  }

  fetch(request) {
    const isSocket = request.headers.get('upgrade') === 'websocket'
    return isSocket ? this.turnlock.connect(request) : this.handler(request, this.context)
  }
}

let inMemory
let proxy

/** The proxy alone, for other workers: a service binding with `entrypoint: "llm"`. */
export const llm = {
  fetch(request, bindings, context) {
    const env = bindings?.CHAT_USERS ? bindings : globalThis.process.env
    proxy ??= proxyTo(env)
    const waitUntil = (promise) => context?.waitUntil?.(promise)
    return proxy(request, { env, waitUntil })
  },
}

export default {
  fetch(request, bindings, context) {
    if (new URL(request.url).pathname.startsWith('/llm/')) {
      return llm.fetch(request, bindings, context)
    }
    if (!bindings?.TENANTS) {
      inMemory ??= chat(memoryStore(), globalThis.process.env)
      return inMemory(request)
    }
    // A request without a tenant is refused there, too.
    const tenant = tenantOf(request, bindings) ?? ''
    return bindings.TENANTS.get(bindings.TENANTS.idFromName(tenant)).fetch(request)
  },
}
