// Plays a subject in the runtime that this runs in; workerd asks it by requests.
import { SUBJECTS as PEERS } from './peers.mjs'
import { LENGTH, response, SUBJECTS as OURS } from './subjects.mjs'

export const SUBJECTS = { ...OURS, ...PEERS }
const made = {}

/** Reads the response so many times, `size` events a chunk. Throws if text was missed. */
export async function play(name, size, times) {
  const chunks = (made[size] ??= response(size))
  for (let time = 0; time < times; time++) {
    const length = await SUBJECTS[name](chunks)
    if (length !== LENGTH) throw new Error(`${name} saw ${length} of ${LENGTH} characters`)
  }
}
globalThis.play = play

export default {
  async fetch(request) {
    const { name, size, times } = await request.json()
    await play(name, size, times)
    return new Response('done')
  },
}
