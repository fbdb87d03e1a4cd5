// Characters a second that a redactor reads: conversations with tools (tau-bench), whole and in parts
// as a model streams them, with and without registered values; and the worst that an attacker can
// repeat. Medians of interleaved rounds. npm run bench -- redactor
import { readFileSync } from 'node:fs'
import { createRedactor } from 'turnlock/redact'
import { median } from './measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const FILE = new URL(
  '../tests/data/trajectories-tau-bench/gpt-4o-airline.61.jsonl',
  import.meta.url,
)
const text = readFileSync(FILE, 'utf8')
const plain = createRedactor()
const values = Array.from({ length: 100 }, (_, n) => `registered-value-${n * 7919}`)
const registered = createRedactor({ values })

function streamed(redactor, size) {
  for (let at = 0; at < text.length; at += size) redactor.feed(text.slice(at, at + size))
  redactor.end()
}

const SUBJECTS = {
  'whole texts': [text, () => plain.redact(text)],
  'whole texts, 100 registered values': [text, () => registered.redact(text)],
  'parts of 16 characters': [text, () => streamed(plain, 16)],
  ...Object.fromEntries(
    ['a', 'password=', '1 ', '-----BEGIN'].map((unit) => {
      const hostile = unit.repeat(Math.ceil(500_000 / unit.length))
      return [`\`${unit}\`, again and again`, [hostile, () => plain.redact(hostile)]]
    }),
  ),
}

const times = Object.fromEntries(Object.keys(SUBJECTS).map((name) => [name, []]))
// The first round warms up.
for (let round = -1; round < ROUNDS; round++) {
  for (const [name, [, run]] of Object.entries(SUBJECTS)) {
    const began = performance.now()
    run()
    if (round >= 0) times[name].push(performance.now() - began)
  }
}
console.log('| | MB/s |\n|---|---|')
for (const [name, [read]] of Object.entries(SUBJECTS)) {
  console.log(`| ${name} | ${(read.length / median(times[name]) / 1000).toFixed(1)} |`)
}
