// Plays the cases inside workerd.
import { sizes } from './memories.mjs'
import { play } from './cases.mjs'

/** Which isolate this is: none is made behind a case. */
let isolate

export default {
  async fetch(request, { STREAMS }) {
    isolate ??= crypto.randomUUID()
    const { name } = await request.json()
    return Response.json({ isolate, ...(name ? await play(name, STREAMS) : { sizes: sizes() }) })
  },
}
