// Serves the application in workerd: a Durable Object for each tenant.
import { durableObjectStore } from 'turnlock/stores/durable-object'
import { createApp } from './app.mjs'

export class Tenant {
  constructor(state, env) {
    this.app = createApp({ env, store: durableObjectStore(state) })
  }

  fetch(request) {
    return this.app(request)
  }
}

export default {
  fetch(request, env) {
    const tenant = request.headers.get('authorization') ?? 'nobody'
    return env.TENANTS.get(env.TENANTS.idFromName(tenant)).fetch(request)
  },
}
