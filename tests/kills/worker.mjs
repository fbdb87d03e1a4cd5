// A Durable Object that runs turns in its own storage.
import { durableObjectStore } from 'turnlock/stores/durable-object'
import { operations } from './remote.mjs'

export class Turns {
  constructor(state, env) {
    this.may = operations(durableObjectStore(state), env.SITE)
  }

  async fetch(request) {
    const [what, ...args] = await request.json()
    const made = await this.may[what](...args)
    return what === 'follow' ? made.toResponse() : Response.json(made ?? null)
  }
}

export default {
  fetch: (request, env) => env.turns.get(env.turns.idFromName('turns')).fetch(request),
}
