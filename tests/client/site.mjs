// What the tests of the Rust driver talk to: the scripted provider, and the tables beside it. On a
// fixed port, since a wasm test gets no environment: `TURNLOCK_PROVIDER`, when it is built, says
// another address.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { library, tables as chains } from '../chain/run.mjs'
import {
  createSessions,
  listener,
  loadBundles,
  loadRequests,
  loadScenarios,
} from '../provider/server.mjs'

const PORT = 41877

const TABLES = {
  '/tables/scenarios': () => [...loadScenarios().values()],
  '/tables/bundles': loadBundles,
  '/tables/chains': chains,
  '/tables/library': library,
  // The search over it, as a script that makes `library` of its exports.
  '/tables/library.js': () => script('../chain/library.mjs', 'library'),
  '/tables/requests': () => [...loadRequests().values()],
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
  const port = Number(new URL(process.env.TURNLOCK_PROVIDER ?? `http://x:${PORT}`).port)
  await new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
