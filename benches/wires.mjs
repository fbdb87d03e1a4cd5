// Bytes per second of `decodeStream`, wire by wire, beside `JSON.parse` of the same data lines: the
// recorded streams of tests/data, each wire's together, in chunks of 16 KiB. One process, medians of
// the rounds; read the ratios. Then 100 MB of text events of each wire: memory before, and at most.
// npm run bench -- wires
import { readFileSync, readdirSync } from 'node:fs'
import { decodeStream } from 'turnlock'
import { median, medianRatio } from './measure.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 15)
const BYTES = 2_000_000
const CHUNK = 16 * 1024
const encoder = new TextEncoder()
const data = new URL('../tests/data/', import.meta.url)

/** Where each wire's recordings are, and what their names end with. */
const WIRES = {
  'openai-chat': ['streams-vercel-ai/files/deepseek', '.chunks.txt'],
  anthropic: ['streams-vercel-ai/files/anthropic', '.chunks.txt'],
  'openai-responses': ['streams-vercel-ai/files/openai', '.chunks.txt', /^responses-(?!parallel)/],
  gemini: ['streams-vercel-ai/files/google', '.chunks.txt', /^google-/],
  bedrock: ['streams-vercel-ai/files/amazon-bedrock', '.chunks.txt'],
  cohere: ['streams-vercel-ai/files/cohere', '.chunks.txt'],
  ollama: ['streams-prism-php/files/ollama', '.sse'],
}

/** The streams of a wire, as their events' JSON. */
function recorded([folder, end, only = /^/]) {
  const root = new URL(`${folder}/`, data)
  const names = readdirSync(root).filter((name) => name.endsWith(end) && only.test(name))
  return names.sort().map((name) =>
    readFileSync(new URL(name, root), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{') && parses(line)),
  )
}

function parses(line) {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

function chunks(lines) {
  const bytes = encoder.encode(lines.map((line) => `data: ${line}\n\n`).join(''))
  const all = []
  for (let at = 0; at < bytes.length; at += CHUNK) all.push(bytes.subarray(at, at + CHUNK))
  return all
}

const decoder = new TextDecoder()

/** What the floor does: find the data lines, and read them. */
function floor(all) {
  let read = 0
  let rest = ''
  for (const chunk of all) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()
    for (const line of lines)
      if (line.startsWith('data: ')) read += Object.keys(JSON.parse(line.slice(6))).length
  }
  return read
}

function ours(wire, all) {
  const stream = decodeStream(wire)
  let read = 0
  for (const chunk of all) read += stream.feed(chunk).length
  return read + stream.end().length
}

console.log(
  `MB/s, recorded streams in chunks of ${CHUNK / 1024} KiB, medians of ${ROUNDS} (Node ${process.versions.node})`,
)
for (const [wire, where] of Object.entries(WIRES)) {
  const streams = recorded(where).map(chunks)
  const size = streams.flat().reduce((sum, chunk) => sum + chunk.length, 0)
  const repeats = Math.ceil(BYTES / size)
  const times = { floor: [], ours: [] }
  for (let i = 0; i < ROUNDS; i++) {
    for (const [name, run] of [
      ['floor', floor],
      ['ours', (all) => ours(wire, all)],
    ]) {
      const started = performance.now()
      let read = 0
      for (let n = 0; n < repeats; n++) for (const all of streams) read += run(all)
      if (read === 0) throw new Error(`${wire}: nothing was read`)
      times[name].push(performance.now() - started)
    }
  }
  const rate = (name) => ((size * repeats) / 1e3 / median(times[name])).toFixed(0).padStart(5)
  const ratio = medianRatio(times.ours, times.floor).toFixed(2)
  console.log(
    `  ${wire.padEnd(18)} JSON.parse ${rate('floor')}   decodeStream ${rate('ours')}   ${ratio} × its time`,
  )
}

/** The line of a stream that says a text, and the lines before and behind it. */
function around(wire, streams) {
  for (const lines of streams) {
    const stream = decodeStream(wire)
    for (const [at, line] of lines.entries()) {
      const said = stream.feed(encoder.encode(`data: ${line}\n\n`))
      if (at > 0 && said.some(({ type }) => type === 'text')) {
        return [lines.slice(0, at), line, lines.slice(at + 1)]
      }
    }
  }
  throw new Error(`${wire}: no recording has a text`)
}

const LONG = Number(process.env.LONG ?? 100_000_000)
const mega = (bytes) => (bytes / 1e6).toFixed(1).padStart(6)
console.log(`\nMB of memory (heap and buffers) as ${mega(LONG).trim()} MB of text events are read`)
for (const [wire, where] of Object.entries(WIRES)) {
  const [before, line, behind] = around(wire, recorded(where))
  const event = `data: ${line}\n\n`
  const chunk = encoder.encode(event.repeat(Math.ceil(CHUNK / event.length)))
  const used = () => {
    globalThis.gc?.()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const stream = decodeStream(wire)
  const feed = (lines) => {
    for (const one of lines) stream.feed(encoder.encode(`data: ${one}\n\n`))
  }
  feed(before)
  const first = used()
  let [most, texts, read] = [0, 0, 0]
  for (let chunks = 1; read < LONG; chunks++) {
    read += chunk.length
    for (const delta of stream.feed(chunk)) texts += delta.type === 'text' ? 1 : 0
    if (chunks % 500 === 0) most = Math.max(most, used())
  }
  feed(behind)
  const end = stream.end()
  if (texts < LONG / event.length) throw new Error(`${wire}: ${texts} texts of ${read} bytes`)
  const last = end.at(-1)?.type ?? '-'
  console.log(
    `  ${wire.padEnd(18)} before ${mega(first)}   at most ${mega(most)}   ${texts} texts, ${last}`,
  )
}
