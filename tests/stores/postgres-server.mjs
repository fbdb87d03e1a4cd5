// A real Postgres in a folder of its own, which ends with its test. It listens at a socket in that
// folder and at no port, so that nothing else can have its address.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresPrograms } from '../../scripts/setup.mjs'
import { PATIENCE_MS } from '../patience.mjs'

/** Postgres refuses to run as root: then it runs as the user that its package made, or as nobody. */
function unprivileged() {
  if (process.getuid?.() !== 0) return {}
  const id = (...args) => Number(spawnSync('id', args, { encoding: 'utf8' }).stdout)
  const user = spawnSync('id', ['postgres']).status === 0 ? 'postgres' : 'nobody'
  return { uid: id('-u', user), gid: id('-g', user) }
}

/** Starts a server; `restart` is SIGKILL of all its processes and a new one on its files. */
export async function startPostgres(...options) {
  const programs = postgresPrograms()
  const as = unprivileged()
  // The path of its socket has room for 107 characters.
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-pg-'))
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid)
  const data = join(folder, 'data')
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'turnlock', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...as, encoding: 'utf8', cwd: folder },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr ?? made.error}`)
  let child

  async function attempt() {
    const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, ...options]
    const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])]
    child = spawn(join(programs, 'postgres'), args, {
      ...as,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    await new Promise((resolve, reject) => {
      child.stderr.setEncoding('utf8').on('data', (text) => {
        said += text
        if (said.includes('database system is ready to accept connections')) resolve()
      })
      child.on('error', reject)
      child.on('close', () => reject(new Error(`postgres ended: ${said}`)))
    })
  }

  /** A new server waits for the processes of a killed one, which may still have the memory of both. */
  async function start() {
    for (let waited = 0; ; waited += 100) {
      try {
        return await attempt()
      } catch (error) {
        const held = /pre-existing shared memory block .* is still in use/.test(error.message)
        if (!held || waited >= PATIENCE_MS) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  /** Ends it as a power failure does. Its processes end when the first of them is gone. */
  async function kill() {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    const socket = readdirSync(folder).filter((file) => file.startsWith('.s.'))
    for (const file of socket) rmSync(join(folder, file))
  }

  await start()
  return {
    folder,
    /** Of `pg`; `postgres` takes `path`. */
    connection: { host: folder, user: 'turnlock', database: 'postgres' },
    path: join(folder, '.s.PGSQL.5432'),
    kill,
    start,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        // At once, without its clients' leave.
        child.kill('SIGQUIT')
        await ended
      }
      if (existsSync(folder)) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}
