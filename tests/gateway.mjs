// A gateway before a server on this machine: it forwards requests, and answers some with a status of
// its own, although the server has got them.
import { once } from 'node:events'
import { createServer, request as send } from 'node:http'

/** The statuses by which a gateway says that it has no response of the server; 200 with a page of its own. */
export const GATEWAY_STATUSES = [200, 408, 429, 500, 502, 503, 504, 524]

/**
 * Forwards requests to `port`. Each request whose method and path match takes the next of `statuses`:
 * the gateway then waits for the first bytes of the response, drops it, and answers with that status.
 * `true` forwards the request. `lost: true` answers without forwarding.
 */
export async function gateway(port, statuses, { matches = () => true, lost = false } = {}) {
  const seen = []
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    const status = matches(`${method} ${url}`) ? (statuses.shift() ?? true) : true
    seen.push([`${method} ${url}`, status])
    const fail = () => {
      response.writeHead(status, { 'content-type': 'text/html' })
      response.end(`<h1>${status}</h1>`)
    }
    if (status !== true && lost) return void request.resume().on('end', fail)
    const upstream = send({
      port,
      host: '127.0.0.1',
      method,
      path: url,
      headers,
      agent: false,
    })
    upstream.on('error', () => response.destroy())
    response.on('close', () => upstream.destroy())
    upstream.on('response', (answer) => {
      if (status === true) {
        response.writeHead(answer.statusCode, answer.headers)
        return answer.pipe(response)
      }
      answer.once('data', () => {
        upstream.removeAllListeners('error').on('error', () => {})
        upstream.destroy()
        fail()
      })
    })
    request.pipe(upstream)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    seen,
    server,
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
