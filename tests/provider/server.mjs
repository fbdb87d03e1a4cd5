// The scripted provider as an HTTP server, with the scripts of the tests: scenario tables and recorded
// bodies. `pkg/src/testing/provider/provider.ts` lists its paths.
//
// `again:<tool>` calls a tool for ever, with a new id each time; without tools it answers.
// A script is a behaviour, `scenario:<name>`, `bundle:<name>|<id>`, `chain:<model>`, `report:<name>` or
// `tape:<path in tests/data>`, with `?chunk=<bytes>` in pieces of that size. The n-th request of a
// session plays the n-th entry.
import { createServer } from 'node:http'
import { scriptedProvider } from 'turnlock/testing'
import { chainEntry } from './chains.mjs'
import { bundleEntry, scenarioEntry } from './scenarios.mjs'
import { loadTape } from './tapes.mjs'
import { loadReports, reportEntry } from '../reports/reports.mjs'

export { loadBundles, loadChains, loadRequests, loadScenarios } from './scenarios.mjs'

let reports

/** What is read from the files of the tests. */
const SCRIPTS = {
  scenario: (name, { requests }) => scenarioEntry(name, requests.length),
  again(name, { requests }) {
    const { choice, tools } = requests.at(-1)
    if (choice === 'none' || !tools?.length) return { text: ['That ', 'is ', 'all.'] }
    return {
      calls: [{ id: `call_${requests.length}`, name, args: { path: '.', recursive: true } }],
    }
  },
  chain: (name, { view }) => chainEntry(name, view),
  bundle: (name, { requests }) => bundleEntry(name, requests.length),
  report(name, { requests }) {
    reports ??= new Map(loadReports().map((report) => [report.name, report]))
    return reportEntry(reports.get(name), requests.length)
  },
  tape(rest, { wire, search }) {
    const [path, own = search] = rest.split('?')
    const events = loadTape(path, wire === 'anthropic')
    const chunk = Number(new URLSearchParams(own).get('chunk')) || undefined
    // In pieces of its own size a body is cut anywhere, not only between events.
    return events && { events: chunk ? [events.join('')] : events, bytes: chunk }
  },
}

/** A provider that plays behaviours, tables and recordings. */
export const createScriptedProvider = () => scriptedProvider({ scripts: SCRIPTS })

/** A listener of a Node server. */
export function listener(provider) {
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
      const answer = await provider.handle(asked)
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
  const provider = createScriptedProvider()
  const server = createServer(listener(provider))
  // No connection is closed under a client that is about to use it again.
  server.keepAliveTimeout = 0
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: provider.requests,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
