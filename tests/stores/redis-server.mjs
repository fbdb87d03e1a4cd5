// A real redis-server on a port of its own, which ends with its test.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The ports to try, in turn. They are below those that systems give to connections and to servers
 * that take any, so that a server which was killed finds its port free; and low enough for the port
 * that a cluster uses beside it, 10 000 above. Each process begins at a place of its own.
 */
const PORTS = { first: 10_000, count: 12_000 }
let next = process.pid * 16
const nextPort = () => PORTS.first + (next++ % PORTS.count)

/** Starts a server in a folder of its own; `restart` is SIGKILL and a new process on its files. */
export async function startRedis(...options) {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-redis-'))
  let port
  let child

  /** Gives nothing when the server is ready, or what it said when it has ended instead. */
  async function attempt() {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
    child = spawn('redis-server', [...args, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
    const { stdout } = child
    return new Promise((resolve, reject) => {
      let said = ''
      const listen = (text) => {
        said += text
        // By its own words: whoever answers at the port may be another server.
        if (!said.includes('eady to accept connections')) return
        stdout.off('data', listen).resume()
        resolve(undefined)
      }
      stdout.setEncoding('utf8').on('data', listen)
      child.on('error', reject)
      child.on('close', () => resolve(said))
    })
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

  let ended
  do {
    port = nextPort()
    ended = await attempt()
    const isTaken = /Failed listening|in use/.test(ended)
    if (ended !== undefined && !isTaken) throw new Error(`redis-server ended: ${ended}`)
  } while (ended !== undefined)
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
