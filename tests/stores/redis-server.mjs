// A real redis-server on a port of its own, which ends with its test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The ports to try, in turn. They are below those that systems give to connections and to servers
 * that take any, so that a server which was killed finds its port free; and low enough for the port
 * that a cluster uses beside it, 10 000 above. Each process begins at a place of its own.
 */
const PORTS = { first: 10_000, count: 5_000 }
let next = process.pid * 16

/**
 * A port that no other process of these tests takes, also while the server is down: whoever listens
 * at the port `PORTS.count` above it has it. `free` gives it back, as does the end of the process.
 */
async function reserve() {
  for (;;) {
    const port = PORTS.first + (next++ % PORTS.count)
    const guard = createServer()
    try {
      await once(guard.listen(port + PORTS.count, '127.0.0.1'), 'listening')
    } catch (error) {
      if (error.code === 'EADDRINUSE') continue
      throw error
    }
    guard.unref()
    return { port, free: () => guard.close() }
  }
}

/** The process that answers at a port, as Redis names it. */
async function processAt(port) {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  try {
    socket.write('INFO server\r\n')
    let said = ''
    for await (const text of socket) {
      said += text
      const [, pid] = /^process_id:(\d+)\r$/m.exec(said) ?? []
      if (pid) return Number(pid)
    }
    return undefined
  } finally {
    socket.destroy()
  }
}

/** Starts a server in a folder of its own; `restart` is SIGKILL and a new process on its files. */
export async function startRedis(...options) {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-redis-'))
  let place, child

  /** Gives nothing when the server is ready, or what it said when it has ended instead. */
  async function attempt() {
    const { port } = place
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
    child = spawn('redis-server', [...args, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
    const { stdout } = child
    const ended = await new Promise((resolve, reject) => {
      let said = ''
      const listen = (text) => {
        said += text
        if (!said.includes('eady to accept connections')) return
        stdout.off('data', listen).resume()
        resolve(undefined)
      }
      stdout.setEncoding('utf8').on('data', listen)
      child.on('error', reject)
      child.on('close', () => resolve(said))
    })
    if (ended === undefined && (await processAt(port)) !== child.pid) {
      child.kill('SIGKILL')
      throw new Error(`another server than the one that was started answers at ${port}`)
    }
    return ended
  }

  async function kill() {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async function start() {
    const ended = await attempt()
    if (ended !== undefined) throw new Error(`redis-server ended: ${ended}`)
  }

  for (;;) {
    place = await reserve()
    const ended = await attempt()
    if (ended === undefined) break
    place.free()
    if (!/Failed listening|in use/.test(ended)) throw new Error(`redis-server ended: ${ended}`)
  }
  return {
    port: place.port,
    url: `redis://127.0.0.1:${place.port}`,
    kill,
    start,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) await kill()
      place.free()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
