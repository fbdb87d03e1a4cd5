// Serves the application in Node, Deno or Bun; prints its port. STORE: `memory`, or the address
// of a Redis.
import { memoryStore } from 'turnlock'
import { createApp } from './app.mjs'

// Only what the tests name: the rest is read by the handler itself.
const env = { PROVIDER: process.env.PROVIDER, RECEIVER: process.env.RECEIVER }

async function openStore(name = 'memory') {
  if (name === 'memory') return memoryStore()
  const [{ Redis }, { redisStore }] = await Promise.all([
    import('ioredis'),
    import('turnlock/stores/redis'),
  ])
  return redisStore(new Redis(name))
}

const app = createApp({ env, store: await openStore(process.env.STORE) })
const ready = (port) => console.log(`listening on ${port}`)
if (globalThis.Deno) {
  const onListen = ({ port }) => ready(port)
  globalThis.Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, (request) => app(request))
} else if (globalThis.Bun) {
  const fetch = (request) => app(request)
  // Bun closes connections that are silent for ten seconds.
  ready(globalThis.Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch }).port)
} else {
  const { createServer } = await import('node:http')
  const { toNodeListener } = await import('turnlock/server')
  const server = createServer(toNodeListener(app))
  // No connection is closed under a client that is about to use it again.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1', () => ready(server.address().port))
}
