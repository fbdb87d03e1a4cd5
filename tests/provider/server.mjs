// The scripted provider: an HTTP server that speaks the streams of every wire, and plays behaviours, scenario tables or recorded bodies. Node built-ins only.
//
//   POST   /s/<session>/<script>/v1/<path of a wire>    wire/all.mjs has them
//   GET    /s/<session>/<script>/v1/models              one, named as the script
//   GET    /s/<session>/requests                        what came, in order
//   POST   /s/<session>/cut                             breaks what waits for that (cut.mjs)
//   DELETE /s/<session>                                 forgets
//
// <script>, URL-encoded: a behaviour (behaviours.mjs), `scenario:<name>`, `bundle:<name>|<id>` or
// `tape:<path in tests/data>`, with `?chunk=<bytes>` in pieces of that size. The n-th request
// of a session plays the n-th entry; a session is any id, and sessions do not disturb each other.
// A response is streamed where its request asks for a stream, and is one JSON value where not. A tape
// is sent as it was recorded.
import { createServer } from 'node:http'
import { chainEntry } from './chains.mjs'
import { bundleEntry, scenarioEntry } from './scenarios.mjs'
import { createSessions as sessionsOf, viewOf } from '../../pkg/dist/testing/provider/provider.js'
import { loadTape } from './tapes.mjs'

export { loadBundles, loadChains, loadRequests, loadScenarios } from './scenarios.mjs'

/** What is read from the files of the tests. */
const SCRIPTS = {
  scenario: (name, { log }) => scenarioEntry(name, log.length),
  chain: (name, { log }) => chainEntry(name, viewOf(log.at(-1))),
  bundle: (name, { log }) => bundleEntry(name, log.length),
  tape(rest, { wire, query }) {
    const [path, own = ''] = rest.split('?')
    const events = loadTape(path, wire === 'anthropic')
    const chunk = Number(new URLSearchParams(own).get('chunk') ?? query.get('chunk')) || undefined
    // In pieces of its own size a body is cut anywhere, not only between events.
    return events && { events: chunk ? [events.join('')] : events, bytes: chunk }
  },
}

/** Sessions that play behaviours, tables and tapes; nothing is shared with other sets. */
export const createSessions = () => sessionsOf(SCRIPTS)

/**
 * A listener of a Node server, for sessions mounted below `prefix`.
 * @param {ReturnType<typeof createSessions>} sessions
 */
export function listener(sessions, prefix = '') {
  return async (request, response) => {
    const left = new AbortController()
    // Held until the connection closes: Node lets a request's signal follow another one by a weak
    // reference, so a request that nobody holds would never hear that its client has left.
    let asked
    response.on('close', () => {
      if (!response.writableFinished) left.abort()
      asked = undefined
    })
    try {
      const url = new URL(`http://localhost${request.url}`)
      asked = new Request(url, {
        method: request.method,
        headers: Object.entries(request.headers).map(([key, value]) => [key, String(value)]),
        signal: left.signal,
        ...(request.method === 'POST' && { body: await bodyOf(request) }),
      })
      const answer = await sessions.answer(asked, url.pathname.slice(prefix.length))
      // Nobody waits any longer.
      if (left.signal.aborted) return
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      if (answer.body) await send(response, answer.body)
      response.end()
    } catch {
      // A connection that is to break, breaks; so it does where the server itself has failed.
      response.destroy()
    }
  }
}

async function bodyOf(request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function send(response, body) {
  response.flushHeaders()
  for await (const piece of body) {
    if (response.destroyed) return
    response.write(piece)
  }
}

/**
 * Starts the provider on `port`, or on any free one.
 * @param {{ port?: number }} [options]
 */
export async function createProvider({ port = 0 } = {}) {
  const sessions = createSessions()
  const server = createServer(listener(sessions))
  // No connection is closed under a client that is about to use it again.
  server.keepAliveTimeout = 0
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: sessions.requests,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
