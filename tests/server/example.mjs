// The example: one file that serves in workerd, Node, Deno and Bun.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readEvents, fresh } from './client.mjs'

const folder = join(dirname(fileURLToPath(import.meta.url)), '../../examples/worker')
const bin = (name) => join(folder, '../../node_modules/.bin', name)
const COMMANDS = {
  node: [process.execPath, 'node.mjs'],
  deno: [bin('deno'), 'serve', '--port=0', '--no-prompt', '--allow-net', '--allow-env', 'app.mjs'],
  bun: [bin('bun'), 'app.mjs'],
}

async function serve(runtime, env) {
  if (runtime === 'workerd') {
    const [{ Miniflare }, { bundleWorker }] = await Promise.all([
      import('miniflare'),
      import('./runtimes.mjs'),
    ])
    const worker = new Miniflare({
      compatibilityDate: '2025-05-01',
      host: '127.0.0.1',
      port: 0,
      bindings: env,
      modules: await bundleWorker(join(folder, 'app.mjs')),
      durableObjects: { TENANTS: { className: 'Tenant', useSQLite: true } },
    })
    return { url: (await worker.ready).origin, close: () => worker.dispose() }
  }
  const [command, ...args] = COMMANDS[runtime]
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...process.env, ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Where each of them says its address, and says nothing else that looks like one.
  const port = await new Promise((resolve, reject) => {
    const look = (line) => {
      const [, found] = /\bhttp:\/\/[^\s/]+:(\d+)/.exec(line) ?? []
      if (found) resolve(found)
    }
    for (const stream of [child.stdout, child.stderr]) createInterface(stream).on('line', look)
    child.once('exit', () => reject(new Error(`${command} ended`)))
  })
  return { url: `http://127.0.0.1:${port}`, close: () => child.kill('SIGKILL') }
}

export const example = {
  async 'the example serves'(host) {
    const session = fresh('example')
    const env = {
      BASE_URL: `${host.provider.url}/s/${session}/one-call/v1`,
      OPENAI_API_KEY: 'sk-x',
      CHAT_USERS: '{"let-me-in":"me"}',
      TWO_STAGE_MAX_TOOLS: '1',
    }
    const { url, close } = await serve(host.runtime, env)
    try {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer let-me-in' }
      const body = JSON.stringify({ messages: [{ role: 'user', content: 'go' }] })
      const post = (own) =>
        fetch(`${url}/api/chat`, { method: 'POST', headers: { ...headers, ...own }, body })
      assert.equal((await post({ authorization: 'Bearer x' })).status, 401)
      assert.equal((await post({ authorization: 'Bearer constructor' })).status, 401)
      const { events } = await readEvents(await post())
      assert.equal(events.at(-1).type, 'complete')
      assert.match(events.at(-1).fullContent, /notes\.txt/)
      const at = `${url}/api/chat/${events[0].requestId}/events`
      const again = await readEvents(await fetch(at, { headers }))
      assert.deepEqual(again.events, events)
      // The proxy of the same file, as any OpenAI client asks it.
      const asked = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }] })
      const llm = (own) =>
        fetch(`${url}/llm/v1/chat/completions`, {
          method: 'POST',
          headers: { ...headers, ...own },
          body: asked,
        })
      assert.equal((await llm({ authorization: 'Bearer x' })).status, 401)
      const passed = await llm()
      assert.equal(JSON.parse(passed.headers.get('x-turnlock-report')).mode, 'observe')
      assert.equal((await passed.json()).object, 'chat.completion')
    } finally {
      await close()
    }
  },
}
