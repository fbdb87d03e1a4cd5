// Starts the application in a runtime: `{ url, second, maxTools, restart?, close }`. `second`
// serves the same turns from elsewhere, where the store can be shared; `restart` kills what
// serves `url`, without a chance to tidy up, and starts it again.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'

import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startRedis } from '../stores/redis-server.mjs'
import { bundleWorker } from './bundle.mjs'

export { bundleWorker }

const here = dirname(fileURLToPath(import.meta.url))
const bin = (name) => join(here, '../../node_modules/.bin', name)
const MAX_TOOLS = 2
const VARIABLES = { TWO_STAGE_MAX_TOOLS: String(MAX_TOOLS) }

/** Starts a process that says its port. */
async function start([command, ...args], env) {
  const child = spawn(command, [...args, join(here, 'serve.mjs')], {
    env: { ...process.env, ...VARIABLES, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /^listening on (\d+)$/.exec(line) ?? []
    if (!port) continue
    const kill = () => {
      child.kill('SIGKILL')
      return ended
    }
    return { url: `http://127.0.0.1:${port}`, kill }
  }
  throw new Error(`${command} did not start`)
}

async function inMemory(command, env) {
  const { url, kill } = await start(command, env)
  return { url, second: url, maxTools: MAX_TOOLS, close: kill }
}

/** Durable Objects are kept on disk, so that a killed workerd finds them again. */
async function workerd(env) {
  const { Miniflare } = await import('miniflare')
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-server-'))
  const modules = await bundleWorker(join(here, 'worker.mjs'))
  let worker
  const host = {
    maxTools: MAX_TOOLS,
    async restart() {
      await worker?.dispose()
      worker = new Miniflare({
        // A client that leaves is noticed at once, in the object too.
        compatibilityFlags: ['enable_request_signal', 'request_signal_passthrough'],
        compatibilityDate: '2025-05-01',
        modules,
        bindings: { ...VARIABLES, ...env },
        durableObjects: { TENANTS: { className: 'Tenant', useSQLite: true } },
        durableObjectsPersist: folder,
        host: '127.0.0.1',
        port: 0,
      })
      host.url = (await worker.ready).origin
      host.second = host.url
    },
    async close() {
      await worker.dispose()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await host.restart()
  return host
}

/** Two processes that share a Redis, and nothing else. */
async function node(env) {
  const redis = await startRedis()
  const begin = () => start([process.execPath], { ...env, STORE: redis.url })
  let [first, second] = await Promise.all([begin(), begin()])
  return {
    url: first.url,
    second: second.url,
    maxTools: MAX_TOOLS,
    async restart() {
      await first.kill()
      first = await begin()
      this.url = first.url
    },
    async close() {
      await Promise.all([first.kill(), second.kill()])
      await redis.stop()
    },
  }
}

export const runtimes = {
  node,
  deno: (env) =>
    inMemory(
      [bin('deno'), 'run', '--no-prompt', '--allow-net', '--allow-env', '--allow-read'],
      env,
    ),
  workerd,
  bun: (env) => inMemory([bin('bun'), 'run'], env),
}
