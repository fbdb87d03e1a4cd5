// Plays a batch of passes inside workerd.
import * as turnlock from 'turnlock'
import { playAll } from './play.mjs'

export default {
  async fetch(request, env) {
    const { lane, scenarios } = await request.json()
    const host = { turnlock, url: env.PROVIDER, runtime: `workerd${lane}`, lanes: 3 }
    return Response.json(await playAll(host, scenarios))
  },
}
