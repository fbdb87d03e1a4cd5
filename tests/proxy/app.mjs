// The proxy as the tests serve it, in every runtime. A client's key is JSON that says who it is and
// what is to happen: `{ tenant, mode, policy, upstream }`; the upstream is a path of the test server.
import { createProxy } from 'turnlock/proxy'

/** The key of a client. */
export const keyOf = (session) => btoa(JSON.stringify(session))

function sessionOf(headers) {
  const bearer = /^Bearer (\S+)$/.exec(headers.get('authorization') ?? '')?.[1]
  const key = headers.get('x-api-key') ?? bearer
  try {
    return JSON.parse(atob(key))
  } catch {
    return null
  }
}

/** @param {{ UPSTREAM: string }} env */
export function createApp(env, more = {}) {
  const reports = []
  const proxy = createProxy({
    upstream: ({ session }) => ({ url: `${env.UPSTREAM}${session.upstream}`, apiKey: 'edge-key' }),
    authorize: ({ headers }) => sessionOf(headers),
    onReport: (report) => reports.push(report),
    decode: { fake: (bytes) => bytes.map((byte) => byte ^ 1) },
    limits: { keepAliveMs: 50, idleMs: 20_000, firstByteMs: 20_000, bodyBytes: 12_000_000 },
    ...more,
  })
  return async (request, context) => {
    if (new URL(request.url).pathname === '/reports') return Response.json(reports.splice(0))
    return proxy(request, context)
  }
}
