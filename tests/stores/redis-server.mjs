// A real redis-server on a port of its own, which ends with its test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a server in a folder of its own; `restart` is SIGKILL and a new process on its files. */
export async function startRedis(...options) {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-redis-'))
  const port = await freePort()
  let child

  async function start() {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
    child = spawn('redis-server', [...args, ...options], { stdio: 'ignore' })
    const probe = new Redis({ port, lazyConnect: false, retryStrategy: () => 50 })
    probe.on('error', () => {})
    // Queued until the server answers.
    await probe.ping()
    probe.disconnect()
  }

  async function kill() {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
