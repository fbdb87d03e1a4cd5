import { createApp } from './app.mjs'

let app

/** Reads a response of the proxy here, before workerd writes it to a connection. */
async function readInside(request, context) {
  const url = new URL(request.url)
  url.pathname = url.pathname.replace(/^\/inside/, '')
  const response = await app(new Request(url, request), context)
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const piece of response.body) text += decoder.decode(piece, { stream: true })
    return Response.json({ text, isBroken: false })
  } catch {
    return Response.json({ text, isBroken: true })
  }
}

export default {
  fetch(request, env, context) {
    app ??= createApp(env)
    const more = { env, waitUntil: (promise) => context.waitUntil(promise) }
    if (new URL(request.url).pathname.startsWith('/inside/')) return readInside(request, more)
    return app(request, more)
  },
}
