// Plays a batch of scenarios inside workerd.
import * as turnlock from 'turnlock'
import { playAll as playBundles } from '../bundles/play.mjs'
import { playAll } from './play.mjs'

export default {
  async fetch(request, env) {
    const { lane, scenarios, bundles } = await request.json()
    const host = { turnlock, url: env.PROVIDER, runtime: `workerd${lane}`, lanes: 3 }
    // A bundle holds several connections at once.
    if (bundles) return Response.json(await playBundles({ ...host, lanes: 1 }, bundles))
    return Response.json(await playAll(host, scenarios))
  },
}
