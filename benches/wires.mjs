// Bytes per second of `decodeStream`, wire by wire, beside `JSON.parse` of the same data lines: the
// recorded streams of tests/data, each wire's together, in chunks of 16 KiB. One process, best of the
// rounds; read the ratios. node benches/wires.mjs
import { readFileSync, readdirSync } from 'node:fs'
import { decodeStream } from 'turnlock'

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
  `MB/s, recorded streams in chunks of ${CHUNK / 1024} KiB, best of ${ROUNDS} (Node ${process.versions.node})`,
)
for (const [wire, where] of Object.entries(WIRES)) {
  const streams = recorded(where).map(chunks)
  const size = streams.flat().reduce((sum, chunk) => sum + chunk.length, 0)
  const repeats = Math.ceil(BYTES / size)
  const best = { floor: Infinity, ours: Infinity }
  for (let i = 0; i < ROUNDS; i++) {
    for (const [name, run] of [
      ['floor', floor],
      ['ours', (all) => ours(wire, all)],
    ]) {
      const started = performance.now()
      let read = 0
      for (let n = 0; n < repeats; n++) for (const all of streams) read += run(all)
      if (read === 0) throw new Error(`${wire}: nothing was read`)
      best[name] = Math.min(best[name], performance.now() - started)
    }
  }
  const rate = (ms) => ((size * repeats) / 1e3 / ms).toFixed(0).padStart(5)
  const ratio = (best.ours / best.floor).toFixed(2)
  console.log(
    `  ${wire.padEnd(18)} JSON.parse ${rate(best.floor)}   decodeStream ${rate(best.ours)}   ${ratio} × its time`,
  )
}
