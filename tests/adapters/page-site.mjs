// A site with one script, for clients that run in a page.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { build } from 'esbuild'

/** The text of a page's script; `alias` names the versions of what it imports. */
export async function scriptOf(entry, alias) {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, entry)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"development"' },
    alias,
  })
  return outputFiles[0].text
}

/** Serves the page, and below `/api/` what the listener answers. */
export async function serve(script, listener) {
  const server = createServer((request, response) => {
    if (request.url.startsWith('/api/')) return listener(request, response)
    const isScript = request.url === '/page.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
    response.end(isScript ? script : '<body><script type="module" src="/page.js"></script>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
