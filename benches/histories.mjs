// Time to make a request of a long history: 10 000 UIMessages, about 9 MB of JSON, for each
// dialect, beside `convertToModelMessages` of the npm package `ai` on the same messages; the same of
// 200 and of 1 000; then the time to append one message to such a history. All in one process, interleaved; a
// ratio is the median of those of the rounds, beside the least and the greatest.
// npm run bench -- histories
//
// The peer's job is smaller: its result is not yet a provider's request, and nothing is repaired.
// The floor, JSON.stringify and JSON.parse of the history, is what one crossing of a boundary
// that takes text would cost.
import { convertMessagesToModelMessages } from '@tanstack/ai'
import { convertToModelMessages } from 'ai'
import * as turnlock from 'turnlock'
import { asOpenAI, asTanStack, history, toolTurn, userTurn } from './histories/history.mjs'
import { median } from './measure.mjs'

const TURNS = Number(process.env.TURNS ?? 5_000)
const ROUNDS = Number(process.env.ROUNDS ?? 11)
const PASSES = Number(process.env.PASSES ?? 3)
const APPENDS = Number(process.env.APPENDS ?? 40)
const DIALECTS = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'gemini',
  'mistral',
  'deepseek',
  'cohere',
  'bedrock',
  'ollama',
  'langchain',
]

const messages = history(TURNS)
const openai = asOpenAI(messages)
const bytes = (value) => Buffer.byteLength(JSON.stringify(value))
const mega = (value) => `${(bytes(value) / 1e6).toFixed(1)} MB`

const PEER = '`ai` convertToModelMessages'
const FLOOR = 'JSON.stringify + JSON.parse'

/** Each gives what it made: its size is printed, so that no error path is timed. */
function subjectsOf(messages) {
  const openai = asOpenAI(messages)
  const tanstack = asTanStack(messages)
  const subjects = {
    [PEER]: () => convertToModelMessages(messages),
    [FLOOR]: () => JSON.parse(JSON.stringify(messages)),
    '`@tanstack/ai` convertMessagesToModelMessages': () => convertMessagesToModelMessages(tanstack),
  }
  for (const dialect of DIALECTS) {
    subjects[`normalize, ${dialect}`] = () =>
      turnlock.normalizeHistory(messages, { dialect }).messages
  }
  subjects['normalize, openai-chat from openai-chat'] = () =>
    turnlock.normalizeHistory(openai, { dialect: 'openai-chat' }).messages
  return subjects
}

const least = (list) => Math.min(...list)
const number = (value, digits = 1) => value.toFixed(digits).padStart(9)

/** Times each subject, `calls` calls a round. Returns the peer's median. */
async function compare(messages, calls) {
  const subjects = subjectsOf(messages)
  const names = Object.keys(subjects)
  const times = new Map(names.map((name) => [name, []]))
  const made = new Map()
  // The first rounds warm up and are not counted. Each starts with another subject: none always
  // runs behind the one that leaves the most garbage.
  for (let round = -2; round < ROUNDS; round++) {
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + round + 2) % names.length]
      globalThis.gc?.()
      const started = performance.now()
      let result
      for (let call = 0; call < calls; call++) result = await subjects[name]()
      const taken = (performance.now() - started) / calls
      if (round < 0) made.set(name, `${result.length} messages, ${mega(result)}`)
      else times.get(name).push(taken)
    }
  }
  const peer = times.get(PEER)
  const openai = asOpenAI(messages)
  console.log(
    `\n${messages.length} UIMessages, ${mega(messages)} of JSON; the same as OpenAI's messages: ` +
      `${openai.length}, ${mega(openai)} (Node ${process.versions.node}, ${ROUNDS} rounds)`,
  )
  console.log(`${''.padEnd(48)}   median ms   × peer  (least to greatest)    made`)
  for (const [name, list] of times) {
    const ratios = list.map((time, round) => time / peer[round])
    const spread = `(${least(ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`
    console.log(
      `  ${name.padEnd(46)} ${number(median(list), 2)} ${number(median(ratios), 2)}  ` +
        `${spread.padEnd(20)}  ${made.get(name)}`,
    )
  }
  return median(peer)
}

await compare(history(100), 20)
await compare(history(500), 4)
const peer = await compare(messages, 1)

/** Where a history in one shape is appended to: its start, and the two kinds of elements. */
const opened = {
  ...Object.fromEntries(DIALECTS.map((dialect) => [dialect, [messages, userTurn, toolTurn]])),
  'openai-chat from openai-chat': [
    openai,
    (index) => asOpenAI(userTurn(index)),
    (index) => asOpenAI(toolTurn(index)),
  ],
}

/** One pass: open, append all, then one element after the other, each with its request. */
function grow(name, { first, kinds }) {
  const [start, ...turns] = opened[name]
  const history = turnlock.openHistory({ dialect: name.split(' ')[0] })
  let began = performance.now()
  history.append(...start)
  let { messages } = history.request()
  first.push(performance.now() - began)
  const before = messages.length
  for (let i = 0; i < APPENDS; i++) {
    turns.forEach((turn, kind) => {
      const elements = turn(i)
      began = performance.now()
      history.append(...elements)
      messages = history.request().messages
      kinds[kind].push((performance.now() - began) * 1000)
    })
  }
  history.free()
  return `${before} → ${messages.length} messages, ${mega(messages)}`
}

if (!turnlock.openHistory) console.log('\nappending: not in this build')
else {
  const grown = Object.keys(opened).map((name) => [name, { first: [], kinds: [[], []] }])
  const sizes = new Map()
  for (let pass = 0; pass < PASSES; pass++) {
    for (const [name, into] of grown) sizes.set(name, grow(name, into))
  }
  const times = `${PASSES} passes of ${APPENDS}`
  console.log(`\nappended to such a history, the request included, µs, ${times}; all at once, ms`)
  console.log(`${''.padEnd(32)}user text, 1 kB          tool call and result      all at once`)
  for (const [name, { first, kinds }] of grown) {
    const cells = kinds.map((list) => `${number(median(list))} (min ${number(least(list)).trim()})`)
    console.log(
      `  ${name.padEnd(28)} ${cells.map((cell) => cell.padEnd(25)).join('')} ` +
        `${number(median(first))}   ${sizes.get(name)}`,
    )
  }
  console.log(`  ${'the peer, all of it again'.padEnd(28)} ${number(peer * 1000)}`)
}
