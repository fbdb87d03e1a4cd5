// A worker whose stores do what it is asked, at the time that it is told.
import { d1Store } from 'turnlock/stores/d1'
import { durableObjectStore } from 'turnlock/stores/durable-object'

/** Answers a request: a method of the store and its arguments. */
async function answer(request, store) {
  const { now, method, args } = await request.json()
  if (now !== undefined) Date.now = () => now
  try {
    const value = await store[method](...args)
    // JSON has no infinity.
    const told = (_, one) => (one === Infinity ? 'it is Infinity' : one)
    return new Response(JSON.stringify({ value }, told))
  } catch (error) {
    const { name, code, stack } = error
    return Response.json({ error: { name, code, message: String(stack ?? error) } })
  }
}

export class Turns {
  constructor(state) {
    this.state = state
  }

  fetch(request) {
    // As an eviction or a deployment does.
    if (new URL(request.url).pathname === '/end') this.state.abort('evicted')
    return answer(request, durableObjectStore(this.state))
  }
}

export default {
  fetch(request, { TURNS, DB }) {
    if (new URL(request.url).pathname === '/d1') return answer(request, d1Store(DB))
    return TURNS.get(TURNS.idFromName('one')).fetch(request)
  },
}
