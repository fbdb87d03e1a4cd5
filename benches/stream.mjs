// Time per streamed text event: ours beside eventsource-parser + JSON.parse and beside
// `streamText` of the npm package `ai`. All in one process, interleaved, best of the rounds;
// read the ratios. npm run bench
import { SUBJECTS as AI } from './stream/ai.mjs'
import { EVENTS, FLOOR, LENGTH, response, SUBJECTS as OURS } from './stream/subjects.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 15)
const SUBJECTS = { ...OURS, ...AI }

const round = (value) => value.toFixed(2).padStart(7)
for (const size of [1, 16]) {
  const chunks = response(size)
  const best = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, Infinity]))
  for (let i = 0; i < ROUNDS; i++) {
    for (const [name, subject] of Object.entries(SUBJECTS)) {
      const started = performance.now()
      const length = await subject(chunks)
      const micros = ((performance.now() - started) * 1000) / EVENTS
      if (length !== LENGTH) throw new Error(`${name} saw ${length} of ${LENGTH} characters`)
      best[name] = Math.min(best[name], micros)
    }
  }
  console.log(
    `\n${size} event${size > 1 ? 's' : ''} a chunk, ${EVENTS} events, best of ${ROUNDS} (Node ${process.versions.node})`,
  )
  const floor = best[FLOOR]
  for (const [name, micros] of Object.entries(best)) {
    console.log(
      `  ${name.padEnd(34)} ${round(micros)} µs/event  ${round(micros / floor)} × the floor`,
    )
  }
}
