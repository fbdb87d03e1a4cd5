// What the tests of the Rust driver talk to: the scripted provider, and beside it the tables and the
// search of the chains. A wasm test gets no environment, so it is built with the address: the usual
// one, while it is free.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { documents } from '../chain/documents.mjs'
import { createSearch } from '../chain/library.mjs'
import {
  createScriptedProvider,
  listener,
  loadBundles,
  loadChains,
  loadRequests,
  loadScenarios,
} from '../provider/server.mjs'
import { searches } from '../requests/searches.mjs'
import { createHostile } from './hostile.mjs'

const PORT = 41877

const TABLES = {
  '/tables/scenarios': () => [...loadScenarios().values()],
  '/tables/bundles': loadBundles,
  '/tables/chains': loadChains,
  '/tables/requests': () => [...loadRequests().values()],
  '/tables/searches': () => searches,
}

/** Starts it; `close` ends it. */
export async function serve() {
  const provider = listener(createScriptedProvider())
  const search = createSearch(documents)
  const hostile = createHostile(() => `http://127.0.0.1:${server.address().port}`)
  const server = createServer(async (request, response) => {
    if (request.url.startsWith('/hostile/')) return hostile(request, response)
    const load =
      request.url === '/search' ? async () => search(await text(request)) : TABLES[request.url]
    if (!load || request.method === 'OPTIONS') return provider(request, response)
    const headers = { 'content-type': 'application/json', 'access-control-allow-origin': '*' }
    response.writeHead(200, headers).end(JSON.stringify(await load()))
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
