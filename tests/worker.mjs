// Plays jobs inside workerd. `tables` is the `play.mjs` of a folder: runtimes.mjs says of which.
import { playAll } from 'tables'
import * as turnlock from './turnlock.mjs'

export default {
  async fetch(request, env) {
    const { lane, jobs } = await request.json()
    const host = { turnlock, url: env.PROVIDER, runtime: `workerd${lane}`, lanes: 3 }
    return Response.json(await playAll(host, jobs))
  },
}
