// The world outside of a worker or a page: receives effects, holds up whoever comes to a landmark,
// serves the repository's files. It lives in the test's own process, which nobody kills.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lines } from './lines.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript' }

/**
 *   POST /starts, /receipts   { trial, … }: on the disk, then answered (`hold`: then held up)
 *   POST /at                  { trial, landmark }: held up for ever
 */
export async function openSite() {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-site-'))
  const awaited = new Map()
  const arrive = (name) => awaited.get(name)?.()

  const write = (kind, { hold, ...line }) => {
    const file = openSync(join(folder, `${line.trial}.${kind}`), 'a')
    writeSync(file, `${JSON.stringify(line)}\n`)
    fsyncSync(file)
    closeSync(file)
  }
  const serve = (path, response) => {
    const file = join(root, path)
    if (!file.startsWith(root) || !existsSync(file)) return response.writeHead(404).end()
    const type = TYPES[extname(file)] ?? 'application/octet-stream'
    response.writeHead(200, { 'content-type': type }).end(readFileSync(file))
  }
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://x').pathname
    if (request.method !== 'POST') return serve(path, response)
    let text = ''
    for await (const piece of request.setEncoding('utf8')) text += piece
    const body = JSON.parse(text)
    if (path === '/at') return arrive(`${body.trial} ${body.landmark}`)
    write(path.slice(1), body)
    if (body.hold) return arrive(`${body.trial} effect applied`)
    response.end('{}')
  })
  // No connection is closed under a client that is about to use it again.
  server.keepAliveTimeout = 0
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Settles when the turn has come to the landmark, where it is held up. */
    reached: (trial, landmark) =>
      new Promise((resolve) => awaited.set(`${trial} ${landmark}`, resolve)),
    starts: (trial) => lines(folder, `${trial}.starts`),
    receipts: (trial) => lines(folder, `${trial}.receipts`),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
