// The proxy over real HTTP in four runtimes, and the upstreams behind it.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { toNodeListener } from 'turnlock/proxy'
import { createProvider } from '../provider/server.mjs'
import { bundleWorker } from '../server/bundle.mjs'
import { createApp, keyOf } from './app.mjs'

const here = dirname(fileURLToPath(import.meta.url))

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.keepAliveTimeout = 0
  return `http://127.0.0.1:${server.address().port}`
}

const closed = (server) => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
}

const RUNTIMES = {
  async node(env) {
    const server = createServer(toNodeListener(createApp(env), { onError() {} }))
    return { url: await listen(server), close: () => closed(server) }
  },
  async workerd(env) {
    const { Miniflare } = await import('miniflare')
    const worker = new Miniflare({
      compatibilityFlags: ['enable_request_signal'],
      compatibilityDate: '2025-05-01',
      host: '127.0.0.1',
      port: 0,
      modules: await bundleWorker(join(here, 'worker.mjs')),
      bindings: env,
    })
    return { url: (await worker.ready).origin, close: () => worker.dispose() }
  },
  deno: (env) => spawned('deno', ['run', '--no-prompt', ...DENO, join(here, 'serve.mjs')], env),
  bun: (env) => spawned('bun', ['run', join(here, 'serve.mjs')], env),
}
const DENO = ['--allow-net', '--allow-env', '--allow-read']

/** A process that serves the proxy, and says its port. */
async function spawned(command, args, env) {
  const child = spawn(join(here, '../../node_modules/.bin', command), args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const close = () => {
    child.kill('SIGKILL')
    return ended
  }
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /^listening on (\d+)$/.exec(line) ?? []
    if (port) return { url: `http://127.0.0.1:${port}`, close }
  }
  throw new Error(`${command} did not start`)
}

/** Upstreams that a test scripts: `/h/<name>/…` is answered by its function. */
async function createUpstream(provider) {
  const scripts = new Map()
  const server = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    const [, , name = ''] = request.url.split('/')
    const script = scripts.get(name)
    if (!script) return relay(provider, request, body, response)
    const { method, headers, rawHeaders } = request
    const path = request.url.slice(`/h/${name}`.length)
    const asked = { method, path, headers, rawHeaders, body, text: body.toString() }
    script.requests.push(asked)
    response.on('close', () => script.closed.push(response.writableFinished))
    await script.answer(asked, response, script.requests.length)
  })
  return { url: await listen(server), scripts, close: () => closed(server) }
}

/** The scripted provider stands behind the same address. */
async function relay(provider, request, body, response) {
  const left = new AbortController()
  response.on('close', () => left.abort())
  try {
    const { method, url, headers } = request
    const sent = { method, headers: { 'content-type': 'application/json' }, signal: left.signal }
    if (headers['anthropic-version'])
      sent.headers['anthropic-version'] = headers['anthropic-version']
    const answer = await fetch(provider.url + url, { ...sent, ...(body.length && { body }) })
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.flushHeaders()
    for await (const piece of answer.body ?? []) response.write(piece)
    response.end()
  } catch {
    response.destroy()
  }
}

/** What every test of a runtime uses. */
export async function createHost(runtime) {
  const provider = await createProvider()
  const upstream = await createUpstream(provider)
  const proxy = await RUNTIMES[runtime]({ UPSTREAM: upstream.url })
  let names = 0
  return {
    runtime,
    url: proxy.url,
    /** The address of the upstreams, for clients without a proxy. */
    upstream: upstream.url,
    /** Scripts an upstream: `{ name, key(session), requests, closed }`. */
    script(answer) {
      const name = `u${++names}`
      const script = { requests: [], closed: [], answer }
      upstream.scripts.set(name, script)
      return {
        ...script,
        name,
        key: (session) => keyOf({ tenant: 'me', upstream: `/h/${name}`, ...session }),
      }
    },
    /** A key for a behaviour of the scripted provider. */
    behaviour: (name, session) =>
      keyOf({
        tenant: 'me',
        upstream: `/s/p${++names}/${encodeURIComponent(name)}/v1`,
        ...session,
      }),
    /** Reports since the last time, waited for until there are `count`. */
    async reports(count = 1) {
      const all = []
      while (all.length < count) {
        all.push(...(await (await fetch(`${proxy.url}/reports`)).json()))
        if (all.length < count) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      return all
    },
    async close() {
      await proxy.close()
      await Promise.all([upstream.close(), provider.close()])
    },
  }
}
