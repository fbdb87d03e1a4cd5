// What the trials share: a Redis server, the receiver, the holder as one file that starts quickly,
// and the parent's own connections.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Redis } from 'ioredis'
import { startRedis } from '../stores/redis-server.mjs'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Starts the receiver (`early`: its mis-ordered twin). */
export async function startReceiver(folder, early = '') {
  const child = fork(here('receiver.mjs'), [folder, early])
  const [{ port }] = await once(child, 'message')
  return { child, url: `http://127.0.0.1:${port}/` }
}

export async function openBench() {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-kills-'))
  const bundle = join(folder, 'holder.mjs')
  await build({
    entryPoints: [here('holder.mjs')],
    outfile: bundle,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minify: true,
    logLevel: 'error',
    // ioredis is CommonJS and asks for Node's own modules.
    banner: {
      js: "import{createRequire}from'module';const require=createRequire(import.meta.url)",
    },
  })
  const server = await startRedis('--appendonly', 'no')
  const receiver = await startReceiver(folder)
  const clients = Array.from({ length: 3 }, () => new Redis({ port: server.port }))
  // Two that go on at once are to ask at once, none of them behind its connecting.
  await Promise.all(clients.map((client) => client.ping()))
  const held = new Map()
  receiver.child.on('message', ({ applied }) => held.get(applied)?.())
  const holders = new Set()
  return {
    folder,
    receiver: receiver.url,
    port: server.port,
    clients,
    start(spec) {
      const holder = fork(bundle, [JSON.stringify(spec)])
      holders.add(holder)
      holder.once('exit', () => holders.delete(holder))
      return holder
    },
    /** Settles when the receiver has a receipt whose answer it holds back. */
    applied: (trial) => new Promise((resolve) => held.set(trial, resolve)),
    release: (trial) => receiver.child.send({ release: trial }),
    async close() {
      // A trial that failed may leave one behind, perhaps stopped.
      for (const holder of holders) holder.kill('SIGKILL')
      for (const client of clients) client.disconnect()
      receiver.child.disconnect()
      await once(receiver.child, 'exit')
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
