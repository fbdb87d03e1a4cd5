import { createApp } from './app.mjs'

let app

export default {
  fetch(request, env, context) {
    app ??= createApp(env)
    return app(request, { env, waitUntil: (promise) => context.waitUntil(promise) })
  },
}
