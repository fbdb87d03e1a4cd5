// Turns in a Durable Object, without a store and with its own.
import { durableObjectStore } from 'turnlock/stores/durable-object'
import { countedTurns } from './turns.mjs'

export class Turns {
  constructor(state) {
    this.state = state
  }

  async fetch(request) {
    const { count, keeps } = await request.json()
    const store = durableObjectStore(this.state)
    return Response.json(await countedTurns(count, keeps && store))
  }
}

export default {
  fetch: (request, env) => env.turns.get(env.turns.idFromName('turns')).fetch(request),
}
