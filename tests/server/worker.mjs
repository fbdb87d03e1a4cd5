// Serves the application in workerd: a Durable Object for each tenant.
import { durableObjectStore } from 'turnlock/stores/durable-object'
import { createApp } from './app.mjs'

export class Tenant {
  constructor(state, env) {
    this.app = createApp({ env, store: durableObjectStore(state) })
    this.waitUntil = (promise) => state.waitUntil(promise)
  }

  fetch(request) {
    return this.app(request, { waitUntil: this.waitUntil })
  }
}

export default {
  fetch(request, env) {
    const tenant = request.headers.get('authorization') ?? 'nobody'
    return env.TENANTS.get(env.TENANTS.idFromName(tenant)).fetch(request)
  },
}
