// Time to make a request of a long history: 10 000 UIMessages, about 9 MB of JSON, for each
// dialect, beside `convertToModelMessages` of the npm package `ai` on the same messages; then the
// time to append one message to such a history. All in one process, interleaved; read the ratios.
// npm run bench
//
// The peer's job is smaller: its result is not yet a provider's request, and nothing is repaired.
// The floor, JSON.stringify and JSON.parse of the history, is what one crossing of a boundary
// that takes text would cost.
import { convertMessagesToModelMessages } from '@tanstack/ai'
import { convertToModelMessages } from 'ai'
import * as turnlock from 'turnlock'
import { asOpenAI, asTanStack, history, toolTurn, userTurn } from './histories/history.mjs'

const TURNS = Number(process.env.TURNS ?? 5_000)
const ROUNDS = Number(process.env.ROUNDS ?? 9)
const APPENDS = Number(process.env.APPENDS ?? 60)
const DIALECTS = [
  ...['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mistral'],
  ...['deepseek', 'cohere', 'bedrock', 'ollama', 'langchain'],
]

const messages = history(TURNS)
const openai = asOpenAI(messages)
const tanstack = asTanStack(messages)
const bytes = (value) => Buffer.byteLength(JSON.stringify(value))
const mega = (value) => `${(bytes(value) / 1e6).toFixed(1)} MB`

const PEER = '`ai` convertToModelMessages'
const FLOOR = 'JSON.stringify + JSON.parse'

/** Each gives what it made: its size is printed, so that no error path is timed. */
const subjects = {
  [PEER]: () => convertToModelMessages(messages),
  [FLOOR]: () => JSON.parse(JSON.stringify(messages)),
  '`@tanstack/ai` convertMessagesToModelMessages': () => convertMessagesToModelMessages(tanstack),
}
if (turnlock.normalize) {
  for (const dialect of DIALECTS) {
    subjects[`normalize, ${dialect}`] = () => turnlock.normalize(messages, { dialect }).messages
  }
  subjects['normalize, openai-chat from openai-chat'] = () =>
    turnlock.normalize(openai, { dialect: 'openai-chat' }).messages
}

const names = Object.keys(subjects)
const times = new Map(names.map((name) => [name, []]))
const made = new Map()
// The first round warms up and is not counted. Each starts with another subject: none always
// runs behind the one that leaves the most garbage.
for (let round = -1; round < ROUNDS; round++) {
  for (let i = 0; i < names.length; i++) {
    const name = names[(i + round + 1) % names.length]
    const started = performance.now()
    const result = await subjects[name]()
    const taken = performance.now() - started
    if (round < 0) made.set(name, `${result.length} messages, ${mega(result)}`)
    else times.get(name).push(taken)
  }
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1]
const least = (list) => Math.min(...list)
const number = (value, digits = 1) => value.toFixed(digits).padStart(9)
const peer = { median: median(times.get(PEER)), least: least(times.get(PEER)) }

console.log(
  `\n${messages.length} UIMessages, ${mega(messages)} of JSON; the same as OpenAI's messages: ` +
    `${openai.length}, ${mega(openai)} (Node ${process.versions.node}, ${ROUNDS} rounds)`,
)
console.log(`${''.padEnd(48)}   median ms   × peer    min ms   × peer   made`)
for (const [name, list] of times) {
  console.log(
    `  ${name.padEnd(46)} ${number(median(list))} ${number(median(list) / peer.median, 2)} ` +
      `${number(least(list))} ${number(least(list) / peer.least, 2)}   ${made.get(name)}`,
  )
}

if (!turnlock.openHistory) console.log('\nappending: not in this build')
else {
  console.log(`\nappended to such a history, request included, ${APPENDS} of each, µs`)
  console.log(`${''.padEnd(30)} user text, 1 kB          tool call and result      first request`)
  for (const dialect of DIALECTS) report(dialect, messages, dialect, [userTurn, toolTurn])
  const shaped = [userTurn, toolTurn].map((turn) => (index) => asOpenAI(turn(index)))
  report('openai-chat from openai-chat', openai, 'openai-chat', shaped)
  console.log(`  ${'the peer, all of it again'.padEnd(28)} ${number(peer.median * 1000)}`)
}

function report(name, start, dialect, turns) {
  const opened = turnlock.openHistory({ dialect })
  const started = performance.now()
  opened.append(start)
  const first = opened.request().messages.length
  const load = performance.now() - started
  const taken = turns.map(() => [])
  let last
  for (let i = 0; i < APPENDS; i++) {
    turns.forEach((turn, kind) => {
      const elements = turn(i)
      const began = performance.now()
      opened.append(elements)
      last = opened.request().messages
      taken[kind].push((performance.now() - began) * 1000)
    })
  }
  const cells = taken.map((list) => `${number(median(list))} (min ${number(least(list)).trim()})`)
  console.log(
    `  ${name.padEnd(28)} ${cells.map((cell) => cell.padEnd(25)).join('')} ${number(load)} ms   ` +
      `${first} → ${last.length} messages, ${mega(last)}`,
  )
  opened.free()
}
