// What the tests of the Rust driver talk to: the scripted provider, and the tables beside it. A wasm
// test gets no environment, so it is built with the address: the usual one, while it is free.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { documents } from '../chain/documents.mjs'
import {
  createSessions,
  listener,
  loadBundles,
  loadChains,
  loadRequests,
  loadScenarios,
} from '../provider/server.mjs'
import { searches } from '../requests/searches.mjs'

const PORT = 41877

const TABLES = {
  '/tables/scenarios': () => [...loadScenarios().values()],
  '/tables/bundles': loadBundles,
  '/tables/chains': loadChains,
  '/tables/library': () => documents,
  // The search over it, as a script that makes `library` of its exports.
  '/tables/library.js': () => script('../chain/library.mjs', 'library'),
  '/tables/requests': () => [...loadRequests().values()],
  '/tables/searches': () => searches,
}

function script(path, globalName) {
  const entry = fileURLToPath(new URL(path, import.meta.url))
  const options = { bundle: true, write: false, format: 'iife', globalName }
  return buildSync({ ...options, entryPoints: [entry] }).outputFiles[0].text
}

/** Starts it; `close` ends it. */
export async function serve() {
  const provider = listener(createSessions())
  const server = createServer((request, response) => {
    const load = TABLES[request.url]
    if (!load) return provider(request, response)
    const headers = { 'content-type': 'application/json', 'access-control-allow-origin': '*' }
    response.writeHead(200, headers).end(JSON.stringify(load()))
  })
  // No connection is closed under a client that is about to use it again.
  server.keepAliveTimeout = 0
  const listen = (port) =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
  await listen(PORT).catch(() => listen(0))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
