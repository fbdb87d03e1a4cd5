// Serves the proxy in Deno and Bun, and says its port.
import { createApp } from './app.mjs'

const listening = (port) => console.log(`listening on ${port}`)
const { Deno, Bun } = globalThis
if (Deno) {
  const app = createApp(Deno.env.toObject())
  const onListen = ({ port }) => listening(port)
  Deno.serve({ hostname: '127.0.0.1', port: 0, onListen }, (request) => app(request))
} else {
  const app = createApp(Bun.env)
  const idleTimeout = 0
  listening(Bun.serve({ hostname: '127.0.0.1', port: 0, idleTimeout, fetch: (r) => app(r) }).port)
}
