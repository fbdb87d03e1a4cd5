// Plays everything inside workerd.
import * as turnlock from 'turnlock'
import { playBoth } from './both.mjs'

export default {
  async fetch(request) {
    return Response.json(await playBoth(turnlock, await request.json()))
  },
}
