// Evidence bundles: time of a summary beside a plain JavaScript version of the same definitions,
// what the stop rule saves, and what it costs in time. Read the ratios. npm run bench -- bundles
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { runBundle, summarizeReplicates } from 'turnlock/evidence'
import { data } from '../tests/data.mjs'
import { median, medianRatio } from './measure.mjs'
import { summarize } from './bundle/plain.mjs'
import { believed, randomFrom, replicates } from './bundle/replicates.mjs'
import { adaptive, exact, fixed, windows } from './bundle/rules.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)

/** Both versions say the same, to the last digit that their sums share. */
function agree(ours, plain) {
  const near = (a, b) => Math.abs(a - b) < 1e-9
  assert.ok(near(ours.confidence, plain.confidence))
  ours.pairwise_distance.forEach((row, i) =>
    row.forEach((cell, j) => assert.ok(near(cell, plain.pairwise_distance[i][j]))),
  )
  assert.deepEqual(Object.keys(ours.distributions), Object.keys(plain.distributions))
  assert.deepEqual(
    ours.disagreements.map(({ field }) => field),
    plain.disagreements.map(({ field }) => field),
  )
  assert.deepEqual(ours.consensus, plain.consensus)
}

/** The times of each subject, a round after the other. */
function timed(subjects) {
  const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, work] of Object.entries(subjects)) {
      const started = performance.now()
      work()
      times[name].push(performance.now() - started)
    }
  }
  return times
}

console.log('| summary of | turnlock, ms | plain JavaScript, ms | ratio |\n|---|---|---|---|')
for (const [k, fields] of [
  [3, 30],
  [8, 250],
  [8, 1_000],
  [8, 4_000],
  [64, 200],
]) {
  const { schema, data } = replicates(k, fields)
  const given = believed(data)
  agree(summarizeReplicates(given, { schema }), summarize(data, schema))
  const { ours, plain } = timed({
    ours: () => summarizeReplicates(given, { schema }),
    plain: () => summarize(data, schema),
  })
  const row = [
    `K = ${k}, ${fields} fields`,
    median(ours).toFixed(2),
    median(plain).toFixed(2),
    medianRatio(ours, plain).toFixed(2),
  ]
  console.log(`| ${row.join(' | ')} |`)
}

const agents = data('stats/given/agents.json')
const { populations } = JSON.parse(readFileSync(agents, 'utf8'))

/** How many replicates a real bundle asks for, for every sequence of five answers. */
async function measured(options) {
  const asked = new Map()
  for (let n = 0; n < 4 ** 5; n++) {
    const answers = Array.from({ length: 5 }, (_, place) => Math.floor(n / 4 ** place) % 4)
    const schema = { properties: { answer: { enum: [0, 1, 2, 3] } } }
    const replicate = ({ id }) => ({ data: { answer: answers[Number(id.slice(1)) - 1] } })
    const { meta } = await runBundle({ task: 't', schema, replicate, ...options }).result
    asked.set(answers.join(), meta.started)
  }
  return (answers) => asked.get(answers.join())
}

const rules = {
  'fixed 3': [3, fixed(3)],
  '**agreement, ε 0.2, cap 3**': [3, await measured({ k: 3 })],
  'Adaptive-Consistency 0.95, cap 3': [3, adaptive(0.95, 3)],
  'ESC, window 2, cap 4': [4, windows(2, 4)],
  'fixed 5': [5, fixed(5)],
  '**agreement, ε 0.2, cap 5**': [5, await measured({ k: 5 })],
  '**majority lock, cap 5**': [5, await measured({ k: 5, stop: 'majority_lock' })],
  'Adaptive-Consistency 0.95, cap 5': [5, adaptive(0.95, 5)],
}
const names = populations.map(({ population }) => population)
console.log('\n**Right answers and replicates run, by rule.**\n')
console.log(`| rule | ${names.map((name) => `${name}: right, replicates`).join(' | ')} |`)
console.log(`|---|${'---|'.repeat(names.length)}`)
for (const [name, [, rule]] of Object.entries(rules)) {
  const cells = populations.map(({ answer_probabilities: questions }) => {
    const { accuracy, replicates: cost } = exact(questions, rule)
    return `${(100 * accuracy).toFixed(2)}%, ${cost.toFixed(3)}`
  })
  console.log(`| ${name} | ${cells.join(' | ')} |`)
}

/** Rounds of waiting, with log-normal latencies of mean 1; simulated, no clock. */
function waiting(agreeing) {
  const random = randomFrom(11)
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random())
  const latency = () => Math.exp(0.5 * normal() - 0.125)
  const sums = { two: 0, all: 0, race: 0 }
  const n = 200_000
  for (let i = 0; i < n; i++) {
    const [a, b, c] = [latency(), latency(), latency()]
    // Two agree with probability `agreeing`, each further pair the same, independently.
    const ab = random() < agreeing
    const sorted = [a, b, c].sort((x, y) => x - y)
    sums.two += ab ? Math.max(a, b) : Math.max(a, b) + c
    sums.all += sorted[2]
    sums.race += random() < agreeing ? sorted[1] : sorted[2]
  }
  return Object.values(sums).map((sum) => (sum / n).toFixed(2))
}
console.log('\n**Mean wall-clock, in units of one replicate’s.**\n')
console.log('| two agree | two, then one (default) | three, wait for all | three, `parallel: 3` |')
console.log('|---|---|---|---|')
for (const agreeing of [0.5, 0.8, 0.95]) {
  console.log(`| ${100 * agreeing}% | ${waiting(agreeing).join(' | ')} |`)
}
